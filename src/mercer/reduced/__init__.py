"""Machines in a space of few functions: maps to it, sums over blocks of rows, and Newton's method."""

__all__: list[str] = []
