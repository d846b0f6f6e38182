"""A bound on the complexity, on the risk, or a weight: one trade-off."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import SVC, SVR, KernelRegressor, NuSVR
from mercer.estimators import SparseRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Squared
from mercer_research.selection import FixedComplexity, pareto_path


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (40, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=40)


def conic(K, cost, y, norm=None, risk=None, sparse=False):
    """Solve problem (A) or (C) as it is printed."""
    a, b = cp.Variable(len(y)), cp.Variable()
    L = np.linalg.cholesky(K + 1e-12 * np.eye(len(y)))
    # A coefficient a of the expansion is L'a in orthonormal coordinates of the space.
    f = (K @ a if sparse else L @ a) + b
    size = cp.norm1(a) if sparse else cp.norm(a, 2)
    loss = cp.sum(cost(y - f)) / len(y)
    if norm is not None:
        return cp.Problem(cp.Minimize(loss), [size <= norm]).solve(solver=cp.CLARABEL)
    return cp.Problem(cp.Minimize(size), [loss <= risk]).solve(solver=cp.CLARABEL)


CASES = {
    "tube": (SVR(kernel=Gaussian(0.5), epsilon=0.1, tol=1e-8), lambda r: cp.pos(cp.abs(r) - 0.1)),
    "squared": (
        KernelRegressor(Squared(), Gaussian(0.5), tol=1e-8),
        lambda r: 0.5 * cp.square(r),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_both_bounds_are_the_printed_problems(name, sample):
    X, y = sample
    machine, cost = CASES[name]
    K = Gaussian(0.5)(X)
    bounded = FixedComplexity(machine, max_norm=1.0).fit(X, y)
    assert bounded.norm_ == pytest.approx(1.0, rel=1e-6)
    assert bounded.risk_ == pytest.approx(conic(K, cost, y, norm=1.0), rel=1e-4, abs=1e-7)
    level = 0.5 * bounded.risk_
    accurate = FixedComplexity(machine, max_risk=level).fit(X, y)
    assert accurate.risk_ == pytest.approx(level, rel=1e-6)
    assert accurate.norm_ == pytest.approx(conic(K, cost, y, risk=level), rel=1e-4)
    # Problem (B) at the weight that was found is the same machine.
    again = machine.set_params(C=bounded.C_).fit(X, y)
    assert np.allclose(again.predict(X), bounded.predict(X), atol=1e-6)
    assert bounded.score(X, y) == again.score(X, y)


def test_segments_of_one_weight_are_combined(sample):
    """The 1-norm has vertices: between two of them every bound on the norm has the same C."""
    X, y = sample
    K, cost = Gaussian(0.5)(X), CASES["tube"][1]
    machine = SparseRegressor(EpsilonInsensitive(0.1), Gaussian(0.5), tol=1e-9)
    one, two = (FixedComplexity(machine, max_norm=t).fit(X, y) for t in (1.0, 1.001))
    assert pytest.approx(two.C_, rel=1e-5) == one.C_
    for model, bound in ((one, 1.0), (two, 1.001)):
        assert model.norm_ == pytest.approx(bound, rel=1e-6)
        assert np.abs(model.estimator_.dual_coef_).sum() == pytest.approx(bound, rel=1e-6)
        expected = conic(K, cost, y, norm=bound, sparse=True)
        assert model.risk_ == pytest.approx(expected, rel=1e-5)
        ours = np.mean(np.maximum(np.abs(y - model.predict(X)) - 0.1, 0.0))
        assert ours == pytest.approx(expected, rel=1e-5)


# The weight that the search ends at is more than double precision can tell.
@pytest.mark.filterwarnings("ignore:.*double precision cannot tell")
def test_bounds_that_do_not_bind_and_bounds_that_cannot(sample):
    X, y = sample
    machine = CASES["squared"][0]
    # No norm is needed for the risk of a constant, and more risk than that is no less norm.
    constant = FixedComplexity(machine, max_risk=float(np.var(y))).fit(X, y)
    assert constant.norm_ < 1e-4
    twice, values = np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0.5, -0.5], 40)
    # Two values at each point leave half of the squared half of their distance.
    with pytest.raises(ValueError, match="no function has a mean loss"):
        FixedComplexity(KernelRegressor(kernel=Gaussian(0.5)), max_risk=0.1).fit(twice, values)
    with pytest.raises(ValueError, match="exactly one"):
        FixedComplexity(machine).fit(X, y)
    with pytest.raises(ValueError, match="without nu"):
        FixedComplexity(NuSVR(), max_norm=1.0).fit(X, y)


def test_classifiers_too(sample):
    X, y = sample
    labels = np.where(y > 0.3, "high", "low")
    model = FixedComplexity(SVC(kernel=Gaussian(0.5), tol=1e-6), max_norm=2.0).fit(X, labels)
    assert model.norm_ == pytest.approx(2.0, rel=1e-4)
    assert set(model.predict(X)) <= {"high", "low"}
    assert model.decision_function(X).shape == (40,)
    assert list(model.classes_) == ["high", "low"]


@pytest.mark.parametrize(
    "machine",
    [SVR(kernel=Gaussian(0.5), tol=1e-6), SparseRegressor(kernel=Gaussian(0.5))],
    ids=["rkhs", "1-norm"],
)
def test_the_front_is_monotone_and_nothing_dominates(machine, sample):
    X, y = sample
    path = pareto_path(machine, X, y, np.logspace(-2, 2, 15))
    norms, risks = path.norms, path.risks
    # To the tolerance of the machine, which bounds what values of the objective are worth.
    assert np.all(np.diff(norms) >= -1e-5)
    assert np.all(np.diff(risks) <= 1e-5)
    # The front is convex: r is a convex function of the penalty.
    Q = norms if isinstance(machine, SparseRegressor) else 0.5 * norms**2
    moved = np.flatnonzero(np.diff(Q) > 1e-4)
    slopes = (np.diff(risks) / np.where(np.diff(Q) > 0, np.diff(Q), 1.0))[moved]
    assert np.all(np.diff(slopes) >= -1e-3)
    # The slope of the front is the trade-off: minus one over C n, between neighbouring C.
    assert np.all(-slopes * 40 >= 1 / path.Cs[moved + 1] - 1e-3)
    assert np.all(-slopes * 40 <= 1 / path.Cs[moved] + 1e-3)
    # Past the corner the norm grows and the loss hardly falls: it is where the bend is.
    assert 0 < path.corner < 14
    assert path.Cs[path.corner] == path.best
    assert path.n_support[0] >= 0
    with pytest.raises(ValueError, match="positive"):
        pareto_path(machine, X, y, [0.0])
