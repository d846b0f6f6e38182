"""Average ranks on a line, and which of them their critical difference does not tell apart."""

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.common.ranking import Ranking


def ranks(rankings: dict[str, Ranking], path: Path) -> None:
    """Draw one panel a ranking into a file."""
    # Neither a date nor a random mark, so that the same results give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "ranks", "svg.fonttype": "none", "font.size": 9}):
        heights = [len(r.names) / 2 + len(r.groups) / 2 + 3 for r in rankings.values()]
        figure = Figure(figsize=(8.0, 0.26 * sum(heights)), layout="constrained")
        panels = figure.subplots(len(rankings), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (title, ranking) in zip(panels, rankings.items(), strict=True):
            panel(axes, title, ranking)
        figure.savefig(path, metadata={"Date": None})


def panel(axes: Axes, title: str, ranking: Ranking) -> None:
    """Draw ranks above names: the better half to the left, the others to the right."""
    k = len(ranking.names)
    low, high = 1.0, float(k)
    side = 0.45 * (high - low)
    bottom = -1.0 - 0.5 * len(ranking.groups)
    axes.hlines(0.0, low, high, color="k", linewidth=1.0)
    for tick in range(1, k + 1):
        axes.vlines(tick, 0.0, 0.2, color="k", linewidth=1.0)
        axes.text(tick, 0.35, str(tick), ha="center", va="bottom")
    half = (k + 1) // 2
    for i, (name, value) in enumerate(zip(ranking.names, ranking.ranks, strict=True)):
        left = i < half
        y = bottom - (i if left else k - 1 - i)
        end = low - 0.03 * side if left else high + 0.03 * side
        color = "C0" if name.startswith("mercer") else "0.25"
        axes.plot([value, value, end], [0.0, y, y], color=color, linewidth=0.8)
        text = f"{name}  {value:.1f}" if left else f"{value:.1f}  {name}"
        axes.text(end, y, text, ha="right" if left else "left", va="center", color=color)
    for level, (first, last) in enumerate(ranking.groups):
        ends = [ranking.ranks[first] - 0.05, ranking.ranks[last] + 0.05]
        axes.plot(ends, [-0.5 - 0.5 * level] * 2, color="C3", linewidth=3.0, solid_capstyle="butt")
    axes.plot([low, low + ranking.distance], [1.9, 1.9], color="C3", linewidth=1.5, marker="|")
    axes.text(low + ranking.distance + 0.1, 1.9, f"critical difference {ranking.distance:.1f}")
    axes.set_title(title, loc="right", fontsize="medium")
    axes.set_xlim(low - side, high + side)
    axes.set_ylim(bottom - half - 0.2, 2.6)
    axes.axis("off")
