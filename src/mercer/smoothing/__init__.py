"""Linear smoothers: all that one factorization of the squared loss tells."""

from mercer.smoothing.bias_variance import BiasVariance, bias_variance, plug_in
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
from mercer.smoothing.scale import ScaleWarning, robust_scale
from mercer.smoothing.secular import (
    Averaged,
    Ivanov,
    Morozov,
    WeightRule,
    average,
    ivanov,
    mean_square,
    morozov,
    squared_norm,
)
from mercer.smoothing.spectral import Spectral
from mercer.smoothing.weights import (
    BisquareWeights,
    HampelWeights,
    HuberWeights,
    LogisticWeights,
    MyriadWeights,
    WeightFunction,
)

__all__ = [
    "AIC",
    "BIC",
    "GCV",
    "Averaged",
    "BiasVariance",
    "BisquareWeights",
    "Criterion",
    "CrossValidation",
    "Evidence",
    "Factored",
    "Fit",
    "HampelWeights",
    "HuberWeights",
    "Ivanov",
    "LeaveOneOut",
    "LogisticWeights",
    "MallowsCp",
    "Morozov",
    "MyriadWeights",
    "ScaleWarning",
    "Spectral",
    "WeightFunction",
    "WeightRule",
    "average",
    "bias_variance",
    "ivanov",
    "mean_square",
    "morozov",
    "plug_in",
    "robust_scale",
    "squared_norm",
]
