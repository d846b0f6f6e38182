"""Choosing hyperparameters: criteria, searches, left-out errors."""

from mercer.selection.leave_one_out_errors import Influence, influence, leave_one_out
from mercer.selection.objective import criterion_surface
from mercer.selection.self_tuned import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer.selection.tuning import Tuning, tune

__all__ = [
    "LSSVCCV",
    "LSSVRCV",
    "SVCCV",
    "SVRCV",
    "Influence",
    "Tuning",
    "criterion_surface",
    "influence",
    "leave_one_out",
    "tune",
]
