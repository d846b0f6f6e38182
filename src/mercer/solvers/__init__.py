"""How it is minimized."""

from mercer.solvers.auto import SOLVERS, Auto
from mercer.solvers.base import Solver, alike, minimize, minimize_together
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.constraint_generation import Conflict, Satisfied, satisfy
from mercer.solvers.coordinate_descent import CoordinateDescent
from mercer.solvers.direct import Direct
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.monitor import Monitor, Progress
from mercer.solvers.newton import Newton
from mercer.solvers.non_crossing_search import Ordered, order
from mercer.solvers.reweighting import Reweighting
from mercer.solvers.smo import SMO
from mercer.solvers.solution import Solution, Terms, join
from mercer.solvers.status import ConvergenceWarning, Status
from mercer.solvers.thin import ThinInteriorPoint
from mercer.solvers.tube_path import TubePath, tube_path

__all__ = [
    "SMO",
    "SOLVERS",
    "Auto",
    "Conflict",
    "ConjugateGradient",
    "ConvergenceWarning",
    "CoordinateDescent",
    "Direct",
    "InteriorPoint",
    "Monitor",
    "Newton",
    "Ordered",
    "Progress",
    "Reweighting",
    "Satisfied",
    "Solution",
    "Solver",
    "Status",
    "Terms",
    "ThinInteriorPoint",
    "TubePath",
    "alike",
    "join",
    "minimize",
    "minimize_together",
    "order",
    "satisfy",
    "tube_path",
]
