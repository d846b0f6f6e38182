"""Figures of machines of tables: the rows that the fit left out, or others, and effects."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.plotting import TableDisplay, panels

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 3)), columns=["large", "none", "small"])
X["kind"] = RNG.choice(["a", "b"], 90)
Y = pd.Series(np.sin(X.large) + 0.2 * X.small + 0.1 * RNG.normal(size=90), name="height")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def regressor():
    return AutoRegressor(members=["gaussian"]).fit(X, Y)


def test_rows_of_the_fit_are_drawn_as_they_were_left_out(regressor):
    display = regressor.plot(X, Y, most=2)
    assert isinstance(display, TableDisplay)
    assert display.left_out
    np.testing.assert_array_equal(display.predicted, regressor.left_out_predictions_)
    first, *others = display.axes_
    assert first.get_title() == "90 rows left out by the fit"
    drawn = first.collections[-1].get_offsets().data
    expected = np.column_stack([regressor.left_out_predictions_, Y])
    order = np.lexsort(expected.T)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[order])
    assert (first.get_xlabel(), first.get_ylabel()) == ("predicted height", "observed height")
    assert [axes.get_xlabel() for axes in others] == ["large", "small"]
    assert len({axes.get_ylim() for axes in others}) == 1
    # Intervals keep their widths around what was predicted without the row.
    widths = np.ptp(regressor.predict_interval(X), axis=1)
    np.testing.assert_allclose(np.ptp(display.ends, axis=1), widths)
    shares = (display.ends[:, 0] <= Y) & (display.ends[:, 1] >= Y)
    assert 0.8 <= shares.mean() <= 1.0


def test_other_rows_are_predicted(regressor):
    for rows in (slice(0, 40), slice(None, None, -1)):  # fewer, and as many in another order
        display = TableDisplay.from_estimator(regressor, X[rows], Y[rows], most=1)
        assert not display.left_out
        np.testing.assert_array_equal(display.predicted, regressor.predict(X[rows]))


def test_two_classes_are_drawn_by_their_reliability():
    machine = AutoClassifier(members=["squares-gaussian"]).fit(X, Y > 0)
    first = machine.plot(X, Y > 0, most=1).axes_[0]
    P = machine.left_out_probabilities_[:, 1]
    said, came, _ = panels.reliability(P, np.asarray(Y > 0))
    np.testing.assert_array_equal(first.collections[0].get_offsets(), np.column_stack([said, came]))
    # As NumPy has it, without the function.
    bins = np.array_split(np.argsort(P, kind="stable"), 10)
    np.testing.assert_allclose(said, [P[rows].mean() for rows in bins])
    np.testing.assert_allclose(came, [np.asarray(Y > 0)[rows].mean() for rows in bins])


def test_more_classes_are_drawn_by_their_confusion():
    labels = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.5, 0.5])]
    machine = AutoClassifier(members=["squares-gaussian"]).fit(X, labels)
    display = machine.plot(X, labels, most=1)
    assert display.left_out
    found = machine.classes_[np.argmax(machine.left_out_probabilities_, axis=1)]
    counts = pd.crosstab(labels, found).to_numpy()
    texts = [text.get_text() for text in display.axes_[0].texts]
    assert texts == [str(count) for count in counts.ravel()]
    assert [t.get_text() for t in display.axes_[0].get_yticklabels()] == ["low", "middle", "top"]


def test_axes_that_are_given(regressor):
    axes = plt.subplots(1, 3)[1]
    assert regressor.plot(X, Y, most=2, ax=axes).axes_ == list(axes)
    with pytest.raises(ValueError, match="a sequence of 3 Axes"):
        regressor.plot(X, Y, most=2, ax=axes[:2])


def test_one_target_at_a_time():
    both = np.column_stack([Y, Y])
    machine = AutoRegressor(members=["gaussian"]).fit(X, both)
    with pytest.raises(ValueError, match="one target is drawn at a time"):
        machine.plot(X, both)
