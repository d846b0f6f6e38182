"""Kernels on devices against the compiled loops: NumPy, PyTorch, and a library that mixes nothing.

array_api_strict refuses arrays of two devices, and arrays of devices that NumPy cannot read: what
runs there on its second device runs on a graphics card without a change.
"""

import pickle
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from mercer.reduced.device_kernels import _squared, known
from mercer.reduced.devices import Device, resolve
from mercer.reduced.placed import Placed, place

from mercer import _optional
from mercer._version import installation
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
    Polyharmonic,
    Polynomial,
    PoweredExponential,
    PowerSeries,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spline,
    Stretched,
    StringSpectrum,
    Tensor,
    ThinPlate,
    Wendland,
)
from mercer.kernels.roundoff import precision_of
from mercer.losses import Squared
from mercer.reduced import Newton
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem
from mercer.reduced.random_features import random_features
from mercer.reduced.targets import Values
from mercer.regularizers import Constant

KNOWN = [
    Gaussian([0.5, 1.0, 2.0]),
    Matern(nu=0.5),
    Matern([1.0, 2.0, 0.7], nu=1.5),
    Matern(nu=2.5),
    Matern(nu=4.5),
    Matern(nu=np.inf),
    RationalQuadratic(1.3, alpha=0.7),
    Multiquadric(2.0),
    Multiquadric(2.0, 1.5),
    InverseMultiquadric(2.0, 0.7),
    DampedOscillator(),
    Cauchy([1.0, 2.0, 3.0]),
    PoweredExponential(exponent=1.4),
    Polyharmonic(1.0),
    Polyharmonic(3.0),
    Polyharmonic(1.7),
    ThinPlate(3),
    ThinPlate(2).on([0, 1]),
    Wendland(3.0, dim=3),
    Wendland(3.0, smoothness=0, dim=4),
    Laplacian([1.0, 2.0, 3.0]),
    Laplacian([1.0, 2.0, 3.0], categories=(1,)),
    Periodic([0.7, 1.0, 2.0], period=3.0),
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Polynomial(0),
    Sigmoid(0.1, 0.2),
    PowerSeries("exp", Gaussian()),
    PowerSeries("cosh"),
    PowerSeries("sinh"),
    PowerSeries("geometric", 0.5 * Gaussian()),
    PowerSeries("logarithm", 0.5 * Gaussian()),
    PowerSeries("arcsine", 0.5 * Gaussian()),
    PowerSeries([1.0, 0.0, 0.5], Linear()),
    2.0 * Gaussian() * Linear() ** 2 + Laplacian().on([2, 0]) + Matern().on(slice(1, 3)),
    Stretched(Periodic(period=2.0), [1.0, 2.0, 3.0]),
    Stretched(Linear(), 2.0),
    Additive(Matern(nu=0.5)),
    Tensor(Matern(nu=1.5)),
    ANOVA(Gaussian(), 2),
]
ON_HOST = [Matern(nu=0.7), BSpline(3.0, degree=3), Spline().on([0]), Gaussian() + Matern(nu=3.0)]


def strict():
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return Device(xp, xp.__array_namespace_info__().devices()[1])


def tensors():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    return resolve("cpu")


PLACES = {"numpy": lambda: Device(np), "torch": tensors, "strict": strict}


@pytest.fixture(params=PLACES)
def at(request):
    return PLACES[request.param]()


def points(n, seed, p=3):
    # Inside the unit interval, where splines and series live.
    return np.random.default_rng(seed).uniform(0.05, 0.95, size=(n, p))


