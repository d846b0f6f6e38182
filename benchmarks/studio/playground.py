"""Milliseconds of the playground at 300 points: exact refit, picture and bytes; and in Chromium.

``python benchmarks/studio/playground.py`` moves one setting at a time over its slider and prints,
as JSON, the median and the worst of the server's part: fit, decision values on the grid, lines,
words, script, and the message for the browser. ``--browser`` also moves sliders in Chromium and
measures from the event of the slider to the painted picture. ``--write`` keeps the figures beside
this file. Compile time is that of the first picture in a new process, apart from the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import panel as pn
from bokeh.core.serialization import Serializer
from bokeh.document import Document
from playwright.sync_api import Error, sync_playwright

from benchmarks.common.environment import environment
from mercer._threads import one_thread
from mercer_studio.browser.playground import LIGHT, Playground
from mercer_studio.browser.playground.settings import KERNELS, LOSSES
from mercer_studio.browser.playground.view import (
    CLASS_C,
    CURVE_C,
    GAMMAS,
    PlaygroundFigure,
    PlaygroundView,
)
from mercer_studio.browser.server import send_at_once

N, STEPS = 300, 16
RECORD = Path(__file__).resolve().with_suffix(".json")
SETS = {"classes": "two moons", "three classes": "three clouds", "curve": "sine with noise"}
WATCH = """() => {
  const models = [...Bokeh.documents[0].all_models];
  window.moved = []; window.painted = [];
  const seen = models.find((m) => m.title?.startsWith?.("playground-painted"));
  seen.properties.value.change.connect(() => window.painted.push(performance.now()));
  for (const m of models) {
    if (m.type.endsWith("Slider")) {
      m.properties.value.change.connect(() => window.moved.push(performance.now()));
    }
  }
}"""


def sweep(kind: str) -> Iterator[tuple[str, Playground]]:
    """Yield playgrounds with one slider moved, for every loss and kernel."""
    start = Playground.from_set(SETS[kind], N)
    task = start.settings.task
    for loss in LOSSES[task]:
        for kernel in KERNELS:
            sheet, name = start.change(loss=loss, kernel=kernel), f"{loss}, {kernel}"
            for C in (CURVE_C if task == "curve" else CLASS_C)[::8]:
                yield name, sheet.change(C=C)
            for gamma in GAMMAS[::8] if sheet.settings.has_width else ():
                yield name, sheet.change(gamma=gamma)
            for epsilon in (0.0, 0.05, 0.1, 0.3, 1.0):
                if loss == "epsilon_insensitive":
                    yield name, sheet.change(epsilon=epsilon)
                if loss == "huber":
                    yield name, sheet.change(delta=max(epsilon, 0.01))


def picture_ms(sheet: Playground, drawn: PlaygroundFigure) -> tuple[float, int]:
    """Return the milliseconds of processor time of one picture, and its bytes."""
    begin = time.process_time()
    with one_thread():  # as the page does
        picture = sheet.fit()
        columns = drawn.columns(picture)
    drawn.show(picture, columns=columns)
    sent = Serializer(deferred=False).encode(drawn.picture.data)
    size = len(json.dumps([sent, picture.script, picture.explanation]))
    return 1e3 * (time.process_time() - begin), size


def measure_server() -> dict[str, Any]:
    """Return figures of the server's part."""
    drawn = PlaygroundFigure(LIGHT)
    Document().add_root(drawn.figure)
    first, _ = picture_ms(Playground.from_set("two moons", N), drawn)
    again, _ = picture_ms(Playground.from_set("two moons", N), drawn)
    found: dict[str, Any] = {"first picture, ms": round(first), "again, ms": round(again, 1)}
    for kind in SETS:
        rows: dict[str, list[tuple[float, int, str]]] = {}
        for _, sheet in sweep(kind):  # compiles what a setting needs
            if sheet.settings.C == 1.0:
                picture_ms(sheet, drawn)
        for name, sheet in sweep(kind):
            ms, size = picture_ms(sheet, drawn)
            rows.setdefault(name, []).append((ms, size, repr(sheet.settings)))
        everything = [one for part in rows.values() for one in part]
        worst = max(everything)
        found[kind] = {
            "pictures": len(everything),
            "median ms": round(statistics.median(ms for ms, _, _ in everything), 1),
            "worst ms": round(worst[0], 1),
            "worst at": worst[2],
            "over 100 ms": sum(ms > 100 for ms, _, _ in everything),
            "largest kB": round(max(size for _, size, _ in everything) / 1e3),
            "by loss and kernel, median and worst ms": {
                name: [
                    round(statistics.median(ms for ms, _, _ in part), 1),
                    round(max(part)[0], 1),
                ]
                for name, part in rows.items()
            },
        }
    return found


