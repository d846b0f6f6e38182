"""The benchmark of bounds: one run on few rows, its verdicts, its page."""

import pytest

from benchmarks.claims import bounds, page


def run(name="a", seed=0, certified=0.2, usual=0.3, aside=0.1, majority=0.25):
    told = {"method": "m", "C": 1.0, "share": 1.0, "test error": 0.05}
    return {
        "set": name,
        "seed": seed,
        "rows": 1000,
        "majority": majority,
        "test": 0.06,
        "test error": 0.04,
        "cross-validated": 0.03,
        "usual bound": usual,
        "bounds": {"compression": certified, "PAC-Bayes, prior 0": 0.6},
        "randomized": {"PAC-Bayes, prior 0": 0.3},
        "certified": told | {"bound": certified},
        "aside": told | {"bound": aside},
    }


def test_sets_are_counted_by_their_means():
    runs = [run(), run(seed=1), run("b", certified=0.4, usual=0.4), run("b", 1, 0.3, 0.3)]
    assert page.verdicts(runs, ("a", "b")) == {"below": 1, "below_aside": 2, "lower": 1}


def test_the_page_shows_what_was_measured(tmp_path, monkeypatch):
    about = {
        **dict.fromkeys(("processor", "cores", "python", "date", "commit"), "x"),
        "versions": dict.fromkeys(("mercer", "scikit-learn", "numpy", "scipy"), "1"),
        "simulation": {"draws": 1000, "failures": {"compression": 3}},
    }
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    runs = [run(), run("b", certified=0.4), run(seed=1, certified=0.9)]
    page.publish(about, runs, ("a", "b"))
    text = (tmp_path / "page.md").read_text()
    # The second seed has one set only and is left out.
    assert "means over 1 random splits" in text
    assert "**1 of\n2** sets; with rows set aside it is so on **2 of 2**" in text
    assert "| a | 1,000 | 0.250 | 0.060 | 0.030 | 0.100 | 0.200 |" in text
    assert "[0.60] (0.300)" in text
    assert "| compression | 3 |" in text


def test_one_run_on_few_rows():
    found = bounds.measured("breast_cancer", 0, 300, Cs=(10.0,), widths=(2.0,))
    assert found["rows"] == 210
    # One setting: cross-validation has no other choice.
    assert found["certified"]["bound"] == found["usual bound"]
    assert found["aside"]["bound"] < found["majority"]
    assert found["test error"] < found["test"]


def test_simulated_failures_are_counted():
    found = bounds.simulated(4)
    assert found["draws"] == 4
    assert found["failures"]["the least of all"] == pytest.approx(0, abs=1)
