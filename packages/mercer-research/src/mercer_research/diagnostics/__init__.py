"""Research: may change without notice.

Diagnostics of theory: KKT conditions, shadow prices, bounds on risks, bias and variance, uniform
stability, robustness, matched machines, and kernels and fitted machines as filters.
"""

from mercer_research.diagnostics.bias_variance import BiasVariance, bias_variance, plug_in
from mercer_research.diagnostics.kernel_comparison import compare, equivalent_width
from mercer_research.diagnostics.kkt import KKT, ShadowPrices, kkt, shadow_prices
from mercer_research.diagnostics.machine_report import machine_report
from mercer_research.diagnostics.matched import MatchedMachine, TwoGaussians, match_errors
from mercer_research.diagnostics.removal import removal_change, stability_bound
from mercer_research.diagnostics.risk import RiskBound, TubeRisk, risk_bound, tube_risk_bound
from mercer_research.diagnostics.robustness import (
    ContaminationCurve,
    OutlierCurve,
    contamination_curve,
    efficiency,
    outlier_curve,
)

__all__ = [
    "KKT",
    "BiasVariance",
    "ContaminationCurve",
    "MatchedMachine",
    "OutlierCurve",
    "RiskBound",
    "ShadowPrices",
    "TubeRisk",
    "TwoGaussians",
    "bias_variance",
    "compare",
    "contamination_curve",
    "efficiency",
    "equivalent_width",
    "kkt",
    "machine_report",
    "match_errors",
    "outlier_curve",
    "plug_in",
    "removal_change",
    "risk_bound",
    "shadow_prices",
    "stability_bound",
    "tube_risk_bound",
]
