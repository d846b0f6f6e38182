"""Draw the figures of the README and of the landing page, for light and dark pages and for phones.

``python docs/front.py`` writes docs/_static/front/*.svg. ``machines`` shows four fitted machines;
``tables`` is drawn from the committed results of the benchmarks on tables, and nothing is fitted.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from gallery import STYLE
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer import SVC, SVR, ShapeConstrainedRegressor
from mercer.datasets import load_concrete, load_elevation
from mercer.kernels import Gaussian
from mercer.regularizers import Increasing
from mercer.selection import LSSVRCV

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static" / "front"
sys.path.append(str(ROOT))
from benchmarks.large.page import OURS as FAMILY  # noqa: E402
from benchmarks.large.page import TABLE as LARGE  # noqa: E402
from benchmarks.tables.page import TABLE as CONTEST  # noqa: E402
from benchmarks.tables.table import OURS, Field  # noqa: E402

# Ink of text and axes, quiet ink of points, colour of this library.
LOOKS = {
    "light": {"ink": "#20262e", "quiet": "#8a929c", "first": "#0072b2"},
    "dark": {"ink": "#ced6dd", "quiet": "#7d8894", "first": "#56b4e9"},
}
SECOND = "#e07b39"
SHOWN = {  # methods of the contest, by the names that fit an axis
    OURS: "Mercer",
    "CatBoost": "CatBoost",
    "LightGBM": "LightGBM",
    "LightGBM tuned": "LightGBM, tuned",
    "XGBoost": "XGBoost",
    "xRFM": "xRFM",
    "xRFM tuned": "xRFM, tuned",
    "RealMLP": "RealMLP",
    "RandomForest": "random forest",
}
SIZES = {500: "o", 2000: "s", 10000: "D"}
LARGE_SETS = {
    "protein_casp": "proteins",
    "cod_rna": "genes",
    "covtype": "forests",
    "mnist": "digits",
    "flights_nyc13": "flights",
    "flights_3m": "2.7 million flights",
}
# Where a label would lie on a line: how far it is from its point.
LABELS = {"cod_rna": (0, 8), "flights_3m": (-34, 10), "flights_nyc13": (20, 9)}


def settings(look: dict[str, str]) -> dict[str, Any]:
    """Return matplotlib's settings of a look: no background, so that the page is the paper."""
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {
        **STYLE,
        **dict.fromkeys(inks, look["ink"]),
        "axes.titlepad": 12,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "legend.frameon": False,
        "font.size": 11,
        "svg.hashsalt": "front",
    }


def certified(machine: Any) -> str:
    """Return the duality gap of a fit as a caption."""
    gap = machine.solution_.relative_gap
    within = "rounding" if gap < 1e-12 else f"{gap:.0e}".replace("e-0", "e-")
    return f"within {within} of the optimum"


def tube_panel(ax: plt.Axes, look: dict[str, str]) -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 6, 90))
    y = np.sin(1.3 * x) + 0.14 * rng.standard_normal(90)
    epsilon = 0.25
    machine = SVR(kernel=Gaussian(1.0), C=10.0, epsilon=epsilon, tol=1e-6).fit(x[:, None], y)
    grid = np.linspace(0, 6, 150)[:, None]
    f = machine.predict(grid)
    ax.fill_between(grid[:, 0], f - epsilon, f + epsilon, color=look["first"], alpha=0.22, lw=0)
    ax.plot(grid[:, 0], f, color=look["first"], lw=2)
    ax.plot(x, y, "o", color=look["quiet"], ms=3)
    held = machine.support_
    ax.plot(x[held], y[held], "o", mfc="none", mec=look["ink"], ms=7, mew=0.9)
    ax.set(title="a tube and what holds it", xticks=[], yticks=[], xlabel=certified(machine))