@pytest.mark.parametrize("kernel", [*KNOWN, *ON_HOST], ids=repr)
def test_values_are_those_of_the_compiled_loops(kernel, at):
    X, Z = points(7, 0), points(5, 1)
    X[0] = Z[0]
    assert known(kernel, 3) == (kernel in KNOWN)
    exact = kernel(X, Z)
    K = at.evaluator(kernel, Z)(X)
    top = max(1.0, np.max(np.abs(exact)))
    # A few roundings of values of this size, and of their roots where the kernel has one at zero:
    # near pairs are computed from differences, so these have relative digits too.
    assert np.max(np.abs(at.to_numpy(K) - exact)) < 1e-13 * top
    single = at.to_numpy(at.evaluator(kernel, Z, single=True)(X))
    assert single.dtype == np.float32
    assert np.max(np.abs(single - exact)) < 1e-5 * top


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=0.5), Laplacian()], ids=repr)
def test_far_points_keep_their_digits(kernel, at):
    near, far = points(6, 0), 1e4
    exact = kernel(near, near[:4])
    X, Z = near + far, near[:4] + far
    # Adding 1e4 has rounded the points to 1e4 eps; in float32 they are rounded around the mean.
    assert np.max(np.abs(at.to_numpy(at.evaluator(kernel, Z)(X)) - exact)) < 1e5 * 2.3e-16
    assert np.max(np.abs(at.to_numpy(at.evaluator(kernel, Z, single=True)(X)) - exact)) < 1e-5


@pytest.mark.parametrize("single", [False, True])
def test_two_distant_groups_are_not_mixed_up(at, single):
    # Norms of 1e3 length scales leave nothing of distances of one: they are computed again.
    near = points(5, 0)
    X = np.concatenate([near, near + 2e3])
    K = at.to_numpy(at.evaluator(Matern(nu=0.5), X, single=single)(X))
    # Squared distances have the relative digits asked for; in float32 points have 1e3 eps.
    rounded = 5e-4 if single else precision_of(np.dtype(np.float64), X.shape[1]).digits
    assert np.max(np.abs(K - Matern(nu=0.5)(X))) < rounded


def test_sparse_points_and_no_points(at):
    X, Z = points(7, 0), points(5, 1)
    values = at.evaluator(Gaussian(), sp.csr_array(Z))(sp.csr_array(X))
    assert np.allclose(at.to_numpy(values), Gaussian()(X, Z), atol=1e-14)
    assert at.evaluator(Gaussian(), Z)(X[:0]).shape == (0, 5)


def test_products_with_values_stay_on_the_device(at):
    X, Z, A = points(7, 0), points(5, 1), points(5, 2, p=2)
    K = at.evaluator(Gaussian(), Z)(X)
    F = K @ at.to_device(A)
    G = at.to_numpy(F)
    assert np.allclose(G, Gaussian()(X, Z) @ A, atol=1e-13)
    assert np.allclose(at.to_numpy(K.T @ at.to_device(G)), Gaussian()(Z, X) @ G, atol=1e-13)


def test_arrays_come_back_as_they_were(at):
    A = points(4, 0)
    there = at.to_device(A)
    A2 = at.to_numpy(there)
    assert np.array_equal(A, A2)
    assert at.to_numpy(at.to_device(A, single=True)).dtype == np.float32
    there += 1.0
    assert np.array_equal(A, points(4, 0))


def test_refusals_say_what_to_do(at):
    with pytest.raises(ValueError, match="leave device at None"):
        at.evaluator(StringSpectrum(2), ["a"])
    with pytest.raises(ValueError, match="leave device at None"):
        at.evaluator(Precomputed(), np.eye(2))
    with pytest.raises(ValueError, match="need the same features"):
        at.evaluator(Gaussian(), points(3, 0))(points(3, 0, p=2))
    with pytest.raises(ValueError, match="the points have 3"):
        at.evaluator(Gaussian().on([5]), points(3, 0))
    with pytest.raises(ValueError, match="3 entries but the points have 2"):
        at.evaluator(Gaussian([1.0, 2.0, 3.0]), points(3, 0, p=2))


def test_devices_are_named():
    assert resolve(None) is None
    at = resolve((np, None))
    assert resolve(at) is at
    at = tensors()
    assert type(at).__name__ == "Tensors"
    again = pickle.loads(pickle.dumps(at))
    assert again.device == at.device
    with pytest.raises(ValueError, match="name another, or leave device at None"):
        resolve("abacus")
    with pytest.raises(ValueError, match="name another, or leave device at None"):
        resolve("meta:7:1")


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "array_api_compat.torch", None)
    monkeypatch.delitem(sys.modules, "mercer.reduced.tensors", raising=False)
    with pytest.raises(ImportError, match=re.escape(installation("torch"))):
        _optional.plugin("torch")


# Maps.


