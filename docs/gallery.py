"""The style of the figures in the gallery, the same for every example.

An example says nothing of it, and run as a script it is drawn in the reader's own style.
"""

from typing import Any

import matplotlib.pyplot as plt

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
    """Set the style before an example runs; a name in ``reset_modules`` of conf.py."""
    plt.rcParams.update(STYLE)
