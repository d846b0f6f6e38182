"""What holds for every kernel, and the algebra."""

import pickle
import tracemalloc
from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cases_kernels import FEATURES, KERNELS
from mercer import kernels
from mercer.kernels import (
    ActiveDims,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from mercer.kernels.base import Support, numerical_spectrum, put
from mercer.kernels.points import BLOCK_BYTES
from mercer_research import kernels as uncommon

EPS = np.finfo(np.float64).eps
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def points(n, seed=0, duplicates=0):
    """Random points, the last of which repeat the first."""
    X = np.random.default_rng(seed).normal(size=(n, FEATURES))
    if duplicates:
        X[-duplicates:] = X[:duplicates]
    return X


def rounding(kernel, *data):
    """Error of a kernel value: a hundred roundings of the largest one.

    A squared distance is a sum of a dozen products of numbers up to about ten; powers and Bessel
    functions multiply its relative error by their exponent.
    """
    largest = max(1.0, *(float(np.abs(kernel(X)).max()) for X in data))
    return 100 * EPS * largest


@every_kernel
def test_the_matrix_of_one_set_is_symmetric_with_its_diagonal(kernel):
    X = points(40, duplicates=5)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diag(X))
    np.testing.assert_allclose(K, kernel(X, X), rtol=0, atol=rounding(kernel, X))


@every_kernel
def test_the_matrix_of_one_set_in_several_pieces(kernel, monkeypatch):
    X = points(40, duplicates=5)
    K = kernel(X)
    monkeypatch.setattr("mercer.kernels.base.BLOCK_BYTES", 4000)
    for module in ("points", "distances"):
        monkeypatch.setattr(f"mercer.kernels.{module}.BLOCK_BYTES", 4000)
        monkeypatch.setattr(f"mercer.kernels.{module}.CHUNK_BYTES", 1000)
    pieces = kernel(X)
    np.testing.assert_array_equal(pieces, pieces.T)
    np.testing.assert_array_equal(pieces.diagonal(), kernel.diag(X))
    np.testing.assert_allclose(pieces, K, rtol=0, atol=rounding(kernel, X))


@every_kernel
def test_a_prepared_set_gives_the_same_values(kernel):
    X, Z = points(7), points(11, seed=1)
    evaluate = kernel.against(Z)
    np.testing.assert_array_equal(evaluate(X), kernel(X, Z))
    np.testing.assert_array_equal(evaluate(X), kernel(X, Z))
    np.testing.assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=0, atol=rounding(kernel, X, Z))


@every_kernel
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_written_where_the_caller_says(kernel, layout, dtype):
    X, Z = (layout(points(n, seed=n).astype(dtype)) for n in (7, 11))
    evaluate = kernel.against(Z)
    expected = evaluate(X)
    larger = np.full((9, 15), -7.0, dtype=dtype)
    part = larger[1:8, 2:13]
    assert evaluate(X, out=part) is part
    np.testing.assert_array_equal(part, expected)
    part[...] = -7.0
    assert (larger == -7.0).all()
    by_columns = np.empty((11, 7), dtype=dtype).T
    assert evaluate(X, out=by_columns) is by_columns
    roundings = np.finfo(dtype).eps / EPS * rounding(kernel, X, Z)
    np.testing.assert_allclose(by_columns, expected, rtol=0, atol=roundings)


@every_kernel
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_and_dense_points_agree(kernel, layout):
    X, Z = points(12), points(9, seed=1)
    X[X < 0.3], Z[Z < 0.3] = 0.0, 0.0
    K = kernel(X, Z)
    close = {"rtol": 0, "atol": rounding(kernel, X, Z)}
    np.testing.assert_allclose(kernel(layout(X), layout(Z)), K, **close)
    np.testing.assert_allclose(kernel(layout(X), Z), K, **close)
    np.testing.assert_allclose(kernel(X, layout(Z)), K, **close)
    np.testing.assert_allclose(kernel(layout(X)), kernel(X), **close)
    np.testing.assert_allclose(kernel.diag(layout(X)), kernel.diag(X), **close)
    assert kernel(layout(X), layout(Z)).flags.c_contiguous
    for name, gradient in kernel.gradient(X, Z).items():
        scale = max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(
            kernel.gradient(layout(X), layout(Z))[name], gradient, rtol=0, atol=1e3 * EPS * scale
        )


