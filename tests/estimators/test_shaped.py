"""Machines of a known shape: what holds, what it costs, and what is proved."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import KernelRegressor, Nystrom, ShapeConstrainedClassifier, ShapeConstrainedRegressor
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.kernels.precomputed import Precomputed
from mercer.losses import EpsilonInsensitive
from mercer.regularizers import (
    At,
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Increasing,
    Lipschitz,
    Mean,
    Periodic,
    Positive,
)
from mercer.solvers import constraint_generation
from mercer.solvers.auto import Thresholds
from mercer.solvers.constraint_generation import Conflict

GRID = np.linspace(0, 3, 1001)[:, None]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (60, 1))
    X[:2, 0] = 0.0, 3.0
    return X, np.tanh(2 * X[:, 0] - 3) + 0.3 * rng.normal(size=60)


def machine(known, **options):
    return ShapeConstrainedRegressor(known, **{"kernel": Gaussian(0.4), "C": 10.0} | options)


def test_without_knowledge_it_is_the_machine_without(sample):
    plain = KernelRegressor(kernel=Gaussian(0.4), C=10.0, tol=1e-8).fit(*sample).predict(GRID)
    np.testing.assert_allclose(machine(None).fit(*sample).predict(GRID), plain, atol=1e-6)
    agreed = machine([Bounded(-50.0, 50.0)]).fit(*sample)
    np.testing.assert_allclose(agreed.predict(GRID), plain, atol=1e-6)
    (piece,) = agreed.shape_certificate_.knowledge
    assert piece.price == 0.0
    assert piece.n_active == 0


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "absolute", "huber"])
def test_rounds_solve_for_what_new_rows_can_move(loss, monkeypatch):
    """Coefficients on a bound are fixed between rounds, and the whole problem certifies that."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (300, 2))
    y = np.tanh(2 * X[:, 0] - 3) + np.sin(4 * X[:, 1]) + 0.5 * rng.normal(size=300)
    options = {"loss": loss, "tol": 1e-5, "C": 1.0}
    monkeypatch.setattr(constraint_generation, "MAX_FIXINGS", 0)
    whole = machine([Increasing(0)], **options).fit(X, y)
    monkeypatch.setattr(constraint_generation, "MAX_FIXINGS", 6)
    monkeypatch.setattr(constraint_generation, "MIN_FIXING_MARGIN", 20)
    fixed = machine([Increasing(0)], **options).fit(X, y)
    assert whole.shape_certificate_.rounds > 1
    assert whole.solution_.n_iter > 0
    assert fixed.solution_.converged
    if loss != "huber":  # of which too few coefficients are on a bound
        assert fixed.solution_.n_iter == 0  # the last round took no step of the whole problem
    # Rounds draw the same rows where answers agree up to the tolerance, a tenth of tol.
    apart = abs(fixed.solution_.objective - whole.solution_.objective)
    assert apart <= fixed.solution_.gap + whole.solution_.gap + 1e-6 * whole.solution_.objective


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "chebychev"])
def test_shapes_hold_between_the_steps(sample, loss):
    fitted = machine([Increasing(0), Bounded(at_most=0.8)], loss=loss, prove=True).fit(*sample)
    f = fitted.predict(GRID)
    assert np.all(np.diff(f) >= 0.0)
    assert f.max() <= 0.8
    certificate = fitted.shape_certificate_
    assert certificate.holds
    assert certificate.everywhere
    assert certificate.knowledge[0].price > 0
    if loss == "chebychev":
        gaps = np.abs(sample[1] - fitted.predict(sample[0]))
        assert fitted.width_ == pytest.approx(gaps.max(), abs=1e-3)


def test_proofs_bound_what_a_fine_grid_shows(sample):
    for kernel in (Gaussian(0.4), Matern(0.6, nu=2.5)):
        fitted = machine([Increasing(0)], kernel=kernel, grid=20).fit(*sample)
        (piece,) = fitted.shape_certificate_.knowledge
        fine = np.linspace(0, 3, 10001)[:, None]
        # In double precision, which prediction need not be within its tolerance.
        f = kernel(fine, fitted.support_vectors_) @ fitted.dual_coef_[0]
        fall = -np.diff(f).min() * 10000  # per range of the feature
        assert fall <= piece.proved + 1e-5  # rounding of differences
        assert piece.proved < max(2 * fall, 1e-3)  # and not by much more


