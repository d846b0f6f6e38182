"""Figures of the page of benchmarks: error against the time of a fit.

Neither a date nor a random mark is in a file, so that the same results give the same file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.store import Record

MARKERS = "ovs^D"
OURS = {"color": "C0", "zorder": 3}
LARGE: dict[str, dict[str, Any]] = {
    "mercer exact": {**OURS, "marker": "o"},
    "mercer local": {**OURS, "marker": "s"},
    "mercer local, blended": {**OURS, "marker": "D"},
    "mercer auto": {"color": "C9", "marker": "P"},
    "mercer Nystrom": {"color": "C9", "marker": "v"},
    "mercer recommended": {"color": "C3", "marker": "*"},
    "LightGBM": {"color": "0.6", "marker": "o"},
    "LightGBM tuned": {"color": "k", "marker": "o"},
    "LightGBM, 1,000 trees of 255 leaves": {"color": "k", "marker": "."},
    "XGBoost": {"color": "0.6", "marker": "s"},
    "XGBoost tuned": {"color": "k", "marker": "s"},
    "CatBoost": {"color": "0.6", "marker": "^"},
    "CatBoost tuned": {"color": "k", "marker": "^"},
    "xRFM": {"color": "C2", "marker": "p"},
    "Nystroem + Ridge": {"color": "C1", "marker": "v"},
}


@contextmanager
def figure(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Yield a figure that is written into a file."""
    settings = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 8.5}
    with matplotlib.rc_context(settings):
        made = Figure(figsize=size, layout="constrained")
        yield made
        made.savefig(path, metadata={"Date": None})


def prices(records: list[Record], path: Path) -> None:
    """Draw error against seconds on tables, as ratios to CatBoost's; one panel a metric."""
    from benchmarks.suites.tables import HOW, JUDGED, SIZES, UNSEEN_SIZE, Field

    sizes = sorted((*SIZES, UNSEEN_SIZE))
    panels: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for task, metrics in JUDGED.items():
        for metric in metrics:
            panel = panels.setdefault(f"{task}, {metric.replace('_', ' ')}", {})
            for size in sizes:
                field = Field(records, metric, size)
                for name in HOW:
                    if (price := field.price(name)) is not None:
                        panel.setdefault(name, []).append((size, *price))
    names = [name for name in HOW if any(name in panel for panel in panels.values())]
    colors = {name: matplotlib.colormaps["tab20"](i % 20) for i, name in enumerate(names)}
    with figure(path, (8.4, 6.2)) as made:
        for axes, (title, panel) in zip(made.subplots(1, 3), panels.items(), strict=True):
            for name, points in panel.items():
                ours = name.startswith("mercer")
                style = {"color": "k" if ours else colors[name], "linewidth": 1.2 if ours else 0.6}
                axes.plot([x for *_, x in points], [y for _, y, _ in points], **style)
                for size, y, x in points:
                    axes.plot([x], [y], marker=MARKERS[sizes.index(size)], markersize=5, **style)
            axes.axhline(1.0, color="0.7", linewidth=0.6)
            axes.axvline(1.0, color="0.7", linewidth=0.6)
            axes.set(xscale="log", yscale="log", title=title, xlabel="seconds / CatBoost's")
            # A factor of two on the axis has few powers of ten: plain numbers instead.
            axes.yaxis.set_major_formatter("{x:.2g}")
            axes.yaxis.set_minor_formatter("{x:.2g}")
        made.axes[0].set_ylabel("error / CatBoost's")
        black = {name: "k" if name.startswith("mercer") else colors[name] for name in names}
        handles = [Line2D([], [], color=black[n], marker=".", label=n) for n in names]
        handles += [
            Line2D([], [], color="0.4", linestyle="", marker=m, label=f"{size:,} rows")
            for size, m in zip(sizes, MARKERS, strict=False)
        ]
        made.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)


def large(records: list[Record], path: Path) -> None:
    """Draw error against processor time on large tables, one panel a set."""
    from benchmarks.suites.large import SETS, finished

    with figure(path, (8.4, 6.6)) as made:
        handles: dict[str, Any] = {}
        panels = made.subplots(2, 3).ravel()
        for axes, name in zip(panels, SETS, strict=True):
            numbers = name.startswith(("protein", "flights"))
            for r in finished(records, name):
                style = {"markersize": 6, "linestyle": "none"} | LARGE[r.contender]
                (handle,) = axes.plot([r["fit"]], [(1 if numbers else 100) * r["error"]], **style)
                handles.setdefault(r.contender, handle)
            axes.set(xscale="log", title=f"{name}, {'RMSE' if numbers else 'mistakes in %'}")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.grid(alpha=0.3)
        for axes in panels[3:]:
            axes.set_xlabel("processor time of a fit, s")
        known = {k: handles[k] for k in LARGE if k in handles}
        how: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "frameon": False}
        made.legend(known.values(), known.keys(), **how)
