"""Inspect kernels, Gram matrices and fitted machines: spectra, margins, influence, survival."""

from mercer.inspect.filters import filter_curve
from mercer.inspect.gram import check_psd, gram_report, repair
from mercer.inspect.influence import jackknife, sensitivity_curve
from mercer.inspect.margins import margin_report
from mercer.inspect.prior import default_width, sample_paths
from mercer.inspect.projection import project, project_new
from mercer.inspect.survival import (
    SurvivalCalibration,
    brier_score,
    concordance,
    d_calibration,
    integrated_brier_score,
    interval_error,
    survival_calibration,
)

__all__ = [
    "SurvivalCalibration",
    "brier_score",
    "check_psd",
    "concordance",
    "d_calibration",
    "default_width",
    "filter_curve",
    "gram_report",
    "integrated_brier_score",
    "interval_error",
    "jackknife",
    "margin_report",
    "project",
    "project_new",
    "repair",
    "sample_paths",
    "sensitivity_curve",
    "survival_calibration",
]
