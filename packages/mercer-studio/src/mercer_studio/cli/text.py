"""Text of the command line: refusals, escapes, and quantities as people type them."""

from __future__ import annotations

import ast
import re
from typing import Any


class Refusal(Exception):  # noqa: N818, it is an answer rather than a failure
    """A sentence for the user; the command ends with status 1.

    Examples
    --------
    >>> str(Refusal("there is no column 'y'."))
    "there is no column 'y'."
    """


# A terminal obeys control characters (C0 and C1, which begin escapes) and signs that turn the
# direction of writing, with which a name can look like another. Lines and tabs are left.
ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def visible(text: str) -> str:
    r"""Return text that a terminal only shows: whatever it would obey is written as an escape.

    Parameters
    ----------
    text : str
        With words of files in it: names of columns, labels, names of files.

    Examples
    --------
    >>> print(visible("red\x1b[31m"))
    red\x1b[31m
    """
    return ACTIVE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    r"""Return JSON with the same values that a terminal only shows.

    Parameters
    ----------
    text : str
        JSON.

    Examples
    --------
    >>> print(visible_json('"\x9b2J"'))
    "\u009b2J"
    """
    return ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def without_formula(value: Any) -> Any:
    """Return a cell that a spreadsheet shows and does not compute, by an apostrophe before it.

    Parameters
    ----------
    value : object
        What is no text, or text that is a number, stays as it is.

    Examples
    --------
    >>> [without_formula(v) for v in ("=cmd|' /C calc'!A0", "-1.5", -1.5, "red")]
    ["'=cmd|' /C calc'!A0", '-1.5', -1.5, 'red']
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1.0, "b": 1.0} | {
    f"{letter}{end}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for end, base in (("", 1000.0), ("b", 1000.0), ("i", 1024.0), ("ib", 1024.0))
}
DIRECTIONS = {"up": 1, "increasing": 1, "+": 1, "down": -1, "decreasing": -1, "-": -1}


def _amount(text: str, units: dict[str, float], example: str) -> float:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)", text.strip())
    if not found or found[2].lower() not in units or float(found[1]) <= 0 or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is not understood; give it as {example}")
    return float(found[1]) * units[found[2].lower()]


def duration(text: str) -> float:
    """Return seconds.

    Parameters
    ----------
    text : str
        A number with a unit: ``60s``, ``5m``, ``1.5h``.

    Examples
    --------
    >>> duration("60s"), duration("1.5h")
    (60.0, 5400.0)
    """
    return _amount(text, SECONDS, "60s, 5m or 1h")


def size(text: str) -> float:
    """Return bytes.

    Parameters
    ----------
    text : str
        A number with a unit: ``500MB``, ``4GB``, ``2GiB``.

    Examples
    --------
    >>> size("500MB"), size("2GiB")
    (500000000.0, 2147483648.0)
    """
    return _amount(text, BYTES, "500MB, 4GB or 2GiB")


def share(text: str) -> float:
    """Return a number between zero and one.

    Parameters
    ----------
    text : str
        Such as ``0.9`` or ``90%``.

    Examples
    --------
    >>> share("0.9"), share("95%")
    (0.9, 0.95)
    """
    found = re.fullmatch(r"(\d*\.?\d+)(%?)", text.strip())
    value = float(found[1]) / (100.0 if found[2] else 1.0) if found and len(text) < 40 else -1.0
    if not 0.0 < value < 1.0:
        raise ValueError(f"{text[:40]!r} is not a share between 0 and 1, such as 0.9 or 90%")
    return value


def direction(text: str) -> tuple[str, int]:
    """Return a column, and 1 if the prediction rises with it or -1 if it falls.

    Parameters
    ----------
    text : str
        ``dose:up`` or ``age:down``.

    Examples
    --------
    >>> direction("dose:up"), direction("time: of day:down")
    (('dose', 1), ('time: of day', -1))
    """
    column, _, word = text.rpartition(":")
    if not column or word.lower() not in DIRECTIONS:
        raise ValueError(f"{text[:60]!r} is not understood; give it as dose:up or age:down")
    return column, DIRECTIONS[word.lower()]


def number_of(text: str) -> tuple[str, float]:
    """Return a column and a number.

    Parameters
    ----------
    text : str
        ``pressure=0``.

    Examples
    --------
    >>> number_of("pressure=0"), number_of("a=b=-9.5")
    (('pressure', 0.0), ('a=b', -9.5))
    """
    column, _, value = text.rpartition("=")
    if not column or not re.fullmatch(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", value.strip(), re.IGNORECASE):
        raise ValueError(f"{text[:60]!r} is not understood; give it as pressure=0")
    return column, float(value)


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a parameter; values are literals, and nothing is run.

    Parameters
    ----------
    text : str
        ``C=10``, ``kernel=laplacian``.

    Examples
    --------
    >>> setting("C=10"), setting("kernel=laplacian")
    (('C', 10), ('kernel', 'laplacian'))
    """
    name, sign, value = text.partition("=")
    if not sign or not re.fullmatch(r"[A-Za-z]\w*", name):
        raise ValueError(f"{text[:60]!r} is not understood; give it as C=10")
    try:
        return name, ast.literal_eval(value[:1000])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value
