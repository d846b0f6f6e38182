r"""Cones of canonical programs: which points they hold, and which multipliers.

A group of rows :math:`s = b - Ax` must lie in a cone, its multipliers in the dual cone. How far
they are from doing so is measured here, whoever solved the program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

__all__ = [
    "Cone",
    "Exponential",
    "Nonnegative",
    "Power",
    "SecondOrder",
    "Semidefinite",
    "Zero",
]


class Cone(ABC):
    """A closed convex cone."""

    @abstractmethod
    def outside(self, s: Array) -> float:
        """Return how far rows are from the cone, zero if they lie in it."""

    @abstractmethod
    def outside_dual(self, z: Array) -> float:
        """Return how far multipliers are from the dual cone."""


class Zero(Cone):
    """Equality; multipliers are free."""

    def outside(self, s: Array) -> float:
        return float(np.max(np.abs(s), initial=0.0))

    def outside_dual(self, z: Array) -> float:
        return 0.0


class Nonnegative(Cone):
    """Inequality, row by row."""

    def outside(self, s: Array) -> float:
        return float(np.max(-s, initial=0.0))

    def outside_dual(self, z: Array) -> float:
        return self.outside(z)


class SecondOrder(Cone):
    r"""Norms, :math:`|s_{1:}|_2 \le s_0`; its own dual."""

    def outside(self, s: Array) -> float:
        return max(float(np.linalg.norm(s[1:]) - s[0]), 0.0)

    def outside_dual(self, z: Array) -> float:
        return self.outside(z)


@dataclass(frozen=True)
class Semidefinite(Cone):
    r"""Positive semidefinite matrices of a size, as the upper triangle by columns.

    Entries off the diagonal are multiplied by :math:`\sqrt 2`, so that the cone is its own dual.
    """

    size: int

    def matrix(self, s: Array) -> Array:
        """Return the symmetric matrix that scaled entries stand for."""
        upper = np.triu_indices(self.size)
        order = np.lexsort((upper[0], upper[1]))
        i, j = upper[0][order], upper[1][order]
        S = np.zeros((self.size, self.size))
        S[i, j] = S[j, i] = np.where(i == j, s, s / np.sqrt(2.0))
        return S

    def outside(self, s: Array) -> float:
        return max(float(-np.linalg.eigvalsh(self.matrix(s))[0]), 0.0)

    def outside_dual(self, z: Array) -> float:
        return self.outside(z)


class Exponential(Cone):
    r"""The closure of :math:`s_1 e^{s_0 / s_1} \le s_2,\; s_1 > 0`."""

    def outside(self, s: Array) -> float:
        x, y, z = s
        if y <= 0:
            return float(max(-y, x, -z, 0.0))
        with np.errstate(over="ignore"):
            return float(max(y * np.exp(x / y) - z, 0.0))

    def outside_dual(self, z: Array) -> float:
        # -u exp(v / u) <= e w with u < 0, or u = 0 and v, w >= 0.
        u, v, w = z
        if u >= 0:
            return float(max(u, -v, -w, 0.0))
        with np.errstate(over="ignore"):
            return float(max(-u * np.exp(v / u - 1.0) - w, 0.0))


@dataclass(frozen=True)
class Power(Cone):
    r"""Powers, :math:`|s_2| \le s_0^\alpha s_1^{1 - \alpha}` with :math:`s_0, s_1 \ge 0`."""

    alpha: float

    def outside(self, s: Array) -> float:
        x, y = max(s[0], 0.0), max(s[1], 0.0)
        return float(max(abs(s[2]) - x**self.alpha * y ** (1.0 - self.alpha), -s[0], -s[1], 0.0))

    def outside_dual(self, z: Array) -> float:
        scale = np.array([self.alpha, 1.0 - self.alpha, 1.0])
        return self.outside(z / scale)
