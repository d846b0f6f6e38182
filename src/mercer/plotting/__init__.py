"""Figures of kernels and machines, built as scikit-learn's displays are; they need matplotlib."""

from mercer.plotting.components import ComponentDisplay, EvolutionDisplay
from mercer.plotting.convergence import ConvergenceDisplay
from mercer.plotting.criterion import CriterionDisplay
from mercer.plotting.effects import EffectDisplay
from mercer.plotting.eigenvalues import EigenvalueDisplay
from mercer.plotting.filters import FilterDisplay, PenaltyDisplay
from mercer.plotting.fit import FitDisplay
from mercer.plotting.gram import GramDisplay
from mercer.plotting.influence import InfluenceDisplay
from mercer.plotting.intervals import IntervalDisplay
from mercer.plotting.kernels import KernelDisplay
from mercer.plotting.latent_map import LatentMapDisplay
from mercer.plotting.manifold import ManifoldDisplay
from mercer.plotting.margins import MarginDisplay
from mercer.plotting.pictures import PreimageDisplay
from mercer.plotting.shape import ShapeDisplay
from mercer.plotting.survival import SurvivalCalibrationDisplay, SurvivalDisplay
from mercer.plotting.table import TableDisplay

__all__ = [
    "ComponentDisplay",
    "ConvergenceDisplay",
    "CriterionDisplay",
    "EffectDisplay",
    "EigenvalueDisplay",
    "EvolutionDisplay",
    "FilterDisplay",
    "FitDisplay",
    "GramDisplay",
    "InfluenceDisplay",
    "IntervalDisplay",
    "KernelDisplay",
    "LatentMapDisplay",
    "ManifoldDisplay",
    "MarginDisplay",
    "PenaltyDisplay",
    "PreimageDisplay",
    "ShapeDisplay",
    "SurvivalCalibrationDisplay",
    "SurvivalDisplay",
    "TableDisplay",
]
