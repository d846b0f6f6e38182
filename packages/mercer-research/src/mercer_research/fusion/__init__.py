"""Research: may change without notice.

Hyperparameters as part of the problem: training fused with validation in one program.
"""

import mercer_research.fusion.onnx_plans  # noqa: F401  (registers the plans of these machines)
from mercer_research.fusion.additive import AdditiveRegularization
from mercer_research.fusion.additive_cv import FastFusion, FoldedSubstrate, fast_fusion
from mercer_research.fusion.bilevel import BilevelProgram, BilevelSolution
from mercer_research.fusion.complementarity import (
    Alternatives,
    ComplementarityProgram,
    is_convex_penalty,
    largest_convex_weight,
    svm_program,
)
from mercer_research.fusion.filters import (
    Decomposition,
    Filtered,
    PathMinimum,
    ValidationPath,
    shrinkage,
)
from mercer_research.fusion.hierarchy import Fused, FusedPath, fuse, fuse_svm
from mercer_research.fusion.hull import (
    Hull,
    minimize_over_hull,
    nearest_point,
    simplex_least_squares,
)
from mercer_research.fusion.least_squares import FusedLSSVR
from mercer_research.fusion.modified_loss import (
    MeanShift,
    additive_ridge,
    equivalent_shifts,
    mean_shift,
    modified_loss,
)
from mercer_research.fusion.relaxation import Relaxed, relax
from mercer_research.fusion.sparse_substrate import SparseSubstrate, SparseSubstrateClassifier
from mercer_research.fusion.stable import StableLSSVR, stability_curve
from mercer_research.fusion.stable_folds import FastStable, FullStable, StabilityCurve, StableFolds
from mercer_research.fusion.structure_path import fuse_sparse_substrate, fuse_structure
from mercer_research.fusion.substrate import Affine, EffectiveC, Substrate, System

__all__ = [
    "AdditiveRegularization",
    "Affine",
    "Alternatives",
    "BilevelProgram",
    "BilevelSolution",
    "ComplementarityProgram",
    "Decomposition",
    "EffectiveC",
    "FastFusion",
    "FastStable",
    "Filtered",
    "FoldedSubstrate",
    "FullStable",
    "Fused",
    "FusedLSSVR",
    "FusedPath",
    "Hull",
    "MeanShift",
    "PathMinimum",
    "Relaxed",
    "SparseSubstrate",
    "SparseSubstrateClassifier",
    "StabilityCurve",
    "StableFolds",
    "StableLSSVR",
    "Substrate",
    "System",
    "ValidationPath",
    "additive_ridge",
    "equivalent_shifts",
    "fast_fusion",
    "fuse",
    "fuse_sparse_substrate",
    "fuse_structure",
    "fuse_svm",
    "is_convex_penalty",
    "largest_convex_weight",
    "mean_shift",
    "minimize_over_hull",
    "modified_loss",
    "nearest_point",
    "relax",
    "shrinkage",
    "simplex_least_squares",
    "stability_curve",
    "svm_program",
]
