"""How tests run commands: in this process, as the shell would."""

import io
import shlex
from contextlib import redirect_stderr, redirect_stdout

from mercer_studio.cli import main


def call(*arguments):
    """Run a command in this process and return its status and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(a) for a in arguments])
    return status, out.getvalue(), err.getvalue()


def shell(line):
    """Run a line of the shell that begins with mercer, and return what it printed."""
    program, *arguments = shlex.split(line)
    assert program == "mercer", line
    status, out, err = call(*arguments)
    assert status == 0, (line, err)
    return out
