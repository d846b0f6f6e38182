"""The cheat sheet: one page, drawn as SVG and PDF from one list of boxes.

``python docs/cheatsheet.py`` writes docs/_static/cheatsheet.svg and .pdf. The code in a box is run
with the tests, after the code of ``SETUP``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent / "_static"
# What boxes begin with; not shown.
SETUP = """
import numpy as np
import mercer
from mercer import *
from mercer.datasets import load_concrete, load_elevation
X, y = load_concrete(return_X_y=True)
X, y = X[:120] / X[:120].std(axis=0).clip(1), y[:120]
X_new, labels = X[:5], np.where(y > 35, "strong", "weak")
model = LSSVR(standardize=True).fit(X, y)
places, heights = (part[::90] for part in load_elevation(return_X_y=True))
"""
# Title, code, and a line of prose below it.
BOXES: tuple[tuple[str, str, str], ...] = (
    (
        "A table as it is",
        "model = AutoRegressor().fit(X, y)\n"
        "model.predict(X_new)\n"
        "model.predict_interval(X_new, coverage=0.9)\n"
        "print(model.explain())",
        "AutoClassifier for classes: words, dates and gaps as they are.\n"
        "budget=60 bounds the seconds of a fit.",
    ),
    (
        "Support vector machines",
        "SVR(C=10.0, epsilon=0.5, standardize=True).fit(X, y)\n"
        'SVC(C=10.0, kernel="rbf").fit(X, labels)\n'
        "OneClassSVM(nu=0.1).fit(X).predict(X_new)",
        "Parameters and attributes of scikit-learn; NuSVC and NuSVR too.",
    ),
    (
        "How exact is the answer?",
        "model = SVR(standardize=True).fit(X, y)\n"
        "print(model.solution_)\n"
        "model.solution_.gap  # objective - optimum, at most",
        "Every fit has a bound, in double precision.",
    ),
    (
        "Any loss, any kernel",
        "from mercer.kernels import Gaussian, Linear, Matern\n"
        "from mercer.losses import Huber, Pinball\n"
        "kernel = Gaussian(2.0) * Matern(1.0) + Linear()\n"
        "KernelRegressor(Huber(1.0), kernel, C=10.0).fit(X, y)\n"
        "KernelRegressor(Pinball(0.9)).fit(X, y)",
        "A kernel of your own: a function of two matrices.",
    ),
    (
        "Let it choose",
        "found = tune(LSSVR(standardize=True), X, y)\n"
        "found.best_estimator_, found.best_params_\n"
        "from mercer.selection import LSSVRCV  # tunes in fit\n"
        'SVR(C="auto", gamma="tuned", epsilon="auto").fit(X, y)',
        "Gradient descent on leave-one-out error or evidence, no grid.",
    ),
    (
        "Intervals, quantiles, probabilities",
        "ConformalRegressor(coverage=0.9).fit(X, y).predict_interval(X_new)\n"
        "QuantileBand((0.1, 0.5, 0.9)).fit(X, y).predict(X_new)\n"
        "KernelLogisticRegression().fit(X, labels).predict_proba(X_new)",
        "Intervals hold for rows like those of the sample.",
    ),
    (
        "Say what you know",
        "from mercer.regularizers import Bounded, Increasing\n"
        "from mercer.regularizers import Polynomial\n"
        "known = [Increasing(0), Bounded(at_least=0.0)]\n"
        "ShapeConstrainedRegressor(known).fit(X[:, :1], y)\n"
        "SVR(null_space=Polynomial(1)).fit(X, y)",
        "Monotone, convex, bounded; trends, jumps, seasons left unpenalized.",
    ),
    (
        "Survival times, missing cells",
        "intervals = np.column_stack([y, np.where(y < 50, y, np.inf)])\n"
        "CensoredRegressor().fit(X, intervals).predict(X_new)\n"
        "gaps = np.where(np.arange(len(y))[:, None] % 9 == 0, np.nan, X)\n"
        "MissingInputRegressor().fit(gaps[:, :2], y)",
        "Right, left and interval censoring; nan is a missing cell.",
    ),
    (
        "Effects and components",
        "AdditiveRegressor().fit(X, y)\n"
        "from mercer.plotting import EffectDisplay, FitDisplay\n"
        "EffectDisplay.from_estimator(model, X)\n"
        'mercer.report(model, X, y, max_time=None).save("report.html")',
        "A report is one page that can be sent by mail.",
    ),
    (
        "Space, series, maps",
        "kriging = UniversalKriging().fit(places, heights)\n"
        "kriging.predict(places, return_std=True)\n"
        "Forecaster(LSSVR(), lags=12).fit(y).forecast(6)\n"
        "from mercer.manifold import KernelPCA, PrincipalManifold\n"
        "KernelPCA(2).fit(X).transform(X_new)",
        "Errors at every place; coordinates of new rows and a way back.",
    ),
    (
        "Many rows",
        "SVC(approximation=Nystrom(50)).fit(X, labels)\n"
        "LSSVR(approximation=Local(40)).fit(X, y)\n"
        'SVR(approximation="auto").fit(X, y)\n'
        "from mercer.data import open  # files, never held whole",
        "Fits also take Dask arrays; beyond some 20,000 rows.",
    ),
    (
        "Keep it, ship it",
        "import mercer.io\n"
        'mercer.io.save(model, "model.skops")\n'
        'mercer.io.load("model.skops").predict(X_new)',
        "mercer.io.to_onnx for programs without Python; on a shell:\n"
        "mercer fit rows.csv --target y;  mercer predict y.skops new.csv",
    ),
    (
        "Kernels, from mercer.kernels",
        "Gaussian(2.0), Laplacian(2.0), Matern(1.0, nu=1.5)\n"
        "Gaussian([1.0, 2.0]).on([0, 7])  # a length scale per column\n"
        "Linear(), Polynomial(2), RationalQuadratic()\n"
        "Periodic(1.0), Spline(), ThinPlate(), Wendland()\n"
        "Categorical(), Additive(Gaussian()), Sigmoid()",
        "Add, multiply, scale them; catalogue() prints all of them.",
    ),
    (
        "Losses, from mercer.losses",
        "Squared(), Absolute(), Huber(1.0), LogCosh()\n"
        "EpsilonInsensitive(0.1), SquaredEpsilonInsensitive(0.1)\n"
        "Pinball(0.9), Expectile(0.9), PolynomialLoss(1.5)\n"
        "Hinge(), SquaredHinge(), HuberHinge(), Logistic()",
        "Robust: bounded slopes. Sparse: flat pieces. Yours: Custom, Conjugate.",
    ),
    (
        "Knowledge, from mercer.regularizers",
        "Increasing(0), Decreasing(0), Convex(0), Concave(0)\n"
        "Bounded(0, 1), Positive(), Lipschitz(2.0), At([[0.0]], 1.0)\n"
        "Constant() + Breaks([6.0], column=0) + Columns([1])\n"
        "AutoRegressive(0.5)  # errors=, of KernelRegressor",
        "Shapes are proved between the samples with prove=True.",
    ),
)
COLUMNS, LINE = 3, 0.0195
INK, QUIET, HEAD, PAPER, BOX = "#1d2530", "#5c6773", "#0072b2", "#ffffff", "#f3f6f9"


def program(box: tuple[str, str, str]) -> str:
    """Return the code of a box with what it begins with, ready to be run."""
    title, code, _ = box
    _, from_, room = title.partition(", from ")
    return "\n".join([SETUP, f"from {room} import *" if from_ else "", code, ""])


def height(box: tuple[str, str, str]) -> float:
    """Return the height of a box in shares of the page."""
    _, code, words = box
    return LINE * (code.count("\n") + words.count("\n") + 2) + 0.073


def draw() -> Figure:
    """Draw the page, across; boxes go to the shortest column."""
    with plt.rc_context({"font.family": "DejaVu Sans", "svg.hashsalt": "cheat sheet"}):
        figure = plt.figure(figsize=(16.5, 9.9), facecolor=PAPER)
        figure.text(0.02, 0.948, "Mercer", size=26, weight="bold", color=HEAD)
        line = "kernel machines with guarantees, in scikit-learn's interface"
        figure.text(0.118, 0.95, line, size=14, color=QUIET)
        figure.text(0.98, 0.95, "import mercer", size=14, color=INK, family="monospace", ha="right")
        tops = [0.92] * COLUMNS
        for box in BOXES:
            column = max(range(COLUMNS), key=lambda k: tops[k])
            title, code, words = box
            left, width = 0.02 + column * 0.325, 0.31
            top, tall = tops[column], height(box)
            edge = plt.Rectangle(
                (left, top - tall), width, tall - 0.014, fc=BOX, ec="#d3dae1", lw=0.8
            )
            figure.add_artist(edge)
            x, y = left + 0.009, top - 0.04
            figure.text(x, y, title, size=13, weight="bold", color=HEAD)
            y -= 0.0105
            figure.text(
                x, y, code, size=8.6, color=INK, family="monospace", va="top", linespacing=1.45
            )
            figure.text(
                x, top - tall + 0.014, words, size=9.4, color=QUIET, va="bottom", linespacing=1.35
            )
            tops[column] -= tall
        return figure


def main() -> None:
    figure = draw()
    with plt.rc_context({"svg.hashsalt": "cheat sheet"}):
        # Neither a date nor a random mark, so that the same boxes give the same files.
        figure.savefig(FOLDER / "cheatsheet.svg", metadata={"Date": None})
        dates = {"CreationDate": None, "ModDate": None}
        figure.savefig(FOLDER / "cheatsheet.pdf", metadata=dates)
    print(*(FOLDER / f"cheatsheet.{kind}" for kind in ("svg", "pdf")), sep="\n")


if __name__ == "__main__":
    main()
