"""Inspect kernels, Gram matrices and fitted machines: spectra, validity, margins, stability."""

from mercer.inspect.admissible import Verdict, conditional_order, is_kernel
from mercer.inspect.bands import Bandwidth, band_edge, bandwidth, spectral_decay, widen
from mercer.inspect.comparison import Comparison, Equivalence, compare, equivalent_width
from mercer.inspect.coverage import TubeRisk, coverage_report, tube_risk_bound
from mercer.inspect.decay import Decay, classify_decay
from mercer.inspect.filters import FilterCurve, filter_curve
from mercer.inspect.gram import (
    GramReport,
    PSDCheck,
    check_psd,
    effective_dimension,
    gram_report,
    repair,
)
from mercer.inspect.influence import jackknife, sensitivity_curve
from mercer.inspect.kkt import KKT, ShadowPrices, kkt, shadow_prices
from mercer.inspect.machine import MachineReport, machine_report
from mercer.inspect.margins import (
    MarginReport,
    MatchedMachine,
    TwoGaussians,
    empirical_risk,
    margin_report,
    match_errors,
    robustness_radius,
)
from mercer.inspect.norms import Consistency, Penalty, inner_product, penalty, self_consistency
from mercer.inspect.prior import default_width, sample_paths
from mercer.inspect.projection import MercerMap, column_space, complement, project, project_new
from mercer.inspect.risk import RiskBound, risk_bound
from mercer.inspect.robustness import (
    ContaminationCurve,
    OutlierCurve,
    contamination_curve,
    efficiency,
    outlier_curve,
)
from mercer.inspect.survival import (
    DCalibration,
    SurvivalCalibration,
    brier_score,
    concordance,
    d_calibration,
    integrated_brier_score,
    interval_error,
    survival_calibration,
)

__all__ = [
    "KKT",
    "Bandwidth",
    "Comparison",
    "Consistency",
    "ContaminationCurve",
    "DCalibration",
    "Decay",
    "Equivalence",
    "FilterCurve",
    "GramReport",
    "MachineReport",
    "MarginReport",
    "MatchedMachine",
    "MercerMap",
    "OutlierCurve",
    "PSDCheck",
    "Penalty",
    "RiskBound",
    "ShadowPrices",
    "SurvivalCalibration",
    "TubeRisk",
    "TwoGaussians",
    "Verdict",
    "band_edge",
    "bandwidth",
    "brier_score",
    "check_psd",
    "classify_decay",
    "column_space",
    "compare",
    "complement",
    "concordance",
    "conditional_order",
    "contamination_curve",
    "coverage_report",
    "d_calibration",
    "default_width",
    "effective_dimension",
    "efficiency",
    "empirical_risk",
    "equivalent_width",
    "filter_curve",
    "gram_report",
    "inner_product",
    "integrated_brier_score",
    "interval_error",
    "is_kernel",
    "jackknife",
    "kkt",
    "machine_report",
    "margin_report",
    "match_errors",
    "outlier_curve",
    "penalty",
    "project",
    "project_new",
    "repair",
    "risk_bound",
    "robustness_radius",
    "sample_paths",
    "self_consistency",
    "sensitivity_curve",
    "shadow_prices",
    "spectral_decay",
    "survival_calibration",
    "tube_risk_bound",
    "widen",
]
