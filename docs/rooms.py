"""Draw the rooms of the library, from the rows that the tests hold the imports to, and count them.

``python docs/rooms.py`` prints the figures of decision 14 that are counted in the source.
"""

import ast
import runpy
from pathlib import Path
from statistics import median

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mercer"
RESEARCH = ROOT / "packages" / "mercer-research" / "src" / "mercer_research"
GAP = 0.012
"""Between two rooms, as a part of the picture's width."""


def lines(room: str) -> int:
    """Count the lines of a room."""
    return sum(len(p.read_text(encoding="utf-8").splitlines()) for p in room_files(room))


def room_files(room: str) -> list[Path]:
    """Return the modules of a room."""
    return sorted((PACKAGE / room).rglob("*.py"))


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


def draw_fit(target: Path) -> None:
    """Draw the way through a fit: steps from left to right, and the four ways one below another."""
    steps = {0.02: "validate\nsettings", 0.17: "choose_fit", 0.83: "one\nassignment"}
    ways = {
        "ExactFit": "prepare, minimize, read, assemble",
        "LowRankFit": "census, map, passes over blocks, assemble",
        "LocalFit": "tree, a machine in each leaf, join certificates",
        "PilotFit": "fits of parts of the rows, then one of the others",
    }
    with matplotlib.rc_context({"svg.hashsalt": "fit", "font.size": 9}):
        figure = Figure(figsize=(9.5, 2.6))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.axis("off")
        box = {"boxstyle": "round,pad=0,rounding_size=0.01", "mutation_aspect": 3.5}
        colours = {"facecolor": "#F2F2F2", "edgecolor": "#999999"}
        arrow = {"arrowstyle": "->", "color": "#0072B2"}
        for x, text in steps.items():
            axes.add_patch(FancyBboxPatch((x, 0.38), 0.12, 0.24, **box, **colours))
            axes.text(x + 0.06, 0.5, text, ha="center", va="center")
        axes.annotate("", (0.17, 0.5), (0.14, 0.5), arrowprops=arrow)
        for k, (name, text) in enumerate(ways.items()):
            y = 0.88 - 0.25 * k
            axes.add_patch(FancyBboxPatch((0.34, y - 0.1), 0.44, 0.2, **box, **colours))
            axes.text(0.35, y, name, va="center", weight="bold")
            axes.text(0.45, y, text, va="center", color="#444444", fontsize=8)
            axes.annotate("", (0.34, y), (0.29, 0.5), arrowprops=arrow)
            axes.annotate("", (0.83, 0.5), (0.78, y), arrowprops=arrow)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, metadata={"Date": None})


def storing(tree: ast.AST) -> list[int]:
    """Return the lines of every constructor that only stores its arguments."""
    found = []
    for made in ast.walk(tree):
        if isinstance(made, ast.FunctionDef) and made.name == "__init__":
            body = [s for s in made.body if not isinstance(s, ast.Expr)]
            stores = [isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) for s in body]
            attributes = [isinstance(getattr(s, "targets", [0])[0], ast.Attribute) for s in body]
            if body and all(stores) and all(attributes):
                found.append((made.end_lineno or 0) - made.lineno + 1)
    return found


def code_lines(text: str) -> int:
    """Count lines that are neither empty nor a comment nor part of a docstring."""
    written = {n for n, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            written -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(written)


def count() -> str:
    """Count modules, lines and constructors of the library and of research."""
    apart = {path: path.read_text(encoding="utf-8") for path in RESEARCH.rglob("*.py")}
    texts = apart | {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    sizes = sorted(len(text.splitlines()) for text in texts.values())
    research = sum(len(text.splitlines()) for text in apart.values())
    code = [code_lines(text) for path, text in texts.items() if path not in apart]
    stored = [n for text in texts.values() for n in storing(ast.parse(text))]
    return (
        f"{sum(sizes):,} lines in {len(sizes)} modules: median {median(sizes):.0f}, 90 % "
        f"{sizes[int(0.9 * len(sizes))]}, largest {sizes[-1]}; {len(stored)} constructors that "
        f"only store, {sum(stored)} lines; outside research {sum(sizes) - research:,} lines in "
        f"{len(code)} modules, {sum(code):,} of them code"
    )


if __name__ == "__main__":
    print(count())
