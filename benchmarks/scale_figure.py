"""Error against time, one panel a set: curves over centres, points without them."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

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
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = min(r[measure] for r in results), max(r[measure] for r in results)
    ticks = [t for t in (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
    ticks = [t for t in ticks if low * 0.97 <= t <= high * 1.03] or [low, high]
    axes.set_yticks(ticks, [f"{t:g}" if t in ticks and t > 0.005 else f"{t:.3g}" for t in ticks])
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("processor time of a fit, s")
    axes.grid(alpha=0.3)
    return handles
