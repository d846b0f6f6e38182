"""Splines and Haar's steps: against quadrature, SciPy's smoothing spline and the wavelets."""

from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from scipy import integrate
from scipy.interpolate import make_smoothing_spline

from mercer.kernels import Gaussian, Spline

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("lower", [0.0, -3.0])
def test_values_are_integrals_of_truncated_powers(m, lower):
    kernel = Spline(m, lower)
    for x, z in [(0.3, 0.8), (0.8, 0.3), (2.0, 2.0), (0.0, 1.0)]:
        exact, error = integrate.quad(
            lambda u, x=x, z=z: ((x - u) * (z - u)) ** (m - 1), lower, min(x, z)
        )
        value = kernel([[x]], [[z]])[0, 0]
        assert value == pytest.approx(exact / factorial(m - 1) ** 2, abs=1e-13 + error, rel=1e-13)
    assert kernel.order == m
    assert kernel.positive_definite
    assert len(kernel.unpenalized(1)) == m


def bordered(kernel, x, y, lam, at):
    """The minimizer of squared errors and lam times the penalty, with what must stay free."""
    K, degrees = kernel(x[:, None]), range(kernel.order)
    B = np.column_stack([x**r for r in degrees])
    q = B.shape[1]
    system = np.block([[K + lam * np.eye(len(x)), B], [B.T, np.zeros((q, q))]])
    solution = np.linalg.solve(system, np.append(y, np.zeros(q)))
    a, b = solution[: len(x)], solution[len(x) :]
    return kernel(at[:, None], x[:, None]) @ a + np.column_stack([at**r for r in degrees]) @ b


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (5.0, 17.0)])
def test_the_cubic_smoothing_spline_is_that_of_scipy(low, high):
    x = np.sort(RNG.uniform(low, high, 40))
    y = np.sin(6 * (x - low) / (high - low)) + 0.1 * RNG.normal(size=40)
    # The same smoothness in units of the interval: the penalty scales with its length^(1 - 2m).
    lam = 1e-4 * (high - low) ** 3
    inside = np.linspace(x[0], x[-1], 200)
    theirs = make_smoothing_spline(x, y, lam=lam)(inside)
    for lower in (low, low - 0.5 * (high - low)):
        ours = bordered(Spline(2, lower), x, y, lam, inside)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)


def test_the_natural_spline_continues_as_a_straight_line():
    x = np.sort(RNG.uniform(0, 1, 20))
    beyond = np.linspace(1.0, 3.0, 9)
    f = bordered(Spline(2), x, np.exp(x), 1e-3, beyond)
    np.testing.assert_allclose(np.diff(f, 2), 0.0, atol=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_polynomials_below_the_order_are_reproduced(m):
    x, at = np.sort(RNG.uniform(0, 1, 15)), np.linspace(0, 2, 21)
    polynomial = np.polynomial.Polynomial(RNG.normal(size=m))
    found = bordered(Spline(m), x, polynomial(x), 10.0, at)
    np.testing.assert_allclose(found, polynomial(at), rtol=0, atol=1e-9)


def test_the_norm_is_the_integral_of_the_squared_derivative():
    x, a = RNG.uniform(0, 2, size=(6, 1)), RNG.normal(size=6)
    # The second derivative of k(., z) at u is (z - u)_+.
    breaks = np.concatenate([[0.0], np.sort(x[:, 0])])
    total = sum(
        integrate.quad(lambda u: float(a @ np.maximum(x[:, 0] - u, 0.0)) ** 2, left, right)[0]
        for left, right in pairwise(breaks)
    )
    assert a @ Spline(2)(x) @ a == pytest.approx(total, rel=1e-12)


def test_additive_splines_leave_the_trends_of_their_features_free():
    kernel = Spline(2, -9.0).on([0]) + Spline(1, -9.0).on([2]) + Gaussian()
    assert kernel.unpenalized(3) == [(), (0,)]
    assert kernel.order == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Spline(0), "at least 1"),
        (lambda: Spline(1.5), "integer"),
        (lambda: Spline(lower=-np.inf), "finite"),
        (lambda: Spline()([[-0.1]], [[1.0]]), "points below lower=0.0"),
        (lambda: Spline()(np.ones((3, 2))), "kernel of one feature"),
        (lambda: Spline().unpenalized(2), "kernel of one feature"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_domains():
    assert Spline(lower=-2.0).domain == "[-2, inf)"
