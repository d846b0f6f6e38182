"""Green's functions against the operators they belong to; penalties on coefficients."""

from math import comb

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy import integrate, linalg

from mercer.kernels import Gaussian, Matern
from mercer_research.kernels import FromSpectrum
from mercer_research.kernels.operator import Green, exponentials, from_penalty_matrix

LAGS = np.concatenate([[0.0], np.logspace(-4, 1.7, 200)])

# Real and complex poles, nearly double ones, a wide range of scales, a resonance.
OPERATORS = [
    (1.0, 1.0),
    (1.0, 2.0, 1.0),
    (1.0, 0.0, 1.0),
    (1.0, 2.0001, 1.0),
    (4.0, 3.0, 2.0, 1.0),
    (1.0, -1.9, 1.0),
    (1.0, 0.5, 0.0, 0.01),
    (1.0, 1e-2, 1e-6),
    (2.0, 0.0, 3.0),
]


def along(kernel, lags=LAGS):
    """Values at distances from zero."""
    return kernel(np.zeros((1, 1)), np.asarray(lags)[:, None])[0]


def test_the_worked_operator():
    """Penalizing f^2 + f'^2 gives exp(-|t|)/2, in one dimension only."""
    kernel = Green((1.0, 1.0))
    # The distances are those of points around their mean, up to 50, whose digits are lost there.
    np.testing.assert_allclose(along(kernel), 0.5 * np.exp(-LAGS), rtol=0, atol=5e-14)
    omega = np.linspace(0, 5, 11)
    exact = (2 * np.pi) ** -0.5 / (1 + omega**2)
    np.testing.assert_allclose(kernel.spectrum(omega), exact, rtol=1e-14)
    for dim in (2, 3):
        with pytest.raises(ValueError, match="no bounded kernel: penalize derivatives of order 2"):
            Green((1.0, 1.0), dim=dim)


@pytest.mark.parametrize("c", OPERATORS)
def test_self_consistency_in_the_space_domain(c):
    """The penalty of k is k(0), and its inner product with a translate is k(t).

    The function and its derivatives come from the sum over poles, not from the kernel's table.
    """
    A, w = exponentials(np.array(c))

    def derivative(t, a):
        # Even functions have odd derivatives; those of odd order jump or vanish at zero.
        sign = np.where(t < 0.0, (-1.0) ** a, 1.0)
        waves = np.exp(1j * np.multiply.outer(np.abs(t), w))
        return sign * np.real(waves @ (A * (1j * w) ** a))

    reach = 40.0 / w.imag.min()
    for shift in (0.0, 0.7):
        total = 0.0
        for lower, upper in ((-reach, 0.0), (0.0, shift), (shift, shift + reach)):
            ends = np.linspace(lower, upper, 400)
            t, weight = np.polynomial.legendre.leggauss(10)
            half = 0.5 * np.diff(ends)[:, None]
            x = 0.5 * (ends[1:] + ends[:-1])[:, None] + half * t
            terms = [
                value * derivative(x, a) * derivative(x - shift, a) for a, value in enumerate(c)
            ]
            total += np.sum(half * weight * sum(terms))
        exact = along(Green(c), [shift])[0]
        # Amplitudes of derivatives and their cancellation: (|w|^2m / Im w) in units of k(0).
        scale = sum(value * np.abs(w).max() ** (2 * a) for a, value in enumerate(map(abs, c)))
        assert total == pytest.approx(exact, abs=1e-13 * max(1.0, scale) * exact + 1e-13)


@pytest.mark.parametrize("c", OPERATORS)
def test_poles_and_quadrature_agree(c):
    by_spectrum = FromSpectrum.from_symbol(lambda w: polynomial.polyval(w**2, c))
    kernel = Green(c)
    np.testing.assert_allclose(
        along(kernel), along(by_spectrum), rtol=0, atol=1e-12 * along(kernel)[0]
    )


@pytest.mark.parametrize("m", range(1, 9))
def test_repeated_poles_are_matern_kernels(m):
    """(1 + w^2)^m has the Matern kernel of smoothness m - d/2, whose poles all coincide."""
    c = [comb(m, a) for a in range(m + 1)]
    for dim in (1, 2, 3):
        if 2 * m > dim:
            nu = m - 0.5 * dim
            matern = Matern(np.sqrt(2 * nu), nu)
            factor = 1 / ((2 * np.pi) ** (0.5 * dim) * matern.spectrum(np.zeros(1), dim)[0])
            found = along(Green(c, dim))
            np.testing.assert_allclose(found, factor * along(matern), rtol=0, atol=1e-12 * found[0])


def test_chains_of_poles_are_circled_together():
    """Poles at 1, 1.05 and 1.1 times i, each near to the next only."""
    c = polynomial.polyfromroots(-(np.array([1.0, 1.05, 1.1]) ** 2))
    A, w = exponentials(c)
    assert len(w) > 3
    exact = FromSpectrum.from_symbol(lambda v: polynomial.polyval(v**2, c))
    values = np.real(np.exp(1j * np.multiply.outer(LAGS, w)) @ A)
    np.testing.assert_allclose(values, along(exact), rtol=0, atol=1e-12 * values[0])


