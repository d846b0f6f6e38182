r"""Functions of one kernel at some centres, under a penalty that is not its own.

.. math:: f = \sum_j \alpha_j k(z_j, \cdot) + b'p, \qquad \tfrac12 \alpha' D \alpha
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._typing import Array, PointsLike
from mercer.data.sampling import FingerprintSample
from mercer.kernels.base import Kernel
from mercer.kernels.points import count
from mercer.reduced.base import Approximation
from mercer.reduced.nystrom import CentredMap, Nystrom, Panel

__all__ = ["PenalizedBasis", "PenalizedMap"]


class PenalizedMap(CentredMap):
    r"""Features :math:`\phi(x) = T' k(Z, x)` with :math:`T T' = D^+`.

    Parameters
    ----------
    kernel : Kernel
        Of the functions; any symmetric one.
    Z : (m, p) points
    D : (m, m) array
        The penalty, positive semidefinite. Combinations that it does not see are left out.
    index : (m,) array of int, optional
        Which rows of a sample the centres are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Z = np.array([[0.0], [1.0]])
    >>> phi = PenalizedMap(Gaussian(1.0), Z, np.diag([1.0, 4.0]))
    >>> W = phi.lower(np.eye(2))
    >>> np.allclose(W.T @ W, np.diag([1.0, 0.25]))
    True
    """

    natural = False
    left_behind = ("T",)

    def __init__(self, kernel: Kernel, Z: PointsLike, D: Array, index: Any = None) -> None:
        self.kernel, self.Z, self.index = kernel, Z, index
        values, vectors = np.linalg.eigh(D)
        # Directions below the rounding errors of D are not in its range, as far as anyone can tell.
        keep = values > len(D) * np.finfo(float).eps * values[-1]
        if not np.any(keep) or values[0] < -1e-8 * values[-1]:
            raise ValueError("the penalty D is not positive semidefinite; check the operator.")
        self.T: Any = vectors[:, keep] / np.sqrt(values[keep])
        self.m, self.r = count(Z), int(keep.sum())
        self.panel = Panel(kernel, Z)

    def lift(self, W: Array) -> Array:
        return np.asarray(self.T @ W)

    def lower(self, G: Array) -> Array:
        return np.asarray(self.T.T @ G)

    def features(self, R: Array, single: bool = False) -> Array:
        return np.asarray(np.asarray(R, dtype=np.float64) @ self.T)

    @property
    def nbytes(self) -> int:
        return 8 * self.m * (self.r + 32)


@dataclass(eq=False)
class PenalizedBasis(Approximation):
    """Centres as an approximation chooses them, under another penalty than the kernel's.

    Parameters
    ----------
    how : Nystrom
        How many, and which.
    penalty : callable
        From centres to D.
    random_state, memory_limit, checkpoint, n_jobs :
        As in :class:`Approximation`.
    """

    how: Nystrom = field(default_factory=Nystrom)
    penalty: Callable[[Any], Array] = lambda Z: np.eye(count(Z))

    @classmethod
    def of(cls, how: Nystrom, penalty: Callable[[Any], Array]) -> PenalizedBasis:
        """Return the basis with the means of an approximation."""
        means = ("random_state", "memory_limit", "checkpoint", "n_jobs")
        return cls(how=how, penalty=penalty, **{name: getattr(how, name) for name in means})

    @property
    def pool_size(self) -> int:
        return self.how.pool_size

    @property
    def number(self) -> int | str:
        return self.how.number

    @property
    def largest(self) -> int:
        return self.how.largest

    def set_m(self, m: int) -> PenalizedBasis:
        return replace(self, how=replace(self.how, m=m))

    def settle(self, kernel: Kernel, pool: FingerprintSample, C: float) -> PenalizedMap:
        chosen = self.how.choose(kernel, pool, C)
        return PenalizedMap(kernel, chosen.Z, self.penalty(chosen.Z), chosen.index)
