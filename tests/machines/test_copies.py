"""Rows that occur more than once are left out together, so that errors are those of unseen rows."""

import numpy as np
import pandas as pd
import pytest

from mercer import LSSVR, SVR, AutoClassifier, AutoRegressor, ConformalRegressor
from mercer.estimators import intervals
from mercer.machines.folds import copies_of, same_observations, with_copies
from mercer.tabular import automatic

N, NOISE, COVERAGE, SEEDS = 50, 0.5, 0.8, 20


def function(X):
    return np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 / 2.0


def twice(seed, apart=0.0):
    """Return rows that all occur twice, with targets that are so far apart, and other rows."""
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-2, 2, (N, 2)), rng.uniform(-2, 2, (400, 2))
    y, z = (function(one) + NOISE * rng.normal(size=len(one)) for one in (X, Z))
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    return X, y + apart * rng.normal(size=len(y)), Z, z


# Groups -------------------------------------------------------------------------------------------


def brute(rows):
    """Return groups in the order of their first rows, by a dictionary of rows."""
    known = {}
    return np.array([known.setdefault(row, len(known)) for row in rows])


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_those_of_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    number = rng.normal(size=60).round(2) + 0.0  # zero has one sign
    number[rng.random(60) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "number": number,
            "word": rng.choice(["a", "b", None], 60),
            "day": pd.date_range("2020-01-01", periods=60)[rng.integers(0, 2, 60)],
            "truth": rng.random(60) < 0.5,
        }
    ).iloc[rng.integers(0, 60, 120)]
    rows = list(frame.astype(str).itertuples(index=False, name=None))
    np.testing.assert_array_equal(copies_of(frame), brute(rows))
    y = rng.integers(0, 2, 120)
    first, observation = same_observations(copies_of(frame), y)
    expected = brute([(*row, value) for row, value in zip(rows, y, strict=True)])
    np.testing.assert_array_equal(observation, expected)
    np.testing.assert_array_equal(first, np.unique(expected, return_index=True)[1])


def test_samples_that_are_no_rows_of_features_have_no_copies():
    assert copies_of(np.array(["a", "b", "a"] * 20)) is None
    assert copies_of(np.zeros((0, 3))) is None


def test_rows_of_few_values_are_no_copies():
    """Votes coincide, and so do new ones: that is no reason to leave all of a kind out."""
    rng = np.random.default_rng(0)
    assert copies_of(rng.integers(0, 2, (300, 6))) is None
    assert copies_of(rng.integers(0, 5, (300, 1))) is None
    assert copies_of(np.arange(30.0)[:, None]) is None
    assert copies_of(np.tile(np.arange(30.0), 2)[:, None]) is not None


def test_folds_with_copies():
    rng = np.random.default_rng(0)
    copies, fold = rng.integers(0, 20, 60), rng.integers(0, 5, 60)
    kept = with_copies(fold, copies)
    for group in np.unique(copies):
        of_group = np.flatnonzero(copies == group)
        assert np.all(kept[of_group] == fold[of_group[0]])


# Coverage -----------------------------------------------------------------------------------------

MACHINES = {
    "jackknife+": lambda: ConformalRegressor(
        LSSVR(gamma=1.0, C=10.0), coverage=COVERAGE, scale="constant"
    ),
    "cv+": lambda: ConformalRegressor(
        SVR(gamma=1.0, C=10.0), method="cv+", coverage=COVERAGE, scale="constant", random_state=0
    ),
    "split": lambda: ConformalRegressor(
        LSSVR(gamma=1.0, C=10.0), method="split", coverage=COVERAGE, random_state=0
    ),
    "default": lambda: ConformalRegressor(coverage=COVERAGE),
}


def coverage(make, apart):
    """Return the mean coverage of new rows over samples, and its standard error."""
    found = []
    for seed in range(SEEDS):
        X, y, Z, z = twice(seed, apart)
        machine = make().fit(X, y)
        low, high = machine.predict_interval(Z).T
        found.append(np.mean((low <= z) & (z <= high)))
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(SEEDS)


