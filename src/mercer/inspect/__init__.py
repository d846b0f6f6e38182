"""Instruments: what a kernel penalizes, whether it is one, and what a fitted machine kept."""

from mercer.inspect.admissible import Verdict, conditional_order, is_kernel
from mercer.inspect.compare import Comparison, Equivalence, compare, equivalent_width
from mercer.inspect.decay import Decay, classify_decay
from mercer.inspect.filters import (
    Bandwidth,
    FilterCurve,
    band_edge,
    bandwidth,
    filter_curve,
    spectral_decay,
    widen,
)
from mercer.inspect.gram import (
    GramReport,
    PSDCheck,
    check_psd,
    effective_dimension,
    gram_report,
    repair,
)
from mercer.inspect.projection import MercerMap, column_space, complement, project, project_new

__all__ = [
    "Bandwidth",
    "Comparison",
    "Decay",
    "Equivalence",
    "FilterCurve",
    "GramReport",
    "MercerMap",
    "PSDCheck",
    "Verdict",
    "band_edge",
    "bandwidth",
    "check_psd",
    "classify_decay",
    "column_space",
    "compare",
    "complement",
    "conditional_order",
    "effective_dimension",
    "equivalent_width",
    "filter_curve",
    "gram_report",
    "is_kernel",
    "project",
    "project_new",
    "repair",
    "spectral_decay",
    "widen",
]
