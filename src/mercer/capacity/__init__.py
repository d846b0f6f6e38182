"""What theory says about a machine: sizes of classes of functions, and bounds that may be quoted.

Covering numbers are natural logarithms throughout, since they reach exp(1000).
"""

from mercer.capacity.audit import Audit, audit
from mercer.capacity.ball import (
    CoefficientBall,
    FeatureBox,
    KernelBall,
    feature_box,
    log_packing_bound,
    log_volume_bound,
    with_offset,
)
from mercer.capacity.certified import CertifiedSVC
from mercer.capacity.composition import (
    Composition,
    LipschitzClass,
    evaluation_rate,
    mixed_norm_factor,
)
from mercer.capacity.compressed import Compressed, compression_bound, refit_to_support
from mercer.capacity.copies import Copies, find_copies
from mercer.capacity.covering import Best, Covering, Interval, Scaled, Sum
from mercer.capacity.covers import (
    Box,
    PointCover,
    count_sign_patterns,
    exact_cover,
    exact_packing,
    log_sign_patterns,
)
from mercer.capacity.decay import ExponentialDecay
from mercer.capacity.diagonal import DiagonalOperator, Ellipsoid, VolumetricEllipsoid
from mercer.capacity.dimension_covers import FatCovering, PseudoCovering, log_covering_from_below
from mercer.capacity.frames import MeasuredFrame, nystrom_spectrum
from mercer.capacity.hilbert import CarlBound, ConvexHull, Cube, HilbertBall
from mercer.capacity.ladder import Rung
from mercer.capacity.lattice import lattice_shells, log_lattice_shells
from mercer.capacity.margins import (
    adaptive_margin_bound,
    combination_margin_bound,
    linear_margin_bound,
    margin_bound,
    margin_distribution_bound,
    margin_errors,
    vc_bound,
    vc_bound_to_a_constant,
)
from mercer.capacity.pac_bayes import (
    pac_bayes_bound,
    randomized_machine_bound,
    randomized_regression_bound,
)
from mercer.capacity.quantization import (
    CurvesOfLength,
    Distortion,
    Rate,
    covering_rate,
    excess_rate,
)
from mercer.capacity.quotable import (
    cross_validated_estimate,
    error_bound,
    held_out_bound,
    majority_error,
    mean_bound,
)
from mercer.capacity.rademacher import local_complexity, rademacher_bound, rademacher_margin_bound
from mercer.capacity.radii import EnclosingBall, SampleRadii, enclosing_ball, sample_radii
from mercer.capacity.rates import PolynomialDecay, growth_exponent, lattice_rate
from mercer.capacity.record import Assumption, Bound, Constant
from mercer.capacity.removal import removal_change, stability_bound
from mercer.capacity.report import CapacityReport, capacity_report
from mercer.capacity.sample import PrincipalCovering, RadiiCovering
from mercer.capacity.scaling import BestScaling, MeasuredScaling, Truncation
from mercer.capacity.shattering import (
    GrowthFunction,
    ShatteringMargin,
    fat_dimension,
    fat_dimension_bound,
    large_margin_dimension,
    log_growth,
    shattering_margin,
    sparse_fat_dimension_bound,
    vary_levels,
    vc_dimension,
)
from mercer.capacity.sizes import ClassSize, Matched, class_size, matched_kernel
from mercer.capacity.spectra import Spectrum, exponential_law, power_law, tensor_product
from mercer.capacity.structural import (
    StructuralChoice,
    fit_within_norm,
    share_delta,
    structural_risk,
)
from mercer.capacity.tails import binomial_upper, kl_upper
from mercer.capacity.thresholds import ControlledThreshold, risk_controlled_threshold
from mercer.capacity.transfer import (
    AlmostLipschitz,
    LossRange,
    loss_range,
    losses_of,
    risk_bound_by_covering,
)
from mercer.capacity.uniform import (
    Entropies,
    FiniteClass,
    Inequality,
    binary_classes,
    finite_classes,
    hoeffding,
    one_function,
    real_valued_classes,
    sample_entropies,
    squared_errors,
    zero_training_error,
)
from mercer.capacity.weights import Weights, weights_of
from mercer.capacity.widths import (
    CapacityMatch,
    EffectiveHead,
    WidthCurve,
    capacity_by_width,
    effective_head,
    equal_capacity,
)
from mercer.capacity.wrapped import WrappedPeriod, choose_period, periodized_spectrum, wrap_error

