"""Reports of inspections: numbers as attributes, and a summary as text."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class PrintedReport(ABC):
    """A small frozen record whose representation is its summary."""

    @abstractmethod
    def _title(self) -> str:
        """Return the first line."""

    def _lines(self) -> list[tuple[str, object]]:
        """Return the findings as pairs of a name and a value."""
        return []

    def summary(self) -> str:
        """Return the report as text, one finding a line."""
        lines = [(name, show(value)) for name, value in self._lines() if value is not None]
        width = max((len(name) for name, _ in lines), default=0)
        return "\n".join([self._title(), *(f"  {name:<{width}}  {text}" for name, text in lines)])

    def __repr__(self) -> str:
        return self.summary()


def show(value: object) -> str:
    """Return a number with four digits, a range as ``a to b``, a truth value as yes or no.

    Examples
    --------
    >>> show(0.123456), show((0.0, 12345.0)), show(np.float64(2)), show(True), show(3)
    ('0.1235', '0 to 1.234e+04', '2', 'yes', '3')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return " to ".join(map(show, value))
    return str(value)
