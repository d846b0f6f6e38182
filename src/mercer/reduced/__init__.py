"""Low-rank approximations: feature maps, sums over blocks of rows, and Newton's method."""

from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.centres import Centres, choose, grow
from mercer.reduced.newton import Newton
from mercer.reduced.normal import Chosen, NormalEquations, choose_C
from mercer.reduced.nystrom import Nystrom, NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.panel import Panel
from mercer.reduced.passes import CheckpointError, Passes
from mercer.reduced.problem import Problem
from mercer.reduced.random_features import RandomFeatures, random_features
from mercer.reduced.targets import Codes, Values

__all__ = [
    "Approximation",
    "Centres",
    "CheckpointError",
    "Chosen",
    "Codes",
    "FeatureMap",
    "Newton",
    "NormalEquations",
    "Nystrom",
    "NystromMap",
    "Oracle",
    "Panel",
    "Passes",
    "Problem",
    "RandomFeatures",
    "Values",
    "choose",
    "choose_C",
    "grow",
    "random_features",
]
