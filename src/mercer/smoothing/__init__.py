"""Linear smoothers: all that one factorization of the squared loss tells."""

from mercer.smoothing.backfitting import Backfit, backfit, marginal_integration
from mercer.smoothing.bias_variance import BiasVariance, bias_variance, plug_in
from mercer.smoothing.coverage import (
    CoverageReport,
    CoverageTest,
    GroupCoverage,
    coverage_of,
    coverage_test,
    dkw_band,
    iterated_logarithm,
    tolerance_level,
    tolerance_probability,
    tolerance_sample_size,
)
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
from mercer.smoothing.differogram import DifferogramBins, DifferogramCloud, DifferogramFit
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.factored import Factored
from mercer.smoothing.fit import Fit
from mercer.smoothing.guesses import (
    cherkassky_C,
    guess_epsilon,
    plug_in_bandwidth,
    ridge_C,
    signal_to_noise,
)
from mercer.smoothing.logistic_evidence import LogisticEvidence
from mercer.smoothing.noise import NoiseVariance, noise_variance, smoother_noise
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
from mercer.smoothing.survival import SurvivalCurve, kaplan_meier, turnbull
from mercer.smoothing.tube_width import (
    PolynomialNoise,
    fit_noise,
    optimal_epsilon,
    optimal_nu,
    tube_efficiency,
    tube_variance,
)
from mercer.smoothing.weights import (
    BisquareWeights,
    HampelWeights,
    HuberWeights,
    LogisticWeights,
    MyriadWeights,
    WeightFunction,
)
from mercer.smoothing.widths import Guess, guess_C, guess_width, search_width

__all__ = [
    "AIC",
    "BIC",
    "GCV",
    "Averaged",
    "Backfit",
    "BiasVariance",
    "BisquareWeights",
    "CoverageReport",
    "CoverageTest",
    "Criterion",
    "CrossValidation",
    "DifferogramBins",
    "DifferogramCloud",
    "DifferogramFit",
    "Evidence",
    "Factored",
    "Fit",
    "GroupCoverage",
    "Guess",
    "HampelWeights",
    "HuberWeights",
    "Ivanov",
    "LeaveOneOut",
    "LogisticEvidence",
    "LogisticWeights",
    "MallowsCp",
    "Morozov",
    "MyriadWeights",
    "NoiseVariance",
    "PolynomialNoise",
    "ScaleWarning",
    "Spectral",
    "SurvivalCurve",
    "WeightFunction",
    "WeightRule",
    "average",
    "backfit",
    "bias_variance",
    "cherkassky_C",
    "coverage_of",
    "coverage_test",
    "dkw_band",
    "fit_noise",
    "guess_C",
    "guess_epsilon",
    "guess_width",
    "iterated_logarithm",
    "ivanov",
    "kaplan_meier",
    "marginal_integration",
    "mean_square",
    "morozov",
    "noise_variance",
    "optimal_epsilon",
    "optimal_nu",
    "plug_in",
    "plug_in_bandwidth",
    "ridge_C",
    "robust_scale",
    "search_width",
    "signal_to_noise",
    "smoother_noise",
    "squared_norm",
    "tolerance_level",
    "tolerance_probability",
    "tolerance_sample_size",
    "tube_efficiency",
    "tube_variance",
    "turnbull",
]
