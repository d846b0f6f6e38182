"""Purity and efficiency by counting, and thresholds that keep what was asked for."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC
from mercer_research.selection import ThresholdSelector
from mercer_research.selection.threshold import purity_curve

RNG = np.random.default_rng(0)
Y = RNG.choice(["b", "c", "uds"], size=400, p=[0.4, 0.2, 0.4])
X = RNG.normal(size=(400, 2)) + np.array([[{"b": 0, "c": 1.5, "uds": -1}[k], 0.0] for k in Y])
PRIORS = {"b": 0.614, "c": 0.171, "uds": 0.215}
PRESELECT = {"b": 0.726494, "c": 0.676199, "uds": 0.646795}


def test_curve_by_counting():
    score = np.round(X[:, 0], 1)  # with ties
    curve = purity_curve(Y, score, "c", priors=PRIORS, acceptance=PRESELECT)
    assert np.all(np.diff(curve.thresholds) < 0)
    assert np.all(np.diff(curve.efficiency) >= 0)
    for t, e, p in zip(curve.thresholds, curve.efficiency, curve.purity, strict=True):
        eff = {k: PRESELECT[k] * np.mean(score[k == Y] >= t) for k in PRIORS}
        assert e == pytest.approx(eff["c"])
        assert p == pytest.approx(PRIORS["c"] * eff["c"] / sum(PRIORS[k] * eff[k] for k in PRIORS))


def test_chance_is_the_printed_one():
    curve = purity_curve(Y, X[:, 0], "c", priors=PRIORS, acceptance=PRESELECT)
    assert curve.chance == pytest.approx(0.165, abs=5e-5)
    assert curve.purity[-1] == pytest.approx(curve.chance)


def test_priors_weigh_samples():
    """Shares of the population count as weights of the samples would."""
    curve = purity_curve(Y, X[:, 0], "c", priors=PRIORS)
    weights = np.array([PRIORS[k] / np.mean(k == Y) for k in Y])
    for t, p in zip(curve.thresholds[::40], curve.purity[::40], strict=True):
        taken = X[:, 0] >= t
        assert p == pytest.approx(np.sum(weights[taken & (Y == "c")]) / np.sum(weights[taken]))


@pytest.mark.parametrize("machine", [SVC(), GaussianNB()])
def test_target_is_met_on_what_was_held_out(machine):
    chosen = ThresholdSelector(machine, target="c", efficiency=0.3).fit(X, Y)
    at = chosen.curve_.at(0.3)
    held = round(0.25 * np.sum(Y == "c"))
    assert 0.3 <= chosen.curve_.efficiency[at] <= 0.3 + 1.5 / held
    assert chosen.purity_ > chosen.chance_
    np.testing.assert_array_equal(chosen.predict(X), chosen.score_samples(X) >= chosen.threshold_)


def test_neighbours_vote_and_reject():
    """A class is accepted where its share of the neighbours, weighed by priors, is large."""
    k = 9
    chosen = ThresholdSelector(KNeighborsClassifier(k), target="c", efficiency=0.4).fit(X, Y)
    share = chosen.score_samples(X)
    counts = share * k
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    np.testing.assert_array_equal(chosen.predict(X), share >= chosen.threshold_)
    weighed = ThresholdSelector(
        KNeighborsClassifier(k), target="c", efficiency=0.4, priors=PRIORS, acceptance=PRESELECT
    ).fit(X, Y)
    assert weighed.chance_ == pytest.approx(0.165, abs=5e-5)  # as printed
    assert weighed.purity_ != pytest.approx(chosen.purity_)


def test_two_classes_and_either_of_them():
    two = np.where(Y == "c", 1, 0)
    one = ThresholdSelector(SVC(), efficiency=0.5).fit(X, two)
    assert one.target_ == 1
    other = ThresholdSelector(SVC(), target=0, efficiency=0.5).fit(X, two)
    np.testing.assert_array_equal(other.score_samples(X), -one.score_samples(X))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="does not occur"):
        purity_curve(Y, X[:, 0], "d")
    with pytest.raises(ValueError, match="must name every class"):
        purity_curve(Y, X[:, 0], "c", priors={"c": 1.0})
    with pytest.raises(ValueError, match="must not be negative"):
        purity_curve(Y, X[:, 0], "c", priors={"c": -1.0, "b": 1.0, "uds": 1.0})
    with pytest.raises(ValueError, match="acceptance limits"):
        purity_curve(Y, X[:, 0], "c", acceptance=PRESELECT).at(0.9)
    with pytest.raises(ValueError, match="does not occur"):
        ThresholdSelector(SVC(), target="d").fit(X, Y)
    with pytest.raises(ValueError, match="greater than one"):
        ThresholdSelector(SVC()).fit(X, np.zeros(400))
