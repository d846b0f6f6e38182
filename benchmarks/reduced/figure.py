"""Error against time, one panel a set: curves over centres, points without them."""

import math
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

STYLES: dict[str, dict[str, Any]] = {
    "mercer LSSVR": {"color": "C0", "marker": "o"},
    "mercer LSSVC": {"color": "C0", "marker": "o"},
    "mercer SVC": {"color": "C9", "marker": "s"},
    "mercer SVR": {"color": "C9", "marker": "s"},
    "mercer HuberSVR": {"color": "C9", "marker": "s"},
    "mercer QuantileSVR": {"color": "C4", "marker": "D"},
    "mercer logistic": {"color": "C4", "marker": "D"},
    "Nystroem + Ridge": {"color": "C1", "marker": "o"},
    "Nystroem + LinearSVC": {"color": "C3", "marker": "s"},
    "Nystroem + SGD": {"color": "C8", "marker": "^"},
    "Nystroem + SGD, absolute": {"color": "C5", "marker": "v"},
    "Falkon": {"color": "C6", "marker": "x"},
    "SVC of scikit-learn": {"color": "C3", "marker": "P", "linestyle": ":"},
    "KernelRidge of scikit-learn": {"color": "C1", "marker": "P", "linestyle": ":"},
    "LightGBM default": {"color": "k", "marker": "*"},
    "LightGBM tuned": {"color": "k", "marker": "X"},
    "LightGBM absolute": {"color": "0.5", "marker": "*"},
    "LightGBM absolute, tuned": {"color": "0.5", "marker": "X"},
    "xRFM": {"color": "C2", "marker": "p"},
    "Neo LS-SVM": {"color": "C2", "marker": "h"},
}


def draw(panels: dict[str, tuple[str, list[dict[str, Any]]]], path: Path) -> None:
    """Draw panels, each named by its title, of a measure and results, into a file."""
    # Neither a date nor a random mark, so that the same results give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "scale", "svg.fonttype": "none", "font.size": 8}):
        rows = -(-len(panels) // 2)
        figure = Figure(figsize=(8.4, 2.7 * rows + 0.9), layout="constrained")
        axes = figure.subplots(rows, 2, squeeze=False).ravel()
        for a in axes[len(panels) :]:
            a.axis("off")
        handles: dict[str, Any] = {}
        for a, (title, (measure, results)) in zip(axes, panels.items(), strict=False):
            handles |= panel(a, title, measure, results)
        named = {k: handles[k] for k in STYLES if k in handles}
        figure.legend(
            named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False
        )
        figure.savefig(path, metadata={"Date": None})


def panel(axes: Axes, title: str, measure: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    handles = {}
    for method in dict.fromkeys(r["method"] for r in results):
        style = {"markersize": 4, "linewidth": 1.0} | STYLES.get(method, {"marker": "."})
        for centred in (True, False):
            some = [r for r in results if r["method"] == method and bool(r["m"]) == centred]
            some.sort(key=lambda r: (r["m"], r["n"]))
            if not some:
                continue
            # An exact machine of this library is dotted, beside the curve of its centres.
            more = {} if centred else {"linestyle": ":", "fillstyle": "none"}
            x, y = [r["cpu"] for r in some], [r[measure] for r in some]
            (handle,) = axes.plot(x, y, **(style | more))
            handles.setdefault(method, handle)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    # At least one power of ten is in sight, since only they are named.
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 10.0 ** math.floor(math.log10(high))), high)
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("processor time of a fit, s")
    axes.grid(alpha=0.3)
    return handles
