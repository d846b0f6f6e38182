"""Numbers in sentences."""

from __future__ import annotations

import re

import numpy as np

from mercer_studio.reporting.page import number

__all__ = ["first_sentence", "percent", "plural", "seconds", "short", "size"]


def plural(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number(int(count))} {word}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in per cent; rounded up to a thousandth of one.

    Examples
    --------
    >>> percent(0.0312), percent(3e-16)
    ('3.1 %', '0.001 %')
    """
    return f"{100.0 * share:.2g} %" if share >= 1e-5 else "0.001 %"


def seconds(value: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> seconds(0.0021), seconds(0.91), seconds(2.5), seconds(300.0)
    ('2.1 ms', '910 ms', '2.5 s', '5.0 min')
    """
    if value < 1.0:
        return f"{1e3 * value:.{0 if value >= 0.0095 else 1}f} ms"
    return f"{value:.2g} s" if value < 120.0 else f"{value / 60.0:.1f} min"


def size(count: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> size(2.5e6), size(80)
    ('2.5 MB', '80 bytes')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def short(value: object) -> str:
    """Return a setting with four digits of its numbers, on one line.

    Examples
    --------
    >>> short(1.23456789), short(np.array([1.0, 2.5]))
    ('1.235', '[1, 2.5]')
    """
    if isinstance(value, np.ndarray):
        some = [short(one) for one in value.ravel()[:8].tolist()]
        return f"[{', '.join(some)}{', …' if value.size > 8 else ''}]"
    if isinstance(value, bool) or not isinstance(value, float | np.floating):
        text = " ".join(repr(value).split())
        text = re.sub(r"\s+(?=[,\])])", "", text)
        return re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", text)
    return f"{value:.4g}"


def first_sentence(found: object) -> str:
    """Return the first sentence of the documentation of an object's class.

    Examples
    --------
    >>> from mercer import LSSVR
    >>> first_sentence(LSSVR())
    'Least-squares support vector regression, also known as kernel ridge with an intercept.'
    """
    lines = (type(found).__doc__ or "").strip().split("\n\n")[0]
    text = " ".join(lines.split()).replace("``", "")
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).split(". ")[0].rstrip(".") + "."