def test_the_penalty_of_a_function_is_its_norm():
    """f = k(., x1) - 2 k(., x2): the norm by the kernel and the integral of (f'')^2 + 3 f^2."""
    kernel = Green((3.0, 0.0, 1.0))
    X, a = np.array([[0.2], [1.1]]), np.array([1.0, -2.0])
    grid = np.linspace(-30, 30, 240_001)
    f = kernel(grid[:, None], X) @ a
    bend = np.gradient(np.gradient(f, grid), grid)
    penalty = integrate.simpson(bend**2 + 3 * f**2, x=grid)
    # Differences of step 2.5e-4: their error is h^2, and the second derivative has kinks.
    assert penalty == pytest.approx(a @ kernel(X) @ a, rel=1e-4)


def test_high_pass_penalties():
    kernel = Green.high_pass(3, cutoff=5.0, dim=2)
    omega = np.array([0.0, 2.0, 5.0, 20.0])
    exact = 1 / (2 * np.pi * (1 + (omega / 5.0) ** 6))
    np.testing.assert_allclose(kernel.spectrum(omega, 2), exact, rtol=1e-12)


def test_units_of_length():
    kernel = Green((1.0, 1.0), length_scale=3.0)
    np.testing.assert_allclose(along(kernel), 0.5 * np.exp(-LAGS / 3.0), rtol=0, atol=5e-14)
    omega = np.linspace(0, 5, 11)
    exact = 3.0 * Green((1.0, 1.0)).spectrum(3.0 * omega)
    np.testing.assert_allclose(kernel.spectrum(omega), exact, rtol=1e-13)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Green((0.0, 0.0, 1.0)), r"of order 2: use ThinPlate\(order=2\)"),
        (lambda: Green((1.0, -2.0, 1.0)), r"not positive near \|omega\| = 1"),
        (lambda: Green((1.0, -3.0, 1.0)), r"not positive near \|omega\| = 1\.2"),
        (lambda: Green((-1.0, 1.0)), r"not positive near \|omega\| = 0"),
        (lambda: Green((1.0, 1.0, -1.0)), "not positive far out"),
        (lambda: Green((1.0,)), "at least two of them"),
        (lambda: Green((1.0, 0.0)), "at least two of them"),
        (lambda: Green((1.0, np.nan)), "weights must be numbers for f"),
        (lambda: Green((1.0, 1.0), dim=0), "dim must be"),
        (lambda: Green((1.0, 1.0))(np.ones((2, 3))), "set dim=3"),
        (lambda: Green((1.0, 1.0)).spectrum(np.ones(2), 2), "in 1 dimensions"),
        (lambda: from_penalty_matrix(np.ones((2, 3)), np.asarray), "symmetric matrix"),
        (lambda: from_penalty_matrix(np.diag([1.0, -1.0]), np.asarray), "eigenvalue -1"),
        (lambda: from_penalty_matrix(np.zeros((2, 2)), np.asarray), "everything is free"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# Penalties on coefficients ----------------------------------------------------------------------


def features(X):
    X = np.asarray(X)
    return np.column_stack([np.ones(len(X)), X, X**2, np.sin(3 * X), np.cos(3 * X)])


def test_primal_and_dual_agree_for_a_singular_penalty():
    """The minimum of |y - Phi w|^2/2 + w'Gw/2 by normal equations, and by kernel and free part."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(12, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=12)
    root = rng.normal(size=(5, 3)) @ np.diag([1.0, 2.0, 3.0])
    G = root @ root.T
    Phi = features(X)
    w = np.linalg.solve(Phi.T @ Phi + G, Phi.T @ y)

    kernel, functions = from_penalty_matrix(G, features)
    assert len(functions) == 2
    B = np.column_stack([f(X) for f in functions])
    system = np.block([[kernel(X) + np.eye(12), B], [B.T, np.zeros((2, 2))]])
    solution = linalg.solve(system, np.append(y, [0.0, 0.0]))
    a, b = solution[:12], solution[12:]
    new = np.linspace(-3, 3, 50)[:, None]
    dual = kernel(new, X) @ a + np.column_stack([f(new) for f in functions]) @ b
    # The conditioning of either system is about 1e4.
    np.testing.assert_allclose(dual, features(new) @ w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(B.T @ a, 0.0, atol=1e-12)
    # The penalty is a'Ka, and the kernel phi' G^+ phi.
    np.testing.assert_allclose(a @ kernel(X) @ a, w @ G @ w, rtol=1e-9)
    np.testing.assert_allclose(kernel(X), Phi @ np.linalg.pinv(G) @ Phi.T, rtol=1e-9, atol=1e-12)


def test_a_regular_penalty_leaves_nothing_free():
    kernel, functions = from_penalty_matrix(np.diag([1.0, 4.0]), np.asarray)
    assert functions == []
    np.testing.assert_allclose(kernel([[2.0, 2.0]]), [[5.0]])
    assert kernel != Gaussian()
