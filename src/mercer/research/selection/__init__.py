"""Research: may change without notice.

Paths of solutions, bounds on norm or loss in place of a weight, hypergradients, stability, and
choices by a validation set with their bounds.
"""

import mercer.research.selection.onnx_plans  # noqa: F401  (registers the plan of FixedComplexity)
from mercer.research.selection.folds import Folds
from mercer.research.selection.hypergradient import Hypergradient, hypergradient
from mercer.research.selection.l_curve import LCurve, corner, l_curve
from mercer.research.selection.levels import FixedComplexity, ParetoPath, pareto_path
from mercer.research.selection.paths import SolutionPath, SVMPath, solution_path, svm_path
from mercer.research.selection.stability_report import Stability, stability
from mercer.research.selection.validation import Validation
from mercer.research.selection.validation_set import HeldOutChoice, holdout, leave_n_out

__all__ = [
    "FixedComplexity",
    "Folds",
    "HeldOutChoice",
    "Hypergradient",
    "LCurve",
    "ParetoPath",
    "SVMPath",
    "SolutionPath",
    "Stability",
    "Validation",
    "corner",
    "holdout",
    "hypergradient",
    "l_curve",
    "leave_n_out",
    "pareto_path",
    "solution_path",
    "stability",
    "svm_path",
]
