"""The figure of error against processor time, both beside CatBoost with its defaults."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

Point = tuple[str, int, float, float]
MARKERS = "ovs^D"


def prices(panels: dict[str, list[Point]], names: Iterable[str], path: Path) -> None:
    """Draw points (method, rows, ratio of errors, ratio of seconds), one panel a metric."""
    found = [point for points in panels.values() for point in points]
    shown = [name for name in names if any(name == method for method, *_ in found)]
    sizes = sorted({size for _, size, *_ in found})
    # Neither a date nor a random mark, so that the same results give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "prices", "svg.fonttype": "none", "font.size": 9}):
        colors = {name: matplotlib.colormaps["tab20"](i % 20) for i, name in enumerate(shown)}
        figure = Figure(figsize=(8.0, 2.9 * len(panels) + 1.0), layout="constrained")
        for axes, (title, points) in zip(
            figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels.items(), strict=True
        ):
            for name in shown:
                own = sorted((size, x, y) for method, size, y, x in points if method == name)
                if name.startswith("mercer"):
                    style = {"color": "k", "linewidth": 1.2, "zorder": 3}
                else:
                    style = {"color": colors[name], "linewidth": 0.6}
                axes.plot([x for _, x, _ in own], [y for *_, y in own], **style)
                for size, x, y in own:
                    marker = MARKERS[sizes.index(size) % len(MARKERS)]
                    axes.plot([x], [y], marker=marker, markersize=6, **style)
            axes.axhline(1.0, color="0.7", linewidth=0.6)
            axes.axvline(1.0, color="0.7", linewidth=0.6)
            axes.set_xscale("log")
            axes.set_yscale("log")
            # A factor of two on the axis has few powers of ten: plain numbers instead.
            axes.yaxis.set_major_formatter("{x:.2g}")
            axes.yaxis.set_minor_formatter("{x:.2g}")
            axes.set_title(title, loc="right", fontsize="medium")
            axes.set_ylabel("error / CatBoost's")
        axes.set_xlabel("processor seconds of the fit / CatBoost's")
        handles = [
            Line2D([], [], color="k" if n.startswith("mercer") else colors[n], marker=".", label=n)
            for n in shown
        ]
        handles += [
            Line2D([], [], color="0.4", linestyle="", marker=marker, label=f"{size:,} rows")
            for size, marker in zip(sizes, MARKERS, strict=False)
        ]
        figure.legend(handles=handles, loc="outside right upper", fontsize="small")
        figure.savefig(path, metadata={"Date": None})
