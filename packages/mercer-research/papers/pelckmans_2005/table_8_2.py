"""Table 8.2: support vector machines, least squares and few kernels, by ten folds each."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer_research.fusion import SparseSubstrate, SparseSubstrateClassifier
from papers.outcome import (
    Claim,
    MissingDataError,
    Result,
    at_most,
    near,
    recorded_if_wide,
)
from papers.tables import frame

PRINTED = {
    "sinc": (0.0052, 68.0, 0.0045, 0.0034, 9.0),
    "motorcycle": (516.41, 83.0, 444.64, 469.93, 11.0),
    "Ripley": (90.10, 33.60, 90.40, 90.50, 4.80),
    "Pima": (73.33, 43.0, 72.33, 74.0, 9.0),
}
COLUMNS = ("SVM", "SVM, % SV", "LS-SVM", "sparse substrate", "sparse substrate, % SV")


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Grid(NamedTuple):
    """What ten folds choose from; targets of a regression have the standard deviation one."""

    widths: tuple[float, ...]
    Cs: tuple[float, ...]
    tubes: tuple[float, ...] = ()


def sinc(seed: int) -> Data:
    """Draw a hundred points of sin(πx)/(πx) on [-3, 3] with noise of variance 0.01."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3.0, 3.0, 100))[:, None]
    test = np.linspace(-3.0, 3.0, 500)[:, None]
    y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(100)
    return Data(X, y, test, np.sinc(test[:, 0]))


def motorcycle(seed: int) -> Data:
    table = frame("mcycle")
    return split(table[["times"]].to_numpy(), table["accel"].to_numpy(), 100, seed)


def ripley(seed: int) -> Data:
    """Return the published partition."""
    table = frame("ripley_synth")
    X, y = table[["xs", "ys"]].to_numpy(), table["y"].to_numpy()
    train = table["split"].to_numpy() == "train"
    return Data(X[train], y[train], X[~train], y[~train])


def pima(seed: int) -> Data:
    table = frame("pima")
    return split(table.drop(columns="y").to_numpy(float), table["y"].to_numpy(), 468, seed)


def split(X: Any, y: Any, n: int, seed: int) -> Data:
    order = np.random.default_rng(seed).permutation(len(X))
    return Data(X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]])


def standardized(data: Data, classes: bool) -> tuple[Data, float, float]:
    """Return data in units of the training sample, with mean and deviation of its targets."""
    X, y, X_test, y_test = data
    mean, scale = X.mean(axis=0), X.std(axis=0)
    middle, unit = (0.0, 1.0) if classes else (float(y.mean()), float(y.std()))
    points = ((X - mean) / scale, (X_test - mean) / scale)
    return Data(points[0], (y - middle) / unit, points[1], y_test), middle, unit


def errors(y: np.ndarray, f: np.ndarray, classes: bool) -> np.ndarray:
    return (y * f <= 0).astype(float) if classes else (y - f) ** 2


def by_svm(data: Data, grid: Grid, labels: np.ndarray, classes: bool) -> tuple[np.ndarray, float]:
    """Return predictions of the machine with the least error of ten folds, and its support."""

    def machine(width: float, C: float, tube: float) -> Any:
        kernel = Gaussian(width)
        return SVC(kernel=kernel, C=C) if classes else SVR(kernel=kernel, C=C, epsilon=tube)

    def values(fitted: Any, X: np.ndarray) -> np.ndarray:
        return fitted.decision_function(X) if classes else fitted.predict(X)

    best, chosen = np.inf, None
    for setting in product(grid.widths, grid.Cs, grid.tubes or (0.0,)):
        f = np.empty(len(data.y))
        for fold in range(10):
            T, V = labels != fold, labels == fold
            f[V] = values(machine(*setting).fit(data.X[T], data.y[T]), data.X[V])
        error = float(errors(data.y, f, classes).mean())
        if error < best:
            best, chosen = error, setting
    fitted = machine(*chosen).fit(data.X, data.y)
    return values(fitted, data.X_test), 100.0 * len(fitted.support_) / len(data.y)