MAPS = [
    NystromMap(Gaussian(0.7), points(6, 1)),
    NystromMap(Matern(nu=0.5) + Linear(), points(6, 1)),
    random_features(Gaussian(0.7), 3, 40, origin=np.array([0.5, 0.4, 0.6])),
    random_features(Gaussian() + Polynomial(3, 0.5, 1.0), 3, 60),
    random_features(Gaussian() * Linear(), 3, 60),
]


@pytest.mark.parametrize("phi", MAPS, ids=lambda phi: type(phi).__name__)
@pytest.mark.parametrize("single", [False, True])
def test_a_placed_map_gives_the_same_values_and_products(phi, single, at):
    X = points(9, 0)
    placed = Placed(phi, at)
    R, exact = placed.raw(X, single), phi.raw(X)
    # Float32 has seven digits, of which a few kernel values of this size lose one.
    bound = 1e-5 if single else 1e-13
    assert R.shape == exact.shape
    assert R.dtype == (np.float32 if single else np.float64)
    assert np.allclose(np.asarray(R), exact, rtol=0.0, atol=bound)
    A, G = points(phi.m, 2, p=2), points(9, 3, p=2)
    assert isinstance(R @ A, np.ndarray)
    assert np.allclose(R @ A, exact @ A, rtol=0.0, atol=bound * phi.m)
    assert np.allclose(R.T @ G, exact.T @ G, rtol=0.0, atol=bound * 9)
    chosen = np.array([True, False] * 4 + [True])
    assert np.allclose(np.asarray(R[chosen]), exact[chosen], rtol=0.0, atol=bound)
    assert np.allclose(np.asarray(R[2:5]), exact[2:5], rtol=0.0, atol=bound)
    csr = placed.raw(sp.csr_array(X), single)
    assert np.allclose(np.asarray(csr), exact, rtol=0.0, atol=bound)


def test_coefficients_and_features_of_a_placed_map_are_those_of_the_map(at):
    phi = MAPS[0]
    placed = Placed(phi, at)
    W = points(phi.r, 2, p=2)
    assert (placed.m, placed.r, placed.nbytes) == (phi.m, phi.r, phi.nbytes)
    assert np.array_equal(placed.lift(W), phi.lift(W))
    assert np.array_equal(placed.lower(W), phi.lower(W))
    X = points(9, 0)
    assert np.allclose(placed.features(placed.raw(X)), phi.features(phi.raw(X)), atol=1e-10)


def test_a_placed_map_travels_without_what_lies_on_the_device():
    placed = place(MAPS[0], tensors())
    X = points(9, 0)
    before = np.asarray(placed.raw(X))
    again = pickle.loads(pickle.dumps(placed))
    assert np.array_equal(np.asarray(again.raw(X)), before)
    assert place(MAPS[0], None) is MAPS[0]


def differences(X, Z):
    """Squared distances without a product."""
    return np.sum((X[:, None] - Z[None]) ** 2, axis=2)


# Profiles of squared distances, written here once more.
FUSED = [
    (Gaussian(0.7), lambda s: np.exp(-s / (2.0 * 0.7**2))),
    (3.0 * Gaussian(0.7), lambda s: 3.0 * np.exp(-s / (2.0 * 0.7**2))),
    (Matern(nu=0.5), lambda s: np.exp(-np.sqrt(s))),
    (RationalQuadratic(1.3, alpha=0.7), lambda s: (1.0 + s / (1.4 * 1.3**2)) ** -0.7),
    (InverseMultiquadric(2.0, 0.7), lambda s: (1.0 + s / 4.0) ** -0.7),
    (PoweredExponential(exponent=1.4), lambda s: np.exp(-(s**0.7))),
]
TWO_BLOCKS = (Matern(nu=1.5), lambda s: (1.0 + np.sqrt(3.0 * s)) * np.exp(-np.sqrt(3.0 * s)))


def swept(phi, X, A, single, rows):
    """Decision values of all rows, and the sum with twice these, by parts of some rows."""
    F = np.empty((len(X), A.shape[1]))

    def slopes(f, part, R):
        F[part] = f
        return 2.0 * f

    return F, phi.sweep(X, A, slopes, single, rows)


