"""Fitted machines and effects of features, drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression

from installed import SKLEARN
from mercer import LSSVR, SVC, SVR, AdditiveRegressor, AutoClassifier, QuantileBand
from mercer.plotting import EffectDisplay, FitDisplay

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (80, 3))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.05 * RNG.normal(size=80)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
CLASSES = np.where(Y > 0, "up", "down")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_a_curve_with_its_tube_and_support_vectors():
    machine = SVR(C=10.0, epsilon=0.2).fit(X[:, :1], Y)
    display = FitDisplay.from_estimator(machine, X[:, :1], Y)
    x, f = display.line_.get_data()
    np.testing.assert_allclose(f, machine.predict(x[:, None]))
    np.testing.assert_allclose(display.band, np.column_stack([f - 0.2, f + 0.2]))
    np.testing.assert_array_equal(display.support, machine.support_)
    assert len(display.points_.get_offsets()) == 80
    assert display.ax_.get_ylabel() == "prediction"


def test_intervals_and_quantiles_around_a_curve():
    machine = LSSVR().fit(X[:, :1], Y)
    display = FitDisplay.from_estimator(machine, X[:, :1])
    np.testing.assert_allclose(display.band, machine.predict_interval(display.grid[0][:, None]))
    assert display.points_ is None
    band = QuantileBand((0.1, 0.5, 0.9)).fit(X[:, :1], Y)
    display = FitDisplay.from_estimator(band, X[:, :1], Y)
    np.testing.assert_allclose(display.lines, band.predict_quantiles(display.grid[0][:, None]))


def test_other_features_are_held_at_their_medians():
    target = pd.Series(Y, name="height")
    machine = LSSVR().fit(FRAME, target)
    display = FitDisplay.from_estimator(machine, FRAME, target, features=["b"])
    at = pd.DataFrame({"a": FRAME["a"].median(), "b": display.grid[0], "c": FRAME["c"].median()})
    np.testing.assert_allclose(display.values, machine.predict(at))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("b", "height")
    assert display.support is None


def test_a_surface():
    machine = LSSVR().fit(X, Y)
    display = FitDisplay.from_estimator(machine, X, Y, features=[1, 0])
    rows = np.median(X, axis=0) + np.zeros((1, 3))
    rows[0, [1, 0]] = display.grid[0][3], display.grid[1][7]
    assert display.values[3, 7] == pytest.approx(machine.predict(rows)[0])
    assert display.surface_ is not None


def test_regions_with_margins():
    machine = SVC().fit(X[:, :2], CLASSES)
    display = FitDisplay.from_estimator(machine, X[:, :2], CLASSES)
    np.testing.assert_array_equal(display.decision > 0, display.values == 1)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["down", "up"]
    forest = RandomForestClassifier(random_state=0).fit(X[:, :2], np.digitize(Y, [-1.0, 1.0]))
    display = FitDisplay.from_estimator(forest, X[:, :2], np.digitize(Y, [-1.0, 1.0]))
    assert display.decision is None
    assert set(np.unique(display.values)) <= {0, 1, 2}


def test_what_cannot_be_drawn_is_refused():
    machine = LSSVR().fit(X, Y)
    with pytest.raises(ValueError, match="EffectDisplay draws the effect of each"):
        FitDisplay.from_estimator(machine, X, Y)
    with pytest.raises(ValueError, match="no feature is called 'z': x0, x1, x2"):
        FitDisplay.from_estimator(machine, X, features=["z"])
    with pytest.raises(ValueError, match="there is no feature 5"):
        FitDisplay.from_estimator(machine, X, features=[5])
    with pytest.raises(ValueError, match="one or two different features"):
        FitDisplay.from_estimator(machine, X, features=[1, 1])
    with pytest.raises(ValueError, match="along two features"):
        FitDisplay.from_estimator(SVC().fit(X, CLASSES), X, features=[1])


@pytest.mark.skipif(SKLEARN < (1, 7), reason="older partial dependence has values of its own")
def test_effects_are_partial_dependence():
    machine = LSSVR(C=10.0).fit(X, Y)
    display = EffectDisplay.from_estimator(machine, X, features=[1, 0])
    for effect, j in zip(display.effects, [1, 0], strict=True):
        known = partial_dependence(
            machine, X, [j], custom_values={j: effect.values}, kind="average"
        )["average"][0]
        np.testing.assert_allclose(effect.mean, known - known.mean(), atol=1e-10)
    assert [axes.get_xlabel() for axes in display.axes_] == ["x1", "x0"]


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_effects_of_whole_numbers_are_not_rounded(kind):
    """An array of whole numbers had the value 0 between 0 and 1."""
    rows = np.column_stack([np.arange(60), np.arange(60) % 2])
    X = pd.DataFrame(rows, columns=["a", "b"]) if kind == "frame" else rows
    machine = LinearRegression().fit(X, rows @ [2.0, 5.0])
    effect = EffectDisplay.from_estimator(machine, X, features=[0]).effects[0]
    assert np.any(effect.values % 1.0)
    expected = 2.0 * effect.values
    np.testing.assert_allclose(effect.mean, expected - expected.mean(), atol=1e-9)
    # The other column is held at its median, a half.
    line = FitDisplay.from_estimator(machine, X, features=[0])
    np.testing.assert_allclose(line.values, 2.0 * line.grid[0] + 2.5, atol=1e-9)


def test_effects_of_an_additive_machine_are_its_terms():
    machine = AdditiveRegressor(C=10.0).fit(X, Y)
    display = EffectDisplay.from_estimator(machine, X, features=[0])
    effect = display.effects[0]
    rows = np.zeros((len(effect.values), 3))
    rows[:, 0] = effect.values
    term = machine.predict_components(rows)[:, 0]
    np.testing.assert_allclose(effect.mean, term - term.mean(), atol=1e-8)
    # Nothing else has a say in it.
    np.testing.assert_allclose(effect.high - effect.low, 0.0, atol=1e-8)


def test_the_largest_effects_come_first():
    machine = LinearRegression().fit(FRAME, FRAME @ [1.0, -5.0, 0.1])
    display = EffectDisplay.from_estimator(machine, FRAME, most=2, target="height")
    assert [effect.name for effect in display.effects] == ["b", "a"]
    assert display.effects[0].size == pytest.approx(5.0 * FRAME["b"].std(ddof=0), rel=1e-6)
    assert display.axes_[0].get_ylabel() == "change of height"


def test_effects_on_classes_and_of_words():
    table = FRAME.assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    machine = AutoClassifier(members=["gaussian"], random_state=0).fit(table, CLASSES)
    display = EffectDisplay.from_estimator(machine, table, label="up")
    by_name = {effect.name: effect for effect in display.effects}
    assert by_name["colour"].values.tolist() == ["blue", "red"]
    assert by_name["b"].mean[-1] > by_name["b"].mean[0]
    other = EffectDisplay.from_estimator(machine, table, features=["b"], label="down")
    np.testing.assert_allclose(other.effects[0].mean, -by_name["b"].mean, atol=1e-10)
    plain = EffectDisplay.from_estimator(SVC().fit(X, CLASSES), X, features=[1])
    assert plain.effects[0].mean[-1] > 0


def test_axes_that_are_given():
    machine = LSSVR().fit(X, Y)
    _, axes = plt.subplots(1, 2)
    display = EffectDisplay.from_estimator(machine, X, features=[0, 1], ax=axes)
    assert display.axes_ == list(axes)
    with pytest.raises(ValueError, match="a sequence of 2 Axes"):
        EffectDisplay.from_estimator(machine, X, features=[0, 1], ax=axes[:1])
