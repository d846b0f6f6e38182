"""The benchmark of local machines goes on where it was, and its sizes are made of the same rows."""

import json

import numpy as np

from benchmarks.large import local


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(local, "RESULTS", tmp_path / "lines.jsonl")
    asked = []

    def measure(name, settings):
        asked.append((name, settings))
        return {"name": name, **settings, "cpu": settings.get("rows", 0) ** 1.5, "wall": 1.0}

    monkeypatch.setattr(local, "measure", measure)
    first = local.run(local.FULL, keep=True)
    assert asked == list(local.FULL)
    lines = [json.loads(line) for line in local.RESULTS.read_text().splitlines()]
    assert lines == first
    assert local.run(local.FULL, keep=True) == first
    assert len(asked) == len(local.FULL)
    assert "the power 1.500 of the rows" in capsys.readouterr().out


def test_rows_are_the_same_whenever_they_are_made():
    (X, y), (again, _) = local.block(3, 50), local.block(3, 50)
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, local.block(4, 50)[0])
    assert y.shape == (50,)


def test_a_small_fit_from_a_file():
    found = local.fit(rows=600, leaf=200)
    assert found["leaves"] == 3
    assert found["converged"]
    assert found["rmse"] < 0.5
