"""Choosing hyperparameters: criteria, searches, paths, left-out errors and their bounds."""

from mercer.selection.l_curve import LCurve, corner, l_curve
from mercer.selection.leave_one_out_errors import Influence, influence, leave_one_out
from mercer.selection.levels import FixedComplexity, ParetoPath, pareto_path
from mercer.selection.paths import svm_path
from mercer.selection.search import criterion_surface, halve
from mercer.selection.self_tuned import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer.selection.streamed import StreamedSearch
from mercer.selection.threshold import ThresholdSelector
from mercer.selection.tuning import Tuning, tune

__all__ = [
    "LSSVCCV",
    "LSSVRCV",
    "SVCCV",
    "SVRCV",
    "FixedComplexity",
    "Influence",
    "LCurve",
    "ParetoPath",
    "StreamedSearch",
    "ThresholdSelector",
    "Tuning",
    "corner",
    "criterion_surface",
    "halve",
    "influence",
    "l_curve",
    "leave_one_out",
    "pareto_path",
    "svm_path",
    "tune",
]
