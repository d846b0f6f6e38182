"""Scores of sources are those of the rows in them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, r2_score

import mercer.data
from mercer import LSSVC, LSSVR, SVC, SVR, QuantileSVR
from mercer.data import Arrays

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3)) + 5.0
Y = 1e4 + np.sin(X[:, 0]) + 0.2 * RNG.normal(size=900)
LABELS = np.where(X[:, 0] * X[:, 1] > 25, "yes", "no")
S = RNG.uniform(0.0, 2.0, 900)


@pytest.mark.parametrize("machine", [SVR(C=10.0), LSSVR(), QuantileSVR(0.5)])
def test_the_coefficient_of_determination(machine, monkeypatch):
    monkeypatch.setattr("mercer.machines.scoring.PREDICTED_ROWS", 128)
    machine.fit(X[:300], Y[:300])
    expected = r2_score(Y, machine.predict(X), sample_weight=S)
    assert machine.score(Arrays(X, Y, S)) == pytest.approx(expected, rel=1e-9)
    assert machine.score(Arrays(X, Y)) == pytest.approx(machine.score(X, Y), rel=1e-9)


@pytest.mark.parametrize("machine", [SVC(), LSSVC()])
def test_accuracy(machine, monkeypatch):
    monkeypatch.setattr("mercer.machines.scoring.PREDICTED_ROWS", 128)
    machine.fit(X[:300], LABELS[:300])
    expected = accuracy_score(LABELS, machine.predict(X), sample_weight=S)
    assert machine.score(Arrays(X, LABELS, S)) == pytest.approx(expected, rel=1e-12)
    assert machine.score(Arrays(X, LABELS)) == machine.score(X, LABELS)


def test_files_have_their_targets(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(target=Y)
    frame.to_parquet(tmp_path / "rows.parquet")
    source = mercer.data.open(tmp_path / "rows.parquet", target="target")
    machine = LSSVR(approximation=50).fit(source)
    assert machine.score(source) == pytest.approx(machine.score(frame[list("abc")], Y), rel=1e-9)


def test_several_outputs_and_constants():
    Z = np.column_stack([Y, np.ones(900)])
    machine = LSSVR().fit(X, Z)
    assert machine.score(Arrays(X, Z)) == pytest.approx(machine.score(X, Z), rel=1e-9)


def test_a_source_without_targets_is_refused():
    machine = LSSVR().fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="no targets to compare"):
        machine.score(Arrays(X))
