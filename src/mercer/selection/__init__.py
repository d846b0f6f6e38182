"""Choosing hyperparameters: criteria, searches, paths, left-out errors and their bounds."""

from mercer.selection.bounds import (
    ErrorBound,
    RadiusMargin,
    jaakkola_haussler,
    radius_margin,
    span_bound,
    span_rule,
    support_vector_bound,
    xi_alpha,
)
from mercer.selection.folds import Folds, as_splitter
from mercer.selection.hypergradient import Hypergradient, hypergradient
from mercer.selection.l_curve import LCurve, corner, l_curve
from mercer.selection.leave_one_out_errors import Influence, LeftOut, influence, leave_one_out
from mercer.selection.levels import FixedComplexity, ParetoPath, pareto_path
from mercer.selection.objective import Trial
from mercer.selection.paths import SolutionPath, SVMPath, solution_path, svm_path
from mercer.selection.protocols import (
    MedianOfFive,
    SelectionStatistics,
    median_of_five,
    selection_statistics,
)
from mercer.selection.search import Surface, criterion_surface, halve
from mercer.selection.self_tuned import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer.selection.stability_report import Stability, stability
from mercer.selection.streamed import StreamedSearch
from mercer.selection.threshold import PurityCurve, ThresholdSelector, purity_curve
from mercer.selection.tuning import Tuning, tune
from mercer.selection.validation import Validation
from mercer.selection.validation_set import Held, hoeffding, holdout, leave_n_out

__all__ = [
    "LSSVCCV",
    "LSSVRCV",
    "SVCCV",
    "SVRCV",
    "ErrorBound",
    "FixedComplexity",
    "Folds",
    "Held",
    "Hypergradient",
    "Influence",
    "LCurve",
    "LeftOut",
    "MedianOfFive",
    "ParetoPath",
    "PurityCurve",
    "RadiusMargin",
    "SVMPath",
    "SelectionStatistics",
    "SolutionPath",
    "Stability",
    "StreamedSearch",
    "Surface",
    "ThresholdSelector",
    "Trial",
    "Tuning",
    "Validation",
    "as_splitter",
    "corner",
    "criterion_surface",
    "halve",
    "hoeffding",
    "holdout",
    "hypergradient",
    "influence",
    "jaakkola_haussler",
    "l_curve",
    "leave_n_out",
    "leave_one_out",
    "median_of_five",
    "pareto_path",
    "purity_curve",
    "radius_margin",
    "selection_statistics",
    "solution_path",
    "span_bound",
    "span_rule",
    "stability",
    "support_vector_bound",
    "svm_path",
    "tune",
    "xi_alpha",
]
