"""Draw the figures of the tutorials, each from the code above it on its page.

After a block that leaves a figure open, its page shows the N-th of its figures by the name
``reference/generated/figures/PAGE-N.png``.
"""

import contextlib
import doctest
import importlib
import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from gallery import STYLE

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "reference" / "generated" / "figures"


def shown(page: Path) -> bool:
    """Return whether a page shows figures of its own."""
    return f"generated/figures/{page.stem}-" in page.read_text(encoding="utf-8")


def draw(page: Path) -> list[Path]:
    """Run the blocks of a page in one session and save the figures that they leave open."""
    sys.path.append(str(HERE.parent / "tests"))
    blocks = importlib.import_module("snippets").python_blocks(page)
    sys.path.pop()
    session, made = {"__name__": "__main__"}, []
    FOLDER.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE), contextlib.redirect_stdout(io.StringIO()):
        for _, source in blocks:
            for example in doctest.DocTestParser().get_examples(source):
                exec(compile(example.source, str(page), "single"), session)
            if plt.get_fignums():
                made.append(FOLDER / f"{page.stem}-{len(made) + 1}.png")
                plt.savefig(made[-1], dpi=110)
                plt.close("all")
    return made


def draw_new() -> None:
    """Draw the figures of pages that changed since theirs were drawn."""
    for page in sorted((HERE / "tutorials").glob("*.md")):
        first = FOLDER / f"{page.stem}-1.png"
        fresh = first.exists() and first.stat().st_mtime > page.stat().st_mtime
        if shown(page) and not fresh:
            draw(page)


if __name__ == "__main__":
    print(*draw(Path(sys.argv[1])), sep="\n")
