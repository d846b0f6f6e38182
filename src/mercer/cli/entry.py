"""The door of the command line: imports little, so that help is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mercer._lazily import lazily
from mercer._optional import plugin

__all__ = ["main"]

warm = lazily("mercer.cli.warming", "warm")


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
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app = plugin("cli")
    except ImportError as error:
        # Images are warmed without the packages of the command line.
        if given[:1] == ["warm"]:
            warm(verbose="--quiet" not in given)
            return 0
        print(f"mercer: {error}", file=sys.stderr)
        return 1
    return int(app.run(given))