@every_kernel
def test_float32_points_give_float32_values(kernel):
    X, Z = points(30).astype(np.float32), points(20, seed=1).astype(np.float32)
    K = kernel(X, Z)
    assert K.dtype == kernel(X).dtype == kernel.diag(X).dtype == np.float32
    exact = kernel(X.astype(np.float64), Z.astype(np.float64))
    # The promised error of a squared distance, and the roundings as in float64.
    single = np.finfo(np.float32).eps / EPS * rounding(kernel, X, Z)
    np.testing.assert_allclose(K, exact, rtol=0, atol=single + 2e-5)
    mixed = kernel(X, Z.astype(np.float64))
    assert mixed.dtype == kernel(X.astype(np.float64), Z).dtype == np.float64
    np.testing.assert_allclose(mixed, exact, rtol=0, atol=rounding(kernel, X, Z))
    for gradient in kernel.gradient(X, Z).values():
        assert gradient.dtype == np.float32


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.positive_definite], ids=repr)
def test_positive_definite_on_random_and_repeated_points(kernel):
    for seed in range(3):
        X = points(40, seed, duplicates=10)
        K = kernel(X)
        # Conditionally, on coefficients orthogonal to the monomials that must stay free.
        free = kernel.unpenalized(FEATURES)
        B = np.array([[x[list(monomial)].prod() for monomial in free] for x in X])
        Q = np.linalg.qr(B.reshape(len(X), len(free)), mode="complete")[0][:, len(free) :]
        values = np.linalg.eigvalsh(Q.T @ K @ Q)
        assert values[0] >= -len(X) * EPS * np.linalg.norm(K, 2)
        assert free or kernel.order == 0


@every_kernel
def test_values_of_pairs_are_entries_of_the_matrix(kernel):
    X, Z = points(40), points(40, seed=1)
    Z[:5] = X[:5]
    exact = kernel(X, Z).diagonal()
    np.testing.assert_allclose(kernel.paired(X, Z), exact, rtol=0, atol=rounding(kernel, X, Z))


def test_no_pairs_have_no_values():
    assert Gaussian().paired(points(0), points(0)).shape == (0,)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.support is not None], ids=repr)
def test_compact_kernels_vanish_outside_their_support_only(kernel):
    X, Z = 2.0 * points(60), 2.0 * points(50, seed=1)
    scale, norm, dims = kernel.support
    differences = ((X[:, None, :] - Z[None, :, :])[:, :, dims]) / scale
    outside = np.linalg.norm(differences, norm, axis=2) >= 1.0
    K = kernel(X, Z)
    assert outside.any()
    assert not outside.all()
    assert (K[outside] == 0.0).all()
    assert (K[~outside] != 0.0).any()


def test_the_sigmoid_is_really_not_positive_definite():
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(points(20)))[0] < -0.1


@every_kernel
def test_gradients_are_difference_quotients(kernel):
    X, Z = points(6), points(5, seed=1)
    gradients = kernel.gradient(X, Z)
    params = kernel.get_params()
    assert set(gradients) <= set(params)
    for name, gradient in gradients.items():
        value = np.asarray(params[name], dtype=float)
        slots = [()] if value.ndim == 0 else list(np.ndindex(value.shape))
        found = np.moveaxis(gradient.reshape(*gradient.shape[:2], -1), 2, 0)
        for slot, part in zip(slots, found, strict=True):
            quotient, error = difference_quotient(kernel, name, value, slot, X, Z)
            np.testing.assert_allclose(part, quotient, rtol=0, atol=error)


@every_kernel
def test_pulling_back_contracts_the_gradients(kernel):
    X = points(7)
    G = points(7) @ points(7).T
    found, gradients = kernel.pullback(X, G), kernel.gradient(X)
    assert set(found) == set(gradients)
    for name, gradient in gradients.items():
        scale = np.abs(G).max() * max(1.0, np.abs(gradient).max())
        expected = np.tensordot(G, gradient, axes=2)
        assert np.shape(found[name]) == np.shape(expected)
        # Sums of 49 products, in another order and with differences of squares.
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e4 * EPS * scale)


def difference_quotient(kernel, name, value, slot, X, Z):
    """Central differences at two steps, extrapolated, and a bound on their error.

    The coarse quotient errs by h^2 f'''/6 and the fine one by a quarter of it, so their distance
    bounds the error of either; rounding of the kernel values adds its share divided by h.
    """
    h = 1e-4 * max(1.0, abs(float(value[slot])))

    def quotient(h):
        plus, minus = value.copy(), value.copy()
        plus[slot] += h
        minus[slot] -= h
        up, down = (copy(kernel).set_params(**{name: _plain(v)})(X, Z) for v in (plus, minus))
        return (up - down) / (2 * h)

    coarse, fine = quotient(h), quotient(h / 2)
    error = np.abs(coarse - fine).max() + 2 * rounding(kernel, X, Z) / h
    return (4 * fine - coarse) / 3, error


