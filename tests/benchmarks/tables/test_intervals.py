"""Intervals on tables: the interval score, and a page that shows what was measured."""

import numpy as np
import pytest

from benchmarks.tables import intervals
from benchmarks.tables.intervals import LINES, NAMES, PAGE, kept, measure, page
from benchmarks.tables.sets import split

pytest.importorskip("pandas")


def test_the_page_is_that_of_the_lines():
    assert PAGE.read_text(encoding="utf-8") == page({name: kept(LINES, name) for name in NAMES})


def test_scores_are_widths_and_what_is_outside():
    data = split("diabetes", 0, 150, 100)
    low, high = np.quantile(data.y, [0.1, 0.9])

    def fit(data):
        return lambda X: (np.full(len(X), low), np.full(len(X), high))

    found, y = measure(fit, data), data.y_test
    inside = (y >= low) & (y <= high)
    assert found["coverage"] == pytest.approx(inside.mean())
    assert found["width"] == pytest.approx(high - low)
    # Ten per cent may be outside, so that a distance outside counts twenty times.
    missed = np.where(inside, 0.0, np.minimum(np.abs(y - low), np.abs(y - high)))
    assert found["score"] == pytest.approx(np.mean(high - low + 20.0 * missed))


def test_a_run_goes_on_where_it_was_cut_short(tmp_path, monkeypatch):
    monkeypatch.setattr(intervals, "SETS", ("diabetes",))
    monkeypatch.setattr(intervals, "SPLITS", {100: 2})
    monkeypatch.setattr(intervals, "fits", lambda name, size: True)
    monkeypatch.setattr(intervals, "split", lambda *of: split(*of, 100))
    calls = []

    def fit(data):
        calls.append(len(data.y))
        return lambda X: (np.zeros(len(X)), np.ones(len(X)))

    monkeypatch.setattr(intervals, "mercer", fit)
    for _ in range(2):
        intervals.run(tmp_path, "mercer")
    assert calls == [100, 100]
    assert [line["split"] for line in kept(tmp_path, "mercer")] == [0, 1]
