"""Low-rank approximations: feature maps, sums over blocks of rows, and Newton's method."""

from mercer.reduced.checkpoint import CheckpointError
from mercer.reduced.newton import Newton
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.random_features import RandomFeatures

__all__ = [
    "CheckpointError",
    "Newton",
    "Nystrom",
    "RandomFeatures",
]
