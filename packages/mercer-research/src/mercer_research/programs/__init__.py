"""Research: may change without notice.

Programs with cones for chance constraints, products of variables, alternatives, smallest tubes.
"""

from mercer_research.programs.chance import chance
from mercer_research.programs.chebyshev import SmallestTube, smallest_tube
from mercer_research.programs.lifting import Lifted, QuadraticConstraint, lift
from mercer_research.programs.positive_or import PositiveOr, PositiveOrSolution

__all__ = [
    "Lifted",
    "PositiveOr",
    "PositiveOrSolution",
    "QuadraticConstraint",
    "SmallestTube",
    "chance",
    "lift",
    "smallest_tube",
]
