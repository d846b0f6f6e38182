"""What a search says of itself, and the time that it expects."""

import io
import time

import numpy as np
import pytest

from mercer import LSSVR
from mercer.selection import tune
from mercer.selection.objective import Trial
from mercer.selection.pace import work
from mercer.selection.watching import LAST, Watching


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def ticking(monkeypatch):
    """A clock that has gone on by a second whenever it is looked at."""
    now = [0.0]

    def tick():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(time, "monotonic", tick)


def searched(monkeypatch, stream, **settings):
    monkeypatch.setattr("sys.stderr", stream)
    x = np.linspace(-3.0, 3.0, 40)[:, None]
    return tune(LSSVR(), x, np.sinc(x[:, 0]), **settings)


def test_trials_on_all_rows_are_expected_from_the_last_one():
    now = Watching("LSSVR", 1000, None, None, False)
    assert now.expected is None
    now(Trial("start", {}, 2.0, 250, 1.0))
    now(Trial("start", {}, 1.0, 250, 1.5))
    assert now.expected == 1.5 + LAST * 0.5 * work(1000) / work(250)
    for k in range(LAST):
        now(Trial("all rows", {}, 1.0, 1000, 10.0 + k))
    assert now.expected == 10.0 + LAST - 1
    assert now.text(60.0).endswith(", best 1, 60 s of about 60 s; max_time=10 would stop at 10 s")
    now = Watching("LSSVR", 1000, 30.0, None, False)
    assert now.text(4.0) == "tune LSSVR: 0 trials, 4 s of at most 30 s"


def test_a_terminal_is_told_without_being_asked(monkeypatch, ticking):
    terminal = Terminal()
    found = searched(monkeypatch, terminal)
    said = terminal.getvalue()
    assert f"tune LSSVR: {len(found.trials_)} trials, best " in said
    assert said.endswith("\r\033[K")


@pytest.mark.parametrize(("stream", "verbose"), [(io.StringIO, None), (Terminal, False)])
def test_files_and_whoever_wants_silence_are_told_nothing(monkeypatch, ticking, stream, verbose):
    out = stream()
    searched(monkeypatch, out, verbose=verbose)
    assert out.getvalue() == ""


def test_every_trial_has_a_line_in_a_file_that_asked(monkeypatch):
    out = io.StringIO()
    found = searched(monkeypatch, out, verbose=True)
    assert out.getvalue().splitlines() == [f"LSSVR: {trial}" for trial in found.trials_]


def test_a_callback_still_ends_the_search():
    seen = []
    x = np.linspace(-3.0, 3.0, 40)[:, None]
    found = tune(LSSVR(), x, np.sinc(x[:, 0]), callback=lambda t: seen.append(t) or len(seen) == 3)
    assert found.status_ == "stopped"
    assert len(seen) == 3