def _plain(value):
    return float(value) if value.ndim == 0 else value


@every_kernel
def test_gradients_cover_every_real_parameter(kernel):
    # A number of type float is a parameter of the kernel; integers and others are its shape.
    parameters = kernel.get_params().items()
    wanted = {name for name, value in parameters if _is_real(value, name.split("__")[-1])}
    assert set(kernel.gradient(points(2))) == wanted


def _is_real(value, name):
    if name in {"nu", "exponent", "lower", "upper", "dims", "period", "places", "scale"}:
        return False  # smoothness, the place of a domain and units are chosen, not tuned
    array = np.asarray(value) if isinstance(value, float | list | np.ndarray) else np.asarray("")
    return array.dtype.kind == "f"


@every_kernel
def test_gradients_of_one_set_agree_with_two(kernel):
    X = points(6, duplicates=2)
    two = kernel.gradient(X, X)
    for name, gradient in kernel.gradient(X).items():
        scale = max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(gradient, two[name], rtol=0, atol=1e3 * EPS * scale)
        assert np.isfinite(gradient).all()


@every_kernel
def test_kernels_survive_pickling(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@every_kernel
def test_the_representation_is_the_expression(kernel):
    names = {name: getattr(room, name) for room in (kernels, uncommon) for name in room.__all__}
    assert eval(repr(kernel), names | {"inf": np.inf, "array": np.array}) == kernel


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.stationary], ids=repr)
def test_stationary_kernels_depend_on_the_difference_only(kernel):
    X, Z = points(6), points(5, seed=1)
    shift = np.array([1.0, -2.0, 0.5])
    assert kernel.stationary
    np.testing.assert_allclose(
        kernel(X + shift, Z + shift), kernel(X, Z), rtol=0, atol=rounding(kernel, X)
    )
    assert np.ptp(kernel.diag(X)) == 0.0


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.radial], ids=repr)
def test_radial_kernels_do_not_see_rotations(kernel):
    X, Z = points(6), points(5, seed=1)
    Q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(FEATURES, FEATURES)))
    # The points are not near each other, so distances change by a few roundings only.
    np.testing.assert_allclose(kernel(X @ Q, Z @ Q), kernel(X, Z), rtol=0, atol=1e-13)


# The algebra ------------------------------------------------------------------------------------

simple = st.sampled_from([Gaussian(0.7), Linear(), Polynomial(2, coef0=1.0), Laplacian(2.0)])


@given(simple, simple, simple, st.floats(0.0, 5.0), st.integers(1, 5))
def test_the_algebra_is_pointwise(k1, k2, k3, factor, exponent):
    X, Z = points(5), points(4, seed=1)
    A, B, C = k1(X, Z), k2(X, Z), k3(X, Z)
    tolerance = {"rtol": 50 * EPS, "atol": 1e-13}
    np.testing.assert_allclose((k1 + k2 * k3)(X, Z), A + B * C, **tolerance)
    np.testing.assert_allclose(((k1 + k2) * k3)(X, Z), (A + B) * C, **tolerance)
    np.testing.assert_allclose((factor * k1)(X, Z), factor * A, **tolerance)
    np.testing.assert_allclose((k1**exponent)(X, Z), A**exponent, **tolerance)
    np.testing.assert_allclose((k1 + k2 * k3).diag(X), (k1 + k2 * k3)(X).diagonal(), **tolerance)
    assert (k1 + k2).positive_definite
    assert (k1 * k2).positive_definite


@given(simple, simple, simple)
def test_nesting_does_not_matter(k1, k2, k3):
    assert (k1 + k2) + k3 == k1 + (k2 + k3) == Sum(k1, Sum(k2, k3))
    assert (k1 * k2) * k3 == k1 * (k2 * k3) == Product(k1, Product(k2, k3))
    assert repr((k1 + k2) + k3) == repr(Sum(k1, Sum(k2, k3)))
    assert k1 + k2 != k1 * k2


def test_operators_build_chains_to_the_left():
    k1, k2, k3 = Gaussian(1.0), Gaussian(2.0), Gaussian(3.0)
    kernel = k1 + (k2 + k3)
    assert kernel.get_params()["left__left__length_scale"] == 1.0
    assert kernel.get_params()["right__length_scale"] == 3.0


