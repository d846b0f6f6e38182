"""A moving picture of the playground for the landing page, recorded in Chromium.

``python docs/playground_movie.py`` serves the playground on this machine, moves its sliders, and
writes a frame for every picture to ``docs/_static/playground.webp``. ``--frames FOLDER`` keeps the
frames as PNG files, to be looked at.
"""

import argparse
import io
import socket
import sys
from pathlib import Path

import panel as pn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from mercer_studio.browser.playground import Playground
from mercer_studio.browser.playground.view import playground_view

TARGET = Path(__file__).resolve().parent / "_static" / "playground.webp"
# Of the page, and of the moving picture, in pixels.
WIDTH, HEIGHT, WIDTH_SHOWN = 1040, 712, 690
# Milliseconds a frame, and of the last one before it begins again.
FRAME, PAUSE = 130, 900
# Sliders from the top, and how many steps each one is moved, some of them for a frame.
MOVES, STEPS = ((0, 40), (0, -72), (0, 32), (1, 24), (1, -40), (1, 16)), 4


def painted(page: Page, before: str) -> str:
    """Wait for the next picture, and return its number."""
    page.wait_for_function("(before) => window.seen.value !== before", arg=before, timeout=20000)
    return str(page.evaluate("() => window.seen.value"))


def record(page: Page) -> list[bytes]:
    """Move the sliders, and return a screenshot of every picture."""
    page.evaluate(
        """() => { window.seen = [...Bokeh.documents[0].all_models].find(
             (m) => m.title?.startsWith?.("playground-painted")); }"""
    )
    number, frames = str(page.evaluate("() => window.seen.value")), [page.screenshot()]
    for slider, steps in MOVES:
        handle = page.locator(".noUi-handle:visible").nth(slider)
        key = "ArrowRight" if steps > 0 else "ArrowLeft"
        for _ in range(abs(steps) // STEPS):
            for _ in range(STEPS):
                handle.press(key)
                number = painted(page, number)
            # Words and script come after the picture.
            page.wait_for_timeout(250)
            frames.append(page.screenshot())
    return frames


def save(frames: list[bytes], target: Path) -> None:
    """Write an animated picture that begins again after a pause."""
    size = WIDTH_SHOWN, HEIGHT * WIDTH_SHOWN // WIDTH
    opened = (Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames)
    images = [image.resize(size, Image.Resampling.LANCZOS) for image in opened]
    images[0].save(
        target,
        save_all=True,
        append_images=images[1:],
        duration=[FRAME] * (len(images) - 1) + [PAUSE],
        loop=0,
        quality=30,
        method=4,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=Path, help="a folder for the frames")
    chosen = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = pn.serve(
        {"/": lambda: playground_view(Playground.from_set("two moons", 150, gamma=1.0))},
        port=port,
        address="127.0.0.1",
        show=False,
        threaded=True,
        websocket_origin=f"127.0.0.1:{port}",
    )
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_selector(".noUi-handle")
            page.wait_for_timeout(2500)
            frames = record(page)
            browser.close()
    finally:
        server.stop()
    if chosen.frames:
        chosen.frames.mkdir(parents=True, exist_ok=True)
        for k, frame in enumerate(frames):
            (chosen.frames / f"{k:03d}.png").write_bytes(frame)
    save(frames, TARGET)
    print(f"{TARGET.name}: {len(frames)} frames, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
