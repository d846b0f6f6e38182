"""Least squares beside LAPACK and scikit-learn, and 100,000 rows without a matrix; half an hour.

Who is compared takes turns on one thread; each problem without a matrix has all cores. ``--short``
takes a minute and fails if answers differ or fits are far too slow.
"""

import time
import warnings
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

from benchmarks.store import Record, in_turn, middle, taken
from data import draw
from mercer import KernelRegressor
from mercer.gram import Tiled
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.problems import RegularizedRisk
from mercer.regularizers import Empty
from mercer.smoothing import Spectral
from mercer.solvers import ConjugateGradient, minimize
from mercer.solvers.minimizing import minimize_together

THREADS, FRESH = None, True
C, WIDTH, TOL = 10.0, 2.0, 1e-6
FITS, PATHS, PEERS, ROUNDS = (1000, 2000, 4000, 8000), (1000, 2000), 4000, 5
# Rows, preconditioner and targets of the problems without a matrix, whose C and length scale are 1.
LARGE = (
    (25_000, "auto", 1),
    (25_000, "none", 1),
    (25_000, "auto", 10),
    (50_000, "auto", 1),
    (100_000, "auto", 1),
    (100_000, "none", 1),
)
SHORT = ((4_000, "auto", 1), (4_000, "none", 1), (4_000, "auto", 10))
# Iterations without a preconditioner on more rows than these: to the end they would take an hour.
PATIENT, PATIENCE = 25_000, 30
# Times as long as the factorization that a fit of a given matrix may take.
SLACK = {False: 2.0, True: 4.0}


def cases(short: bool) -> list[dict[str, Any]]:
    fits = [{"part": "fit", "n": n} for n in ((1000, 2000) if short else FITS)]
    paths = [{"part": "path", "n": n} for n in ((500,) if short else PATHS)]
    return [
        *fits,
        *paths,
        *(
            {"part": "large", "n": n, "preconditioner": kind, "targets": k}
            for n, kind, k in (SHORT if short else LARGE)
        ),
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    if case["part"] == "large":
        return large(case["n"], case["preconditioner"], case["targets"])
    with threadpool_limits(1):
        return (fits if case["part"] == "fit" else paths)(case["n"])


def toy(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 8))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def fits(n: int) -> dict[str, Any]:
    """Measure a fit against LAPACK's factorization alone, its kernel matrix, and its peers."""
    X, y = toy(n)
    kernel = Gaussian(WIDTH)
    K, spare = kernel(X), np.empty((n, n), order="F")
    bare: list[float] = []

    def factor() -> None:
        np.copyto(spare, K)
        np.fill_diagonal(spare, spare[0, 0] + 1 / C)
        begun = time.process_time()
        dpotrf(spare, lower=1, clean=0, overwrite_a=1)
        bare.append(time.process_time() - begun)

    given = KernelRegressor(kernel="precomputed", C=C, solver="direct")
    points = KernelRegressor(kernel=kernel, C=C, solver="direct")
    ridge = KernelRidge(alpha=1 / C, kernel="precomputed")
    process = GaussianProcessRegressor(RBF(WIDTH, "fixed"), alpha=1 / C, optimizer=None)
    calls: dict[str, Any] = {
        "dpotrf": factor,
        "given": lambda: given.fit(K, y),
        "kernel": lambda: kernel(X),
        "points": lambda: points.fit(X, y),
    }
    if n <= PEERS:
        calls |= {
            "KernelRidge": lambda: ridge.fit(K, y),
            "Gaussian process": lambda: process.fit(X, y),
        }
    times = middle(in_turn(calls, ROUNDS if n < PEERS else 3))
    times["dpotrf"] = float(np.median(bare[1:]))
    found: dict[str, Any] = {"times": times, "violation": given.solution_.violation}
    if n <= PEERS:
        # Without an intercept the two machines are one.
        ours = KernelRegressor(kernel="precomputed", C=C, null_space=Empty()).fit(K, y)
        found["apart"] = float(np.max(np.abs(ours.solution_.a - ridge.dual_coef_)))
    return found


