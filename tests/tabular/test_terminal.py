"""Fits on a real terminal: one line that begins at once, is rewritten and ends, also by Ctrl-C."""

import json
import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="opens a pseudo-terminal")

# The terminal is the standard error, and controls the process, so that it has Ctrl-C.
BEGIN = """
import fcntl, json, signal, sys, termios
import numpy as np
from mercer import AutoRegressor

fcntl.ioctl(2, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell may ignore it
rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, 4))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
"""
FIT = (
    BEGIN
    + """
machine = AutoRegressor(members=["gaussian", "laplacian"], verbose=False, **GIVEN)
machine.fit(X, y)  # compiles
machine.set_params(verbose=True).fit(X, y)
print(json.dumps(machine.seconds_))
"""
)
INTERRUPTED = (
    BEGIN
    + """
few = X[:40]
machine = AutoRegressor(members=["gaussian"], verbose=False).fit(few, y[:40])
before = vars(machine).copy(), machine.predict(few)
machine.set_params(members="auto", verbose=True, **GIVEN)
before[0].update(machine.get_params())
try:
    machine.fit(X, y)
    heard = False
except KeyboardInterrupt:
    heard = True
same = all(vars(machine)[name] is value for name, value in before[0].items())
same = same and np.array_equal(machine.predict(few), before[1])
print(json.dumps([heard, same and vars(machine).keys() == before[0].keys()]))
"""
)


def read(terminal):
    """Return what is there to read, nothing where the other end is closed."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux, of a terminal that nobody has open any more
        return b""


def run(program, rows, given, press=None):
    """Run a program on a terminal, press Ctrl-C once a text is there; return what both say."""
    import pty

    ours, theirs = pty.openpty()
    program = program.replace("ROWS", str(rows)).replace("GIVEN", repr(given))
    one_thread = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | one_thread | {"COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(theirs)
    text = b""
    with child:
        while part := read(ours):
            text += part
            if press is not None and press in text:
                os.write(ours, b"\x03")
                press = None
        answer = child.stdout.read()
    os.close(ours)
    assert child.returncode == 0, text
    return text.decode(), json.loads(answer)


@pytest.mark.parametrize("given", [{}, {"n_jobs": 2}, {"budget": 600.0}], ids=str)
def test_one_line_begins_at_once_and_is_rewritten_and_ended(given):
    text, seconds = run(FIT, 60, given)
    text = text[text.index("\rAutoRegressor") :]  # after what compiling says
    *states, last = [state.strip() for state in text.split("\r") if state.strip()]
    assert states[0].startswith("AutoRegressor: 0 machines [00:00, ")
    assert text.count("\n") == 1
    assert text.endswith("\n")
    # What is fitted is there before any machine is done, and then how many are.
    assert any("laplacian" in state and " 0/2 [" in state for state in states)
    assert any(" 2/2 [" in state for state in states)
    counts = [int(found[1]) for state in states if (found := re.search(r"(\d+)/2 \[", state))]
    assert counts == sorted(counts)
    # The last line stands alone.
    assert last.startswith(f"AutoRegressor: {seconds:.1f} s, weights of the machines: laplacian ")


@pytest.mark.parametrize(
    ("n_jobs", "begun"), [(None, b"AutoRegressor, laplacian-ranks: "), (2, b", matern: ")]
)
def test_ctrl_c_ends_the_line_and_leaves_the_machine_as_it_was(n_jobs, begun):
    text, (heard, same) = run(INTERRUPTED, 3000, {"n_jobs": n_jobs}, press=begun)
    assert heard
    assert same
    assert text.endswith("\r")
    assert "6/6" not in text
    # The fit's line is not followed by another one of it.
    assert "weights" not in text


def test_where_there_is_no_terminal_lines_are_plain(capsys):
    import numpy as np

    from mercer import AutoRegressor

    X = np.random.default_rng(0).standard_normal((40, 2))
    AutoRegressor(members=["gaussian", "laplacian"], verbose=True).fit(X, X[:, 0])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines[:2]] == ["laplacian", "gaussian"]
    assert "\r" not in "".join(lines)
    assert len(lines) == 3
