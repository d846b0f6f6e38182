"""Bars: on terminals drawn anew and ended, elsewhere lines of text, and nothing when quiet."""

import io
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mercer._progress import PATIENCE, Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn_on(monkeypatch, stream):
    """Let the standard error be a stream."""
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def states(stream):
    """Return what a terminal showed, one after the other."""
    return [state.strip() for state in stream.getvalue().split("\r") if state.strip()]


def test_a_bar_begins_at_once_and_ends_with_its_line(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("gradient", 200, mininterval=0.0) as bar:
        assert states(terminal)[0].startswith("gradient:   0%|")
        bar.update(100)
    assert re.search(r"50%\|.+100/200 \[00:00<00:00, .+ rows/s\] *\n$", terminal.getvalue())


def test_a_bar_that_is_not_left_is_cleared(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("tune", leave=False):
        pass
    assert terminal.getvalue().endswith("\r")
    assert "\n" not in terminal.getvalue()


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_error_and_an_interrupt_end_a_bar(monkeypatch, error):
    terminal = drawn_on(monkeypatch, Terminal())
    with pytest.raises(error), Bar("fit", ticks=True) as bar:
        raise error
    assert bar.disable
    assert not bar._ticker.is_alive()
    assert terminal.getvalue().endswith("\n")
    bar.update(1)
    assert terminal.getvalue().endswith("\n")


def test_a_terminal_that_was_closed_does_not_end_the_fit(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("fit", 2, mininterval=0.0) as bar:
        terminal.close()
        bar.update(1)


def test_time_goes_on_where_nothing_is_counted(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("fit", 2, ticks=True):
        time.sleep(1.2)
    assert any("[00:01<" in state for state in states(terminal))


def test_a_bar_that_nobody_asked_for_appears_after_some_patience(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("fit", 10, show=None, delay=PATIENCE, mininterval=0.0) as bar:
        bar.update(1)
        assert terminal.getvalue() == ""
        bar.start_t -= PATIENCE  # as if it had begun before
        bar.update(1)
        assert states(terminal)[0].startswith("fit:  20%|")


def test_a_short_fit_leaves_no_trace_on_a_terminal(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())
    with Bar("fit", show=None, delay=PATIENCE, leave=False, ticks=True) as bar:
        bar.update(1)
    assert terminal.getvalue() == ""


def test_other_threads_show_nothing_unasked(monkeypatch):
    terminal = drawn_on(monkeypatch, Terminal())

    def fit(show):
        with Bar("fit", show=show):
            pass

    with ThreadPoolExecutor(1) as pool:
        pool.submit(fit, None).result()
        assert terminal.getvalue() == ""
        pool.submit(fit, True).result()
    assert terminal.getvalue() != ""


@pytest.mark.parametrize("settings", [{"show": False}, {"show": None}, {"lines": None}])
def test_files_are_told_nothing_unless_asked(monkeypatch, settings):
    file = drawn_on(monkeypatch, io.StringIO())
    with Bar("fit", 200, **settings) as bar:
        bar.update(100)
    assert file.getvalue() == ""


def test_a_file_that_asked_has_a_line_in_some_seconds_and_one_at_the_end(monkeypatch):
    file = drawn_on(monkeypatch, io.StringIO())
    with Bar("gradient", 200) as bar:
        for _ in range(10):
            bar.update(10)
        assert file.getvalue() == ""
        bar.last_print_t -= 10.0  # as if ten seconds had passed
        bar.update(50)
        assert file.getvalue().startswith("gradient:  75%|")
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert all("150/200 [" in line and "\r" not in line for line in lines)


def test_cells_of_notebooks_are_live(monkeypatch):
    kernel = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    drawn_on(monkeypatch, kernel)
    with Bar("fit", show=None):
        pass
    assert kernel.getvalue().startswith("\rfit: 0 rows [")
