"""Duels, corrected tests and ranks by hand."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from benchmarks.ranking import compare, duel, geometric, holm, rank, relative


def test_wins_ties_losses_and_failures():
    theirs = np.array([1.0, 1.0, 1.0, np.inf, 0.5, np.inf, 0.0])
    ours = np.array([0.9, 1.005, 1.1, 0.7, np.inf, np.inf, 0.0])
    found = duel(ours, theirs)
    assert found.counts == (2, 3, 2)
    assert found.ratio == pytest.approx((0.9 * 1.005 * 1.1) ** (1 / 3))


def test_the_test_is_that_of_signed_ranks_of_log_ratios():
    rng = np.random.default_rng(0)
    ours, theirs = rng.uniform(0.1, 1.0, (2, 16))
    # Relative differences are tanh(log ratio / 2): the same signs and the same order.
    logs = np.log(ours / theirs)
    np.testing.assert_allclose(relative(ours, theirs), np.tanh(logs / 2), rtol=1e-12)
    assert duel(ours, theirs).p_value == wilcoxon(logs).pvalue
    assert duel(ours, ours).p_value == 1.0
    # Six differences of one sign: two of the 64 equally likely patterns of signs.
    six = duel(np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9]), np.ones(6))
    assert six.p_value == pytest.approx(2 / 64)


def test_p_values_are_corrected_step_down():
    # 4 x 0.01; 3 x 0.015; 2 x 0.02 is raised to the one before; 1 x 0.5.
    np.testing.assert_allclose(holm([0.5, 0.01, 0.02, 0.015]), [0.5, 0.04, 0.045, 0.045])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]


def test_means_over_splits_tie_within_their_standard_error():
    theirs = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    # 5 % better with a spread of 1 %; 5 % better with a spread of 20 %; half a per cent worse.
    ours = np.array([[0.94, 0.96], [0.75, 1.15], [1.004, 1.006]])
    found = compare(ours, theirs)
    assert found.sets == (1, 2, 0)
    assert found.whole == pytest.approx(ours.mean())
    assert found.ratio == pytest.approx((0.95 * 0.95 * 1.005) ** (1 / 3))


def test_ranks_share_ties_and_are_best_first():
    found = rank(
        {"a": np.array([1.0, 2.0, 1.0]), "b": np.array([1.0, 1.0, 2.0]), "c": np.full(3, 3.0)}
    )
    assert list(found.ranks) == ["a", "b", "c"]
    assert found.ranks == {"a": 1.5, "b": 1.5, "c": 3.0}
    # Demsar (2006), table 5: q is 2.343 for three methods.
    assert found.distance == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), rel=1e-3)


def test_the_geometric_mean_leaves_out_zeros_and_failures():
    assert geometric([1.0, 4.0, 16.0, 0.0, np.inf]) == pytest.approx(4.0)
    assert np.isnan(geometric([]))
