"""Research: may change without notice.

Covering and entropy numbers of classes of functions, and bounds that follow from them.

Covering numbers are natural logarithms throughout, since they reach exp(1000).
"""

from mercer_research.covering.ball import (
    CoefficientBall,
    FeatureBox,
    KernelBall,
    feature_box,
    log_packing_bound,
    log_volume_bound,
    with_offset,
)
from mercer_research.covering.base import Best, Covering, Interval, Scaled, Sum
from mercer_research.covering.composition import (
    Composition,
    LipschitzClass,
    evaluation_rate,
    mixed_norm_factor,
)
from mercer_research.covering.covers import (
    Box,
    PointCover,
    count_sign_patterns,
    exact_cover,
    exact_packing,
    log_sign_patterns,
)
from mercer_research.covering.decay import ExponentialDecay
from mercer_research.covering.diagonal import DiagonalOperator, Ellipsoid, VolumetricEllipsoid
from mercer_research.covering.dimension_covers import (
    FatCovering,
    PseudoCovering,
    log_covering_from_below,
)
from mercer_research.covering.frames import MeasuredFrame, nystrom_spectrum
from mercer_research.covering.hilbert import CarlBound, ConvexHull, Cube, HilbertBall
from mercer_research.covering.lattice import lattice_shells, log_lattice_shells
from mercer_research.covering.margins import (
    adaptive_margin_bound,
    combination_margin_bound,
    linear_margin_bound,
    margin_bound,
    margin_distribution_bound,
    margin_errors,
    vc_bound,
    vc_bound_to_a_constant,
)
from mercer_research.covering.quantization import (
    CurvesOfLength,
    Distortion,
    Rate,
    covering_rate,
    excess_rate,
)
from mercer_research.covering.radii import EnclosingBall, SampleRadii, enclosing_ball, sample_radii
from mercer_research.covering.rates import PolynomialDecay, growth_exponent, lattice_rate
from mercer_research.covering.report import (
    CoveringReport,
    Matched,
    covering_bound,
    covering_report,
    matched_kernel,
)
from mercer_research.covering.sample import PrincipalCovering, RadiiCovering
from mercer_research.covering.scaling import BestScaling, MeasuredScaling, Truncation
from mercer_research.covering.shattering import (
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
from mercer_research.covering.spectra import Spectrum, exponential_law, power_law, tensor_product
from mercer_research.covering.structural import (
    StructuralChoice,
    fit_within_norm,
    share_delta,
    structural_risk,
)
from mercer_research.covering.transfer import (
    AlmostLipschitz,
    LossRange,
    loss_range,
    losses_of,
    risk_bound_by_covering,
)
from mercer_research.covering.uniform import (
    Entropies,
    FiniteClass,
    Inequality,
    binary_classes,
    finite_classes,
    one_function,
    real_valued_classes,
    sample_entropies,
    squared_errors,
    zero_training_error,
)
from mercer_research.covering.widths import (
    CapacityMatch,
    EffectiveHead,
    WidthCurve,
    capacity_by_width,
    effective_head,
    equal_capacity,
)
from mercer_research.covering.wrapped import (
    WrappedPeriod,
    choose_period,
    periodized_spectrum,
    wrap_error,
)

__all__ = [
    "AlmostLipschitz",
    "Best",
    "BestScaling",
    "Box",
    "CapacityMatch",
    "CarlBound",
    "CoefficientBall",
    "Composition",
    "ConvexHull",
    "Covering",
    "CoveringReport",
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
    "SampleRadii",
    "Scaled",
    "ShatteringMargin",
    "Spectrum",
    "StructuralChoice",
    "Sum",
    "Truncation",
    "VolumetricEllipsoid",
    "WidthCurve",
    "WrappedPeriod",
    "adaptive_margin_bound",
    "binary_classes",
    "capacity_by_width",
    "choose_period",
    "combination_margin_bound",
    "count_sign_patterns",
    "covering_bound",
    "covering_rate",
    "covering_report",
    "effective_head",
    "enclosing_ball",
    "equal_capacity",
    "evaluation_rate",
    "exact_cover",
    "exact_packing",
    "excess_rate",
    "exponential_law",
    "fat_dimension",
    "fat_dimension_bound",
    "feature_box",
    "finite_classes",
    "fit_within_norm",
    "growth_exponent",
    "large_margin_dimension",
    "lattice_rate",
    "lattice_shells",
    "linear_margin_bound",
    "log_covering_from_below",
    "log_growth",
    "log_lattice_shells",
    "log_packing_bound",
    "log_sign_patterns",
    "log_volume_bound",
    "loss_range",
    "losses_of",
    "margin_bound",
    "margin_distribution_bound",
    "margin_errors",
    "matched_kernel",
    "mixed_norm_factor",
    "nystrom_spectrum",
    "one_function",
    "periodized_spectrum",
    "power_law",
    "real_valued_classes",
    "risk_bound_by_covering",
    "sample_entropies",
    "sample_radii",
    "share_delta",
    "shattering_margin",
    "sparse_fat_dimension_bound",
    "squared_errors",
    "structural_risk",
    "tensor_product",
    "vary_levels",
    "vc_bound",
    "vc_bound_to_a_constant",
    "vc_dimension",
    "with_offset",
    "wrap_error",
    "zero_training_error",
]
