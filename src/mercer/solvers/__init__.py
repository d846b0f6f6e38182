"""How it is minimized."""

from mercer.solvers.auto import SOLVERS, Auto
from mercer.solvers.base import (
    ConvergenceWarning,
    Monitor,
    Progress,
    Solution,
    Solver,
    Status,
    alike,
    join,
    minimize,
    minimize_together,
)
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.direct import Direct
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.newton import Newton
from mercer.solvers.reweighting import Reweighting
from mercer.solvers.smo import SMO

__all__ = [
    "SMO",
    "SOLVERS",
    "Auto",
    "ConjugateGradient",
    "ConvergenceWarning",
    "Direct",
    "InteriorPoint",
    "Monitor",
    "Newton",
    "Progress",
    "Reweighting",
    "Solution",
    "Solver",
    "Status",
    "alike",
    "join",
    "minimize",
    "minimize_together",
]
