"""What a search says of itself."""

import io
import re
import time

import numpy as np
import pytest

from mercer import LSSVR
from mercer.selection import tune


class Terminal(io.StringIO):
    def isatty(self):
        return True


def searched(monkeypatch, stream, **settings):
    monkeypatch.setattr("sys.stderr", stream)
    x = np.linspace(-3.0, 3.0, 40)[:, None]
    return tune(LSSVR(), x, np.sinc(x[:, 0]), **settings)


def test_a_terminal_is_told_without_being_asked(monkeypatch):
    monkeypatch.setattr("mercer.selection.tuning.PATIENCE", 0.0)
    terminal, seen = Terminal(), []

    def slow(trial):
        seen.append(trial.value)
        time.sleep(0.11)  # the line is drawn ten times a second
        return len(seen) == 4

    searched(monkeypatch, terminal, callback=slow)
    said = terminal.getvalue()
    assert said.startswith("\rtune LSSVR: 0 trials [00:00, ")
    assert re.search(rf"tune LSSVR: 4 trials \[00:0\d, .+, best {min(seen):.4g}\]", said)
    assert said.endswith("\r")  # the line is cleared


@pytest.mark.parametrize(("stream", "verbose"), [(io.StringIO, None), (Terminal, False)])
def test_files_and_whoever_wants_silence_are_told_nothing(monkeypatch, stream, verbose):
    monkeypatch.setattr("mercer.selection.tuning.PATIENCE", 0.0)
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
