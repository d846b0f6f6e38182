"""Example 3.2: the machine of a Fourier basis, and why as many frequencies as data only rescale."""

import numpy as np

from mercer import LSSVR
from mercer.regularizers import Empty
from mercer_research.kernels import Dirichlet, Fourier
from papers.outcome import Result, at_least, near

N, M, C = 20, 6, 2.0
GRID = np.linspace(0.0, 2.0 * np.pi, 400)
# Sums of some twenty terms of size one in double precision.
ROUNDING = 1e-10


def truth(x):
    return np.sin(x) + 0.5 * np.cos(3 * x)


def machine(order: int, x, y) -> LSSVR:
    kernel = Fourier(np.ones(order + 1))
    return LSSVR(kernel, C=C, null_space=Empty()).fit(x[:, None], y)


def basis(x, order: int) -> np.ndarray:
    """Return the constant 1/sqrt 2, then the sines, then the cosines."""
    n = np.arange(1, order + 1)
    return np.hstack(
        [np.full((len(x), 1), np.sqrt(0.5)), np.sin(np.outer(x, n)), np.cos(np.outer(x, n))]
    )


def run(short: bool = False, random_state: int = 0) -> Result:
    rng = np.random.default_rng(random_state)
    x = rng.uniform(0.0, 2.0 * np.pi, N)
    y = truth(x) + 0.1 * rng.standard_normal(N)
    few = machine(M, x, y)
    a = few.dual_coef_[0]
    # The coefficients (3.27), sines and cosines apart, against ridge regression in the basis.
    w = basis(x, M).T @ a
    F = basis(x, M)
    ridge = np.linalg.solve(F.T @ F + np.eye(2 * M + 1) / C, F.T @ y)
    rebuilt = basis(GRID, M) @ w
    d = GRID[1:-1]
    closed = np.sin((M + 0.5) * d) / (2.0 * np.sin(0.5 * d))
    even = 2.0 * np.pi * np.arange(N) / N
    K = Fourier(np.ones(N + 1))(even[:, None])
    aliased = K - (N * np.eye(N) + 0.5)
    z = truth(even) + 0.1 * rng.standard_normal(N)
    many = machine(N, even, z)
    shrunk = many.predict(even[:, None])
    # On the grid K has the eigenvalue 3N/2 along the constant and N elsewhere.
    mean = z.mean()
    expected = mean * 1.5 * N / (1.5 * N + 1 / C) + (z - mean) * N / (N + 1 / C)
    between = many.predict(even[:, None] + np.pi / N)

    def zero(what, values):
        return near(what, np.max(np.abs(values)), 0.0, ROUNDING, "an identity, but for rounding")

    return Result(
        "The machine of a Fourier basis",
        "Pelckmans 2005, example 3.2, eq. (3.22) to (3.27)",
        f"{N} points of sin x + cos(3x)/2 + N(0, 0.1²), γ = {C:g}, no intercept; {M} frequencies "
        f"at random points, {N} on the grid 2πi/{N}. Eq. (3.27) is read as separate sums for "
        "sines, cosines and the constant.",
        [
            zero(
                "kernel minus sin((M + ½)d)/(2 sin(d/2))",
                Fourier(np.ones(M + 1))([[0.0]], d[:, None]) - closed,
            ),
            zero(
                "kernel minus half of Dirichlet's",
                Fourier(np.ones(M + 1))(GRID[:, None]) - 0.5 * Dirichlet(M)(GRID[:, None]),
            ),
            zero(
                "dual prediction minus the series of its coefficients",
                few.predict(GRID[:, None]) - rebuilt,
            ),
            zero("coefficients minus those of ridge regression", w - ridge),
            zero("K - (N + ½11') on the grid, M = N", aliased),
            zero("fit minus rescaled data on the grid, M = N", shrunk - expected),
            at_least(
                "error between the points over error at the points, M = N",
                np.sqrt(
                    np.mean((between - truth(even + np.pi / N)) ** 2)
                    / np.mean((shrunk - truth(even)) ** 2)
                ),
                3.0,
                "aliasing: such a machine says nothing where there are no data",
            ),
        ],
        {
            "grid": GRID.tolist(),
            "many": many.predict(GRID[:, None]).tolist(),
            "few": rebuilt.tolist(),
        },
    )
