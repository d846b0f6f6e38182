"""Leading eigenvalues lie within the bounds that come with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Dense
from mercer.manifold.eigen import Spectrum, leading

SOLVERS = ("dense", "iterative", "randomized")
N = 160
SPECTRA = {
    "geometric": 0.8 ** np.arange(N),
    "power": 1.0 / (1.0 + np.arange(N)) ** 2,
    "flat": np.linspace(1.0, 0.9, N),
    "low rank": np.r_[np.arange(9.0, 0.0, -1.0), np.zeros(N - 9)],
    "far": np.r_[1e6, 1e3, 1.0, 1e-3 * np.ones(N - 3)],
    "signed": np.r_[np.arange(20.0, 0.0, -1.0), np.zeros(N - 40), -np.arange(1.5, 21.0)],
}


def matrix(values, seed):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    M = (Q * values) @ Q.T
    return 0.5 * (M + M.T)


def spectrum(values, seed=0):
    M = matrix(values, seed)
    definite = bool(np.all(values >= 0.0))
    return Spectrum(Dense(M), float(np.trace(M)), float(np.linalg.norm(M)), definite)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SPECTRA)
def test_every_eigenvalue_is_within_its_bound(name, solver):
    values = SPECTRA[name]
    exact = values[np.argsort(-np.abs(values))]
    for seed in range(3):
        M = spectrum(values, seed)
        found = leading(M, 6, solver, seed=seed)
        assert np.all(np.abs(found.values - exact[:6]) <= found.errors)
        assert np.max(np.abs(exact[6:])) <= found.remainder
        assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-12)
        residual = M.gram.K @ found.vectors - found.vectors * found.values
        assert np.all(np.linalg.norm(residual, axis=0) <= found.errors)
        if found.converged:
            assert np.max(found.errors) <= 1e-8 * abs(exact[0]) + 2.0 * M.noise


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_hold_long_before_convergence(solver):
    exact = np.sort(SPECTRA["flat"])[::-1]
    M = spectrum(exact, 5)
    found = leading(M, 4, solver, tol=1e-2 if solver == "iterative" else 1e-14, max_iter=3)
    # Ritz values never exceed the eigenvalue of the same number.
    assert np.all(found.values <= exact[:4] + M.noise)
    near = np.abs(found.values[:, None] - exact) <= found.errors[:, None]
    assert np.all(near.any(axis=1))
    assert np.all(exact[:4] <= found.values + found.remainder)
    if solver == "randomized":
        assert not found.converged


def test_repeated_eigenvalues_have_a_cluster_of_as_many_values():
    """Two Ritz values near one eigenvalue must not both claim it."""
    values = np.r_[5.0, 5.0, 5.0, np.linspace(1.0, 0.0, N - 3)]
    found = leading(spectrum(values, 1), 3, "randomized")
    assert_allclose(found.values, 5.0, atol=1e-8)


def test_one_vector_cannot_prove_that_no_eigenvalue_is_missed():
    """Lanczos from a vector orthogonal to an eigenvector: the remainder says what may be left."""
    values = np.r_[2.0, 1.0, np.full(N - 2, 1e-9)]
    found = leading(spectrum(values), 1, "iterative")
    assert found.remainder >= 1.0


def test_all_eigenvalues():
    values = np.sort(np.random.default_rng(3).exponential(size=50))[::-1]
    found = leading(spectrum(values), None)
    assert_allclose(found.values, values, atol=1e-12)
    assert found.remainder == 0.0
