"""Words in sentences: names that were mistyped, and numbers of things."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = ["did_you_mean", "plural"]


def did_you_mean(given: Any, known: Iterable[str]) -> str:
    """Return a question that names the nearest known word, with a space before it, or nothing.

    Parameters
    ----------
    given : object
        What was typed.
    known : iterable of str
        Words that would have been understood.

    Examples
    --------
    >>> did_you_mean("Nystroem", ["nystrom", "auto"])
    " Did you mean 'nystrom'?"
    >>> did_you_mean("rbff", ["RBF", "rbf"])
    " Did you mean 'rbf'?"
    >>> did_you_mean(3, ["nystrom"])
    ''
    """
    if not isinstance(given, str):
        return ""
    # Of two spellings the small letters, which are sorted last.
    plain = {word.lower().replace("-", "_"): word for word in sorted(known)}
    near = get_close_matches(given.lower().replace("-", "_"), plain, n=1, cutoff=0.6)
    return f" Did you mean {plain[near[0]]!r}?" if near else ""


def plural(n: int, word: str) -> str:
    """Return a number of things in words.

    Parameters
    ----------
    n : int
    word : str
        One of them.

    Examples
    --------
    >>> plural(1, "row"), plural(12, "row")
    ('1 row', '12 rows')
    """
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
