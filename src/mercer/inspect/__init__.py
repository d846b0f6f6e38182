"""Inspect kernels, Gram matrices and fitted machines: spectra, margins, intervals, survival."""

from mercer.inspect.bands import Bandwidth, band_edge, bandwidth, spectral_decay, widen
from mercer.inspect.comparison import Comparison, Equivalence, compare, equivalent_width
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
from mercer.inspect.machine import MachineReport, machine_report
from mercer.inspect.margins import MarginReport, empirical_risk, margin_report, robustness_radius
from mercer.inspect.prior import default_width, sample_paths
from mercer.inspect.projection import MercerMap, column_space, complement, project, project_new
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
    "Bandwidth",
    "Comparison",
    "DCalibration",
    "Decay",
    "Equivalence",
    "FilterCurve",
    "GramReport",
    "MachineReport",
    "MarginReport",
    "MercerMap",
    "PSDCheck",
    "SurvivalCalibration",
    "band_edge",
    "bandwidth",
    "brier_score",
    "check_psd",
    "classify_decay",
    "column_space",
    "compare",
    "complement",
    "concordance",
    "d_calibration",
    "default_width",
    "effective_dimension",
    "empirical_risk",
    "equivalent_width",
    "filter_curve",
    "gram_report",
    "integrated_brier_score",
    "interval_error",
    "jackknife",
    "machine_report",
    "margin_report",
    "project",
    "project_new",
    "repair",
    "robustness_radius",
    "sample_paths",
    "sensitivity_curve",
    "spectral_decay",
    "survival_calibration",
    "widen",
]
