"""Unpenalized columns: values, names, counts, sparse points."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from cases_kernels import FEATURES, NULL_SPACES, sine
from mercer.regularizers import Breaks, Columns, Constant, Empty, Functions, Polynomial, null_space
from mercer.regularizers.null_space import Monomials, Sum, complete

X = np.random.default_rng(0).normal(size=(9, FEATURES))


@pytest.mark.parametrize("space", NULL_SPACES, ids=repr)
def test_every_space_says_its_size_and_names(space):
    B = space(X)
    assert B.dtype == np.float64
    assert B.shape == (9, space.size(FEATURES))
    assert len(set(space.names(FEATURES))) == B.shape[1]
    np.testing.assert_array_equal(space(X.astype(np.float32)).shape, B.shape)
    np.testing.assert_array_equal(space(X[2:5]), B[2:5])
    assert space(X[:0]).shape == (0, B.shape[1])


@given(st.integers(1, 4), st.integers(0, 4))
def test_polynomials_are_those_of_scikit_learn(p, degree):
    Z = np.random.default_rng(1).normal(size=(6, p))
    space = Polynomial(degree)
    features = PolynomialFeatures(degree)
    np.testing.assert_allclose(space(Z), features.fit_transform(Z), rtol=1e-14)
    assert space.names(p) == list(features.get_feature_names_out())
    assert space.size(p) == comb(p + degree, degree)
    np.testing.assert_allclose(space(sparse.csr_array(Z)), space(Z), rtol=0)
    np.testing.assert_allclose(space(Z.tolist()), space(Z), rtol=0)


def test_degree_zero_is_the_constant_even_for_wide_sparse_points():
    wide = sparse.csr_array((3, 10**7))
    np.testing.assert_array_equal(Polynomial(0)(wide), np.ones((3, 1)))
    np.testing.assert_array_equal(Constant()(wide), np.ones((3, 1)))
    assert Empty()(wide).shape == (3, 0)


@pytest.mark.parametrize(("degree", "p"), [(1, 10_000), (2, 141), (50, 10)])
def test_too_many_columns_are_refused_before_they_are_made(degree, p):
    space = Polynomial(degree)
    assert space.size(p) > null_space.MAX_COLUMNS
    with pytest.raises(ValueError, match=r"lower the degree or use fewer features"):
        space(sparse.csr_array((2, p)))
    with pytest.raises(ValueError, match=r"more than 10000"):
        space.names(p)


def test_functions_of_one_and_several_columns():
    def square(A):
        return A[:, :2] ** 2

    space = Functions([sine, square], widths=[1, 2])
    np.testing.assert_array_equal(space(X), np.c_[np.sin(X[:, 0]), X[:, :2] ** 2])
    assert space.names(FEATURES) == ["sine", "square[0]", "square[1]"]
    assert Functions([lambda A: A[:, [0]]])(X).shape == (9, 1)
    assert Functions([lambda A: A[:, [0]]])(sparse.csr_array(X)).shape == (9, 1)
    np.testing.assert_array_equal(Functions([sine])(X.tolist()), np.sin(X[:, :1]))
    assert Functions([])(X).shape == (9, 0)


class Slope:
    """A function without a name."""

    def __call__(self, A):
        return A[:, 0]


def test_a_callable_object_is_named_after_its_class():
    assert Functions([Slope()]).names(1) == ["Slope"]


def test_sums_put_columns_side_by_side():
    space = Constant() + Functions([sine]) + Functions([Slope()])
    np.testing.assert_array_equal(space(X), np.c_[np.ones(9), np.sin(X[:, 0]), X[:, 0]])
    assert space.size(FEATURES) == 3
    assert space.names(FEATURES) == ["1", "sine", "Slope"]
    assert space == Sum(Constant(), Sum(Functions([sine]), space.right))
    assert space != Constant() + Functions([sine])


def test_representations_name_the_functions():
    space = Constant() + Functions([sine, Slope()], widths=[1, 1])
    assert repr(space) == "Constant() + Functions([sine, Slope], widths=[1, 1])"
    assert repr(Functions([sine])) == "Functions([sine])"


def test_the_empty_space_adds_nothing():
    assert Empty() + Constant() == Constant() + Empty() == Constant()
    assert Empty() + Empty() == Empty()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polynomial(-1), "degree must be"),
        (lambda: Polynomial(1.5), "degree must be"),
        (lambda: Functions([3]), "must be callables"),
        (lambda: Functions([sine], widths=[1, 2]), "one entry per function"),
        (lambda: Functions([lambda A: A])(X), r"returned shape \(9, 3\).*widths="),
        (lambda: Functions([lambda A: 1.0])(X), r"returned shape \(\)"),
        (lambda: Functions([sine], widths=[2])(X), r"expected \(9, 2\)"),
        (lambda: Sum(Constant(), 1.0), "Only null spaces"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_other_operands_are_type_errors():
    with pytest.raises(TypeError):
        Constant() + 1.0


def test_names_of_features_are_used_and_bound():
    space = (
        Polynomial(1) + Columns(["b"]) + Breaks([0.5], column="a") + Functions([np.sin], on=["b"])
    )
    bound = space.bind(["a", "b"])
    assert bound.names(2, ["a", "b"]) == ["1", "a", "b", "b", "jump at a = 0.5", "sin(b)"]
    assert bound.names(2)[:4] == ["1", "x0", "x1", "x1"]
    Z = np.array([[0.4, 2.0], [0.6, 3.0]])
    expected = [[1.0, 0.4, 2.0, 2.0, 0.0, np.sin(2.0)], [1.0, 0.6, 3.0, 3.0, 1.0, np.sin(3.0)]]
    np.testing.assert_array_equal(bound(Z), expected)
    assert space.left.left.right.columns == ["b"]  # the original keeps its names
    with pytest.raises(ValueError, match="fit the machine on a data frame"):
        Columns(["b"])(Z)
    with pytest.raises(ValueError, match="no feature 'c'"):
        Columns(["c"]).bind(["a", "b"])


def test_functions_of_numpy_act_on_every_feature():
    space = Functions([np.sin, sine])
    assert space.size(FEATURES) == FEATURES + 1
    assert space.names(FEATURES) == ["sin(x0)", "sin(x1)", "sin(x2)", "sine"]
    np.testing.assert_array_equal(space(X), np.c_[np.sin(X), np.sin(X[:, 0])])
    assert repr(Functions([np.sin], on=[1])) == "Functions([sin], on=[1])"


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_breaks_are_jumps_of_a_derivative(order):
    """Differences of the k-th order on either side of the knot differ by one."""
    h = 2.0**-6
    grid = np.arange(-8, 9)[:, None] * h
    values = Breaks([0.0], order=order)(grid)[:, 0]
    quotients = np.diff(values, order) / h**order
    np.testing.assert_allclose(quotients[0], 0.0, atol=0)
    np.testing.assert_allclose(quotients[-1], 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Columns([]), "not empty"),
        (lambda: Columns([0.5]), "positions or of names"),
        (lambda: Breaks([]), "finite numbers"),
        (lambda: Breaks([np.nan]), "finite numbers"),
        (lambda: Breaks([0.0], order=-1), "at least 0"),
        (lambda: Breaks([0.0], order=0.5), "at least 0"),
    ],
)
def test_mistakes_are_explained(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_kernel_needs_is_added_once():
    needed = [(), (0,), (1,)]
    assert complete(Constant(), needed, 2).names(2) == ["1", "x0", "x1"]
    assert complete(Empty(), needed, 2).names(2) == ["1", "x0", "x1"]
    assert complete(Constant() + Columns([1]), needed, 2).names(2) == ["1", "x0", "x1"]
    assert complete(Polynomial(2), needed, 2) == Polynomial(2)
    assert complete(Constant(), [], 2) == Constant()
    wave = Functions([sine])
    assert complete(Constant() + wave, needed, 2).names(2) == ["1", "x0", "x1", "sine"]
    parabola = Monomials([(0, 0), (0,)])
    assert complete(parabola, needed, 2).names(2) == ["1", "x1", "x0^2", "x0"]
