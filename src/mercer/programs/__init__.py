"""Convex programs with cones, for what is coupled in ways that no loss of a sample can say."""

from mercer.programs.columns import SparseSolution, generate_columns, threshold
from mercer.programs.program import Block, Infeasible, Optimum, Program, Rows, Unbounded
from mercer.programs.risk import ProgramLosses, add_losses
from mercer.programs.variation import Constrained, Part, Variation, VariationProblem

__all__ = [
    "Block",
    "Constrained",
    "Infeasible",
    "Optimum",
    "Part",
    "Program",
    "ProgramLosses",
    "Rows",
    "SparseSolution",
    "Unbounded",
    "Variation",
    "VariationProblem",
    "add_losses",
    "generate_columns",
    "threshold",
]
