"""What a fit of a table says of itself: states of its line, and the time that it expects."""

import io
import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer import AutoRegressor
from mercer.data.progress import PATIENCE, Line
from mercer.tabular.telling import Telling


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_what_is_left_takes_as_long_as_what_is_done_did(clock):
    now = Telling(AutoRegressor(), planned=3)
    now.begin("a")
    assert now.expected is None
    clock[0] = 4.0
    now.end("a", 4.0)
    assert now.expected == 12.0
    clock[0] = 6.0
    now.end("b", 2.0)
    assert now.expected == 9.0


def test_short_fits_and_fits_with_a_budget_have_no_advice():
    assert "budget" not in Telling(AutoRegressor(), expected=4.0).text(1.0)
    text = Telling(AutoRegressor(budget=20.0), expected=40.0).text(1.0)
    assert text == "AutoRegressor: reading the table, 1 s of at most 20 s"
    text = Telling(AutoRegressor(), running=["matern", "laplacian"], planned=6, expected=30.0)
    assert text.text(2.0) == (
        "AutoRegressor: matern + laplacian, 0 of 6 machines, 2 s of about 30 s; "
        "budget=15 would stop at 15 s"
    )


def test_a_fit_that_is_late_is_not_said_to_end_before():
    assert " of about 45 s" in Telling(AutoRegressor(), expected=30.0).text(44.0)


def test_lines_are_cut_at_the_last_column(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "10")
    with Line(lambda seconds: "a line of twenty signs"):
        pass
    assert terminal.getvalue() == "\ra line of\033[K\r\033[K"


def test_a_shorter_state_covers_a_longer_one(monkeypatch):
    terminal, states = Terminal(), ["longer", "short"]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(Line, "_tick", lambda self: None)
    with Line(lambda seconds: states[0]) as line:
        states.pop(0)
        line.update()
        line.update()  # says nothing new
    assert terminal.getvalue() == "\rlonger\033[K\rshort\033[K\r\033[K"


def test_a_line_is_ended_after_an_error_and_nothing_follows(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    line = Line(lambda seconds: "fitting")
    with pytest.raises(KeyboardInterrupt), line:
        raise KeyboardInterrupt
    line.text = lambda seconds: "still there"
    line.update()
    assert terminal.getvalue() == "\rfitting\033[K\n"


def test_a_terminal_that_was_closed_does_not_end_the_fit(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Line(lambda seconds: "fitting"):
        terminal.close()


def test_nothing_is_shown_unless_asked(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Line(lambda seconds: "fitting", show=False):
        pass
    assert terminal.getvalue() == ""


def test_a_line_that_nobody_asked_for_appears_after_some_patience(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(Line, "_tick", lambda self: None)
    with Line(lambda seconds: f"{seconds:.0f} s", show=None) as line:
        clock[0] = 0.9 * PATIENCE
        line.update()
        assert terminal.getvalue() == ""
        clock[0] = 1.1 * PATIENCE
        line.update()
    assert terminal.getvalue() == f"\r{1.1 * PATIENCE:.0f} s\033[K\r\033[K"


def test_a_short_fit_leaves_no_trace_on_a_terminal(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(KeyError), Line(lambda seconds: "fitting", show=None):
        raise KeyError
    assert terminal.getvalue() == ""


def fitted(monkeypatch, stream, clock, **settings):
    """Fit a small table on a stream; every look at the clock finds a second gone."""
    monkeypatch.setattr("sys.stderr", stream)

    def tick():
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(time, "monotonic", tick)
    X = np.random.default_rng(0).normal(size=(40, 2))
    return AutoRegressor(members=["laplacian", "gaussian"], **settings).fit(X, X[:, 0] ** 2)


def test_a_terminal_is_told_without_being_asked(monkeypatch, clock):
    terminal = Terminal()
    machine = fitted(monkeypatch, terminal, clock)
    said = terminal.getvalue()
    assert machine.get_params()["verbose"] is None
    assert re.search(r"AutoRegressor: .+, 1 of 2 machines, \d+ s of about \d+ s; budget=", said)
    assert said.endswith("\r\033[K")  # the line is cleared


@pytest.mark.parametrize(
    ("stream", "settings"), [(io.StringIO, {}), (Terminal, {"verbose": False})]
)
def test_files_and_whoever_wants_silence_are_told_nothing(monkeypatch, clock, stream, settings):
    out = stream()
    fitted(monkeypatch, out, clock, **settings)
    assert out.getvalue() == ""


def test_other_threads_are_silent(monkeypatch, clock):
    """Lines of several fits at the same time would be drawn over each other."""
    terminal = Terminal()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fitted, monkeypatch, terminal, clock).result()
    assert terminal.getvalue() == ""
