"""Words of files made harmless where they are shown: on a terminal, and in a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["visible", "visible_json", "without_formula"]

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