def shape_panel(ax: plt.Axes, look: dict[str, str]) -> None:
    X, y = load_concrete(return_X_y=True)
    rich = X[:, 0] > 350.0
    age, strength = np.log(X[rich, 7:]), y[rich]
    free = LSSVRCV().fit(age, strength)
    machine = ShapeConstrainedRegressor(
        [Increasing(0)], kernel=free.machine_.kernel_, C=1.0, prove=True
    ).fit(age, strength)
    grid = np.linspace(age.min(), age.max(), 150)[:, None]
    ax.plot(age[:, 0], strength, "o", color=look["quiet"], ms=3)
    ax.plot(grid[:, 0], free.predict(grid), "--", color=SECOND, lw=1.8, label="free")
    ax.plot(grid[:, 0], machine.predict(grid), color=look["first"], lw=2, label="must not fall")
    ax.legend(loc="lower right", fontsize="small")
    proved = "proved between the samples" if machine.shape_certificate_.everywhere else "not proved"
    ax.set(title="what you know goes in", xticks=[], yticks=[], xlabel=proved)


def margin_panel(ax: plt.Axes, look: dict[str, str]) -> None:
    points, labels = make_moons(160, noise=0.17, random_state=3)
    machine = SVC(kernel=Gaussian(0.7), C=3.0, tol=1e-6).fit(points, labels)
    u, v = np.meshgrid(np.linspace(-1.5, 2.5, 100), np.linspace(-1.1, 1.6, 100))
    f = machine.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
    colours = [look["first"], SECOND]
    ax.contourf(u, v, f, levels=[-99, 0, 99], colors=colours, alpha=0.16)
    ax.contour(u, v, f, levels=[-1, 1], colors=look["ink"], linewidths=0.8, linestyles="--")
    ax.contour(u, v, f, levels=[0], colors=look["ink"], linewidths=1.8)
    ax.scatter(*points.T, s=12, c=np.where(labels == 1, colours[1], colours[0]))
    ax.scatter(*machine.support_vectors_.T, s=46, fc="none", ec=look["ink"], lw=0.8)
    ax.set(title="a margin", xticks=[], yticks=[], xlabel=certified(machine))


