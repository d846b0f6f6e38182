"""Norms of functions against closed forms, and operators against their Green's functions."""

from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import pytest

from mercer import SVC, SVR, KernelRegressor
from mercer.kernels import (
    BSpline,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    PeriodicGaussian,
    Polyharmonic,
    Polynomial,
    PoweredExponential,
    RationalQuadratic,
    Tensor,
    ThinPlate,
    Wendland,
)
from mercer_research.kernels import BandLimited, Dirichlet, RadialBSpline
from mercer_research.kernels.operator import Green
from mercer_research.operators import inner_product, penalty, self_consistency

RNG = np.random.default_rng(11)
LINE = (-14.0, 14.0)


def bump(width):
    return lambda x: np.exp(-0.5 * (x / width) ** 2)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.9), Matern(0.5, nu=1.5), Matern(0.4, nu=2.5)], ids=repr
)
def test_a_kernel_function_costs_its_value_at_zero(kernel):
    f = lambda x: kernel(x[:, None], np.array([[0.3]]))[:, 0]  # noqa: E731
    found = penalty(kernel, f, interval=LINE)
    value = kernel.diag(np.zeros((1, 1)))[0]
    assert found.value == pytest.approx(value, rel=1e-5)
    assert abs(found.value - value) <= 20.0 * found.error + 1e-9


def test_a_kinked_kernel_function():
    # The integrand falls like the inverse square only: its tail is extrapolated.
    found = penalty(Matern(nu=0.5), lambda x: np.exp(-np.abs(x)), interval=(-30.0, 30.0))
    assert found.value == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(("width", "rel"), [(0.75, 1e-2), (0.8, 1e-3), (1.0, 1e-6), (2.0, 1e-6)])
def test_gaussian_bumps_in_a_gaussian_space(width, rel):
    # At t = 0: s^2 / (sigma sqrt(2 s^2 - sigma^2)), finite if s > sigma / sqrt(2).
    found = penalty(Gaussian(), bump(width), interval=(-20.0, 20.0))
    expected = width**2 / np.sqrt(2.0 * width**2 - 1.0)
    # Near the limit rounding hides the end of the integrand, and the error says so.
    assert found.value == pytest.approx(expected, rel=rel)
    assert abs(found.value - expected) <= found.error + 1e-9


@pytest.mark.parametrize("width", [0.3, 0.6, 0.705])
def test_too_narrow_bumps_are_not_in_the_space(width):
    assert penalty(Gaussian(), bump(width), interval=LINE).value == np.inf


def test_sobolev_norm():
    # e^(-|t|/l) penalizes (l |f'|^2 + |f|^2 / l) / 2; the integrals of a bump are closed.
    length, s = 0.7, 1.3
    square, slope = np.sqrt(np.pi) * s, 0.5 * np.sqrt(np.pi) / s
    expected = 0.5 * (length * slope + square / length)
    assert float(penalty(Laplacian(length), bump(s), interval=LINE)) == pytest.approx(expected)


def test_a_step_is_not_in_a_sobolev_space():
    step = lambda x: (np.abs(x) < 1.0) * 1.0  # noqa: E731
    found = penalty(Laplacian(), step, interval=(-5.0, 5.0))
    assert found.value == np.inf
    assert "not in the space" in repr(found)


def test_frequencies_that_cannot_occur_cost_infinitely_much():
    # A bump holds the frequency 2 pi, at which the spectrum of a cubic spline is zero.
    assert penalty(BSpline(1.0, 3), bump(0.3), interval=(-5.0, 5.0)).value == np.inf


def test_thin_plate_penalizes_the_second_derivative():
    # The integral of the squared second derivative of exp(-x^2/2) is 3/4 sqrt(pi).
    found = penalty(ThinPlate(2), bump(1.0), interval=LINE)
    assert found.value == pytest.approx(0.75 * np.sqrt(np.pi), rel=1e-6)


def test_periodic_functions():
    kernel = PeriodicGaussian(0.4)
    c = kernel.coefficients(np.arange(6))
    f = lambda x: 2.0 + np.cos(3.0 * x) - 0.5 * np.sin(5.0 * x)  # noqa: E731
    expected = 4.0 / c[0] + 0.5 / c[3] + 0.125 / c[5]
    assert float(penalty(kernel, f)) == pytest.approx(expected, rel=1e-10)
    assert float(penalty(Dirichlet(4), np.cos)) == pytest.approx(0.5)
    assert penalty(Dirichlet(4), lambda x: np.cos(5.0 * x)).value == np.inf