@pytest.mark.parametrize("pair", [*FUSED, TWO_BLOCKS], ids=lambda pair: repr(pair[0]))
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("rows", [None, 40])
def test_a_fused_block_has_the_sums_of_differences(pair, single, rows, at):
    (kernel, of_squares), X, Z = pair, points(150, 0), points(11, 1)
    phi = NystromMap(kernel, Z)
    A = np.random.default_rng(2).normal(size=(phi.m, 2)) / phi.m
    K = of_squares(differences(X, phi.Z))
    F, total = swept(Placed(phi, at), X, A, single, rows)
    # Squared distances have errors of 4 eps (|x|^2 + |z|^2), with norms up to one around the mean,
    # and profiles slopes up to one but where the distances are computed from differences.
    bound = 8.0 * np.finfo(np.float32 if single else np.float64).eps
    assert bound < 1e-6
    top = np.max(K)
    assert np.max(np.abs(F - K @ A)) <= bound * top * np.max(np.sum(np.abs(A), axis=0))
    size = np.max(np.sum(K, axis=0)) * np.max(np.abs(K) @ np.abs(A))
    assert np.max(np.abs(total - 2.0 * K.T @ (K @ A))) <= 4.0 * bound * size
    assert total.dtype == np.float64


@pytest.mark.parametrize(("smooth", "norm"), [(False, 1.0), (False, 300.0), (True, 300.0)])
def test_near_pairs_have_the_digits_of_their_differences(at, smooth, norm):
    """Products of points of norm 300 may be off by more than a smooth profile allows."""
    rng = np.random.default_rng(0)
    P = rng.normal(size=(20, 3))
    P *= np.sqrt(norm) / np.linalg.norm(P, axis=1, keepdims=True)
    Q = P + 1e-4 * rng.normal(size=P.shape)
    found = at.to_numpy(_squared(at, at.to_device(P, False), at.to_device(Q, False), smooth))
    exact = differences(P.astype(np.longdouble), Q.astype(np.longdouble))
    near = exact < 1e-6
    assert near.sum() == 20
    assert np.max(np.abs(found - exact)[near] / exact[near]) <= 1e-12
    # Of the others, the rounding of products of three terms and of two squares.
    assert np.max(np.abs(found - exact)) <= precision_of(found.dtype, 3).rounding * 4 * norm


def test_rows_without_any_have_a_sum(at):
    phi = Placed(MAPS[0], at)
    F, total = swept(phi, points(0, 0), np.ones((phi.m, 2)), False, None)
    assert F.shape == (0, 2)
    assert np.array_equal(total, np.zeros((phi.m, 2)))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in FUSED], ids=repr)
def test_a_fused_block_of_tensors_is_one_allocation(kernel):
    at = tensors()
    dispatch = pytest.importorskip("torch.utils._python_dispatch")
    phi = NystromMap(kernel, points(20, 1))
    size, seen = 30 * phi.m * 8, []

    class Record(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if getattr(result, "ndim", 0) == 2 and result.untyped_storage().nbytes() >= size:
                seen.append(result)  # kept, so that no memory is given out twice
            return result

    with Record():
        swept(Placed(phi, at), points(120, 0), np.ones((phi.m, 1)), False, 30)
    assert len({one.untyped_storage().data_ptr() for one in seen}) == 1
    # Each of four parts passes through a product, a bound below and a profile at least.
    assert len(seen) >= 12


@pytest.mark.parametrize("dense", [True, False], ids=["normal equations", "products"])
def test_a_machine_found_on_a_device_is_the_one_found_without(dense, at):
    X = points(300, 0)
    y = np.sin(6.0 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=300)
    source, found = Arrays(X, y), []
    for phi in (MAPS[0], Placed(MAPS[0], at)):
        problem = Problem(phi, Constant(), Values(1), Squared(), np.ones(1), 3)
        oracle = Oracle(problem, Passes(source), draw(source, 200))
        oracle.dense = dense
        found.append(Newton(tol=1e-9).minimize(oracle, np.zeros((phi.r, 1)), np.zeros((1, 1))))
    values = [float(one.value.primal[0]) for one in found]
    # A relative gap of 1e-9 each, and |w - w*|^2 / 2 is at most the gap.
    assert abs(values[0] - values[1]) <= 2e-9 * values[0]
    assert np.linalg.norm(found[0].W - found[1].W) <= 2.0 * np.sqrt(2.0 * 1e-9 * values[0])