@pytest.mark.parametrize("apart", [0.0, 0.1])
@pytest.mark.parametrize("name", MACHINES)
def test_intervals_cover_new_rows_although_rows_are_repeated(name, apart, monkeypatch):
    """Exact copies and repeated measurements; without groups the coverage is too small."""
    share, error = coverage(MACHINES[name], apart)
    assert share > COVERAGE - 3.0 * error
    monkeypatch.setattr(intervals, "copies_of", lambda X: None)
    before, error = coverage(MACHINES[name], apart)
    assert before < COVERAGE - 3.0 * error


def test_copies_of_observations_are_weights():
    """With exact copies the machine is that of the different rows, to the last bit."""
    X, y, Z, _ = twice(0)
    for make in (MACHINES["jackknife+"], MACHINES["default"]):
        machine, same = make().fit(X, y), make().fit(X[::2], y[::2])
        np.testing.assert_array_equal(machine.predict_interval(Z), same.predict_interval(Z))
        assert machine.n_copies_ == N
        assert same.n_copies_ == 0
    uneven = np.append(np.arange(N), [0, 0, 3])
    weight = np.bincount(uneven).astype(float)
    machine = MACHINES["jackknife+"]().fit(X[::2][uneven], y[::2][uneven])
    same = MACHINES["jackknife+"]().fit(X[::2], y[::2], sample_weight=weight)
    np.testing.assert_array_equal(machine.predict_interval(Z), same.predict_interval(Z))


def test_some_rows_are_left_to_fit_to():
    """Of twenty different rows, each a hundred times, a quarter is set aside, in groups."""
    X = np.repeat(np.arange(20.0), 100)[:, None]
    y = X[:, 0] + np.random.default_rng(0).normal(size=2000)
    machine = ConformalRegressor(LSSVR(C=10.0), method="split", random_state=0).fit(X, y)
    assert machine.n_calibration_ == 500
    assert len(np.unique(machine.estimator_.support_vectors_)) == 15


# Tables -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:No machine predicts")
@pytest.mark.parametrize("apart", [0.0, 0.1])
def test_left_out_errors_of_tables_are_those_of_new_rows(apart, monkeypatch):
    def fits(cls, members):
        found = []
        for seed in range(4):
            X, y, Z, z = twice(seed, apart)
            if cls is AutoClassifier:
                y, z = y > 1.0, z > 1.0
            machine = cls(members=members).fit(X, y)
            found.append((machine.left_out_score_, machine.score(Z, z)))
        return machine, np.mean(found, axis=0)

    for cls, members in ((AutoRegressor, ["gaussian", "forest"]), (AutoClassifier, ["forest"])):
        machine, (left_out, new) = fits(cls, members)
        assert machine.notes_[0].startswith(f"{N} rows of {2 * N} repeat the features")
        assert machine.notes_[0] in str(machine.explain())
        # Two hundred rows: the standard error of a share of .8 is .03, of R2 about .05.
        assert left_out < new + 0.1
        with monkeypatch.context() as patched:
            patched.setattr(automatic, "copies_of", lambda *given: None)
            _, (left_out, new) = fits(cls, members)
            assert left_out > new + 0.1


def test_left_out_predictions_of_copies_are_equal():
    X, y, _, _ = twice(0)
    machine = AutoRegressor(members=["gaussian"]).fit(X, y)
    left_out = machine.left_out_predictions_
    assert np.all(np.isfinite(left_out))
    np.testing.assert_array_equal(left_out[::2], left_out[1::2])
    weighted = AutoRegressor(members=["gaussian"]).fit(X[::2], y[::2])
    assert machine.left_out_score_ == pytest.approx(weighted.left_out_score_, abs=0.05)


@pytest.mark.filterwarnings("ignore:No machine predicts")
@pytest.mark.parametrize("cls", [AutoRegressor, AutoClassifier])
def test_a_class_of_copies_only_is_no_failure(cls):
    """Without its fold there is one class."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    X, y = np.vstack([X, X[:1], X[:1], X[:1]]), np.zeros(43)
    y[[0, 40, 41, 42]] = 1.0
    y[41] += 0.25 if cls is AutoRegressor else 0.0
    y[5] = y[5] if cls is AutoRegressor else 1.0
    machine = cls(members=["gaussian", "forest"]).fit(X, y)
    assert all(np.all(np.isfinite(member.left_out)) for member in machine.members_)
