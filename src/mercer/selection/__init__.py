"""Choosing hyperparameters: criteria, their optimization, paths and fusion."""

from mercer.selection.filters import (
    Decomposition,
    Filtered,
    PathMinimum,
    ValidationPath,
    shrinkage,
)
from mercer.selection.folds import Folds, as_splitter
from mercer.selection.fusion import FusedLSSVR
from mercer.selection.hull import Hull, minimize_over_hull, nearest_point, simplex_least_squares
from mercer.selection.relaxation import Relaxed, relax

__all__ = [
    "Decomposition",
    "Filtered",
    "Folds",
    "FusedLSSVR",
    "Hull",
    "PathMinimum",
    "Relaxed",
    "ValidationPath",
    "as_splitter",
    "minimize_over_hull",
    "nearest_point",
    "relax",
    "shrinkage",
    "simplex_least_squares",
]
