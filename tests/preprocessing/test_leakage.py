"""Columns that determine the target are named, and no others."""

import runpy
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cli.commands import shell
from sklearn import datasets

import data
import mercer
from mercer import AutoClassifier, AutoRegressor
from mercer.preprocessing.leakage import determining_columns, leaks_of

N = 60
RNG = np.random.default_rng(0)
NOISE, Y = RNG.normal(size=N), RNG.normal(size=N).round(3)
CLASSES = np.array(list("uvw"))[RNG.integers(0, 3, N)]
CODES = pd.Series(CLASSES).map({"u": 7.0, "v": 3.0, "w": 5.0}).to_numpy()
CITY = RNG.integers(0, 12, N)
RENT = np.round(RNG.uniform(5, 9, 12), 2)[CITY]
MIXED = np.arange(N) % 30 - 4.0
CITIES = np.array([f"town {k}" for k in range(12)])[CITY]


def frame(**columns):
    return pd.DataFrame({"noise": NOISE, **columns})


LEAKS = {
    "a copy": (frame(x=Y), Y, "it is x in all 60 rows"),
    "a multiple": (frame(x=Y / 2), Y, "it is 2 x in all 60 rows"),
    "other units": (frame(x=1.8 * Y + 32), Y, "it is 0.555556 x - 17.7778 in all 60 rows"),
    "the negative": (frame(x=-Y), Y, "it is -x in all 60 rows"),
    "a large offset": (frame(x=Y + 2e6), Y, "it is x - 2e+06 in all 60 rows"),
    "logarithms": (frame(x=np.exp(Y)), Y, "it rises with the column in all 60 rows"),
    "an inverse": (frame(x=np.exp(-Y)), Y, "it falls when the column rises in all 60 rows"),
    "a category": (frame(x=CITIES), RENT, "rows with the same one of its 12 values"),
    "codes": (frame(x=CODES), CLASSES, "rows with the same one of its 3 values"),
    # A threshold may divide numbers into a few classes, but neither names nor 26 of 30 values.
    "names of classes": (frame(x=CITIES), RENT > 7.0, "rows with the same one of its 12 values"),
    "values of many": (frame(x=MIXED), MIXED**2, "rows with the same one of its 30 values"),
    "a copy of classes": (frame(x=CLASSES), CLASSES, "rows with the same one of its 3 values"),
    "truth": (frame(x=CLASSES == "u"), CLASSES == "u", "rows with the same one of its 2 values"),
}
INNOCENT = {
    "identifiers": (frame(id=np.arange(N), name=[f"n{k}" for k in range(N)]), Y),
    "identifiers of classes": (frame(id=RNG.permutation(N)), CLASSES),
    "a pair of identifiers": (frame(id=np.append(np.arange(N - 1), 0)), np.append(Y[:-1], Y[0])),
    "nearly a copy": (frame(x=Y + 0.05 * NOISE), Y),
    "nearly a code": (frame(x=np.where(np.arange(N) == 7, 1.0, CODES)), CLASSES[::-1]),
    "rare classes": (frame(x=np.arange(N) % 20), np.arange(N) == 59),
    "repeated rows": (frame(x=RNG.normal(size=N)).iloc[np.arange(N) // 4], Y[np.arange(N) // 4]),
    "thresholds": (frame(x=NOISE.round(1)), np.where(NOISE.round(1) > 0, "a", "b")),
}


@pytest.mark.parametrize("name", LEAKS)
def test_columns_that_determine_the_target_are_named(name):
    table, y, sentence = LEAKS[name]
    (found,) = leaks_of(table, y)
    assert found.startswith(f"Column 'x' determines the target: {sentence}")


@pytest.mark.parametrize("name", INNOCENT)
def test_other_columns_are_not(name):
    table, y = INNOCENT[name]
    assert leaks_of(table.reset_index(drop=True), y) == []


def test_one_row_that_differs_is_enough():
    for name, (table, y, _) in LEAKS.items():
        other = table.copy()
        row = int(np.flatnonzero(y != y[0])[0])
        other.loc[row, "x"] = other.loc[0, "x"]
        assert leaks_of(other, y) == [], name


def test_models_and_reports_name_them(tmp_path):
    table, y, sentence = LEAKS["a multiple"]
    machine = AutoRegressor(members=["gaussian"]).fit(table, y)
    assert f"Column 'x' determines the target: {sentence}" in str(machine.explain())
    machine = AutoClassifier(members=["gaussian"]).fit(*LEAKS["codes"][:2])
    assert "Column 'x' determines the target" in str(machine.explain())
    plain = mercer.LSSVR().fit(table, y)
    assert "it is 2 x in all 60 rows" in mercer.report(plain, table, y, cv=None).html
    table.assign(y=y).to_csv(tmp_path / "leak.csv", index=False)
    for option in ("", "--machine LSSVR "):
        said = shell(
            f"mercer fit {tmp_path}/leak.csv --target y {option}-o {tmp_path}/m.skops --force"
        )
        assert said.count(f"Column 'x' determines the target: {sentence}") == 1


# Real tables --------------------------------------------------------------------------------------

SHIPPED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


@pytest.mark.parametrize("name", SHIPPED)
def test_no_column_of_scikit_learns_tables_is_named(name):
    sample = getattr(datasets, f"load_{name}")(as_frame=True)
    assert leaks_of(sample.data, sample.target) == []
    if len(np.unique(sample.target)) == 3:
        # One iris is separated by its petals: so may a column be that is no leak.
        for k in range(3):
            assert leaks_of(sample.data, sample.target == k) == []


def test_no_column_of_the_stored_tables_is_named():
    if data.MISSING:
        pytest.skip(data.MISSING)
    stored = SimpleNamespace(**runpy.run_path(str(data.FOLDER / "load.py")))
    looked_at = 0
    for name, entry in stored.CATALOG.items():
        if entry["task"] not in ("regression", "binary", "multiclass"):
            continue
        sample = stored.load(name)
        X, y = sample.X, np.asarray(sample.y)
        if hasattr(X, "tocsr") or y.ndim != 1 or X.shape[0] * X.shape[1] > 1e6:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert leaks_of(X, y.astype(str) if y.dtype == object else y) == [], name
        looked_at += 1
    assert looked_at > 50


def test_targets_of_one_value_and_few_rows():
    X = np.arange(4.0)[:, None]
    assert determining_columns(X, np.ones(4), ["x"], [0]) == []
    assert determining_columns(X, X[:, 0], ["x"], [0]) == []
