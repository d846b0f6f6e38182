"""Research: may change without notice.

Diagnostics of theory: KKT conditions, shadow prices, bounds on risks, robustness, matched machines.
"""

from mercer.research.diagnostics.kkt import KKT, ShadowPrices, kkt, shadow_prices
from mercer.research.diagnostics.matched import MatchedMachine, TwoGaussians, match_errors
from mercer.research.diagnostics.risk import RiskBound, TubeRisk, risk_bound, tube_risk_bound
from mercer.research.diagnostics.robustness import (
    ContaminationCurve,
    OutlierCurve,
    contamination_curve,
    efficiency,
    outlier_curve,
)

__all__ = [
    "KKT",
    "ContaminationCurve",
    "MatchedMachine",
    "OutlierCurve",
    "RiskBound",
    "ShadowPrices",
    "TubeRisk",
    "TwoGaussians",
    "contamination_curve",
    "efficiency",
    "kkt",
    "match_errors",
    "outlier_curve",
    "risk_bound",
    "shadow_prices",
    "tube_risk_bound",
]