__all__ = [
    "AlmostLipschitz",
    "Assumption",
    "Audit",
    "Best",
    "BestScaling",
    "Bound",
    "Box",
    "CapacityMatch",
    "CapacityReport",
    "CarlBound",
    "CertifiedSVC",
    "ClassSize",
    "CoefficientBall",
    "Composition",
    "Compressed",
    "Constant",
    "ControlledThreshold",
    "ConvexHull",
    "Copies",
    "Covering",
    "Cube",
    "CurvesOfLength",
    "DiagonalOperator",
    "Distortion",
    "EffectiveHead",
    "Ellipsoid",
    "EnclosingBall",
    "Entropies",
    "ExponentialDecay",
    "FatCovering",
    "FeatureBox",
    "FiniteClass",
    "GrowthFunction",
    "HilbertBall",
    "Inequality",
    "Interval",
    "KernelBall",
    "LipschitzClass",
    "LossRange",
    "Matched",
    "MeasuredFrame",
    "MeasuredScaling",
    "PointCover",
    "PolynomialDecay",
    "PrincipalCovering",
    "PseudoCovering",
    "RadiiCovering",
    "Rate",
    "Rung",
    "SampleRadii",
    "Scaled",
    "ShatteringMargin",
    "Spectrum",
    "StructuralChoice",
    "Sum",
    "Truncation",
    "VolumetricEllipsoid",
    "Weights",
    "WidthCurve",
    "WrappedPeriod",
    "adaptive_margin_bound",
    "audit",
    "binary_classes",
    "binomial_upper",
    "capacity_by_width",
    "capacity_report",
    "choose_period",
    "class_size",
    "combination_margin_bound",
    "compression_bound",
    "count_sign_patterns",
    "covering_rate",
    "cross_validated_estimate",
    "effective_head",
    "enclosing_ball",
    "equal_capacity",
    "error_bound",
    "evaluation_rate",
    "exact_cover",
    "exact_packing",
    "excess_rate",
    "exponential_law",
    "fat_dimension",
    "fat_dimension_bound",
    "feature_box",
    "find_copies",
    "finite_classes",
    "fit_within_norm",
    "growth_exponent",
    "held_out_bound",
    "hoeffding",
    "kl_upper",
    "large_margin_dimension",
    "lattice_rate",
    "lattice_shells",
    "linear_margin_bound",
    "local_complexity",
    "log_covering_from_below",
    "log_growth",
    "log_lattice_shells",
    "log_packing_bound",
    "log_sign_patterns",
    "log_volume_bound",
    "loss_range",
    "losses_of",
    "majority_error",
    "margin_bound",
    "margin_distribution_bound",
    "margin_errors",
    "matched_kernel",
    "mean_bound",
    "mixed_norm_factor",
    "nystrom_spectrum",
    "one_function",
    "pac_bayes_bound",
    "periodized_spectrum",
    "power_law",
    "rademacher_bound",
    "rademacher_margin_bound",
    "randomized_machine_bound",
    "randomized_regression_bound",
    "real_valued_classes",
    "refit_to_support",
    "removal_change",
    "risk_bound_by_covering",
    "risk_controlled_threshold",
    "sample_entropies",
    "sample_radii",
    "share_delta",
    "shattering_margin",
    "sparse_fat_dimension_bound",
    "squared_errors",
    "stability_bound",
    "structural_risk",
    "tensor_product",
    "vary_levels",
    "vc_bound",
    "vc_bound_to_a_constant",
    "vc_dimension",
    "weights_of",
    "with_offset",
    "wrap_error",
    "zero_training_error",
]
