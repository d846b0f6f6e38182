import numpy as np
import pytest

from mercer.gram import Dense
from mercer.losses import EpsilonInsensitive, Hinge, Logistic, Pinball, QuadraticDualLoss, Squared
from mercer.losses.stacked import stack
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, InteriorPoint, minimize

CASES = {
    "quadratic": (
        [EpsilonInsensitive(np.array([0.1, 0.2, 0.3])), Squared(), Pinball(0.2)],
        [3, 2, 4],
    ),
    "general": ([Logistic(), Hinge()], [4, 5]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_group_has_its_loss(case):
    losses, sizes = CASES[case]
    loss, rng = stack(losses, sizes), np.random.default_rng(0)
    y, f = np.sign(rng.normal(size=9)), rng.normal(size=9)
    ends = np.cumsum([0, *sizes])
    for what in ("value", "gradient", "curvature"):
        whole = getattr(loss, what)(y, f)
        for part, lo, hi in zip(losses, ends, ends[1:], strict=False):
            np.testing.assert_array_equal(whole[lo:hi], getattr(part, what)(y[lo:hi], f[lo:hi]))
    v = loss.gradient(y, f)
    np.testing.assert_allclose(loss.value(y, f) + loss.conjugate(y, v), v * f, atol=1e-12)
    assert np.all(loss.violation(y, f, v) < 1e-9)


@pytest.mark.parametrize("case", CASES)
def test_samples_keep_their_losses_in_any_order(case):
    losses, sizes = CASES[case]
    loss, rng = stack(losses, sizes), np.random.default_rng(1)
    y, f = np.sign(rng.normal(size=9)), rng.normal(size=9)
    some = rng.permutation(9)[:6]
    np.testing.assert_array_equal(loss.take(some).value(y[some], f[some]), loss.value(y, f)[some])
    np.testing.assert_array_equal(
        loss.take(some).slopes(y[some]), np.array(loss.slopes(y))[:, some]
    )


def test_only_quadratic_members_make_a_quadratic_stack():
    assert isinstance(stack(*CASES["quadratic"]), QuadraticDualLoss)
    assert not isinstance(stack(*CASES["general"]), QuadraticDualLoss)
    assert not stack(*CASES["quadratic"]).smooth
    assert stack([Squared(), Squared()], [1, 1]).quadratic


def test_a_loss_needs_a_size():
    with pytest.raises(ValueError, match="as many sizes"):
        stack([Squared()], [1, 2])


def test_solvers_agree_and_a_group_of_one_loss_is_that_loss():
    rng = np.random.default_rng(2)
    G, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    K, B = Dense(G @ G.T), np.ones((9, 1))
    loss = stack(*CASES["quadratic"])
    one = minimize(RegularizedRisk(loss, K, y, 2.0, B), SMO(tol=1e-9))
    two = minimize(RegularizedRisk(loss, K, y, 2.0, B), InteriorPoint(tol=1e-9))
    # Objectives of two answers differ by at most the larger gap.
    assert abs(one.objective - two.objective) <= max(one.gap, two.gap) + 1e-12
    same = stack([Squared(), Squared()], [5, 4])
    plain = minimize(RegularizedRisk(Squared(), K, y, 2.0, B), InteriorPoint(tol=1e-9))
    stacked = minimize(RegularizedRisk(same, K, y, 2.0, B), InteriorPoint(tol=1e-9))
    np.testing.assert_allclose(stacked.f, plain.f, atol=1e-7)
