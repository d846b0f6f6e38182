"""Convex programs with cones, for what is coupled in ways that no loss of a sample can say."""

from mercer.programs.program import Block, Infeasible, Optimum, Program, Rows, Unbounded

__all__ = ["Block", "Infeasible", "Optimum", "Program", "Rows", "Unbounded"]
