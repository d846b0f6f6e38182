"""Choosing hyperparameters: criteria, their optimization, paths and fusion."""

from mercer.selection.additive import AdditiveRegularization
from mercer.selection.additive_cv import FastFusion, FoldedSubstrate, fast_fusion
from mercer.selection.bilevel import BilevelProgram, BilevelSolution
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
from mercer.selection.complementarity import (
    Alternatives,
    ComplementarityProgram,
    is_convex_penalty,
    largest_convex_weight,
    svm_program,
)
from mercer.selection.filters import (
    Decomposition,
    Filtered,
    PathMinimum,
    ValidationPath,
    shrinkage,
)
from mercer.selection.folds import Folds, as_splitter
from mercer.selection.fusion import FusedLSSVR
from mercer.selection.hierarchy import Fused, FusedPath, Validation, fuse, fuse_svm
from mercer.selection.holdout import Held, hoeffding, holdout, leave_n_out
from mercer.selection.hull import Hull, minimize_over_hull, nearest_point, simplex_least_squares
from mercer.selection.hypergradient import Hypergradient, hypergradient
from mercer.selection.left_out import Influence, LeftOut, influence, leave_one_out
from mercer.selection.levels import FixedComplexity, ParetoPath, pareto_path
from mercer.selection.modified_loss import (
    MeanShift,
    additive_ridge,
    equivalent_shifts,
    mean_shift,
    modified_loss,
)
from mercer.selection.objective import Trial
from mercer.selection.paths import SolutionPath, SVMPath, solution_path, svm_path
from mercer.selection.protocols import (
    MedianOfFive,
    SelectionStatistics,
    median_of_five,
    selection_statistics,
)
from mercer.selection.relaxation import Relaxed, relax
from mercer.selection.search import Surface, criterion_surface, halve
from mercer.selection.self_tuned import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer.selection.sparse_substrate import SparseSubstrate, SparseSubstrateClassifier
from mercer.selection.stability_report import Stability, stability
from mercer.selection.stable import StableLSSVR, stability_curve
from mercer.selection.stable_folds import (
    FastStable,
    FullStable,
    LCurve,
    StabilityCurve,
    StableFolds,
    corner,
    l_curve,
)
from mercer.selection.streamed import StreamedSearch
from mercer.selection.structure_path import fuse_sparse_substrate, fuse_structure
from mercer.selection.substrate import Affine, EffectiveC, Substrate, System
from mercer.selection.threshold import PurityCurve, ThresholdSelector, purity_curve
from mercer.selection.tuning import Tuning, tune

__all__ = [
    "LSSVCCV",
    "LSSVRCV",
    "SVCCV",
    "SVRCV",
    "AdditiveRegularization",
    "Affine",
    "Alternatives",
    "BilevelProgram",
    "BilevelSolution",
    "ComplementarityProgram",
    "Decomposition",
    "EffectiveC",
    "ErrorBound",
    "FastFusion",
    "FastStable",
    "Filtered",
    "FixedComplexity",
    "FoldedSubstrate",
    "Folds",
    "FullStable",
    "Fused",
    "FusedLSSVR",
    "FusedPath",
    "Held",
    "Hull",
    "Hypergradient",
    "Influence",
    "LCurve",
    "LeftOut",
    "MeanShift",
    "MedianOfFive",
    "ParetoPath",
    "PathMinimum",
    "PurityCurve",
    "RadiusMargin",
    "Relaxed",
    "SVMPath",
    "SelectionStatistics",
    "SolutionPath",
    "SparseSubstrate",
    "SparseSubstrateClassifier",
    "Stability",
    "StabilityCurve",
    "StableFolds",
    "StableLSSVR",
    "StreamedSearch",
    "Substrate",
    "Surface",
    "System",
    "ThresholdSelector",
    "Trial",
    "Tuning",
    "Validation",
    "ValidationPath",
    "additive_ridge",
    "as_splitter",
    "corner",
    "criterion_surface",
    "equivalent_shifts",
    "fast_fusion",
    "fuse",
    "fuse_sparse_substrate",
    "fuse_structure",
    "fuse_svm",
    "halve",
    "hoeffding",
    "holdout",
    "hypergradient",
    "influence",
    "is_convex_penalty",
    "jaakkola_haussler",
    "l_curve",
    "largest_convex_weight",
    "leave_n_out",
    "leave_one_out",
    "mean_shift",
    "median_of_five",
    "minimize_over_hull",
    "modified_loss",
    "nearest_point",
    "pareto_path",
    "purity_curve",
    "radius_margin",
    "relax",
    "selection_statistics",
    "shrinkage",
    "simplex_least_squares",
    "solution_path",
    "span_bound",
    "span_rule",
    "stability",
    "stability_curve",
    "support_vector_bound",
    "svm_path",
    "svm_program",
    "tune",
    "xi_alpha",
]