def map_panel(ax: plt.Axes, look: dict[str, str]) -> None:
    places, heights = load_elevation(return_X_y=True)
    rows = np.random.default_rng(0).choice(len(heights), 400, replace=False)
    machine = LSSVRCV().fit(places[rows], heights[rows])
    low, high = places[rows].min(axis=0), places[rows].max(axis=0)
    u, v = np.meshgrid(*(np.linspace(a, b, 70) for a, b in zip(low, high, strict=True)))
    f = machine.predict(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
    ax.contourf(u, v, f, levels=10, cmap="cividis")
    ax.plot(*places[rows].T, "o", mfc="none", mec="white", ms=2.2, mew=0.4, alpha=0.7)
    ax.set(title="a map from 400 places", xticks=[], yticks=[], xlabel=certified(machine.machine_))


def draw_machines(look: dict[str, str], narrow: bool) -> Figure:
    """Draw four fitted machines, each with what is certified of it."""
    rows, columns, size = (2, 2, (6.5, 7.0)) if narrow else (1, 4, (13, 3.5))
    figure, axes = plt.subplots(rows, columns, figsize=size)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    panels = (tube_panel, shape_panel, margin_panel, map_panel)
    for ax, panel in zip(axes.flat, panels, strict=True):
        panel(ax, look)
        ax.spines[:].set_visible(False)
        ax.xaxis.label.set_color(look["quiet"])
    return figure


def average_ranks() -> dict[str, dict[int, dict[str, float]]]:
    """Return average ranks by metric, rows and method, from the committed contest."""
    table = json.loads(CONTEST.read_text(encoding="utf-8"))
    found: dict[str, dict[int, dict[str, float]]] = {}
    for task, metric in (("regression", "rmse"), ("classification", "log_loss")):
        for size in SIZES:
            ranking = Field(table, task, metric, size).ranking()
            ranks = dict(zip(ranking.names, ranking.ranks, strict=True))
            found.setdefault(task, {})[size] = {m: ranks[m] for m in SHOWN if m in ranks}
    return found


def best_of_large() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the line of least error of this library and of the others, set by set."""
    made = json.loads(LARGE.read_text(encoding="utf-8"))["results"]
    found = {}
    for name in LARGE_SETS:
        lines = [r for r in made if r["set"] == name and "error" in r and "failure" not in r]
        ours = [r for r in lines if r["method"].startswith(FAMILY)]
        others = [r for r in lines if not r["method"].startswith(FAMILY)]
        found[name] = tuple(min(some, key=lambda r: r["error"]) for some in (ours, others))
    return found


def rank_panel(ax: plt.Axes, look: dict[str, str], by_size: dict[int, dict[str, float]]) -> None:
    order = sorted(SHOWN, key=lambda m: np.mean([r[m] for r in by_size.values() if m in r]))
    for place, method in enumerate(reversed(order)):
        ours = method == OURS
        ranks = {size: by_size[size][method] for size in by_size if method in by_size[size]}
        colour = look["first"] if ours else look["quiet"]
        ax.plot(list(ranks.values()), [place] * len(ranks), color=colour, lw=1, alpha=0.6)
        for size, rank in ranks.items():
            filled = colour if ours else "none"
            ax.plot(rank, place, SIZES[size], color=colour, mfc=filled, ms=8 if ours else 6)
    ax.set_yticks(range(len(order)), [SHOWN[m] for m in reversed(order)])
    label = ax.get_yticklabels()[-1 - order.index(OURS)]
    label.set(color=look["first"], fontweight="bold")
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(0.7, 9.3), xlabel="average rank (1 is best)")
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["left"]].set_visible(False)


def large_panel(ax: plt.Axes, look: dict[str, str]) -> None:
    for name, (ours, other) in best_of_large().items():
        ratio = ours["error"] / other["error"]
        ax.annotate(
            "",
            (ours["fit"], ratio),
            (other["fit"], 1.0),
            arrowprops={"arrowstyle": "-|>", "color": look["first"], "lw": 1.2, "shrinkB": 0},
        )
        ax.plot(other["fit"], 1.0, "o", mfc="none", color=look["quiet"], ms=6)
        ax.plot(ours["fit"], ratio, "o", color=look["first"], ms=7)
        ax.annotate(
            LARGE_SETS[name],
            (ours["fit"], ratio),
            xytext=LABELS.get(name, (0, -17)),
            textcoords="offset points",
            ha="center",
            fontsize="small",
        )
    ax.plot([], [], "o", color=look["first"], ms=7, label="Mercer's best")
    ax.plot([], [], "o", color=look["quiet"], mfc="none", ms=6, label="best of trees and xRFM")
    ax.legend(loc="lower left", fontsize="small", handletextpad=0.1)
    ax.axhline(1.0, color=look["quiet"], lw=0.8, ls=":", zorder=0)
    ax.set_xscale("log")
    ax.set(xlim=(7, 1600), ylim=(0.72, 1.08), xlabel="processor seconds of a fit")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_title("six large tables, error beside the best other")


def draw_tables(look: dict[str, str], narrow: bool) -> Figure:
    """Draw average ranks on tables, and error against time on large ones."""
    if narrow:
        figure, axes = plt.subplots(3, 1, figsize=(6.5, 11.5))
        figure.get_layout_engine().set(h_pad=0.15)
    else:
        figure, axes = plt.subplots(1, 3, figsize=(13, 4.1), width_ratios=(1, 1, 1.1))
    for ax, (task, by_size) in zip(axes, average_ranks().items(), strict=False):
        rank_panel(ax, look, by_size)
        what = "regression, RMSE" if task == "regression" else "classification, log loss"
        ax.set_title(what)
    handles = [
        plt.Line2D([], [], ls="", marker=m, color=look["quiet"], mfc="none", label=f"{n:,} rows")
        for n, m in SIZES.items()
    ]
    axes[0].legend(handles=handles, loc="upper right", fontsize="small", handletextpad=0.1)
    large_panel(axes[2], look)
    return figure


FIGURES = {"machines": draw_machines, "tables": draw_tables}


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or FIGURES:
        for (kind, look), narrow in product(LOOKS.items(), (False, True)):
            with plt.rc_context(settings(look)):
                figure = FIGURES[name](look, narrow)
                # Neither a date nor a random mark, so that the same results give the same file.
                target = FOLDER / f"{name}{'-narrow' * narrow}-{kind}.svg"
                figure.savefig(target, metadata={"Date": None}, transparent=True)
                plt.close(figure)
            print(target.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
