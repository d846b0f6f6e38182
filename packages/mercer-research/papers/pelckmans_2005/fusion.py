"""Example 7.2: the convex relaxation of fusion, against a line search and a linearization."""

import time

import numpy as np

from mercer.kernels import Gaussian
from mercer.regularizers import Empty
from mercer_research.fusion import Decomposition, FusedLSSVR, ValidationPath, relax, shrinkage
from papers.outcome import Result, at_least, at_most, near

N, HELD_OUT = 100, 50
KERNEL = Gaussian(0.5)  # exp(-d²/h) with h = 0.5
GRID = np.linspace(-3.0, 3.0, 500)[:, None]
TRUTH = np.sinc(GRID[:, 0])


def sample(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (N + HELD_OUT, 1))
    return X, np.sinc(X[:, 0]) + np.sqrt(0.1) * rng.standard_normal(N + HELD_OUT)


def inverted(X, y, filter_) -> float:
    """Return the C of least squares in the relation of residuals and coefficients."""
    whole = Decomposition(KERNEL(X), np.zeros((len(X), 0)), rank=1e-8)
    p2, lam = whole.project(y[:, None])[:, 0] ** 2, filter_ / whole.values
    return float((p2 @ lam**2) / max(p2 @ (lam * (1.0 - filter_)), 1e-300))


def error(X, y, C: float) -> float:
    """Return the test error of the machine with one C."""
    whole = Decomposition(KERNEL(X), np.zeros((len(X), 0)))
    a, _ = whole.coefficients(y[:, None], shrinkage(whole.values, C))
    return float(np.mean((KERNEL(GRID, X) @ a[:, 0] - TRUTH) ** 2))


def times(repeats: int) -> dict[str, float]:
    """Return the least seconds of 40 solves, of the eigenvalues' line search, of the relaxation."""
    X, y = sample(0)
    T, V = slice(N), slice(N, None)
    K, Kv, Y = KERNEL(X[T]), KERNEL(X[V], X[T]), y[:, None]
    none = np.zeros((N + HELD_OUT, 0))

    def solves():
        for C in np.geomspace(1e-3, 1e4, 40):
            np.sum((y[V] - Kv @ np.linalg.solve(K + np.eye(N) / C, y[T])) ** 2)

    def part():
        return Decomposition(K, none[T]).against(Y[T], Kv, none[V], Y[V])

    programs = {
        "forty solves": solves,
        "path": lambda: ValidationPath([part()]).minimum(),
        "relaxation": lambda: relax(part()),
    }
    seconds = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            begin = time.perf_counter()
            program()
            seconds[name].append(time.perf_counter() - begin)
    return {name: min(values) for name, values in seconds.items()}


def run(short: bool = False, random_state: int = 0) -> Result:
    runs = 5 if short else 60
    names = ("path", "relaxed", "refit", "inverted", "linearized")
    mse: dict[str, list[float]] = {name: [] for name in names}
    wrong = 0
    for seed in range(random_state, random_state + runs):
        X, y = sample(seed)
        data, val = (X[:N], y[:N]), {"X_val": X[N:], "y_val": y[N:]}
        path, relaxed, start = (
            FusedLSSVR(KERNEL, strategy=strategy, null_space=Empty()).fit(*data, **val)
            for strategy in ("path", "spectral", "nw")
        )
        # The bounds are of the curve without the components that the relaxation leaves out.
        curve = relaxed.validation_curve_[1].min()
        wrong += not relaxed.lower_bound_ <= min(curve, relaxed.upper_bound_)
        for name, machine in (("path", path), ("relaxed", relaxed), ("linearized", start)):
            mse[name].append(float(np.mean((machine.predict(GRID) - TRUTH) ** 2)))
        mse["refit"].append(error(*data, relaxed.C_))
        mse["inverted"].append(error(*data, inverted(*data, relaxed.filter_)))
    means = {name: float(np.mean(values)) for name, values in mse.items()}
    half = 3 * float(np.std(np.subtract(mse["relaxed"], mse["path"]))) / np.sqrt(runs)
    seconds = times(3 if short else 10)
    references = {"path": 0.01097, "relaxed": 0.01049, "refit": 0.01071}
    claims = [
        near(
            f"test error, {name}",
            means[name],
            reference,
            3 * float(np.std(mse[name])) * np.sqrt(1 / runs + 1 / 60) + 5e-6,
            "reference: mean of 60 other draws; three standard errors of the difference",
        )
        for name, reference in references.items()
    ]
    claims += [
        at_most(
            "relaxed over line search, test error",
            means["relaxed"] / means["path"],
            1.0 + half / means["path"],
            "printed: equal; three standard errors of the paired difference",
        ),
        at_least(
            "C of the printed relation over line search, test error",
            means["inverted"] / means["path"],
            1.2,
            "reference: .0186 to .033, ruled by the smallest eigenvalues",
            must=False,
        ),
        at_least(
            "linearized with smoothed residuals over line search, test error",
            means["linearized"] / means["path"],
            1.0,
            "printed: clearly worse; reconstructed, the source does not specify it",
        ),
        at_most(
            "draws whose bounds do not hold",
            wrong,
            0,
            "no C has a cost below the lower one, certified",
        ),
        near(
            "forty solves over relaxation, time",
            seconds["forty solves"] / seconds["relaxation"],
            20.0,
            5.0,
            "printed: 20; the solves of today's LAPACK are faster",
            printed=True,
            must=False,
        ),
        at_most(
            "line search on eigenvalues over relaxation, time",
            seconds["path"] / seconds["relaxation"],
            1.0,
            "one eigendecomposition serves both: the exact search is the faster one",
            must=False,
        ),
    ]
    return Result(
        "Fusion with validation by a convex relaxation",
        "Pelckmans 2005, example 7.2 and figure 7.7",
        f"y = sin(πx)/(πx) + N(0, 0.1), 100 points on [-3, 3] and 50 to validate on, kernel "
        f"exp(-d²/0.5), no intercept, {runs} draws, error against the truth on [-3, 3]. Range, "
        "width, and whether 0.1 is a variance are not printed.",
        claims,
        {"mse": mse, "seconds": seconds},
        revised="the relaxation kept components down to 1e-10 of the largest eigenvalue and had a "
        "mean test error of 0.0137, ruled by one draw; it leaves them out below 1e-8 since.",
        note="Solves of today's LAPACK are faster.",
    )
