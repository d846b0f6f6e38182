"""Kernels from eigenvalues: against Green's functions, feature maps and penalties."""

import pickle

import numpy as np
import pytest
from scipy import integrate, sparse

from mercer_research.kernels import Fourier
from mercer_research.kernels.eigen import Eigensystem

RNG = np.random.default_rng(0)
N = np.arange(1, 2001)


def sines(X):
    return np.sqrt(2.0) * np.sin(np.pi * X * N)


def constant(X):
    return np.ones(len(X))


def first(X):
    return np.sqrt(2.0) * np.cos(np.pi * X[:, 0])


def second(X):
    return np.sqrt(2.0) * np.cos(2.0 * np.pi * X[:, 0])


COSINES = [constant, first, second]


def test_the_series_of_the_second_derivative_is_its_greens_function():
    # -f'' = delta with f(0) = f(1) = 0 has the solution min(x, z) - x z.
    x, z = RNG.uniform(size=(6, 1)), RNG.uniform(size=(5, 1))
    exact = np.minimum(x, z.T) - x * z.T
    # What is left out is at most sum 2 / (pi n)^2 from n = 2001 on.
    rest = 2.0 / (np.pi**2 * 2000)
    found = Eigensystem(sines, (np.pi * N) ** 2.0)(x, z)
    np.testing.assert_allclose(found, exact, rtol=0, atol=rest)


def test_any_selection_is_consistent_with_the_penalty():
    """The penalty of k(x, .) against k(z, .), with coefficients by quadrature, is k(x, z)."""
    values = np.array([0.5, 2.0, 7.0])
    for mask in (None, [True, True, False], [True, False, False]):
        kernel = Eigensystem(COSINES, values, mask)
        points = np.array([[0.2], [0.9]])
        u, weights = np.polynomial.legendre.leggauss(60)
        u, weights = (u[:, None] + 1) / 2, weights / 2
        psi = np.column_stack([f(u) for f in COSINES])
        coefficients = (kernel(points, u) * weights) @ psi
        D = coefficients @ np.diag(values) @ coefficients.T
        np.testing.assert_allclose(D, kernel(points), rtol=0, atol=1e-13)


def test_features_gradient_and_layouts_of_an_eigensystem():
    kernel = Eigensystem(COSINES, [0.5, 2.0, 7.0], [True, True, False])
    X, Z = RNG.uniform(size=(7, 1)), RNG.uniform(size=(5, 1))
    K = kernel(X, Z)
    assert kernel.features(X).shape == (7, 2)
    np.testing.assert_allclose(kernel.features(X) @ kernel.features(Z).T, K, rtol=1e-14)
    np.testing.assert_array_equal(kernel(sparse.csr_array(X), Z), K)
    assert kernel(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(kernel.paired(X[:5], Z), K[:5].diagonal(), rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), kernel(X).diagonal(), rtol=1e-14)
    gradient = kernel.gradient(X, Z)["eigenvalues"]
    h = 1e-5
    for i in range(3):
        up, down = np.array([0.5, 2.0, 7.0]), np.array([0.5, 2.0, 7.0])
        up[i] += h
        down[i] -= h
        mask = kernel.mask
        quotient = (
            Eigensystem(COSINES, up, mask)(X, Z) - Eigensystem(COSINES, down, mask)(X, Z)
        ) / (2 * h)
        # h^2 f''' / 6 with f = 2 / eigenvalue, and roundings divided by h.
        np.testing.assert_allclose(gradient[:, :, i], quotient, rtol=0, atol=1e-8)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_leaving_out_what_costs_less_is_warned_of():
    with pytest.warns(UserWarning, match="0.5 is left out while an eigenfunction with 7 is"):
        Eigensystem(COSINES, [0.5, 2.0, 7.0], [False, True, True])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Eigensystem("sin", [1.0]), "functions must be"),
        (lambda: Eigensystem(COSINES, [1.0, 2.0]), "3 functions but 2 eigenvalues"),
        (lambda: Eigensystem(COSINES, [0.0, 1.0, 2.0]), "leave a function that costs nothing"),
        (lambda: Eigensystem(COSINES, [1.0, 1.0, 2.0], [True]), "one truth value for each"),
        (lambda: Eigensystem(COSINES, [1.0, 1.0, 2.0], [False] * 3), "not all False"),
        (lambda: Eigensystem(constant, [1.0])(np.ones((4, 1))), r"it must be \(4, 1\)"),
        (lambda: Fourier([]), "one for each frequency"),
        (lambda: Fourier([0.0, 1.0]), "leave a frequency that costs nothing"),
        (lambda: Fourier([np.inf, np.inf]), "not all infinite"),
        (lambda: Fourier([1.0], period=-1.0), "period must be"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_fourier_is_the_finite_series_and_the_product_of_its_features():
    g = np.array([0.5, 1.0, 4.0, np.inf, 16.0])
    kernel = Fourier(g, period=2 * np.pi)
    x, z = RNG.uniform(0, 7, size=(6, 1)), RNG.uniform(0, 7, size=(5, 1))
    n = np.arange(1, 5)
    exact = 0.5 / g[0] + (np.cos((x - z.T)[:, :, None] * n) / g[1:]).sum(axis=2)
    np.testing.assert_allclose(kernel(x, z), exact, rtol=0, atol=1e-14)
    assert kernel.features(x).shape == (6, 7)
    np.testing.assert_allclose(kernel.features(x) @ kernel.features(z).T, exact, rtol=0, atol=1e-14)
    X, Z = RNG.uniform(0, 7, size=(2, 6, 2))
    pair = Fourier(g[:2])
    np.testing.assert_allclose(pair.features(X) @ pair.features(Z).T, pair(X, Z), atol=1e-14)
    np.testing.assert_allclose(
        kernel.coefficients(np.arange(-6, 7)),
        0.5 / np.append(g, [np.inf, np.inf])[np.abs(np.arange(-6, 7))],
    )


def test_coefficients_of_an_expansion_follow_from_its_features():
    """Each basis coefficient is sum_i a_i phi_n(x_i) / g_n, and the penalty is a'Ka."""
    g = np.array([0.5, 1.0, 4.0, 9.0])
    kernel = Fourier(g)
    x, a = RNG.uniform(0, 7, size=(8, 1)), RNG.normal(size=8)

    def f(u):
        return (kernel(np.reshape(u, (-1, 1)), x) @ a)[0]

    penalty = 0.0
    for n in range(4):
        for wave in (np.cos, np.sin):
            w, _ = integrate.quad(
                lambda u, n=n, wave=wave: f(u) * wave(n * u) / np.pi, 0, 2 * np.pi
            )
            if n == 0:
                w /= np.sqrt(2.0)
            phi = wave(n * x[:, 0]) / (np.sqrt(2.0) if n == 0 else 1.0)
            assert w == pytest.approx(a @ phi / g[n], abs=1e-12)
            penalty += g[n] * w**2
    assert penalty == pytest.approx(a @ kernel(x) @ a, rel=1e-12)
