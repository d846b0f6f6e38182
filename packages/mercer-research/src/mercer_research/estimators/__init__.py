"""Research: may change without notice.

Machines without slack, networks of basis functions under any operator, partially linear machines,
linear programs that choose their tube or margin, margins of each sample, generalized least squares,
jumps and other terms beside a smooth part, laws that switch, tubes of several outputs, and the
worst case of missing inputs.
"""

from mercer_research.estimators.adaptive_margin import (
    AdaptiveMarginSVC,
    CollapsedMachine,
    LeaveOneOutSVC,
)
from mercer_research.estimators.basis import BasisNotInRKHS
from mercer_research.estimators.hard_margin import HardMarginSVC, separability
from mercer_research.estimators.hard_tube import HardTubeSVR, InfeasibleTube
from mercer_research.estimators.hulls import HullCertificate, NotSeparable
from mercer_research.estimators.least_squares import GeneralizedLeastSquares
from mercer_research.estimators.mixed import PartiallyLinearRegressor
from mercer_research.estimators.multi_output_svr import MultiOutputSVR
from mercer_research.estimators.network import GrowingPenalty, RegularizationNetwork
from mercer_research.estimators.nu_sparse import NuSparseClassifier, NuSparseRegressor
from mercer_research.estimators.regime_switching import RegimeSwitchingRegressor
from mercer_research.estimators.term_selection import TermSelector
from mercer_research.estimators.worst_case import WorstCase

__all__ = [
    "AdaptiveMarginSVC",
    "BasisNotInRKHS",
    "CollapsedMachine",
    "GeneralizedLeastSquares",
    "GrowingPenalty",
    "HardMarginSVC",
    "HardTubeSVR",
    "HullCertificate",
    "InfeasibleTube",
    "LeaveOneOutSVC",
    "MultiOutputSVR",
    "NotSeparable",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "PartiallyLinearRegressor",
    "RegimeSwitchingRegressor",
    "RegularizationNetwork",
    "TermSelector",
    "WorstCase",
    "separability",
]
