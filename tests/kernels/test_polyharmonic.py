"""Powers of the distance: signs, orders, and the penalty that a thin plate is."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import linalg, special
from scipy.interpolate import RBFInterpolator, make_smoothing_spline
from scipy.spatial.distance import cdist

from mercer.kernels import Kernel, Multiquadric, Polyharmonic, ThinPlate
from mercer.kernels.polyharmonic import spectral_constant

EPS = np.finfo(np.float64).eps


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def monomials(X, degree):
    """All monomials up to a degree, as columns."""
    lists = (combinations_with_replacement(range(X.shape[1]), q) for q in range(degree + 1))
    return np.column_stack([X[:, list(m)].prod(axis=1) for ms in lists for m in ms])


def orthogonal(X, degree):
    """Orthonormal coefficients orthogonal to all polynomials up to a degree (-1: none)."""
    return linalg.null_space(monomials(X, degree).T) if degree >= 0 else np.eye(len(X))


# Values, signs, orders ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (1, lambda r: -r),
        (0.5, lambda r: -np.sqrt(r)),
        (2, lambda r: r**2 * np.log(r)),
        (2.5, lambda r: r**2.5),
        (3, lambda r: r**3),
        (4, lambda r: -(r**4) * np.log(r)),
        (5, lambda r: -(r**5)),
        (6, lambda r: r**6 * np.log(r)),
    ],
)
def test_values(exponent, expected, rng):
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(8, 3))
    found, value = Polyharmonic(exponent)(X, Z), expected(cdist(X, Z))
    np.testing.assert_allclose(found, value, rtol=0, atol=100 * EPS * np.abs(value).max())
    same = Polyharmonic(exponent)(X, X.copy())
    np.testing.assert_array_equal(same.diagonal(), 0.0)
    assert np.isfinite(same).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("exponent", [0.5, 1, 1.5, 2, 2.5, 3, 4, 5])
def test_the_order_is_that_of_conditional_definiteness_and_no_less(exponent, dim, rng):
    kernel = Polyharmonic(exponent)
    X = rng.normal(size=(25, dim))
    K = kernel(X)
    Q = orthogonal(X, kernel.order - 1)
    assert np.linalg.eigvalsh(Q.T @ K @ Q)[0] >= -len(X) * EPS * np.linalg.norm(K, 2)
    Q = orthogonal(X, kernel.order - 2)
    assert np.linalg.eigvalsh(Q.T @ K @ Q)[0] < -1e-3
    assert len(kernel.unpenalized(dim)) == monomials(X, kernel.order - 1).shape[1]


def test_distances_of_near_points_keep_their_digits(rng):
    far = 1e3 + rng.normal(size=(20, 2))
    near = far.copy()
    near[:, 0] += 2.0**-30
    exact = near[:, 0] - far[:, 0]
    np.testing.assert_allclose(-Polyharmonic(1)(far, near).diagonal(), exact, rtol=1e-12)
    np.testing.assert_allclose(-Polyharmonic(1).paired(far, near), exact, rtol=4 * EPS)


# The penalty -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "dim", "expected"),
    [
        (1, 1, lambda r: -r / 2),
        (2, 1, lambda r: r**3 / 12),
        (2, 2, lambda r: r**2 * np.log(r) / (8 * np.pi)),
        (2, 3, lambda r: -r / (8 * np.pi)),
        (3, 2, lambda r: -(r**4) * np.log(r) / (128 * np.pi)),
    ],
)
def test_constants_of_the_literature(order, dim, expected, rng):
    X, Z = rng.normal(size=(9, dim)), rng.normal(size=(8, dim))
    value = expected(cdist(X, Z))
    np.testing.assert_allclose(ThinPlate(order)(X, Z), value, rtol=0, atol=1e-13)
    omega = np.array([0.0, 0.5, 2.0])
    found = ThinPlate(order).spectrum(omega, dim)
    assert np.isinf(found[0])
    spectrum = (2 * np.pi) ** (-dim / 2) * omega[1:] ** (-2 * order)
    np.testing.assert_allclose(found[1:], spectrum, rtol=20 * EPS)


def test_cubic_splines_penalize_the_second_derivative(rng):
    """f'' is piecewise linear between the knots and vanishes outside: Simpson's rule is exact."""
    x = np.sort(rng.uniform(0.0, 3.0, size=9))[:, None]
    Q = orthogonal(x, 1)
    ends = np.stack([x[:-1, 0], 0.5 * (x[:-1, 0] + x[1:, 0]), x[1:, 0]], axis=1)
    second = 0.5 * np.abs(ends[:, :, None] - x[:, 0]) @ Q
    weights = np.array([1.0, 4.0, 1.0]) / 6 * np.diff(x[:, 0])[:, None]
    penalty = np.einsum("ij,ijk,ijl->kl", weights, second, second)
    np.testing.assert_allclose(Q.T @ ThinPlate()(x) @ Q, penalty, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("order", "dim"), [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
def test_the_quadratic_form_is_the_penalty_of_all_derivatives(order, dim, rng):
    r"""The sum over derivatives is int |w|^2m |f~|^2 dw, with f~ = P(w) sum a_i e^-iwx_i.

    So it is :math:`(2\pi)^{-d} \int |w|^{-2m} |\sum a_i e^{i w x_i}|^2 dw`, over directions a sum
    of Bessel functions. Coefficients orthogonal to polynomials of a degree q above m let
    it start at w = 0.05: below, it is O(w^(2q+2-2m)). Beyond W, all but the diagonal is
    O(W^(d-2m-1)).
    """
    X = rng.normal(size=(40, dim))
    a = orthogonal(X, {1: 7, 2: 5, 3: 4}[dim])[:, 0]
    r = cdist(X, X)
    low, high, size = 0.05, 1000.0, 0.5
    nodes, weights = np.polynomial.legendre.leggauss(12)
    starts = np.concatenate([np.geomspace(low, size, 40)[:-1], np.arange(size, high, size)])
    steps = np.diff(np.append(starts, high))
    omega = (starts[:, None] + 0.5 * steps[:, None] * (nodes + 1.0)).ravel()
    weight = (0.5 * steps[:, None] * weights).ravel()
    upper = np.triu_indices(len(X), 1)
    pairs = 2.0 * (a[:, None] * a)[upper]
    nu = dim / 2 - 1
    bessel = {
        1: lambda t: np.sqrt(2 / np.pi) * np.cos(t),
        2: special.j0,
        3: lambda t: np.sqrt(2 / np.pi) * np.sin(t) / t,
    }[dim]
    square = (a @ a) * 2.0**-nu / special.gamma(nu + 1) * np.ones_like(omega)
    for distance, pair in zip(r[upper], pairs, strict=True):
        square += pair * bessel(omega * distance)
    # Over the sphere, e^{i w u} averages to Gamma(d/2) 2^nu (w r)^-nu J_nu(w r) times its area.
    integral = weight @ (omega ** (dim - 1 - 2 * order) * square)
    integral += (
        (a @ a) * 2.0**-nu / special.gamma(nu + 1) * high ** (dim - 2 * order) / (2 * order - dim)
    )
    penalty = (2 * np.pi) ** (-dim / 2) * integral
    K = ThinPlate(order)(X)
    tail = (np.abs(pairs) / r[upper]).sum() * high ** (dim - 2 * order - 1)
    rounding = 4 * EPS * np.abs(pairs).sum() * low ** (dim - 2 * order)
    assert a @ K @ a == pytest.approx(penalty, abs=tail + rounding)
    assert tail + rounding < 0.02 * penalty


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("exponent", [0.4, 1.0, 1.5, 2.7, 3.0, 5.0])
def test_spectra_are_limits_of_multiquadrics(exponent, dim):
    """(l^2 + r^2)^(e/2) is r^e for l = 0; at l = 1e-6 its spectrum lacks O(l^2) or O(l^(d+e))."""
    omega, scale = np.array([0.3, 1.0, 4.0]), 1e-6
    found = scale**exponent * Multiquadric(scale, exponent / 2).spectrum(omega, dim)
    bound = 10 * (4.0 * scale) ** min(2.0, dim + exponent)
    np.testing.assert_allclose(
        Polyharmonic(exponent).spectrum(omega, dim), found, rtol=bound + 1e-12
    )


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("exponent", [2, 4, 6])
def test_spectra_with_a_logarithm_are_derivatives(exponent, dim):
    """r^(e + h) = r^e + h r^e ln r + ..., and the transform of r^e is zero away from zero."""
    h = 1e-5
    up, down = (spectral_constant(exponent + s, dim) / h for s in (h, -h))
    # The mean of both one-sided quotients errs by h^2, times logarithms of the order of 10.
    assert 0.5 * (up + down) == pytest.approx(
        spectral_constant(exponent, dim), rel=100 * h**2 + 1e-9
    )
    assert spectral_constant(2.0, dim) == pytest.approx(
        2 ** (1 + dim / 2) * special.gamma(1 + dim / 2)
    )


# Independent splines -----------------------------------------------------------------------------


def smooth(kernel: Kernel, X, y, smoothing, degree, at):
    """Minimize sum (y - f)^2 + smoothing a'Ka over f = K a + B b."""
    B = monomials(X, degree)
    zero = np.zeros((B.shape[1], B.shape[1]))
    system = np.block([[kernel(X) + smoothing * np.eye(len(X)), B], [B.T, zero]])
    solution = np.linalg.solve(system, np.append(y, np.zeros(B.shape[1])))
    return np.hstack([kernel(at, X), monomials(at, degree)]) @ solution


@pytest.mark.parametrize("smoothing", [0.0, 1e-3, 0.1])
def test_the_smoothing_spline_of_scipy(smoothing, rng):
    x = np.linspace(0.0, 3.0, 30) + rng.uniform(0.0, 0.05, size=30)
    y, at = np.sin(3 * x) + 0.1 * rng.normal(size=30), np.linspace(x[0], x[-1], 50)
    expected = make_smoothing_spline(x, y, lam=smoothing)(at)
    found = smooth(ThinPlate(), x[:, None], y, smoothing, 1, at[:, None])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("dim", "name", "factor"),
    [(1, "cubic", 12), (2, "thin_plate_spline", 8 * np.pi), (3, "linear", 8 * np.pi)],
)
@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_the_radial_interpolator_of_scipy(dim, name, factor, smoothing, rng):
    X, at = rng.normal(size=(40, dim)), rng.normal(size=(20, dim))
    y = np.sin(X).sum(axis=1)
    oracle = RBFInterpolator(X, y, kernel=name, degree=1, smoothing=factor * smoothing)
    found = smooth(ThinPlate(), X, y, smoothing, 1, at)
    np.testing.assert_allclose(found, oracle(at), rtol=0, atol=1e-8)


# Nonsense ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Polyharmonic(0.0), "exponent must be a positive number"),
        (lambda: Polyharmonic(np.inf), "exponent must be a positive number"),
        (lambda: ThinPlate(0), "at least 1"),
        (lambda: ThinPlate(2.0), "an integer"),
        (lambda: ThinPlate()(np.eye(4)), "take order 3 or more"),
        (lambda: ThinPlate(1).spectrum(np.ones(2), 2), "take order 2 or more"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
