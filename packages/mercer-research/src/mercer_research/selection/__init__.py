"""Research: may change without notice.

Paths of solutions, bounds on norm or loss in place of a weight, hypergradients, stability, bounds
on left-out errors without refits, protocols, choices by a validation set with their bounds, and
rare classes at a fixed efficiency.
"""

import mercer_research.selection.onnx_plans  # noqa: F401  (registers plans)
from mercer_research.selection.bounds import (
    RadiusMargin,
    jaakkola_haussler,
    radius_margin,
    span_bound,
    span_rule,
    support_vector_bound,
    xi_alpha,
)
from mercer_research.selection.folds import Folds
from mercer_research.selection.hypergradient import Hypergradient, hypergradient
from mercer_research.selection.l_curve import LCurve, corner, l_curve
from mercer_research.selection.levels import FixedComplexity, ParetoPath, pareto_path
from mercer_research.selection.paths import SolutionPath, SVMPath, solution_path, svm_path
from mercer_research.selection.protocols import (
    MedianOfFive,
    SelectionStatistics,
    median_of_five,
    selection_statistics,
)
from mercer_research.selection.stability_report import Stability, stability
from mercer_research.selection.threshold import ThresholdSelector
from mercer_research.selection.validation import Validation
from mercer_research.selection.validation_set import HeldOutChoice, holdout, leave_n_out

__all__ = [
    "FixedComplexity",
    "Folds",
    "HeldOutChoice",
    "Hypergradient",
    "LCurve",
    "MedianOfFive",
    "ParetoPath",
    "RadiusMargin",
    "SVMPath",
    "SelectionStatistics",
    "SolutionPath",
    "Stability",
    "ThresholdSelector",
    "Validation",
    "corner",
    "holdout",
    "hypergradient",
    "jaakkola_haussler",
    "l_curve",
    "leave_n_out",
    "median_of_five",
    "pareto_path",
    "radius_margin",
    "selection_statistics",
    "solution_path",
    "span_bound",
    "span_rule",
    "stability",
    "support_vector_bound",
    "svm_path",
    "xi_alpha",
]