def test_expansions_and_machines():
    X = RNG.standard_normal((9, 2))
    a = RNG.standard_normal(9)
    kernel = Gaussian(0.8)
    found = penalty(kernel, a, X)
    assert found.value == pytest.approx(a @ kernel(X) @ a)
    assert found.method == "expansion"
    machine = SVR(kernel=kernel, C=3.0, epsilon=0.05).fit(X, X[:, 0])
    coef = machine.dual_coef_[0]
    expected = coef @ kernel(machine.support_vectors_) @ coef
    assert float(penalty(machine.kernel_, machine)) == pytest.approx(expected)


def test_the_kernel_reproduces():
    # <f, k(x, .)> = f(x), and <k(x, .), k(z, .)> = k(x, z).
    X, Z = RNG.standard_normal((9, 2)), RNG.standard_normal((4, 2))
    a = RNG.standard_normal(9)
    for kernel in (Gaussian(), Polynomial(2, coef0=1.0), Linear()):
        values = kernel(Z, X) @ a
        for z, value in zip(Z, values, strict=True):
            assert inner_product(kernel, a, X, [1.0], z[None]) == pytest.approx(value)
        one = inner_product(kernel, [1.0], X[:1], [1.0], Z[:1])
        assert one == pytest.approx(kernel(X[:1], Z[:1])[0, 0])


@pytest.mark.parametrize(
    ("kernel", "operator"),
    [
        # |f|^2 + |f'|^2 has the kernel exp(-|t|) / 2.
        (0.5 * Laplacian(), [1.0, 1.0]),
        (0.5 * Matern(2.0, nu=0.5), [0.5, 2.0]),
        # (1 + w^2)^2 = 1 + 2 w^2 + w^4 has (1 + |t|) exp(-|t|) / 4.
        (0.25 * Matern(np.sqrt(3.0), nu=1.5), [1.0, 2.0, 1.0]),
    ],
    ids=repr,
)
def test_green_functions_of_differential_operators(kernel, operator):
    X = np.array([[0.0], [0.4], [1.0], [2.5]])
    report = self_consistency(kernel, X, operator)
    assert report
    assert report.error < 1e-8


def test_the_gaussian_and_the_operator_of_all_derivatives():
    # eq. (3.29): weights l^(2m) / (m! 2^m), a series for exp(l^2 w^2 / 2) / (l sqrt(2 pi)).
    length = 0.8
    p = lambda w: np.exp(0.5 * (length * w) ** 2) / (length * np.sqrt(2.0 * np.pi))  # noqa: E731
    X = np.array([[0.0], [0.3], [1.1]])
    assert self_consistency(Gaussian(length), X, p)
    assert not self_consistency(Gaussian(1.01 * length), X, p)


def test_a_missing_factor_is_found():
    X = np.array([[0.0], [0.4], [1.0]])
    report = self_consistency(Laplacian(), X, [1.0, 1.0])
    assert not report
    # D is quadratic in the kernel: twice the kernel has four times the D, so D = 2 K.
    assert pytest.approx(2.0 * report.K, abs=1e-9) == report.D
    assert "differs" in repr(report)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.7),
        Matern(nu=0.3),
        Matern(nu=1.5),
        RationalQuadratic(1.4, 0.6),
        InverseMultiquadric(),  # its spectrum is infinite at zero
        InverseMultiquadric(2.0, 0.2),
        PoweredExponential(1.0, 0.7),  # its spectrum falls like 1 / w^1.7
        BSpline(1.0, 1),
        BSpline(1.0, 3),
        RadialBSpline(),
        Wendland(),
        Wendland(smoothness=0),
        Tensor(BSpline(2.0, 3)),
        Green((1.0, 0.5, 0.3)),
        BandLimited(0.8, dim=3),
    ],
    ids=repr,
)
def test_spectra_return_the_kernel(kernel):
    """A property of every kernel with a spectrum."""
    assert self_consistency(kernel, np.array([[0.0], [0.4], [1.3], [3.3]]))


@pytest.mark.parametrize("kernel", [Multiquadric(), ThinPlate(), Polyharmonic(1.0)], ids=repr)
def test_conditional_kernels_are_not_applicable(kernel):
    report = self_consistency(kernel, np.array([[0.0], [0.4], [1.3]]))
    assert report.consistent is None
    assert not report
    assert "conditionally" in report.reason
    assert repr(report).startswith("not applicable")


