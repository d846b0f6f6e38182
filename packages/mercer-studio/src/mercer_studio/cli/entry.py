"""The entry of the command line: imports little, so that help is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mercer_studio.cli.app import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Status 0: done; 1: not possible, with a sentence that says why; 2: the command itself was not
    understood.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int

    Examples
    --------
    >>> main(["inspect", "--help"])
    Usage: mercer inspect [OPTIONS] FILE
    ...
    0
    """
    return int(run(list(sys.argv[1:] if arguments is None else arguments)))
