"""The code on the cheat sheet runs, and the files are those of its list of boxes."""

import importlib.util
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("cheatsheet", DOCS / "cheatsheet.py")
cheatsheet = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cheatsheet)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("box", cheatsheet.BOXES, ids=lambda box: box[0])
def test_code_of_a_box_runs(box, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(cheatsheet.program(box), box[0], "exec"), {"__name__": "__main__"})


def test_wrong_code_is_noticed():
    title, code, words = cheatsheet.BOXES[0]
    with pytest.raises(AttributeError):
        exec(cheatsheet.program((title, code.replace("explain", "explian"), words)), {})


def test_nothing_sticks_out_of_its_box():
    figure = cheatsheet.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [patch.get_window_extent(renderer) for patch in figure.artists]
    assert len(boxes) == len(cheatsheet.BOXES)
    page = figure.bbox
    inside = [text.get_window_extent(renderer) for text in figure.texts[3:]]
    for text in inside:
        assert any(
            box.x0 < text.x0 and text.x1 < box.x1 and box.y0 < text.y0 and text.y1 < box.y1
            for box in boxes
        )
    assert all(page.x0 < b.x0 and b.x1 < page.x1 and page.y0 < b.y0 for b in boxes)
    title, line, call = (text.get_window_extent(renderer) for text in figure.texts[:3])
    assert title.x1 < line.x0
    assert line.x1 < call.x0


def test_files_hold_every_name(tmp_path, monkeypatch):
    """Letters are shapes in the files, so these are compared with files made now."""
    monkeypatch.setattr(cheatsheet, "FOLDER", tmp_path)
    cheatsheet.main()
    made = (tmp_path / "cheatsheet.svg").read_text(encoding="utf-8")
    kept = (DOCS / "_static" / "cheatsheet.svg").read_text(encoding="utf-8")
    # Shapes differ between releases of fonts; the comments that matplotlib leaves are the text.
    assert comments(made) == comments(kept)
    assert len(comments(kept)) > 60
    assert (tmp_path / "cheatsheet.pdf").read_bytes()[:4] == b"%PDF"


def comments(svg):
    return [line.strip() for line in svg.splitlines() if line.strip().startswith("<!--")]
