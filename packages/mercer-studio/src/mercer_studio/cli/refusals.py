"""What a command says when it cannot go on."""

from __future__ import annotations

__all__ = ["Refusal"]


class Refusal(Exception):  # noqa: N818, it is an answer rather than a failure
    """A sentence for the user; the command ends with status 1.

    Examples
    --------
    >>> str(Refusal("there is no column 'y'."))
    "there is no column 'y'."
    """
