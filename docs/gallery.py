"""The style of the gallery's figures, and one example drawn in it.

An example says nothing of the style, and run as a script it is drawn in the reader's own.
``python docs/gallery.py losses figure.png`` draws plot_losses.py as the site does; figures of the
README and the landing page are drawn by ``docs/front.py``.
"""

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STYLE = {
    "axes.prop_cycle": plt.cycler(
        color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
    ),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "savefig.dpi": 150,
}


def use_style(gallery_conf: dict[str, Any], example: str) -> None:
    """Set the style before an example runs; named in ``reset_modules`` of conf.py."""
    plt.rcParams.update(STYLE)


def draw(name: str, target: str, dpi: str | None = None) -> None:
    """Run an example and save its last figure."""
    plt.switch_backend("agg")
    use_style({}, name)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    (example,) = EXAMPLES.glob(f"*/plot_{name}.py")
    runpy.run_path(str(example))
    plt.gcf().savefig(target, dpi=float(dpi or STYLE["savefig.dpi"]))
    print(target)


if __name__ == "__main__":
    draw(*sys.argv[1:])
