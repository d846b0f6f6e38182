"""Intervals and quantiles as data frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from mercer import (
    LSSVR,
    AutoRegressor,
    CensoredRegressor,
    ConformalRegressor,
    MissingInputRegressor,
    QuantileBand,
)
from mercer.estimators import HeteroscedasticSVR
from mercer.selection import LSSVRCV

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"], index=np.arange(100, 160))
Y = np.sin(X["a"].to_numpy()) + 0.1 * RNG.normal(size=60)
MACHINES = [
    LSSVR(),
    LSSVRCV(budget=2),
    ConformalRegressor(random_state=0),
    QuantileBand((0.1, 0.5, 0.9)),
    CensoredRegressor(),
    HeteroscedasticSVR(),
    MissingInputRegressor(),
    AutoRegressor(members=["gaussian"], random_state=0),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.filterwarnings("ignore")
def test_intervals_are_frames_where_that_was_asked_for(machine):
    machine = clone(machine).fit(X, Y)
    plain = machine.predict_interval(X)
    assert type(plain) is np.ndarray
    assert plain.shape == (60, 2)
    framed = machine.set_output(predict="pandas").predict_interval(X)
    assert list(framed.columns) == ["lower", "upper"]
    np.testing.assert_array_equal(framed.index, X.index)
    np.testing.assert_array_equal(framed.to_numpy(), plain)
    assert isinstance(machine.set_output(predict="polars").predict_interval(X), pl.DataFrame)
    again = machine.set_output(predict="default").predict_interval(X)
    np.testing.assert_array_equal(again, plain)
    assert type(machine.predict(X)) is np.ndarray


@pytest.mark.filterwarnings("ignore")
def test_quantiles_are_named_and_clones_remember():
    band = QuantileBand((0.05, 0.5)).set_output(predict="pandas")
    found = clone(band).fit(X, Y).predict_quantiles(X)
    assert list(found.columns) == ["q0.05", "q0.5"]
    auto = AutoRegressor(members=["gaussian"], random_state=0).set_output(predict="pandas")
    found = auto.fit(X, Y).predict_quantiles(X, [0.25, 0.75])
    assert list(found.columns) == ["q0.25", "q0.75"]
    assert list(auto.predict_quantiles(X).columns) == ["q0.05", "q0.5", "q0.95"]


def test_unknown_containers_are_refused():
    with pytest.raises(ValueError, match="one of default, pandas, polars"):
        LSSVR().set_output(predict="arrow")
