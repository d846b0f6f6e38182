"""Exact least squares on more rows than a matrix in memory takes: processor seconds of a fit.

``exact_large.py [rows ...]`` prints a line for every number of rows and every way: a thin factor of
4 sqrt(n) columns and no kernel values kept, as conjugate gradients had them up to commit c65674c,
then half a gigabyte for both, then the default of the estimator. All have the tiles of today: that
commit itself took 5.8, 27 and 91 processor seconds for 10,000, 20,000 and 41,157 rows. ``short`` is
a check of 20 seconds that fails if answers differ by more than their certificates allow, or if the
default is slower than the first way. Rows are of protein_casp, features rank-normal, a Laplacian
kernel of length scale 2 with C = 10; one thread.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from data import table
from mercer import LSSVR
from mercer.kernels import Laplacian
from mercer.preprocessing import RankNormalizer
from mercer.solvers import ConjugateGradient, Solution

SIZES, SHORT = (10_000, 20_000, 41_157), (10_000,)
C, WIDTH = 10.0, 2.0


def points() -> tuple[np.ndarray, np.ndarray]:
    """Return all rows in a random order, with standardized targets."""
    X, y, _, _ = table("protein_casp")
    order = np.random.default_rng(0).permutation(len(y))
    X, y = RankNormalizer().fit(X).transform(X)[order], y[order].astype(float)
    return X, (y - np.mean(y)) / np.std(y)


def ways(n: int) -> dict[str, dict[str, object]]:
    """Return the settings that are compared."""
    rank = int(4.0 * np.sqrt(n))
    return {
        "4 sqrt(n) columns, nothing kept": {
            "solver": ConjugateGradient(rank=rank, max_bytes=4.0 * n * rank)
        },
        "half a gigabyte": {"solver": ConjugateGradient(max_bytes=5e8)},
        "default": {},
    }


def fit(X: np.ndarray, y: np.ndarray, settings: dict[str, object]) -> tuple[float, Solution]:
    """Return processor seconds and solution of a fit."""
    start = time.process_time()
    machine = LSSVR(Laplacian(np.full(X.shape[1], WIDTH)), C=C, **settings).fit(X, y)
    return time.process_time() - start, machine.solution_


def measure(X: np.ndarray, y: np.ndarray, n: int) -> list[tuple[float, Solution]]:
    """Print a line for every way and return what they took and found."""
    found = []
    for name, settings in ways(n).items():
        seconds, solution = fit(X[:n], y[:n], settings)
        found.append((seconds, solution))
        print(
            f"{n:6,d} {name:32} {seconds:8.1f} {found[0][0] / seconds:6.1f} {solution.n_iter:10d} "
            f"{solution.violation:9.0e} {solution.relative_gap:12.0e}",
            flush=True,
        )
    return found


def main(arguments: list[str]) -> int:
    """Print the table; complain in the short version."""
    X, y = points()
    fit(X[:2000], y[:2000], {"solver": ConjugateGradient()})  # compiled code is loaded here
    short = arguments == ["short"]
    sizes = SHORT if short else [int(a) for a in arguments] or SIZES
    print(
        "  rows way                              processor  ratio iterations violation relative gap"
    )
    wrong = []
    for n in sizes:
        found = measure(X, y, n)
        lowest = max(solution.objective - solution.gap for _, solution in found)
        wrong += [f"{n}: bounds cross" for _, s in found if s.objective < lowest * (1 - 1e-12)]
        if found[0][0] < found[-1][0]:
            wrong.append(f"{n}: the default takes {found[-1][0]:.1f} s, before {found[0][0]:.1f} s")
    if short:
        print("\n".join(wrong) or "bounds agree, and the default is fast")
    return int(short and bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
