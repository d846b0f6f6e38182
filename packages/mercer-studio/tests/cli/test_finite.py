"""Predictions that are not finite end a command with a message, and no file is written."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cli.commands import call, shell
from mercer import LSSVR
from mercer_studio.cli.models import Model
from mercer_studio.cli.text import Refusal

N = 60


def written(folder, size=1.0, feature=1.0):
    """Write a table whose target is a column times a number, and return its path."""
    a, b = np.random.default_rng(0).normal(size=(2, N))
    path = folder / f"rows-{size:g}-{feature:g}.csv"
    pd.DataFrame({"a": a * feature, "b": b, "y": a * size}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("size", [1e198, 1e-198])
def test_fit_writes_no_model_of_targets_whose_squares_overflow(tmp_path, size):
    data, model = written(tmp_path, size), tmp_path / "m.skops"
    status, _, err = call("fit", data, "--target", "y", "-o", model)
    assert status == 1
    assert "y has values of size" in err
    assert not model.exists()


def test_fit_writes_no_model_that_predicts_no_numbers(tmp_path, monkeypatch):
    """Whatever the estimator: what it predicts for the rows of the fit decides."""
    monkeypatch.setattr(LSSVR, "predict", lambda self, X: np.full(len(X), np.inf))
    data, model = written(tmp_path), tmp_path / "m.skops"
    status, out, err = call("fit", data, "--target", "y", "--machine", "LSSVR", "-o", model)
    assert status == 1
    assert "predicts no finite number for 60 rows" in err
    assert "saved" not in out
    assert not model.exists()


@pytest.mark.parametrize(("rows", "undefined"), [(1, "1 row"), (3, "3 rows")])
@pytest.mark.parametrize("outputs", [(), (2,), (2, 3)])
def test_a_row_is_undefined_if_one_of_its_numbers_is(rows, undefined, outputs):
    found = np.zeros((5, *outputs))
    model = SimpleNamespace(machine=LSSVR())
    assert Model._defined(model, found, np.isfinite) is found
    found.reshape(5, -1)[:rows, -1] = np.inf
    with pytest.raises(Refusal, match=f"LSSVR predicts no finite number for {undefined}:"):
        Model._defined(model, found, np.isfinite)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_and_evaluate_end_with_a_message(tmp_path, ending):
    """A cubic polynomial of a number of size 1e200 overflows."""
    model = tmp_path / "m.skops"
    shell(
        f"mercer fit {written(tmp_path)} --target y --machine LSSVR --set kernel=polynomial "
        f"-o {model}"
    )
    far, output = written(tmp_path, feature=1e200), tmp_path / f"p.{ending}"
    with np.errstate(over="ignore", invalid="ignore"):
        status, _, err = call("predict", model, far, "-o", output)
        assert status == 1
        assert "predicts no finite number for 60 rows" in err
        assert not list(tmp_path.glob("p.*"))
        status, _, err = call("evaluate", model, far)
    assert status == 1
    assert "predicts no finite number for 60 rows" in err


@pytest.mark.parametrize(("size", "feature"), [(1.0, 1e200), (1e200, 1.0)])
def test_evaluate_prints_no_score_whose_squares_overflow(tmp_path, size, feature):
    """Predictions of 1e200 are finite, and so are targets of that size; squares are neither."""
    model = tmp_path / "m.skops"
    shell(
        f"mercer fit {written(tmp_path)} --target y --machine LSSVR --set kernel=linear -o {model}"
    )
    status, out, err = call("evaluate", model, written(tmp_path, size, feature))
    assert status == 1
    assert "squares beyond the range of floating point" in err
    assert "RMSE" not in out
