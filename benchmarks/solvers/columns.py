"""Machines with a free plane: rounds of pair steps against the interior point, one thread."""

import sys
import time

import numpy as np

from mercer import SVR
from mercer.gram import Dense
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import EpsilonInsensitive, Hinge, Huber
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Polynomial
from mercer.solvers import SMO, InteriorPoint, minimize

SMALL, LARGE = 2_000, 20_000


def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points of a square, a noisy surface with a slope, and noisy labels of it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = 2.0 * X[:, 0] - X[:, 1] + np.sin(5.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    y += 0.1 * rng.normal(size=n)
    return X, y, np.where(y + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def against_the_interior_point() -> bool:
    """Print a line a problem; answer whether all objectives agree within both gaps."""
    X, y, labels = sample(SMALL)
    agree = True
    for kernel in (Gaussian(0.4), ThinPlate()):
        K, B = Dense.from_kernel(kernel, X), Polynomial(1)(X)
        for loss in (EpsilonInsensitive(0.1), Hinge(), Huber(0.1)):
            for C in (1.0, 100.0):
                target = labels if isinstance(loss, Hinge) else y
                risk = RegularizedRisk(loss, K, target, C, B)
                rounds, path = (minimize(risk, solver) for solver in (SMO(), InteriorPoint()))
                excess = abs(rounds.objective - path.objective)
                agree &= excess <= rounds.gap + path.gap
                print(
                    f"{kernel!r}, {loss!r}, C = {C:g}, {SMALL:,} points: rounds "
                    f"{rounds.times['solve']:.2f} s, interior point {path.times['solve']:.2f} s",
                    flush=True,
                )
    return agree


def large() -> None:
    """Print the time of tubes over more points than are factorized."""
    X, y, _ = sample(LARGE)
    machines = [(Gaussian(0.4), Constant()), (Gaussian(0.4), Polynomial(1)), (ThinPlate(), None)]
    for kernel, free in machines:
        start = time.perf_counter()
        machine = SVR(kernel=kernel, null_space=free, cache_size=2000, solver="smo").fit(X, y)
        print(
            f"SVR, {kernel!r}, free {machine.null_space_names_}, {LARGE:,} points: "
            f"{time.perf_counter() - start:.1f} s, {machine.solution_.status.value}",
            flush=True,
        )


if __name__ == "__main__":
    agreed = against_the_interior_point()
    large()
    print("all objectives agree" if agreed else "objectives differ by more than the gaps")
    sys.exit(int(not agreed))
