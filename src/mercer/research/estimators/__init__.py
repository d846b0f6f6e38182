"""Research: may change without notice.

Machines without slack, networks of basis functions under any operator, partially linear machines,
linear programs that choose their tube or margin, generalized least squares.
"""

from mercer.research.estimators.basis import BasisNotInRKHS
from mercer.research.estimators.hard_margin import HardMarginSVC, separability
from mercer.research.estimators.hard_tube import HardTubeSVR, InfeasibleTube
from mercer.research.estimators.hulls import HullCertificate, NotSeparable
from mercer.research.estimators.least_squares import GeneralizedLeastSquares
from mercer.research.estimators.mixed import PartiallyLinearRegressor
from mercer.research.estimators.network import GrowingPenalty, RegularizationNetwork
from mercer.research.estimators.nu_sparse import NuSparseClassifier, NuSparseRegressor

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
