"""Research: may change without notice.

Figures of these machines; they need matplotlib.
"""

from mercer_research.plotting.adaptive_margins import AdaptiveMarginDisplay
from mercer_research.plotting.capacity import CapacityDisplay
from mercer_research.plotting.covering import CoveringDisplay
from mercer_research.plotting.differogram import DifferogramDisplay
from mercer_research.plotting.filters import ComparisonDisplay, MachineFilterDisplay
from mercer_research.plotting.path import PathDisplay
from mercer_research.plotting.stability import LCurveDisplay, StabilityProfileDisplay
from mercer_research.plotting.stability_curve import StabilityDisplay
from mercer_research.plotting.statistics import StatisticsDisplay

__all__ = [
    "AdaptiveMarginDisplay",
    "CapacityDisplay",
    "ComparisonDisplay",
    "CoveringDisplay",
    "DifferogramDisplay",
    "LCurveDisplay",
    "MachineFilterDisplay",
    "PathDisplay",
    "StabilityDisplay",
    "StabilityProfileDisplay",
    "StatisticsDisplay",
]
