"""Pictures of every step and view of the studio, light, dark and on a phone.

``python benchmarks/studio/pictures.py FOLDER`` writes them, to be looked at and for the tour.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studio.browser import choose, chromium, drawn, fit, go, load, look, studio, visitor
from benchmarks.studio.journeys import JOURNEYS, tables, views_of


def pictures(folder, output):
    """Take a picture of every step and view, light, dark and on a phone; all go to a folder."""
    output.mkdir(parents=True, exist_ok=True)
    tables(folder, False)
    with studio(folder) as address, chromium() as browser:
        for size, scheme in (("desktop", "light"), ("desktop", "dark"), ("phone", "light")):
            for task in (None, "pima", "meuse"):
                with visitor(browser, address, size, scheme) as page:

                    def shoot(name, page=page, end=f"{size}-{scheme}.png"):
                        page.screenshot(path=output / f"{name}-{end}", full_page=True)

                    if task is None:
                        _tour(page, shoot)
                    else:
                        _other_picture(page, task, shoot)
                    assert page.errors == [], page.errors


def _tour(page, shoot):
    """Go through every step and view of a regression, and through pictures of other tasks."""
    load(page, "concrete.parquet")
    shoot("data")
    go(page, "Question")
    choose(page, "Target", "strength")
    page.get_by_text("What every column is taken for").wait_for()
    for view in ("Columns", "Gaps", "Clouds", "Noise"):
        page.get_by_role("button", name=view, exact=True).click()
        drawn(page)
        shoot({"Columns": "question"}.get(view, view.lower()))
    go(page, "Machine")
    page.get_by_label("The function is smooth, and I want to see its kernel").check()
    page.get_by_text("LSSVR, because").wait_for()
    choose(page, "Prediction intervals", "90 %")
    page.get_by_label("gamma", exact=True).wait_for()
    shoot("machine")
    fit(page, wait=False)
    page.locator(".progress svg").first.wait_for()
    shoot("fitting")
    page.locator("dl.tiles").first.wait_for()
    shoot("fit")
    go(page, "Understand")
    for view in views_of():
        look(page, view)
        shoot(f"view-{view.lower()}")
    go(page, "Machine")
    choose(page, "Machine", "SVR")
    page.get_by_text("SVR, because").first.wait_for()
    page.wait_for_timeout(600)
    fit(page)
    go(page, "Compare")
    page.get_by_role("heading", name="run 2: SVR").wait_for()
    drawn(page)
    page.wait_for_timeout(600)
    shoot("compare")
    go(page, "Take away")
    page.get_by_text("read_table(").wait_for()
    page.wait_for_timeout(600)
    shoot("take")
    go(page, "Playground")
    page.wait_for_timeout(4000)
    shoot("playground")


def _other_picture(page, name, shoot):
    """Take the picture of another journey."""
    JOURNEYS[name](page)
    page.get_by_text("because").first.wait_for()
    page.wait_for_timeout(600)
    fit(page)
    look(page, "Picture")
    shoot(f"picture-{name}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as held:
        pictures(Path(held), Path(sys.argv[1]))
