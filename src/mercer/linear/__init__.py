"""Linear models beside the kernel machines: the relatives that scikit-learn lacks."""

from mercer.linear._model import Optimum
from mercer.linear._validation import Split
from mercer.linear.alternatives import (
    AlternativesRelaxation,
    LeastSquaresAmongstAlternatives,
    relax_alternatives,
)
from mercer.linear.boosting import MarginBoost, boosting_bound
from mercer.linear.bridge import Bridge
from mercer.linear.clustered import ClusteredRidge, clustered_ridge
from mercer.linear.fused_ridge import FusedRidge, FusionCertificate, RidgeFusion, ValidationCurve
from mercer.linear.lasso import (
    LassoConstrained,
    PiecewiseLinearPath,
    ValidatedLasso,
    lasso_homotopy,
)
from mercer.linear.least_squares import LeastSquaresFit, least_squares
from mercer.linear.location import Location, location
from mercer.linear.margins import FeatureShare, LpMarginSVC, dual_norm
from mercer.linear.matching import RobustLocation, robust_location
from mercer.linear.nadaraya_watson import NadarayaWatson
from mercer.linear.norms import NormRegression, residual_scale
from mercer.linear.one_norm import OneNormSVC
from mercer.linear.orthonormal import (
    OrthonormalFusion,
    fuse_orthonormal,
    hard_threshold,
    shrink,
    soft_threshold,
)
from mercer.linear.perceptron import KernelPerceptron, mistake_bound
from mercer.linear.plausible import (
    PlausibleSet,
    covariance_draws,
    covariance_quantiles,
    plausible_set,
)
from mercer.linear.plausible_fit import PlausibleLeastSquares
from mercer.linear.rbf_network import RBFNetwork
from mercer.linear.validated_selection import ValidatedSelection, selection_penalty
from mercer.linear.z_test import ZTest, location_test, z_test

__all__ = [
    "AlternativesRelaxation",
    "Bridge",
    "ClusteredRidge",
    "FeatureShare",
    "FusedRidge",
    "FusionCertificate",
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
