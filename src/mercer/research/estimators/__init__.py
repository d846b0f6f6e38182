"""Research: may change without notice.

Machines without slack, networks of basis functions under any operator, partially linear machines.
"""

from mercer.research.estimators.basis import BasisNotInRKHS
from mercer.research.estimators.hard_margin import HardMarginSVC, separability
from mercer.research.estimators.hard_tube import HardTubeSVR, InfeasibleTube
from mercer.research.estimators.hulls import HullCertificate, NotSeparable
from mercer.research.estimators.mixed import PartiallyLinearRegressor
from mercer.research.estimators.network import GrowingPenalty, RegularizationNetwork

__all__ = [
    "BasisNotInRKHS",
    "GrowingPenalty",
    "HardMarginSVC",
    "HardTubeSVR",
    "HullCertificate",
    "InfeasibleTube",
    "NotSeparable",
    "PartiallyLinearRegressor",
    "RegularizationNetwork",
    "separability",
]