def serve(port: int) -> None:
    """Serve a page of every kind until the process is ended."""
    sheets = [Playground.from_set(name, N) for name in SETS.values()]

    def page(sheet: Playground) -> Any:
        pn.state.onload(send_at_once)
        return PlaygroundView(sheet)

    pn.serve(
        {f"/{k}": lambda sheet=sheet: page(sheet) for k, sheet in enumerate(sheets)},
        port=port,
        address="127.0.0.1",
        show=False,
        websocket_origin=f"127.0.0.1:{port}",
    )


def measure_browser() -> dict[str, Any]:
    """Return milliseconds from a slider's event to the painted picture in Chromium."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--serve", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
            found = {
                kind: measure_page(browser, f"http://127.0.0.1:{port}/{k}", server.pid)
                for k, kind in enumerate(SETS)
            }
            browser.close()
            return found
    finally:
        server.terminate()


def measure_page(browser: Any, address: str, server: int) -> dict[str, Any]:
    """Return figures of one page."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    here = (address[: address.rindex("/")], "ws://127.0.0.1", "data:", "blob:")
    outside: list[str] = []
    page.on("request", lambda r: None if r.url.startswith(here) else outside.append(r.url))
    for _ in range(60):
        try:
            page.goto(address)
            break
        except Error:  # the server starts
            time.sleep(0.5)
    page.wait_for_selector(".noUi-handle")
    page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    step_by_step(page, 0)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy(devtools), processor_ms(server)
    steps = {"C": step_by_step(page, 0), "gamma": step_by_step(page, 1)}
    after = busy(devtools), processor_ms(server)
    found = {
        "requests to elsewhere": len(outside),
        **steps,
        "processor ms a picture, page": round((after[0] - before[0]) / (2 * STEPS), 1),
        "processor ms a picture, server": round((after[1] - before[1]) / (2 * STEPS), 1),
        "C dragged": drag(page, 0),
    }
    page.close()
    return found


def busy(devtools: Any) -> float:
    """Return the processor time of the page's thread in ms."""
    found = devtools.send("Performance.getMetrics")["metrics"]
    return 1e3 * next(one["value"] for one in found if one["name"] == "TaskDuration")


def processor_ms(process: int) -> float:
    """Return the processor time of a process in ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def step_by_step(page: Any, slider: int) -> dict[str, float]:
    """Press an arrow key on a slider, wait for the picture, and again."""
    handle = page.locator(".noUi-handle:visible").nth(slider)
    handle.focus()
    ms = []
    for k in range(STEPS):
        page.evaluate("() => { window.moved = []; window.painted = []; }")
        handle.press("ArrowRight" if k < STEPS // 2 else "ArrowLeft")
        page.wait_for_function("() => window.painted.length > 0 && window.moved.length > 0")
        ms.append(page.evaluate("() => window.painted.at(-1) - window.moved[0]"))
    return {"median ms": round(statistics.median(ms), 1), "worst ms": round(max(ms), 1)}


def drag(page: Any, slider: int) -> dict[str, float]:
    """Drag a slider to and fro for two seconds, and count pictures."""
    box = page.locator(".noUi-handle:visible").nth(slider).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate("() => { window.moved = []; window.painted = []; }")
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(120):
        page.mouse.move(x + (k if k < 60 else 120 - k), y)
        page.wait_for_timeout(16)
    page.mouse.up()
    page.wait_for_timeout(500)
    moved, painted = page.evaluate("() => [window.moved, window.painted]")
    waits = [t - max(m for m in moved if m <= t) for t in painted if t >= moved[0]]
    behind = [min((t for t in painted if t > m), default=m) - m for m in moved]
    gaps = [b - a for a, b in pairwise(painted) if b <= moved[-1]]
    return {
        "events": len(moved),
        "pictures": len(waits),
        "pictures a second": round(1e3 / statistics.mean(gaps), 1),
        "median ms to the next picture": round(statistics.median(behind), 1),
        "worst ms to the next picture": round(max(behind), 1),
        "last picture after the last event, ms": round(painted[-1] - moved[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", action="store_true", help="measure in Chromium as well")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.serve)
        return
    found: dict[str, Any] = {
        "environment": environment({"threads": 1}),
        "points": N,
        "server": measure_server(),
    }
    if chosen.browser:
        found["browser"] = measure_browser()
    text = json.dumps(found, indent=1)
    print(text)
    if chosen.write:
        RECORD.write_text(text + "\n")


if __name__ == "__main__":
    main()