def test_scalings_and_powers_merge():
    assert 2.0 * (3.0 * Linear()) == Scaled(Linear(), 6.0)
    assert Linear() * 2 == np.float64(2.0) * Linear() == 2 * Linear()
    assert (Linear() ** 2) ** 3 == Power(Linear(), 6)
    assert Linear() != 2.0 * Linear()


def test_a_kernel_added_to_itself_changes_on_one_side():
    kernel = Gaussian(1.0)
    both = (kernel + kernel).set_params(left__length_scale=2.0)
    assert both == Gaussian(2.0) + Gaussian(1.0)
    assert kernel == Gaussian(1.0)


def test_representations_have_the_parentheses_they_need():
    k, g = Linear(), Gaussian(2.0)
    expected = "Gaussian(length_scale=2.0)"
    assert repr((k + g) * k) == f"(Linear() + {expected}) * Linear()"
    assert repr((k + g) ** 2) == f"(Linear() + {expected}) ** 2"
    assert repr(2.0 * (k * g)) == f"2.0 * (Linear() * {expected})"
    assert repr((k**2).on([0])) == "(Linear() ** 2).on([0])"
    assert repr((k**2) * g) == f"Linear() ** 2 * {expected}"


def test_active_dimensions_select_and_order_features():
    X, Z = points(6), points(5, seed=1)
    kernel = Gaussian([1.0, 2.0])
    np.testing.assert_array_equal(kernel.on([2, 0])(X, Z), kernel(X[:, [2, 0]], Z[:, [2, 0]]))
    np.testing.assert_array_equal(kernel.on(slice(1, 3))(X, Z), kernel(X[:, 1:], Z[:, 1:]))
    np.testing.assert_array_equal(kernel.on([-1, 0])(X), kernel(X[:, [2, 0]]))
    assert kernel.on([0, 1]).gradient(X, Z)["kernel__length_scale"].shape == (6, 5, 2)


def test_properties_follow_the_operations():
    g, s = Gaussian(1.0), Sigmoid()
    assert not (g + s).positive_definite
    assert not (g * s).positive_definite
    assert not (2.0 * s).positive_definite
    assert not (s**2).positive_definite
    assert not s.on([0]).positive_definite
    assert (g + Laplacian()).stationary
    assert (g * Laplacian()).stationary
    assert not (g + Linear()).stationary
    assert (2.0 * g**2).on([0]).stationary
    assert not (2.0 * Linear() ** 2).on([0]).stationary
    assert (g * Matern()).radial
    assert (3.0 * g**2 + Matern()).radial
    assert not (g + Laplacian()).radial
    assert not g.on([0]).radial
    assert not Gaussian([1.0, 2.0]).radial


@dataclass(eq=False)
class Multiquadric(Kernel):
    """A kernel of order 1, to see where conditional definiteness goes."""

    @property
    def order(self):
        return 1

    def against(self, Z):
        return lambda X, out=None: put(-np.sqrt(((X[:, None] - Z) ** 2).sum(2) + 1.0), out)

    def diag(self, X):
        return -np.ones(len(X))


def test_conditional_definiteness_survives_sums_but_not_products():
    m, g = Multiquadric(), Gaussian(1.0)
    assert (m + g).order == (2.0 * m).order == m.on([0]).order == 1
    assert (m + g).positive_definite
    assert not (m * g).positive_definite
    assert not (m**2).positive_definite
    assert (m**2).order == (m * g).order == 0
    values = np.linalg.eigvalsh(m(points(10)))
    assert values[0] < 0
    center = np.eye(10) - 0.1
    assert np.linalg.eigvalsh(center @ (m + g)(points(10)) @ center)[0] >= -1e-13


def test_spectra_add_and_scale():
    omega = np.linspace(0, 3, 7)
    k1, k2 = Gaussian(0.5), Matern(2.0)
    expected = k1.spectrum(omega, 2) + 3.0 * k2.spectrum(omega, 2)
    np.testing.assert_allclose((k1 + 3.0 * k2).spectrum(omega, 2), expected)
    with pytest.raises(NotImplementedError, match="not known in closed form"):
        (k1 + Linear()).spectrum(omega)


