"""What a fit of a table says of itself."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer import AutoRegressor


class Terminal(io.StringIO):
    def isatty(self):
        return True


def fitted(monkeypatch, stream, **settings):
    """Fit a small table on a stream, without patience."""
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("mercer.tabular.automatic.PATIENCE", 0.0)
    X = np.random.default_rng(0).normal(size=(40, 2))
    return AutoRegressor(members=["laplacian", "gaussian"], **settings).fit(X, X[:, 0] ** 2)


def test_a_terminal_is_told_without_being_asked(monkeypatch):
    terminal = Terminal()
    machine = fitted(monkeypatch, terminal)
    said = terminal.getvalue()
    assert machine.get_params()["verbose"] is None
    assert "AutoRegressor, gaussian:  50%|" in said
    assert "| 1/2 [00:0" in said
    assert said.endswith("\r")  # the line is cleared
    assert not hasattr(machine, "_bar")


@pytest.mark.parametrize(
    ("stream", "settings"), [(io.StringIO, {}), (Terminal, {"verbose": False})]
)
def test_files_and_whoever_wants_silence_are_told_nothing(monkeypatch, stream, settings):
    out = stream()
    fitted(monkeypatch, out, **settings)
    assert out.getvalue() == ""


def test_other_threads_are_silent(monkeypatch):
    """Lines of several fits at the same time would be drawn over each other."""
    terminal = Terminal()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fitted, monkeypatch, terminal).result()
    assert terminal.getvalue() == ""
