r"""Low-rank fits of extreme problems: bounds beside a cone solver, costs beside predictions.

A bound is false if it exceeds the cost of any coefficients. Costs are computed in extended
precision from the values R of the raw functions and the matrix T that makes features of them, so
that the cone solver needs no accuracy: whatever it returns has a cost. What the machine predicts
costs what its objective and its gap say. Allowances are roundings of the products that the machine
makes in double precision.
"""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from brute import OF_THE_MARGIN, printed
from mercer import KernelClassifier, KernelRegressor, Nystrom, RandomFeatures
from mercer.data import Arrays, Parts
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.machines.explaining import ScaleWarning
from mercer.reduced import multipliers, solve
from mercer.regularizers import Constant, Empty, Polynomial
from mercer.solvers import ConvergenceWarning
from oracles.conic import expression

PATHS = ("rows", "checkpoint", "files", "parts")
"""Rows keep their state in memory; sums where memory has no room for it, or rows lie in parts."""

EPS = 2.0**-52


@dataclass
class LowRankCase:
    """A fit and its settings."""

    X: Any
    y: Any
    weights: Any
    loss: Any
    C: float
    approximation: Any
    settings: dict[str, Any]
    unit: float
    """Size of the targets."""

    def __str__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"{self.loss} of {rows} x {columns}, {self.settings['null_space']}, C={self.C:.2g}, "
            f"{self.approximation}, targets {self.unit:.2g}, weights {self.weights.min():.1e} to "
            f"{self.weights.max():.1e}"
        )


