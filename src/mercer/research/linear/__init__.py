"""Research: may change without notice.

Linear models beside the kernel machines: the relatives that scikit-learn lacks.
"""

import mercer.research.linear.onnx_plans  # noqa: F401  (registers the plans of these machines)
from mercer.research.linear._model import Optimum
from mercer.research.linear._validation import Split
from mercer.research.linear.alternatives import (
    AlternativesRelaxation,
    LeastSquaresAmongstAlternatives,
    relax_alternatives,
)
from mercer.research.linear.backfitting import Backfit, backfit, marginal_integration
from mercer.research.linear.boosting import MarginBoost, boosting_bound
from mercer.research.linear.bridge import Bridge
from mercer.research.linear.clustered import ClusteredRidge, clustered_ridge
from mercer.research.linear.fused_ridge import (
    FusedRidge,
    FusionCertificate,
    RidgeFusion,
    ValidationCurve,
)
from mercer.research.linear.gradient_descent import GradientDescent
from mercer.research.linear.lasso import (
    LassoConstrained,
    PiecewiseLinearPath,
    ValidatedLasso,
    lasso_homotopy,
)
from mercer.research.linear.least_squares import LeastSquaresFit, least_squares
from mercer.research.linear.location import Location, location
from mercer.research.linear.margins import FeatureShare, LpMarginSVC, dual_norm
from mercer.research.linear.matching import RobustLocation, robust_location
from mercer.research.linear.nadaraya_watson import NadarayaWatson
from mercer.research.linear.norms import NormRegression, residual_scale
from mercer.research.linear.one_norm import OneNormSVC
from mercer.research.linear.orthonormal import (
    OrthonormalFusion,
    fuse_orthonormal,
    hard_threshold,
    shrink,
    soft_threshold,
)
from mercer.research.linear.perceptron import KernelPerceptron, mistake_bound
from mercer.research.linear.plausible import (
    PlausibleSet,
    covariance_draws,
    covariance_quantiles,
    plausible_set,
)
from mercer.research.linear.plausible_fit import PlausibleLeastSquares
from mercer.research.linear.rbf_network import RBFNetwork
from mercer.research.linear.validated_selection import ValidatedSelection, selection_penalty
from mercer.research.linear.z_test import ZTest, location_test, z_test

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