def test_what_cannot_be_proved_is_said(sample):
    rough = machine([Increasing(0)], kernel=Laplacian(1.0)).fit(*sample)
    (piece,) = rough.shape_certificate_.knowledge
    assert np.isnan(piece.proved)
    assert "not known" in piece.words
    bent = machine([Increasing(0)], kernel=Gaussian(1.0) + Linear()).fit(*sample)
    assert "not a function of differences" in bent.shape_certificate_.knowledge[0].words
    assert not bent.shape_certificate_.holds


def test_equalities_are_exact_and_curves_bend(sample):
    known = [At([0.0, 3.0], [-1.0, 1.0]), Mean(0.0, 0.0), Convex(0, over={0: (0.0, 1.0)})]
    fitted = machine([*known, Concave(0, over={0: (2.0, 3.0)}), Lipschitz(1.2)]).fit(*sample)
    np.testing.assert_allclose(fitted.predict([[0.0], [3.0]]), [-1.0, 1.0], atol=1e-6)
    assert fitted.predict(sample[0]).mean() == pytest.approx(0.0, abs=1e-6)
    f = fitted.predict(GRID)
    bends, slopes = np.diff(f, 2) * 1e6 / 9, np.diff(f) * 1000 / 3
    # Curvature holds to the tolerance per squared range of its region.
    assert bends[:330].min() > -0.05
    assert bends[670:].max() < 0.05
    assert np.abs(slopes).max() < 1.2 + 1e-3


def test_periods_are_kept():
    rng = np.random.default_rng(1)
    t = rng.uniform(0, 4, (80, 1))
    y = np.sin(2 * np.pi * t[:, 0]) + 0.2 * rng.normal(size=80)
    fitted = machine([Periodic(1.0, over={0: (0.0, 4.0)})], tol=1e-4).fit(t, y)
    steps = np.linspace(0, 3, 50)[:, None]
    # Asked for at 16 points of three periods; between them the function cannot move much.
    assert np.abs(fitted.predict(steps + 1.0) - fitted.predict(steps)).max() < 0.05


def test_names_of_features_and_regions(sample):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.uniform(0, 1, (80, 2)), columns=["dose", "age"])
    y = frame["dose"] * 2 - frame["age"] ** 2 + 0.3 * rng.normal(size=80)
    known = [Increasing("dose"), Decreasing("age", over={"age": (0.5, 1.0), "dose": 0.5})]
    fitted = ShapeConstrainedRegressor(known, kernel=Gaussian(0.3), C=10.0, tol=1e-3).fit(frame, y)
    ages = pd.DataFrame({"dose": 0.5, "age": np.linspace(0.5, frame["age"].max(), 50)})
    assert np.diff(fitted.predict(ages)).max() < 1e-3
    assert fitted.verify(lines=50).max() < 0.1
    short = ShapeConstrainedRegressor({"dose": 1}, kernel=Gaussian(0.3), C=10.0).fit(frame, y)
    assert repr(short.shape_certificate_.knowledge[0].constraint) == repr(Increasing(0))
    with pytest.raises(ValueError, match="names the feature 'does'"):
        ShapeConstrainedRegressor([Increasing("does")]).fit(frame, y)


def test_verify_returns_the_largest_violation():
    """Three steps a line miss the falls of this function between them."""
    X = np.linspace(0, 3, 60)[:, None]
    fitted = machine([Increasing(0)], kernel=Gaussian(0.2), C=100.0, grid=3, lines=2)
    fitted.fit(X, X[:, 0] + np.sin(5 * X[:, 0]))
    steepest = -np.gradient(fitted.predict(GRID), GRID[:, 0]).min()
    assert steepest > 1.0
    # A slope counts per range; steps of 0.03 miss its extremum, where it is a wave of 5 per unit,
    # by (5 * 0.015)^2 / 2 of it at most.
    np.testing.assert_allclose(fitted.verify(grid=100, lines=2), [3.0 * steepest], rtol=3e-3)


