"""Convex programs with cones, for problems that are no sum of losses of samples."""

from mercer.programs.program import Infeasible, Unbounded

__all__ = [
    "Infeasible",
    "Unbounded",
]
