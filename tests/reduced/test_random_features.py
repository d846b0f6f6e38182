"""Random features against their kernels: right in the mean, with the variance of the formula."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm, t

from mercer.data import Arrays, draw
from mercer.kernels import (
    ANOVA,
    Additive,
    BSpline,
    Cauchy,
    DampedOscillator,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    PeriodicGaussian,
    Polynomial,
    PoweredExponential,
    RationalQuadratic,
    Sigmoid,
    SpectralMixture,
    Spline,
    Stretched,
    StringSpectrum,
    Tensor,
    Wendland,
)
from mercer.reduced.random_features import (
    STREAMS,
    RandomFeatures,
    Waves,
    frequencies,
    random_features,
)
from mercer_research.kernels import BandLimited, Dirichlet, FromSpectrum, PowerSeries

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))

SPECTRAL = [
    Gaussian([0.5, 1.0, 2.0]),
    Matern(1.5, nu=0.5),
    Matern([1.0, 2.0, 0.7], nu=1.5),
    Matern(1.0, nu=np.inf),
    RationalQuadratic(1.3, alpha=0.7),
    InverseMultiquadric(2.0, 0.5),
    DampedOscillator(1.5),
    Cauchy(2.0),
    PoweredExponential(1.4, 0.8),
    PoweredExponential(1.4, 2.0),
    Laplacian([1.0, 2.0, 3.0]),
    BandLimited(0.7, dim=3),
    BandLimited(0.7, dim=5),
    Wendland(5.0, smoothness=2, dim=3),
    BSpline(3.0, degree=3),
    FromSpectrum(lambda w: np.exp(-0.5 * w**2) * w**2, dim=3),
    SpectralMixture([1.0, 0.5], [[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]], [[1.0] * 3, [0.3] * 3]),
    Tensor(Matern(nu=1.5)),
    Periodic([0.7, 1.0, 2.0], period=3.0),
    PeriodicGaussian(0.8, period=5.0),
    Dirichlet(2),
]
COMPOSED = [
    2.5 * Gaussian() * Laplacian(3.0),
    Gaussian(2.0) ** 3,
    (Gaussian(2.0) + 0.5 * Laplacian()) * Matern(3.0),
    Gaussian(0.7).on([2, 0]) * Periodic(period=2.0).on([1]),
    Stretched(Periodic(period=2.0), [1.0, 2.0, 3.0]),
    Additive(Gaussian(0.7)) * Gaussian(4.0),
    Gaussian() + 2.0 * Matern(2.0) + Laplacian().on([1]),
    ANOVA(Gaussian(), 2),
    Additive(Matern(nu=2.5)),
]
NOT_STATIONARY = [
    Polynomial(2, 0.5, 1.0),
    Gaussian(2.0) * Linear(),
    Linear() + Gaussian(),
    Stretched(Linear(), [1.0, 2.0, 3.0]) ** 2,
    PowerSeries("exp"),
    PowerSeries([0.0, 0.5, 0.2], Gaussian()),
]


# Twenty entries of some eighty kernels: the quantile that one of them exceeds, on either side, once
# in a hundred times. Tables of spectra may leave out a millionth.
CHANCE = 1.0 - 0.005 / (20 * 80)
BOUND = norm.ppf(CHANCE)
# Those whose spectrum is not read from a table.
QUICK = [k for k in SPECTRAL if not isinstance(k, Wendland | BSpline | FromSpectrum)]


def named(kernel):
    """Name a kernel without the address of a function in it."""
    return repr(kernel).split("(density")[0]


def means(kernel, kind, m, repeats):
    """Return the matrix of products averaged over seeds, and its standard error."""
    products = []
    for seed in range(repeats):
        phi = random_features(kernel, 3, m, kind, seed)
        assert phi.m <= m
        A, B = phi.raw(X), phi.raw(Z)
        assert A.shape == (5, phi.m)
        products.append(A @ B.T)
    spread = np.std(products, axis=0, ddof=1) / np.sqrt(repeats)
    return np.mean(products, axis=0), spread


def unbiased(kernel, kind, m=64, repeats=40):
    mean, error = means(kernel, kind, m, repeats)
    exact = kernel(X, Z)
    bound = t.ppf(CHANCE, repeats - 1)
    top = np.sqrt(np.max(kernel.diag(X)) * np.max(kernel.diag(Z)))
    assert np.all(np.abs(mean - exact) <= bound * error + 3e-6 * top)


@pytest.mark.parametrize("kernel", SPECTRAL, ids=named)
def test_independent_waves_are_right_in_the_mean(kernel):
    # Of many frequencies each is one sample of the mean.
    D = 20_000
    phi = random_features(kernel, 3, 2 * D, "fourier")
    A, B = (phi.raw(points).reshape(-1, 2, D) for points in (X, Z))
    samples = D * np.einsum("itd,jtd->ijd", A, B)
    error = np.std(samples, axis=2) / np.sqrt(D)
    top = float(kernel.diag(X)[0])
    assert np.all(np.abs(samples.mean(axis=2) - kernel(X, Z)) <= BOUND * error + 3e-6 * top)


@pytest.mark.parametrize("kernel", QUICK, ids=named)
def test_orthogonal_waves_are_right_in_the_mean(kernel):
    unbiased(kernel, "orthogonal")


@pytest.mark.parametrize("kernel", COMPOSED, ids=named)
def test_composed_kernels_are_right_in_the_mean(kernel):
    unbiased(kernel, "orthogonal")


def test_the_error_has_the_variance_of_the_formula():
    # One frequency: Var cos(w'u) = (1 + k(2u))/2 - k(u)^2, for independent ones divided by D.
    kernel, D, repeats = Gaussian(1.2), 50, 400
    u = np.array([[0.8, -0.5, 0.3]])
    value, twice = kernel(u, 0 * u)[0, 0], kernel(2 * u, 0 * u)[0, 0]
    errors = []
    for seed in range(repeats):
        a, b = random_features(kernel, 3, 2 * D, "fourier", seed).raw(np.concatenate([u, 0 * u]))
        errors.append(a @ b - value)
    expected = ((1.0 + twice) / 2.0 - value**2) / D
    # A variance from n samples has the relative standard deviation sqrt(2/n).
    assert abs(np.var(errors) / expected - 1.0) < 4.0 * np.sqrt(2.0 / repeats)


def squared_error(kernel, kind, points, m, repeats):
    exact = kernel(points)
    maps = [random_features(kernel, points.shape[1], m, kind, seed) for seed in range(repeats)]
    raw = [phi.raw(points) for phi in maps]
    return np.mean([(F @ F.T - exact)[0, 1:] ** 2 for F in raw])


def test_orthogonal_frequencies_have_the_smaller_error_of_theory():
    # Near points see sum_i (w_i'u)^2 / 2. Over a block of p orthogonal frequencies, with lengths
    # whose squares are chi squared, its variance is 3 / (p + 2) of that of independent ones.
    p, repeats = 8, 400
    points = np.zeros((2, p))
    points[1] = 0.2 * np.random.default_rng(5).normal(size=p) / np.sqrt(p)
    one, other = (squared_error(Gaussian(), k, points, 4 * p, repeats) for k in STREAMS)
    # Mean squares of 400 errors are known up to sqrt(2/400) if these are normal; nearly so here.
    assert abs(other / one / (3.0 / (p + 2)) - 1.0) < 4.0 * np.sqrt(2 * 2.0 / repeats)


def test_orthogonal_frequencies_are_orthogonal_and_normal():
    w = frequencies(Gaussian(), 6, 6000, "orthogonal", np.random.default_rng(0))
    for block in (w[:6], w[6:12]):
        gram = block @ block.T
        assert np.allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    # Lengths: the mean of chi squared is 6, its variance 12.
    assert abs(np.mean(np.sum(w**2, axis=1)) - 6.0) < 4.0 * np.sqrt(12.0 / 6000)
    assert np.all(np.abs(np.mean(w, axis=0)) < 4.0 / np.sqrt(6000))
    wide = frequencies(Gaussian(), 50, 7, "orthogonal", np.random.default_rng(0))
    assert np.allclose(wide @ wide.T, np.diag(np.sum(wide**2, axis=1)), atol=1e-12)


def test_terms_of_a_sum_have_frequencies_by_height():
    kernel = 3.0 * Gaussian().on([0]) + 1.0 * Matern().on([1, 2])
    w = frequencies(kernel, 3, 4000, "orthogonal", np.random.default_rng(0))
    share = np.mean(w[:, 0] != 0.0)
    assert abs(share - 0.75) < 4.0 * np.sqrt(0.75 * 0.25 / 4000)


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian() + Matern(2.0).on([0, 2])], ids=named)
def test_sparse_points_and_single_precision_give_the_same(kernel):
    phi = random_features(kernel, 3, 32, origin=np.array([1.0, -2.0, 0.5]))
    exact = phi.raw(X)
    assert exact.dtype == np.float64
    assert np.allclose(phi.raw(sp.csr_array(X)), exact, rtol=1e-12, atol=1e-12)
    single = phi.raw(X, single=True)
    assert single.dtype == np.float32
    # Arguments of waves up to about ten, in float32.
    bound = 1e-5 * max(1.0, np.max(np.abs(exact)))
    assert np.max(np.abs(single - exact)) < bound
    assert np.max(np.abs(phi.raw(sp.csr_array(X), single=True) - exact)) < bound


def test_an_origin_keeps_digits_in_single_precision():
    far = 1e5
    points = X + far
    for origin, good in ((None, False), (np.full(3, far), True)):
        phi = random_features(Gaussian(), 3, 4000, "fourier", origin=origin)
        A = phi.raw(points, single=True)
        exact = phi.raw(points)
        assert (np.max(np.abs(A - exact)) * np.sqrt(2000) < 1e-3) == good
        assert np.allclose(exact @ exact.T, Gaussian()(X), atol=0.1)


def test_maps_are_determined_by_their_seed_and_travel():
    a, b = (random_features(Gaussian() + Matern(4.0), 3, 64, seed=1).raw(X) for _ in range(2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, random_features(Gaussian() + Matern(4.0), 3, 64, seed=2).raw(X))
    phi = random_features(Gaussian() + Laplacian(), 3, 64)
    again = pickle.loads(pickle.dumps(phi))
    assert np.array_equal(phi.raw(X), again.raw(X))
    assert phi.nbytes > 0
    assert phi.r == phi.m
    assert phi.lift(a) is a
    assert phi.lower(a) is a


@pytest.mark.parametrize(
    "kernel",
    [
        Multiquadric(),
        Sigmoid(),
        Spline(),
        PowerSeries("sinh"),
        StringSpectrum(2),
        BSpline(degree=1),
        *NOT_STATIONARY,
    ],
    ids=named,
)
def test_other_kernels_are_referred_to_nystrom(kernel):
    with pytest.raises(ValueError, match="use Nystrom"):
        random_features(kernel, 1, 64)


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match="kind must be one of"):
        random_features(Gaussian(), 3, 64, "best")
    with pytest.raises(ValueError, match="at least 2, got 1"):
        random_features(Gaussian(), 3, 1)
    with pytest.raises(ValueError, match="has 3 entries but the points have 2"):
        random_features(Gaussian([1.0, 2.0, 3.0]), 2, 64)
    with pytest.raises(ValueError, match="one for 1 features"):
        random_features(SpectralMixture([1.0], [1.0], [1.0]), 2, 64)
    with pytest.raises(ValueError, match="m must be an integer"):
        RandomFeatures(1)
    with pytest.raises(ValueError, match="kind must be one of"):
        RandomFeatures(kind="best")


def test_settings_settle_on_a_map():
    points = np.random.default_rng(0).normal(size=(300, 3)) + 50.0
    settings = RandomFeatures(2000, kind="orthogonal", random_state=3)
    pool = draw(Arrays(points), settings.pool_size)
    phi = settings.settle(Gaussian(2.0), pool, 1.0)
    assert isinstance(phi, Waves)
    assert np.allclose(phi.origin, pool.X.mean(axis=0))
    F = phi.raw(points[:20])
    assert np.max(np.abs(F @ F.T - Gaussian(2.0)(points[:20]))) < 5.0 / np.sqrt(1000)
    assert settings.set_params(m=10).get_params()["m"] == 10
