"""Convex programs with cones, for problems that are no sum of losses of samples."""

from mercer.programs.chance import chance
from mercer.programs.chebyshev import SmallestTube, smallest_tube
from mercer.programs.columns import SparseSolution, generate_columns, threshold
from mercer.programs.lifting import Lifted, QuadraticConstraint, lift
from mercer.programs.positive_or import PositiveOr, PositiveOrSolution
from mercer.programs.program import Block, Infeasible, Optimum, Program, Rows, Unbounded
from mercer.programs.program_losses import ProgramLosses, add_losses
from mercer.programs.variation import Constrained, Part, Variation, VariationProblem
from mercer.programs.vector_tube import VectorTube
from mercer.programs.worst import worst_case

__all__ = [
    "Block",
    "Constrained",
    "Infeasible",
    "Lifted",
    "Optimum",
    "Part",
    "PositiveOr",
    "PositiveOrSolution",
    "Program",
    "ProgramLosses",
    "QuadraticConstraint",
    "Rows",
    "SmallestTube",
    "SparseSolution",
    "Unbounded",
    "Variation",
    "VariationProblem",
    "VectorTube",
    "add_losses",
    "chance",
    "generate_columns",
    "lift",
    "smallest_tube",
    "threshold",
    "worst_case",
]
