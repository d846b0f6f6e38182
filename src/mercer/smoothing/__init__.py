"""Linear smoothers: all that one factorization of the squared loss tells."""

from mercer.smoothing.criteria import (
    AIC,
    BIC,
    GCV,
    Criterion,
    CrossValidation,
    Evidence,
    LeaveOneOut,
    MallowsCp,
)
from mercer.smoothing.factored import Factored
from mercer.smoothing.fit import Fit
from mercer.smoothing.spectral import Spectral

__all__ = [
    "AIC",
    "BIC",
    "GCV",
    "Criterion",
    "CrossValidation",
    "Evidence",
    "Factored",
    "Fit",
    "LeaveOneOut",
    "MallowsCp",
    "Spectral",
]
