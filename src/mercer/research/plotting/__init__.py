"""Research: may change without notice.

Figures of these machines; they need matplotlib.
"""

from mercer.research.plotting.covering import CoveringDisplay
from mercer.research.plotting.path import PathDisplay
from mercer.research.plotting.stability import LCurveDisplay, StabilityProfileDisplay
from mercer.research.plotting.stability_curve import StabilityDisplay
from mercer.research.plotting.statistics import StatisticsDisplay

__all__ = [
    "CoveringDisplay",
    "LCurveDisplay",
    "PathDisplay",
    "StabilityDisplay",
    "StabilityProfileDisplay",
    "StatisticsDisplay",
]
