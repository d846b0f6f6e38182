"""Effects of columns of every type: mean predictions with a cell of the column in all rows."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import AutoRegressor

N, POINTS = 48, 6
RNG = np.random.default_rng(0)
FEW, MANY = RNG.permutation(np.arange(N) % 4), RNG.permutation(N)
FEW_LABELS = np.array(list("abcd"))[FEW]
MANY_LABELS = np.array([f"k{k}" for k in MANY % 12])
SOME = np.arange(N) >= 3
DAYS = pd.Series(pd.date_range("2022-01-01", periods=N)[MANY])

COLUMNS = {
    "int": pd.Series(MANY),
    "few int": pd.Series(FEW),
    "uint8": pd.Series(MANY.astype(np.uint8)),
    "Int64": pd.Series(MANY).astype("Int64"),
    "Int64 missing": pd.Series(MANY).astype("Int64").where(SOME),
    "UInt8 few": pd.Series(FEW).astype("UInt8"),
    "bool": pd.Series(FEW > 1),
    "boolean missing": pd.Series(FEW > 1).astype("boolean").where(SOME),
    "float32": pd.Series(MANY.astype(np.float32)) / 8,
    "float missing": (pd.Series(MANY) / 8).where(SOME),
    "Float64 missing": (pd.Series(MANY) / 8).astype("Float64").where(SOME),
    "category": pd.Series(FEW_LABELS).astype("category"),
    "category missing": pd.Series(MANY_LABELS).where(SOME).astype("category"),
    "category of int": pd.Series(MANY % 12).astype("category"),
    "ordered": pd.Series(pd.Categorical(FEW_LABELS, list("dbca"), ordered=True)),
    "strings": pd.Series(MANY_LABELS),
    "strings missing": pd.Series(FEW_LABELS).where(SOME),
    "objects": pd.Series(FEW_LABELS).astype(object).where(SOME, None),
    "mixed objects": pd.Series(np.array(["a", 1, 2.5, "b"], dtype=object)[FEW]),
    "days": DAYS,
    "days missing": DAYS.where(SOME),
    "zoned days": DAYS.dt.tz_localize("Europe/Berlin"),
    "days as strings": DAYS.dt.strftime("%Y-%m-%d"),
}
SPREAD = [c for c in COLUMNS if COLUMNS[c].dtype.kind in "iufM" and COLUMNS[c].nunique() > POINTS]


@pytest.fixture(scope="module")
def fitted():
    frame = pd.DataFrame(COLUMNS)
    y = 0.1 * MANY + FEW + 0.1 * RNG.normal(size=N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return frame, AutoRegressor(members=["laplacian"]).fit(frame, y)


@pytest.mark.parametrize("name", COLUMNS)
def test_effect_is_the_mean_prediction_with_a_cell_in_all_rows(fitted, name):
    """Oracle: the column is filled by taking a cell of it, whatever its type is."""
    frame, machine = fitted
    effect = machine.effect(frame, name, points=POINTS)
    assert 1 < len(effect.values) <= POINTS
    assert effect.column == name
    compared = 0
    for value, mean in zip(effect.values, effect.mean, strict=True):
        rows = np.flatnonzero([cell is not pd.NA and cell == value for cell in frame[name]])
        if not len(rows):  # a quantile between two numbers
            assert frame[name].dtype.kind == "f"
            assert frame[name].min() <= value <= frame[name].max()
            continue
        moved = frame.copy()
        moved[name] = frame[name].take(np.full(N, rows[0])).array
        assert mean == pytest.approx(np.mean(machine.predict(moved)), rel=1e-12)
        compared += 1
    assert compared or frame[name].dtype.kind == "f"


@pytest.mark.parametrize("name", SPREAD)
def test_values_spread_over_the_column(fitted, name):
    """Quantiles from .02 to .98, not the first values."""
    frame, machine = fitted
    values = machine.effect(frame, name, points=POINTS).values
    ranks = frame[name].dropna().rank(pct=True)
    at = [float(ranks[frame[name].dropna() <= value].max()) for value in values]
    assert at[0] < 0.3
    assert at[-1] > 0.95


def test_polars_and_pandas_agree():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = polars.from_pandas(pd.DataFrame(COLUMNS).drop(columns="mixed objects"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = AutoRegressor(members=["laplacian"]).fit(table, FEW + 0.01 * MANY)
    same = table.to_pandas()
    for name in table.columns:
        ours, theirs = (machine.effect(X, name, points=POINTS) for X in (table, same))
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_array_equal(ours.mean, theirs.mean)


def test_integers_of_an_array_are_not_cut_off():
    """Every value is a cell, and not a quantile of which an integer array holds the floor."""
    X = np.column_stack([MANY, FEW])
    machine = AutoRegressor(members=["laplacian"]).fit(X, 0.1 * MANY + FEW)
    effect = machine.effect(X, 0, points=POINTS)
    for value, mean in zip(effect.values, effect.mean, strict=True):
        at = machine.predict(np.column_stack([np.full(N, float(value)), FEW]))
        assert mean == pytest.approx(np.mean(at), rel=1e-12)
    np.testing.assert_array_equal(machine.effect(X.tolist(), 0, points=POINTS).mean, effect.mean)
