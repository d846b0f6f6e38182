"""Research: may change without notice.

Linear models beside the kernel machines: the relatives that scikit-learn lacks.
"""

import mercer_research.linear.onnx_plans  # noqa: F401  (registers the plans of these machines)
from mercer_research.linear._model import Optimum
from mercer_research.linear._validation import Split
from mercer_research.linear.alternatives import (
    AlternativesRelaxation,
    LeastSquaresAmongstAlternatives,
    relax_alternatives,
)
from mercer_research.linear.backfitting import Backfit, backfit, marginal_integration
from mercer_research.linear.boosting import MarginBoost, boosting_bound
from mercer_research.linear.bridge import Bridge
from mercer_research.linear.clustered import ClusteredRidge, clustered_ridge
from mercer_research.linear.fused_ridge import (
    FusedRidge,
    FusionCertificate,
    RidgeFusion,
    ValidationCurve,
)
from mercer_research.linear.gradient_descent import GradientDescent
from mercer_research.linear.lasso import (
    LassoConstrained,
    PiecewiseLinearPath,
    ValidatedLasso,
    lasso_homotopy,
)
from mercer_research.linear.least_squares import LeastSquaresFit, least_squares
from mercer_research.linear.location import Location, location
from mercer_research.linear.margins import FeatureShare, LpMarginSVC, dual_norm
from mercer_research.linear.matching import RobustLocation, robust_location
from mercer_research.linear.nadaraya_watson import NadarayaWatson
from mercer_research.linear.norms import NormRegression, residual_scale
from mercer_research.linear.one_norm import OneNormSVC
from mercer_research.linear.orthonormal import (
    OrthonormalFusion,
    fuse_orthonormal,
    hard_threshold,
    shrink,
    soft_threshold,
)
from mercer_research.linear.perceptron import KernelPerceptron, mistake_bound
from mercer_research.linear.plausible import (
    PlausibleSet,
    covariance_draws,
    covariance_quantiles,
    plausible_set,
)
from mercer_research.linear.plausible_fit import PlausibleLeastSquares
from mercer_research.linear.rbf_network import RBFNetwork
from mercer_research.linear.validated_selection import ValidatedSelection, selection_penalty
from mercer_research.linear.z_test import ZTest, location_test, z_test

__all__ = [
    "AlternativesRelaxation",
    "Backfit",
    "Bridge",
    "ClusteredRidge",
    "FeatureShare",
    "FusedRidge",
    "FusionCertificate",
    "GradientDescent",
    "KernelPerceptron",
    "LassoConstrained",
    "LeastSquaresAmongstAlternatives",
    "LeastSquaresFit",
    "Location",
    "LpMarginSVC",
    "MarginBoost",
    "NadarayaWatson",
    "NormRegression",
    "OneNormSVC",
    "Optimum",
    "OrthonormalFusion",
    "PiecewiseLinearPath",
    "PlausibleLeastSquares",
    "PlausibleSet",
    "RBFNetwork",
    "RidgeFusion",
    "RobustLocation",
    "Split",
    "ValidatedLasso",
    "ValidatedSelection",
    "ValidationCurve",
    "ZTest",
    "backfit",
    "boosting_bound",
    "clustered_ridge",
    "covariance_draws",
    "covariance_quantiles",
    "dual_norm",
    "fuse_orthonormal",
    "hard_threshold",
    "lasso_homotopy",
    "least_squares",
    "location",
    "location_test",
    "marginal_integration",
    "mistake_bound",
    "plausible_set",
    "relax_alternatives",
    "residual_scale",
    "robust_location",
    "selection_penalty",
    "shrink",
    "soft_threshold",
    "z_test",
]