def by_ls_svm(data: Data, grid: Grid, labels: np.ndarray) -> np.ndarray:
    """Return predictions of the machine with the least squared residuals of ten folds.

    For classes too: squares are what it minimizes, and a count of 250 mistakes is rough.
    """
    best, f = np.inf, None
    for width in grid.widths:
        kernel = Gaussian(width)
        spectral = Spectral(kernel(data.X), np.ones((len(data.y), 1)))
        for C in np.geomspace(1e-2, 1e4, 13).tolist():
            error = float(np.mean(spectral.fold_residuals(data.y, C, labels) ** 2))
            if error < best:
                a, b = spectral.coefficients(data.y, C)
                best, f = error, kernel(data.X_test, data.X) @ a + b[0]
    return f


def by_few(
    data: Data, grid: Grid, labels: np.ndarray, classes: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Choose the width by ten folds, then the penalty within a standard error of the best.

    Returns predictions of the kernels that are left, fitted again with a penalty of their norm and
    as they were, and their share of the sample.
    """
    splits = [(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in range(10)]
    found = []
    for width in grid.widths:
        options: dict[str, Any] = {"cv": splits, "n_zetas": 20, "smallest": 1e-3}
        kind = SparseSubstrateClassifier if classes else SparseSubstrate
        machine = kind(Gaussian(width), **options).fit(data.X, data.y)
        inner = machine.machine_ if classes else machine
        found.append((float(inner.cv_errors_.min()), len(found), machine))
    machine = min(found)[2]
    inner = machine.machine_ if classes else machine
    again = SparseSubstrate(machine.kernel, zeta=inner.zeta_, refit="tikhonov")
    again.fit(data.X, data.y)
    return again.predict(data.X_test), inner.predict(data.X_test), 100.0 * machine.sparsity_


def compare(draw: Any, runs: range, grid: Grid, classes: bool) -> np.ndarray:
    """Return a row of the table for every run."""
    rows = []
    for seed in runs:
        data, middle, unit = standardized(draw(seed), classes)
        labels = np.random.default_rng(seed).permutation(len(data.y)) % 10
        svm, svm_support = by_svm(data, grid, labels, classes)
        few, shrunk, few_support = by_few(data, grid, labels, classes)
        ls = by_ls_svm(data, grid, labels)

        def score(f: np.ndarray, data: Data = data, m: float = middle, u: float = unit) -> float:
            error = float(errors(data.y_test, f if classes else m + u * f, classes).mean())
            return 100.0 * (1.0 - error) if classes else error

        rows.append((score(svm), svm_support, score(ls), score(few), few_support, score(shrunk)))
    return np.array(rows)


def told(name: str, rows: np.ndarray, cases: int, majority: float | None) -> list[Claim]:
    """Return the printed numbers beside ours.

    The printed ones are of one partition. An accuracy counted on that many test cases has a
    binomial standard error; of errors and supports we know how far one partition strays from ours.
    """
    claims = []
    shrunk = "sparse substrate, not fitted again"
    values = (*PRINTED[name], PRINTED[name][3])
    for column, value, ours in zip((*COLUMNS, shrunk), values, rows.T, strict=True):
        options: dict[str, Any] = {"printed": True, "must": False}
        what = f"{name}: {column}"
        if majority is not None and "% SV" not in column:
            what = f"{name}: accuracy in per cent, {column}"
            tolerance = 2.0 * float(np.sqrt(value * (100.0 - value) / cases))
            options["trivial"] = majority
            why = f"two standard errors of a share of {cases} test cases"
            if name == "Ripley":
                tolerance, why = (
                    1.5,
                    "the published partition: 1.5 points, one and a half standard errors",
                )
                options["must"] = column != shrunk
        else:
            tolerance = 2.0 * float(ours.std(ddof=1)) if len(ours) > 1 else np.inf
            why = "one partition is printed: two standard deviations between ours"
        claims.append(recorded_if_wide(near(what, ours.mean(), value, tolerance, why, **options)))
    return claims


def run(short: bool = False, random_state: int = 0) -> Result:
    plans: dict[str, Any] = {
        "sinc": (sinc, 2 if short else 10, Grid((0.3, 0.5), (1, 10, 100), (0.05, 0.2)), False),
        "motorcycle": (
            motorcycle,
            1 if short else 10,
            Grid((0.2, 0.4), (1, 10), (0.1, 0.3)),
            False,
        ),
        "Ripley": (
            ripley,
            1 if short else 5,
            Grid((0.5, 1.0), (1, 10) if short else (0.3, 1, 3, 10, 30)),
            True,
        ),
        "Pima": (pima, 0 if short else 3, Grid((3.0, 6.0), (1, 10)), True),
    }
    data: dict[str, Any] = {}
    claims: list[Claim] = []
    for name, (draw, runs, grid, classes) in plans.items():
        if not short:
            grid = grid._replace(widths=tuple(grid.widths[0] * 2.0 ** np.arange(-1, 2.1, 0.75)))
        try:
            rows = compare(draw, range(random_state, random_state + runs), grid, classes)
        except MissingDataError:
            data[name] = "left out: no data here"
            continue
        if not runs:
            continue
        data[name] = rows.tolist()
        svm, ls, few = rows[:, 1], rows[:, 2], rows[:, 3]
        y_test = draw(random_state).y_test
        majority = 100.0 * float(max(np.mean(y_test > 0), np.mean(y_test < 0))) if classes else None
        claims += told(name, rows, len(y_test), majority)
        claims.append(
            at_most(
                f"{name}: support of the sparse machine over that of the SVM",
                float(rows[:, 4].mean() / svm.mean()),
                0.5,
                "printed: a quarter and less; below a half is asked of any partition",
            )
        )
        if not classes:
            gap = few - 1.15 * ls
            error = 3 * float(gap.std()) / np.sqrt(len(gap)) / ls.mean()
            claims.append(
                at_most(
                    f"{name}: error of the sparse machine over that of the LS-SVM",
                    float(few.mean() / ls.mean()),
                    1.15 + error,
                    "within 15 % on the same partitions, and three standard errors of the mean",
                    must=not short,
                )
            )
    return Result(
        "Few kernels against support vectors",
        "Pelckmans 2005, example 8.4 and table 8.2",
        "Ten folds choose the width of the kernel with C and the tube of the SVM, C of the LS-SVM, "
        "and the penalty of the sparse substrate (the largest within a standard error of the best; "
        "squared loss, also for classes). For classes they count mistakes, and squared residuals "
        "of the LS-SVM. Kernels that are left are fitted again with a penalty of their norm, by "
        "leave-one-out. sinc: sin(πx)/(πx) on [-3, 3], 100 points, noise of standard deviation "
        "0.1, 500 points without noise to test. Motorcycle: 100 of 133 points to train on. Ripley: "
        "the published 250 and 1000 points, several draws of folds. Pima: 468 of 768 rows to train "
        "on. Inputs are standardized. The law of sinc (N(0, 0.1) is read as the standard "
        "deviation; the printed errors lie between both readings), partitions and grids are not "
        "printed.",
        claims,
        data,
        revised="A first version did not fit the kernels that are left again: at the penalty of "
        "one standard error they are shrunk, and the error on two draws of sinc was 2.2 times that "
        "of the LS-SVM. Both are told. And it chose C of the LS-SVM for classes by counting "
        "mistakes, which some folds of Ripley's sample (none of those of the first run) led to C = "
        "100 and accuracies of 87 %. Ranges were 15 % of the printed number or three standard "
        "deviations, whichever is more: accuracies of Pima from 62 to 84 (the most frequent class "
        "has 65), of Ripley up to 104, errors of the motorcycle from below zero; 25 of 30 held.",
        note="Whether 0.1 is a deviation or a variance is not printed; partitions neither.",
    )