def nondifferentiable(number: int) -> LowRankCase:
    """Draw a problem of a loss with kinks: weights, targets and C of every size."""
    rng = np.random.default_rng([46, number])
    n, p = int(rng.choice([5, 20, 60, 150])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    if rng.random() < 0.4:
        X[n // 2 :] = X[: n - n // 2]
    unit = 10.0 ** (rng.uniform(-100, 100) if rng.random() < 0.25 else rng.uniform(-3, 3))
    quantile = float(rng.choice([0.05, 0.5, 0.9]))
    tube = EpsilonInsensitive(unit * 10.0 ** rng.uniform(-3, 0))
    loss = [Hinge(), tube, Pinball(quantile), Absolute()][int(rng.integers(4))]
    signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.standard_t(3, size=n)
    spread = float(rng.choice([0, 1, 3, 8]))
    weights = 10.0 ** rng.uniform(-spread, spread, n)
    C = 10.0 ** (rng.uniform(-10, 13) if rng.random() < 0.5 else rng.uniform(-2, 4))
    if isinstance(loss, Hinge):
        unit, y = 1.0, np.where(signal > np.median(signal), 1.0, -1.0)
    else:
        y = unit * (signal + 10.0 ** rng.uniform(-1, 3) * (rng.random(n) < 0.3))
        C *= unit if rng.random() < 0.7 else 1.0
    make = RandomFeatures if rng.random() < 0.3 else Nystrom
    return LowRankCase(
        X=X.astype(np.float32) if rng.random() < 0.2 else X,
        y=y,
        weights=weights,
        loss=loss,
        C=C,
        approximation=make(min(int(rng.choice([2, 10, 40])), n), n_jobs=1),
        settings={
            "gamma": float(10.0 ** rng.uniform(-2, 1)),
            "tol": float(rng.choice([1e-2, 1e-3, 1e-5])),
            "null_space": [Empty(), Constant(), Constant(), Polynomial(1)][int(rng.integers(4))],
        },
        unit=unit,
    )


def scaled(number: int) -> LowRankCase:
    """Draw a problem of any loss, with many columns of very different size and place."""
    rng = np.random.default_rng([47, number])
    n, p = int(rng.choice([20, 60, 150])), int(rng.choice([1, 3, 20, 127, 129, 400]))
    Z = rng.normal(size=(n, p))
    y = np.sin(2 * Z[:, 0]) + 0.3 * rng.normal(size=n)
    X = Z * 10.0 ** rng.uniform(-8, 8, p * (rng.random() < 0.5) or None)
    if rng.random() < 0.5:
        X = X + rng.choice([-1.0, 1.0], p) * 10.0 ** rng.uniform(-8, 8, p)
    every = [Squared(), Huber(1.0), SquaredHinge(), Hinge(), EpsilonInsensitive(0.1)]
    loss = every[int(rng.integers(len(every)))]
    if type(loss).__name__ in OF_THE_MARGIN:
        y = np.where(y > np.median(y), 1.0, -1.0)
    make = RandomFeatures if rng.random() < 0.3 else Nystrom
    return LowRankCase(
        X=X,
        y=y,
        weights=10.0 ** rng.uniform(-1, 1, n),
        loss=loss,
        C=10.0 ** rng.uniform(-4, 6),
        approximation=make(min(int(rng.choice([10, 40])), n), n_jobs=1),
        settings={"null_space": Constant()},
        unit=1.0,
    )


@contextmanager
def _on(path: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield settings that take a path, and a list that gets the problem and its minimum."""
    seen: list[Any] = []
    minimize = solve.minimize_reduced

    def spy(*given: Any) -> Any:
        seen[:] = minimize(*given)
        return tuple(seen)

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(solve, "minimize_reduced", spy)
        if path == "files":
            patch.setattr(multipliers, "_state_bytes", lambda *_: np.inf)
        yield {"checkpoint": folder} if path == "checkpoint" else {}, seen


def judge_fit(case: LowRankCase, path: str = "rows") -> list[str]:
    """Fit a case, and return what is wrong with what its solution says."""
    kind = KernelClassifier if type(case.loss).__name__ in OF_THE_MARGIN else KernelRegressor
    given: tuple[Any, ...] = (case.X, case.y, case.weights)
    if path == "parts":
        half = len(case.y) // 2
        rows = [slice(None, half), slice(half, None)]
        given = (Parts([Arrays(*(part[some] for part in given)) for some in rows], map),)
    with _on(path) as (settings, seen), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ScaleWarning)
        approximation = case.approximation.set_params(**settings)
        machine = kind(loss=case.loss, C=case.C, approximation=approximation, **case.settings)
        try:
            machine.fit(*given)
        except ValueError:
            return []  # a sentence that says what is too large
    oracle, minimum = seen
    solution, X = machine.solution_, np.asarray(case.X, dtype=float)
    predict = machine.predict if kind is KernelRegressor else machine.decision_function
    wrong = []
    exact = _Exact(case, oracle.problem)
    W, b = minimum.W[:, 0], minimum.b[:, 0]
    f = predict(X)
    size = exact.size(W, b)
    steep = np.maximum(1.0, np.abs(case.loss.gradient(case.y, f)))
    cost, rounding = exact.cost(W, f), exact.rounding((exact.c * steep) @ size + W @ W)
    highest = solution.objective + (solution.gap if np.isfinite(solution.gap) else 0.0)
    if not solution.dual - rounding <= cost <= highest + rounding:
        wrong.append(
            f"predictions cost {cost!r}, but the objective is {solution.objective!r} with a gap of "
            f"{solution.gap:.1e}; rounding {rounding:.1e}"
        )
    reference = min(exact.cost(W, exact.values(W, b)), exact.by_cones())
    # A bound is rounded by the slopes of the rows, which are zero at most rows of large weight.
    slopes = steep
    if minimum.slopes is not None:
        slopes[oracle.pool.rows] = np.abs(minimum.slopes[0, :, 0])
    allowed = exact.rounding((exact.c * slopes) @ size + W @ W)
    if not solution.dual <= reference + allowed:
        wrong.append(
            f"the bound {solution.dual!r} is above the cost {reference!r} of other coefficients "
            f"({solution.status.value}, gap {solution.gap:.1e}); rounding {allowed:.1e}"
        )
    singly = np.array([predict(X[i : i + 1])[0] for i in range(0, len(X), 7)])
    apart = np.abs(f[::7] - singly)
    if not np.all(apart <= exact.rounding(1.0) * size[::7]):
        wrong.append(f"rows are predicted {np.max(apart / size[::7]):.1e} of their terms apart")
    return [f"{case}, {path}: {words}" for words in wrong]


class _Exact:
    """The problem of a fit in extended precision."""

    def __init__(self, case: LowRankCase, problem: Any) -> None:
        self.case, phi = case, problem.map
        X = np.ascontiguousarray(case.X, dtype=np.float64)
        self.R = np.asarray(phi.raw(X))
        self.T = phi.lift(np.eye(phi.r))
        self.P = problem.null_space(X)
        self.c = case.weights * problem.C[0]
        self.phi = self.R.astype(np.longdouble) @ self.T.astype(np.longdouble)

    def values(self, W: Any, b: Any) -> Any:
        """Return decision values."""
        return self.phi @ W + self.P.astype(np.longdouble) @ b

    def cost(self, W: Any, f: Any) -> float:
        """Return the value of the problem at decision values."""
        losses = printed(self.case.loss, self.case.y, np.asarray(f, dtype=np.longdouble))
        return float(0.5 * np.sum(W.astype(np.longdouble) ** 2) + np.sum(self.c * losses))

    def size(self, W: Any, b: Any) -> Any:
        """Return the sum of the magnitudes of what a decision value and its loss are made of."""
        terms = np.abs(self.R) @ (np.abs(self.T) @ np.abs(W)) + np.abs(self.P) @ np.abs(b)
        return terms + np.abs(self.case.y)

    def rounding(self, magnitude: float) -> float:
        """Return the rounding of sums over rows and functions, 16 times that of one product."""
        return float(16.0 * EPS * (len(self.c) + len(self.T)) * magnitude)

    def by_cones(self) -> float:
        """Return the cost of what a cone solver returns, of targets and weights of size one."""
        case, u = self.case, self.case.unit
        loss = case.loss
        if isinstance(loss, EpsilonInsensitive):
            loss = EpsilonInsensitive(loss.epsilon / u)
        columns = np.maximum(np.abs(self.P).max(axis=0, initial=0.0), np.finfo(float).tiny)
        c, best = self.c / u, np.inf
        for scale in sorted({1.0, float(np.max(c))}):
            w, b = cp.Variable(self.phi.shape[1]), cp.Variable(max(1, self.P.shape[1]))
            f = np.asarray(self.phi, dtype=float) @ w
            if self.P.shape[1]:
                f = f + (self.P / columns) @ b
            lost, constraints = expression(loss, case.y / u, f)
            objective = 0.5 * cp.sum_squares(w) / scale + (c / scale) @ lost
            program = cp.Problem(cp.Minimize(objective), constraints)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    program.solve(solver="CLARABEL", tol_gap_rel=1e-12, tol_feas=1e-12)
                except (cp.SolverError, ValueError):
                    continue
            if w.value is not None:
                W, free = u * w.value, u * b.value / columns if self.P.shape[1] else np.zeros(0)
                best = min(best, self.cost(W, self.values(W, free)))
        return best
