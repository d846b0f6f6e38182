"""Sums in pieces, maps of dependent centres and bounds, each beside what it is by definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from mercer.data.base import Block
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import Squared
from mercer.reduced.approximation_error import ADDED_STANDARD_ERRORS, Cost, _estimated
from mercer.reduced.normal_equations import gather
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import RunningVariance
from mercer.reduced.problem import Problem, Values
from mercer.regularizers.null_space import Constant


@pytest.mark.parametrize("piece", [1, 2**30])
def test_sums_of_a_block_do_not_depend_on_its_pieces(piece, monkeypatch):
    monkeypatch.setattr(
        "mercer.reduced.normal_equations.PIECE_BYTES", piece
    )  # 64 rows at a time, or all
    rng = np.random.default_rng(0)
    X, Y, s = rng.normal(size=(150, 2)), rng.normal(size=(150, 2)), rng.uniform(0.5, 2.0, 150)
    phi = NystromMap(Gaussian(), X[:7])
    problem = Problem(phi, Constant(), Values(2), Squared(), np.ones(2), 2)
    sums = gather(Block(X, Y, s), problem, None)
    U = np.hstack([phi.features(phi.raw(X)), np.ones((150, 1))])
    np.testing.assert_allclose(sums["G"][0], U.T @ (s[:, None] * U), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums["g"], U.T @ (s[:, None] * Y), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums["square"], s @ Y**2)
    np.testing.assert_allclose(sums["n"], 150)


def test_centres_that_nearly_repeat_are_left_out():
    Z = np.array([[0.0], [1.0], [1.0 + 1e-8], [1e-9], [2.5]])
    assert NystromMap(Gaussian(1.0), Z).r == 3


@pytest.mark.parametrize(("apart", "kept"), [(1e-5, 2), (1e-7, 1)])
def test_a_centre_is_kept_for_a_trillionth_of_the_diagonal(apart, kept):
    """Rounding of two centres leaves much less than 1e-12, so that the limit is what decides."""
    adds = -np.expm1(-(apart**2))  # 1 - k(0, d)^2, the second pivot of two centres
    assert (adds > 1e-12) == (kept == 2)
    assert adds > 10 * np.finfo(np.float64).eps
    assert NystromMap(Gaussian(1.0), np.array([[0.0], [apart]])).r == kept


@pytest.mark.parametrize("kernel", [Gaussian(), ThinPlate()], ids=repr)
def test_memory_counts_every_matrix_that_is_held(kernel):
    phi = NystromMap(kernel, np.random.default_rng(0).normal(size=(12, 2)))
    held = phi.R.nbytes + (0 if phi.N is None else phi.N.nbytes)
    assert phi.nbytes == held + 8 * 32 * phi.m  # and 32 numbers a centre


def test_the_first_row_with_a_bad_target_is_named():
    Y = np.ones((6, 2))
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="target of row 13 is NaN"):
        Values(2)(Block(np.zeros((6, 1)), Y, start=10))


def test_zeros_that_are_not_stored_have_their_spread():
    X = sparse.random(30, 4, 0.3, format="csr", random_state=0)
    found, dense = RunningVariance.of(X), RunningVariance.of(X.toarray())
    assert found.variance == pytest.approx(np.var(X.toarray()), rel=1e-12)
    assert (found.n, found.mean) == pytest.approx((dense.n, dense.mean))


def test_a_bound_is_scaled_only_where_that_is_allowed():
    # q = 4, s = 3 - 1 + 2 = 4 and extra = 2 (5 + ADDED_STANDARD_ERRORS 0.5): the best t is
    # s / (q + extra).
    value = SimpleNamespace(gap=np.array([1.0]), primal=np.array([3.0]))
    features, cost = np.array([[2.0]]), Cost(5.0, 0.5)
    extra = 2.0 * (5.0 + ADDED_STANDARD_ERRORS * 0.5)
    scaled = 3.0 - 0.5 * 4.0**2 / (4.0 + extra)
    assert _estimated(features, value, cost, True) == pytest.approx(scaled)
    assert _estimated(features, value, cost, False) == pytest.approx(1.0 + 0.5 * extra)
    assert scaled < 1.0 + 0.5 * extra
    assert np.isnan(_estimated(features, value, Cost(np.nan, 0.0), True))