def test_a_spectrum_by_quadrature_is_in_another_package():
    """Importing mercer_research registers it, as other tests do."""
    unknown = numerical_spectrum.dispatch(Kernel)
    with pytest.raises(NotImplementedError, match=r"Gaussian.* mercer-research .*module kernels"):
        unknown(Gaussian() ** 2, np.ones(1), 1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: -1.0 * Linear(), "at least 0"),
        (lambda: Scaled(Linear(), np.inf), "finite"),
        (lambda: Linear() ** 0, "at least 1"),
        (lambda: Power(Linear(), 2.5), "integer"),
        (lambda: Linear().on([]), "list of integers"),
        (lambda: Linear().on([0.5]), "list of integers"),
        (lambda: Sum(Linear(), 2.0), "combines kernels"),
        (lambda: Linear() + Precomputed(), "combine the matrices"),
        (lambda: 2.0 * Precomputed(), "combine the matrices"),
        (lambda: Linear().on([5])(points(2)), "the points have 3"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Linear() + 1.0,
        lambda: Linear() * "a",
        lambda: "a" * Linear(),
        lambda: Linear() ** 0.5,
    ],
)
def test_other_operands_are_type_errors(build):
    with pytest.raises(TypeError):
        build()


def test_set_params_validates():
    kernel = 2.0 * ActiveDims(Gaussian(), [0])
    with pytest.raises(ValueError, match="length_scale must be"):
        kernel.set_params(kernel__kernel__length_scale=-1.0)
    assert kernel == 2.0 * ActiveDims(Gaussian(), [0])


def test_support_points_are_rows():
    X = points(5)
    np.testing.assert_array_equal(Gaussian().points(X, np.array([3, 1])), X[[3, 1]])


def test_temporaries_do_not_grow_with_the_matrix():
    """A product of three kernels needs the result and blocks of bounded size, not three results."""
    X = np.random.default_rng(0).normal(size=(3000, 2))
    kernel = Gaussian(1.0) * Gaussian(2.0) * Matern(1.0)
    kernel(X[:10])
    tracemalloc.start()
    K = kernel(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Per block of rows: the values, those of the next factor and their copies inside profiles.
    assert peak <= K.nbytes + 3 * BLOCK_BYTES


# Names of features -------------------------------------------------------------------------------


def test_names_of_features_become_positions_wherever_they_are():
    kernel = 2.0 * Gaussian(1.3).on(["b", "c"]) + Linear().on(["a"]) * Laplacian().on([1])
    bound = kernel.bind(["a", "b", "c"])
    assert bound == 2.0 * Gaussian(1.3).on([1, 2]) + Linear().on([0]) * Laplacian().on([1])
    assert kernel.left.kernel.dims == ["b", "c"]


def test_names_are_explained_where_there_are_none():
    kernel = Gaussian().on(["b"])
    with pytest.raises(ValueError, match="fit the machine on a data frame"):
        kernel(points(3))
    with pytest.raises(ValueError, match=r"no feature 'b'; the data have \['a'\]"):
        kernel.bind(["a"])


# What must stay free, and where a kernel is not zero ---------------------------------------------


@dataclass(eq=False)
class Slope(Kernel):
    """Minus the distance, conditionally positive definite of order 1, cut off for the test."""

    reach: float = 2.0

    @property
    def order(self):
        return 2

    @property
    def support(self):
        return Support(np.asarray(self.reach), 2)

    def against(self, Z):
        return lambda X, out=None: put(-np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2), out)

    def diag(self, X):
        return np.zeros(len(X))


def test_what_must_stay_free_follows_the_features_of_a_kernel():
    kernel = Slope()
    assert kernel.unpenalized(2) == [(), (0,), (1,)]
    assert kernel.on([2, 0]).unpenalized(3) == [(), (2,), (0,)]
    assert kernel.on(slice(1, 3)).unpenalized(3) == [(), (1,), (2,)]
    assert (kernel.on([2]) + 2.0 * kernel.on([0])).unpenalized(3) == [(), (0,), (2,)]
    assert (kernel * Gaussian()).unpenalized(3) == (kernel**2).unpenalized(3) == []
    assert not (kernel * Gaussian()).positive_definite


def test_supports_of_composed_kernels():
    wide, narrow = Slope(3.0), Slope(1.0)
    assert (wide + narrow).support.scale == 3.0
    assert (narrow * Gaussian()).support == (Gaussian() * narrow).support == narrow.support
    assert (2.0 * narrow).support == (narrow**2).support == narrow.support
    assert (narrow + Gaussian()).support is None
    assert narrow.on([2]).support.dims == [2]
    assert (narrow.on([2]) + narrow).support is None
    assert narrow.on(slice(2)).support is None


def test_only_periodic_kernels_have_fourier_coefficients():
    with pytest.raises(NotImplementedError, match="not periodic"):
        Gaussian().coefficients(np.arange(3))
