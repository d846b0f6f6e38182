"""The picture of the rooms, from the rows that the tests hold the imports to."""

import runpy
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mercer"
GAP = 0.012
"""Between two rooms, as a part of the picture's width."""


def lines(room: str) -> int:
    """Count the lines of a room."""
    return sum(len(p.read_text(encoding="utf-8").splitlines()) for p in room_files(room))


def room_files(room: str) -> list[Path]:
    """Return the modules of a room."""
    return sorted((PACKAGE / room).glob("*.py"))


def draw(target: Path) -> None:
    """Draw every row of rooms over the rows that it may import; a room is as wide as it is long."""
    rows = runpy.run_path(str(ROOT / "tests" / "test_layers.py"))["ROWS"]
    sizes = {room: lines(room) for row in rows for room in row}
    widest = max(sum(sizes[room] for room in row) + 2500 * len(row) for row in rows)
    with matplotlib.rc_context({"svg.hashsalt": "rooms", "font.size": 9}):
        figure = Figure(figsize=(9.5, 0.52 * len(rows) + 0.2))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, 1), ylim=(-0.1, len(rows)))
        axes.axis("off")
        for level, row in enumerate(rows):
            widths = [(sizes[room] + 2500) / widest * (1 - GAP * len(row)) for room in row]
            x = 0.5 - 0.5 * (sum(widths) + GAP * (len(row) - 1))
            for room, width in zip(row, widths, strict=True):
                own = room in ("machines", "estimators")
                axes.add_patch(
                    FancyBboxPatch(
                        (x, level + 0.12),
                        width,
                        0.66,
                        boxstyle="round,pad=0,rounding_size=0.008",
                        facecolor="#D6E8F5" if own else "#F2F2F2",
                        edgecolor="#0072B2" if own else "#999999",
                        mutation_aspect=10,
                    )
                )
                axes.text(x + width / 2, level + 0.53, room, ha="center", va="center")
                size = f"{sizes[room]:,}"
                axes.text(
                    x + width / 2, level + 0.27, size, ha="center", va="center", color="#666666"
                )
                x += width + GAP
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    draw(ROOT / "docs" / "reference" / "generated" / "rooms.svg")