def test_a_wrong_spectrum_is_found():
    """The check compares with kernel values and not with itself."""

    class Wrong(InverseMultiquadric):
        def spectrum(self, omega, dim=1):
            return 1.0000001 * super().spectrum(omega, dim)

    report = self_consistency(Wrong(), np.array([[0.0], [0.4], [1.3]]))
    assert report.consistent is False
    assert report.error == pytest.approx(1e-7, rel=1e-3)


def test_mismatched_gaussians():
    # Basis of width s = 0.8, operator of width 1, at t = 0.6: 0.635933419413.
    p = lambda w: np.exp(0.5 * w**2) / np.sqrt(2.0 * np.pi)  # noqa: E731
    report = self_consistency(Gaussian(0.8), np.array([[0.0], [0.6]]), p)
    assert report.D[0, 1] == pytest.approx(0.635933419413, abs=1e-10)
    variance = 2.0 * 0.64 - 1.0
    closed = 0.64 / np.sqrt(variance) * np.exp(-0.36 / (2.0 * variance))
    assert report.D[0, 1] == pytest.approx(closed, abs=1e-10)


def monomial_features(degree, power):
    """P k(x, .) of the homogeneous kernel: Taylor coefficients times multinomial^power."""

    def features(X):
        columns = []
        for monomial in combinations_with_replacement(range(X.shape[1]), degree):
            counts = [monomial.count(j) for j in range(X.shape[1])]
            multinomial = factorial(degree) / np.prod([factorial(c) for c in counts])
            # The coefficient of z^n in <x, z>^p is multinomial * x^n.
            columns.append(multinomial**power * multinomial * X[:, list(monomial)].prod(axis=1))
        return np.stack(columns, axis=1)

    return features


@pytest.mark.parametrize("degree", range(1, 6))
@pytest.mark.parametrize("dim", [2, 4])
def test_operators_of_polynomial_kernels(degree, dim):
    # Exponent -1/2 is self-consistent, the printed +1/2 is not (but for one monomial each).
    X = RNG.standard_normal((5, dim))
    kernel = Polynomial(degree)
    right = self_consistency(kernel, X, features=monomial_features(degree, -0.5), tol=1e-13)
    wrong = self_consistency(kernel, X, features=monomial_features(degree, 0.5)(X), tol=1e-3)
    assert right
    assert bool(wrong) == (degree == 1)


def test_other_bases_do_not_reach_the_minimum():
    """An expansion in another basis minimizes over less than the whole space."""
    x = np.linspace(-3.0, 3.0, 25)[:, None]
    y = np.sin(2.0 * x[:, 0])
    p = lambda w: np.exp(0.5 * w**2) / np.sqrt(2.0 * np.pi)  # noqa: E731
    centres = np.linspace(-3.0, 3.0, 7)[:, None]
    basis, D = Gaussian(0.9)(x, centres), self_consistency(Gaussian(0.9), centres, p).D
    a = np.linalg.solve(basis.T @ basis + D, basis.T @ y)
    restricted = 0.5 * a @ D @ a + 0.5 * ((y - basis @ a) ** 2).sum()
    K = Gaussian(1.0)(x)
    c = np.linalg.solve(K + np.eye(25), y)
    full = 0.5 * c @ K @ c + 0.5 * ((y - K @ c) ** 2).sum()
    assert full < restricted < 0.5 * y @ y
    # D makes the penalty a norm on the span: positive definite.
    assert np.linalg.eigvalsh(D)[0] > 0.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: penalty(Gaussian(), np.ones(3)), "points X"),
        (lambda: penalty(Gaussian(), np.cos), "interval"),
        (lambda: penalty(Gaussian(), np.cos, interval=(0.0, 1.0)), "wider interval"),
        (lambda: self_consistency(Gaussian(), np.eye(2), [1.0]), "one feature"),
        (lambda: self_consistency(Gaussian(), RNG.standard_normal((40, 1)), [1.0]), "distances"),
    ],
)
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_a_machine_is_measured_in_its_own_space():
    X = RNG.standard_normal((30, 2))
    machine = KernelRegressor(kernel=Gaussian()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"machine\.kernel_"):
        penalty(Gaussian(2.0), machine)
    votes = SVC(kernel=Gaussian()).fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="one decision function"):
        penalty(votes.kernel_, votes)
