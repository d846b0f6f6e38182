"""Choosing hyperparameters: criteria, their optimization, paths and fusion."""

from mercer.selection.additive import AdditiveRegularization
from mercer.selection.additive_cv import FastFusion, FoldedSubstrate, fast_fusion
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
from mercer.selection.modified_loss import (
    MeanShift,
    additive_ridge,
    equivalent_shifts,
    mean_shift,
    modified_loss,
)
from mercer.selection.objective import Trial
from mercer.selection.paths import SolutionPath, SVMPath, solution_path, svm_path
from mercer.selection.relaxation import Relaxed, relax
from mercer.selection.search import Surface, criterion_surface, halve
from mercer.selection.self_tuned import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer.selection.substrate import Affine, EffectiveC, Substrate, System
from mercer.selection.tuning import Tuning, tune

__all__ = [
    "LSSVCCV",
    "LSSVRCV",
    "SVCCV",
    "SVRCV",
    "AdditiveRegularization",
    "Affine",
    "Decomposition",
    "EffectiveC",
    "FastFusion",
    "Filtered",
    "FoldedSubstrate",
    "Folds",
    "FusedLSSVR",
    "Hull",
    "MeanShift",
    "PathMinimum",
    "Relaxed",
    "SVMPath",
    "SolutionPath",
    "Substrate",
    "Surface",
    "System",
    "Trial",
    "Tuning",
    "ValidationPath",
    "additive_ridge",
    "as_splitter",
    "criterion_surface",
    "equivalent_shifts",
    "fast_fusion",
    "halve",
    "mean_shift",
    "minimize_over_hull",
    "modified_loss",
    "nearest_point",
    "relax",
    "shrinkage",
    "simplex_least_squares",
    "solution_path",
    "svm_path",
    "tune",
]
