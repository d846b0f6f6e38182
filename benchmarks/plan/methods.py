"""Passes that methods take to the same reduced least-squares problem, for the decision about them.

``methods.py`` prints a table in two minutes: 1/2 |w|^2 + C/2 |y - Phi w|^2 with whitened
Nystrom features of a Gaussian kernel. A pass is one visit of every row; step sizes and penalties
are the best of a grid, for which nothing is charged.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.linalg as la
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.plan.measurements import sample
from mercer.kernels import Gaussian

N, M, C, D = 8_000, 300, 10.0, 10
GOALS = (1e-2, 1e-5)
MOST = 100

Iterates = Iterator[tuple[float, np.ndarray]]
"""Passes so far, and where a method is after them."""


class Ridge:
    """The problem, its solution, and how far above the minimum a point is."""

    def __init__(self, n: int = N, m: int = M) -> None:
        X, self.y = sample(n, D)
        kernel = Gaussian(np.sqrt(D))
        R = la.cholesky(kernel(X[:m]) + 1e-10 * np.eye(m))
        self.Phi = la.solve_triangular(R, kernel(X, X[:m]).T, trans="T").T
        self.n, self.m = n, m
        self.H = np.eye(m) + C * self.Phi.T @ self.Phi
        self.best = la.solve(self.H, C * self.Phi.T @ self.y, assume_a="pos")
        self.least = self.value(self.best)

    def value(self, w: np.ndarray) -> float:
        return float(0.5 * w @ w + 0.5 * C * np.sum((self.y - self.Phi @ w) ** 2))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return w - C * self.Phi.T @ (self.y - self.Phi @ w)

    def excess(self, w: np.ndarray) -> float:
        return (self.value(w) - self.least) / self.least

    def needed(self, iterates: Iterates) -> list[float]:
        """Return the passes after which each goal was met; infinite if it was not."""
        found = [np.inf] * len(GOALS)
        for passes, w in iterates:
            excess = self.excess(w)
            for i, goal in enumerate(GOALS):
                if excess <= goal and found[i] == np.inf:
                    found[i] = passes
            if found[-1] < np.inf or passes >= MOST or not np.isfinite(excess):
                break
        return found


def conjugate_gradients(p: Ridge, rows: int) -> Iterates:
    """Precondition by the curvature of some rows, none if 0."""
    some = p.Phi[:rows]
    M_ = np.eye(p.m) + (C * p.n / rows * some.T @ some if rows else 0.0)
    factor = la.cho_factor(M_)
    w = np.zeros(p.m)
    r = -p.gradient(w)
    z = la.cho_solve(factor, r)
    q, rho, passes = z, r @ z, 1.0
    while True:
        Hq = q + C * p.Phi.T @ (p.Phi @ q)
        passes += 1
        alpha = rho / (q @ Hq)
        w, r = w + alpha * q, r - alpha * Hq
        yield passes, w
        z = la.cho_solve(factor, r)
        rho, old = r @ z, rho
        q = z + rho / old * q


def quasi_newton(p: Ridge) -> Iterates:
    seen: list[np.ndarray] = []
    minimize(
        lambda w: (seen.append(w.copy()) or p.value(w), p.gradient(w)),
        np.zeros(p.m),
        jac=True,
        method="L-BFGS-B",
        options={"maxfun": MOST, "maxiter": MOST, "ftol": 0.0, "gtol": 0.0},
    )
    yield from ((i + 1.0, w) for i, w in enumerate(seen))


def stochastic(p: Ridge, step: float, directions: int, batch: int = 256) -> Iterates:
    """Take steps of a few rows each, the steepest directions of 2,000 rows flattened first."""
    some = p.Phi[:2000]
    values, vectors = la.eigh(some.T @ some / 2000 * p.n * C + np.eye(p.m))
    top = values[-directions - 1]
    damp = 1 - top / values[p.m - directions :]
    V = vectors[:, p.m - directions :]
    rate = step / (top + p.n * C * float(np.mean(np.sum(some**2, axis=1))) / batch)
    rng, w, passes = np.random.default_rng(0), np.zeros(p.m), 0.0
    while True:
        mean, count = np.zeros(p.m), 0
        for index in np.array_split(rng.permutation(p.n), p.n // batch):
            F = p.Phi[index]
            g = w - C * p.n / len(index) * F.T @ (p.y[index] - F @ w)
            w = w - rate * (g - V @ (damp * (V.T @ g)))
            mean, count = mean + w, count + 1
        passes += 1
        yield passes, min((w, mean / count), key=p.excess)


def coordinates(p: Ridge) -> Iterates:
    """Maximize the dual one row at a time: a state for each row, one after the other."""
    a, w, squares = np.zeros(p.n), np.zeros(p.m), np.sum(p.Phi**2, axis=1)
    rng, passes = np.random.default_rng(0), 0.0
    while True:
        for i in rng.permutation(p.n):
            f = p.Phi[i]
            change = (p.y[i] - f @ w - a[i] / C) / (squares[i] + 1 / C)
            a[i] += change
            w += change * f
        passes += 1
        yield passes, w


def consensus(p: Ridge, parts: int, rho: float) -> Iterates:
    """Let each part solve its own problem and agree with the others' mean (ADMM)."""
    own = np.array_split(np.arange(p.n), parts)
    inverse = np.linalg.inv([C * p.Phi[i].T @ p.Phi[i] + rho * np.eye(p.m) for i in own])
    right = np.array([C * p.Phi[i].T @ p.y[i] for i in own])
    z, U = np.zeros(p.m), np.zeros((parts, p.m))
    passes = 1.0  # to form the curvatures of the parts, m^2 numbers each
    while True:
        W = np.einsum("kij,kj->ki", inverse, right + rho * (z - U))
        z = rho * np.sum(W + U, axis=0) / (1 + rho * parts)
        U += W - z
        passes += 1
        yield passes, z


def table(p: Ridge) -> Iterator[tuple[str, list[float]]]:
    """Yield passes to each goal by method."""

    def best(runs: list[Iterates]) -> list[float]:
        return np.min([p.needed(run) for run in runs], axis=0).tolist()

    scale = C * p.n / p.m
    ways: dict[str, Callable[[], list[float]]] = {
        "conjugate gradients, 8 m rows": lambda: best([conjugate_gradients(p, 8 * p.m)]),
        "conjugate gradients, plain": lambda: best([conjugate_gradients(p, 0)]),
        "L-BFGS": lambda: best([quasi_newton(p)]),
        "stochastic gradients": lambda: best([stochastic(p, s, 0) for s in (0.3, 1.0, 2.0)]),
        "the same, 160 directions flattened": lambda: best(
            [stochastic(p, s, 160) for s in (0.3, 1.0, 2.0)]
        ),
        "dual coordinates": lambda: best([coordinates(p)]),
        "consensus of 16 parts": lambda: best(
            [consensus(p, 16, scale * s) for s in (3e-4, 1e-3, 1e-2)]
        ),
        "consensus of 128 parts": lambda: best(
            [consensus(p, 128, scale * s) for s in (3e-4, 1e-3, 1e-2)]
        ),
    }
    for name, way in ways.items():
        yield name, way()


if __name__ == "__main__":
    for name, passes in table(Ridge()):
        print(f"{name:40}", *(f"{count:8.0f}" for count in passes), flush=True)