def paths(n: int) -> dict[str, Any]:
    """Measure a path of 100 weights with all leave-one-out errors against one bare eigh."""
    X, y = toy(n)
    K, B = Gaussian(WIDTH)(X), np.ones((n, 1))
    weights = np.logspace(-3, 3, 100)
    found: dict[str, Any] = {}

    def path() -> None:
        found["loo"] = Spectral(K, B).leave_one_out(y, weights)

    times = middle(in_turn({"eigh": lambda: np.linalg.eigh(K), "path": path}, ROUNDS))
    bordered = np.block([[K + np.eye(n) / weights[60], B], [B.T, np.zeros((1, 1))]])
    inverse = np.linalg.inv(bordered)[:n, :n]
    exact = (inverse @ y) / np.diag(inverse)
    return {"times": times, "apart": float(np.max(np.abs(found["loo"][60] - exact)))}


def bare_values(X: np.ndarray, rows: int = 1000) -> float:
    """Return processor seconds of n^2 / 2 Gaussians in float32 by BLAS and exp alone."""
    Z = X.astype(np.float32)
    half = 0.5 * np.einsum("ij,ij->i", Z, Z)
    left = np.column_stack([Z, -half, np.ones_like(half)])
    right = np.ascontiguousarray(np.column_stack([Z, np.ones_like(half), -half]).T)
    block, rows = np.empty((50, len(Z)), np.float32), min(rows, len(Z) // 50 * 50)
    with threadpool_limits(1):
        cpu = time.process_time()
        for k in range(0, rows, 50):
            np.matmul(left[k : k + 50], right, out=block)
            np.exp(block, out=block)
        return (time.process_time() - cpu) * len(Z) / rows / 2


def large(n: int, kind: str, targets: int) -> dict[str, Any]:
    """Solve without a matrix once and say what it took."""
    sample = draw("cod_rna", n)
    X, y = sample.X, 2.0 * sample.y - 1.0
    Y = [y, *np.random.default_rng(0).normal(size=(targets - 1, n))]
    patience = PATIENCE if kind == "none" and n > PATIENT else -1
    solver = ConjugateGradient(
        TOL, max_iter=patience, preconditioner=None if kind == "none" else kind
    )
    few = RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X[:600]), y[:600], 1.0)
    minimize(few, ConjugateGradient(1e-2))  # compiled code is loaded here
    gram, B = Tiled(Gaussian(1.0), X), np.ones((n, 1))
    risks = [RegularizedRisk(Squared(), gram, target, 1.0, B) for target in Y]
    marks: list[float] = []

    def listen(progress: Any) -> bool:
        marks.append(time.process_time())
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listeners = [listen] + [None] * (targets - 1)
        took, solutions = taken(lambda: minimize_together(risks, solver, listeners=listeners))
    return {
        "iterations": solutions[0].n_iter,
        "wall": took["wall"],
        "cpu": took["cpu"],
        # The median: the few steps that begin a round hold a product in float64.
        "step": float(np.median(np.diff(marks))),
        "bare": bare_values(X),
        "peak": took["peak"],
        "violation": max(s.violation for s in solutions),
        "converged": all(s.converged for s in solutions),
    }


def line(values: dict[str, Any]) -> str:
    if "times" in values:
        return ", ".join(f"{name} {seconds:.3g} s" for name, seconds in values["times"].items())
    return str(values.get("failure") or f"{values['iterations']} steps, {values['cpu']:.3g} s")


def claims(records: list[Record], short: bool) -> list[str]:
    """Say which answers differ, and which fits take too much of the factorization."""
    found = []
    for r in records:
        if "failure" in r:
            found.append(f"{r.case}: {r['failure']}")
            continue
        if r.case["part"] == "fit":
            ratio = r["times"]["given"] / r["times"]["dpotrf"]
            found += [f"{r.case}: {ratio:.2f} of dpotrf"] * (ratio > SLACK[short])
            found += [f"{r.case}: violation {r['violation']:.1e}"] * (r["violation"] > 1e-9)
        # Coefficients of at most C |r|, from a system with condition C |K| <= C n.
        if r.get("apart", 0.0) > 1e-8:
            found.append(f"{r.case}: off by {r['apart']:.1e}")
        if r.case.get("preconditioner") == "auto" and not r["violation"] <= TOL:
            found.append(f"{r.case}: violation {r['violation']:.1e}")
    return found
