"""How it is minimized."""

from mercer.solvers.auto import SOLVERS, Auto
from mercer.solvers.base import Solver
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.coordinate_descent import CoordinateDescent
from mercer.solvers.direct import Direct
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.minimizing import minimize
from mercer.solvers.monitor import Progress
from mercer.solvers.newton import Newton
from mercer.solvers.smo import SMO
from mercer.solvers.solution import Solution
from mercer.solvers.status import ConvergenceWarning, Status

__all__ = [
    "SMO",
    "SOLVERS",
    "Auto",
    "ConjugateGradient",
    "ConvergenceWarning",
    "CoordinateDescent",
    "Direct",
    "InteriorPoint",
    "Newton",
    "Progress",
    "Solution",
    "Solver",
    "Status",
    "minimize",
]
