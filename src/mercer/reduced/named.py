"""Low-rank approximations by name or by their number of functions."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from mercer.reduced.base import Approximation
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.random_features import RandomFeatures

__all__ = ["NAMES", "as_approximation"]

NAMES: dict[str, type[Approximation]] = {"nystrom": Nystrom, "random_features": RandomFeatures}
"""Approximations by the names that estimators accept."""


def as_approximation(given: Any) -> Approximation:
    """Return the approximation meant by a name or a number of landmarks; Nystrom by default.

    Parameters
    ----------
    given : Approximation, str, int or None
        An approximation is returned as it is.

    Examples
    --------
    >>> as_approximation(200).m, type(as_approximation("random_features")).__name__
    (200, 'RandomFeatures')
    """
    if isinstance(given, Approximation):
        return given
    if isinstance(given, Integral):
        return Nystrom(int(given))
    return NAMES.get(str(given), Nystrom)()
