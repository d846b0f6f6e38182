"""Research: may change without notice.

Machines without slack, networks of basis functions under any operator, partially linear machines,
linear programs that choose their tube or margin, generalized least squares.
"""

from mercer_research.estimators.basis import BasisNotInRKHS
from mercer_research.estimators.hard_margin import HardMarginSVC, separability
from mercer_research.estimators.hard_tube import HardTubeSVR, InfeasibleTube
from mercer_research.estimators.hulls import HullCertificate, NotSeparable
from mercer_research.estimators.least_squares import GeneralizedLeastSquares
from mercer_research.estimators.mixed import PartiallyLinearRegressor
from mercer_research.estimators.network import GrowingPenalty, RegularizationNetwork
from mercer_research.estimators.nu_sparse import NuSparseClassifier, NuSparseRegressor

__all__ = [
    "BasisNotInRKHS",
    "GeneralizedLeastSquares",
    "GrowingPenalty",
    "HardMarginSVC",
    "HardTubeSVR",
    "HullCertificate",
    "InfeasibleTube",
    "NotSeparable",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "PartiallyLinearRegressor",
    "RegularizationNetwork",
    "separability",
]
