"""What a public name promises: stable, provisional or research.

A stable name keeps its meaning and its parameters: a change is announced by a warning, two minor
releases ahead. A provisional name may change in a minor release, and the changelog says so. All of
``mercer_research`` may change without notice. Names of the front door are stable; for all others
the room decides.
"""

from __future__ import annotations

import mercer

__all__ = ["STABLE_ROOMS", "level"]

STABLE_ROOMS = frozenset(
    {
        "datasets",
        "estimators",
        "io",
        "kernels",
        "losses",
        "preprocessing",
        "regularizers",
        "tabular",
    }
)
STABLE_PARTS = ("cli", "reporting")  # of the application


def level(name: str) -> str:
    """Return the level of a public name.

    Parameters
    ----------
    name : str
        In full: ``mercer.SVC`` or ``mercer.smoothing.noise_variance``.

    Examples
    --------
    >>> level("mercer.SVC"), level("mercer.inspect.compare")
    ('stable', 'provisional')
    """
    package, *rooms, last = name.split(".")
    if package == "mercer_studio":
        return "stable" if rooms[0] in STABLE_PARTS else "provisional"
    if package == "mercer_research":
        return "research"
    if last in mercer.__all__ or (rooms and rooms[0] in STABLE_ROOMS):
        return "stable"
    return "provisional"