def test_sums_over_features_are_proved_everywhere():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (50, 2))
    y = X[:, 0] + np.sin(6 * X[:, 1]) + 0.3 * rng.normal(size=50)
    kernel = Gaussian(0.3).on([0]) + Gaussian(0.3).on([1])
    fitted = ShapeConstrainedRegressor([Increasing(0)], kernel=kernel, C=10.0, prove=True, lines=4)
    certificate = fitted.fit(X, y).shape_certificate_
    assert certificate.holds
    assert certificate.everywhere
    joint = clone(fitted).set_params(kernel=Gaussian(0.5)).fit(X, y).shape_certificate_
    assert joint.holds
    assert not joint.everywhere


def test_contradictions_are_named(sample):
    with pytest.raises(Conflict, match=r"Increasing.* and At"):
        machine([Increasing(0), At([0.0, 3.0], [5.0, -5.0])]).fit(*sample)


def test_few_functions_give_nearly_the_same(sample):
    exact = machine([Increasing(0)]).fit(*sample)
    few = machine([Increasing(0)], approximation=Nystrom(60)).fit(*sample)
    # With all points of the sample as centres only those of the knowledge are missing.
    np.testing.assert_allclose(few.predict(GRID), exact.predict(GRID), atol=0.02)
    # The tolerance is that of a rise per range, here by steps of a part in 200 of it.
    assert np.diff(few.predict(GRID[::5])).min() > -2 * 1e-3 / 200
    with pytest.raises(ValueError, match="number of centres"):
        machine([Increasing(0)], approximation=Nystrom()).fit(*sample)


def test_weights_are_repetitions(sample):
    X, y = sample
    w = np.arange(60) % 3
    again = np.repeat(np.arange(60), w)
    for loss in ("squared", EpsilonInsensitive(0.1)):
        # The range of the domain must be that of the repeated sample, which keeps the ends.
        w[:2] = 1
        again = np.repeat(np.arange(60), w)
        one = machine([Increasing(0)], loss=loss, tol=1e-6).fit(X, y, sample_weight=w)
        two = machine([Increasing(0)], loss=loss, tol=1e-6).fit(X[again], y[again])
        np.testing.assert_allclose(one.predict(GRID), two.predict(GRID), atol=1e-4)


def test_probabilities_rise_with_a_feature():
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 3, (120, 1))
    X[:2, 0] = 0.0, 3.0
    y = np.where(rng.uniform(size=120) < 1 / (1 + np.exp(3 - 2 * X[:, 0])), "ill", "well")
    for loss in ("logistic", "hinge"):
        fitted = ShapeConstrainedClassifier(
            [Decreasing(0)], loss, Gaussian(0.4), C=10.0, prove=True
        )
        f = fitted.fit(X, y).decision_function(GRID)
        assert np.all(np.diff(f) <= 0.0)  # positive speaks for "well"
        assert fitted.score(X, y) > 0.7
    proba = ShapeConstrainedClassifier([Positive()], C=10.0).fit(X, y).predict_proba(GRID)
    assert proba[:, 1].min() > 0.499


def test_refusals(sample):
    X, y = sample
    with pytest.raises(ValueError, match="need features"):
        ShapeConstrainedRegressor(kernel=Precomputed()).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="needs a loss of single errors"):
        machine(None, loss="chebychev", C="auto").fit(X, y)
    with pytest.raises(ValueError, match="binary"):
        ShapeConstrainedClassifier().fit(X, np.arange(60) % 3)


def test_where_a_factor_takes_too_long_pairs_go_on(sample, monkeypatch):
    exact = machine([Increasing(0)], loss="huber", max_time=100.0).fit(*sample)
    # Factorizations of some seconds a multiplication.
    monkeypatch.setattr("mercer.solvers.auto.THRESHOLDS", Thresholds(factor_flops=1.0))
    paired = machine([Increasing(0)], loss="huber", max_time=100.0).fit(*sample)
    assert (exact.solution_.solver, paired.solution_.solver) == ("InteriorPoint", "SMO")
    np.testing.assert_allclose(paired.predict(GRID), exact.predict(GRID), atol=1e-2)
    assert machine(None, loss="log_cosh", max_time=100.0).fit(*sample).solution_.converged
