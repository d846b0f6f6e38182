r"""The weight vector of a kernel machine, its offset included, and the margins it leaves.

An offset b is the weight b/c of one more feature with the constant value c, so that
:math:`f + b` has squared norm :math:`\|f\|^2 + b^2/c^2` in the space of the kernel :math:`k + c^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.machines.protocol import KernelFunction
from mercer_research.risk_bounds.concentration import check_signs

__all__ = ["Weights", "weights_of"]


# The constant feature's value c. Small, it makes an offset expensive; large, it shrinks margins by
# sqrt(k(x, x) + c^2). For kernels with k(x, x) = 1 a quarter costs 3 % of the margin. It must not
# be chosen by the sample.
OFFSET = 0.25

# Kernel values in memory at once.
MAX_KERNEL_VALUES = 2_000_000


@dataclass(frozen=True, eq=False)
class Weights:
    r"""A function :math:`\sum_j a_j k(z_j, \cdot) + b` as a vector of the kernel's space.

    Parameters
    ----------
    kernel : Kernel
    points : (n, p) array
        The points z.
    coef : (n,) array
        Their coefficients a.
    offset : float, default=0.0
        The constant b.
    constant : float, default=0.25
        Value c of the constant feature; 0 for functions without an offset.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> w = Weights(Linear(), np.array([[3.0, 4.0]]), np.array([2.0]), constant=0.0)
    >>> w.norm, w.margins(np.array([[3.0, 4.0]]), [1]), w(np.array([[1.0, 0.0]]))
    (10.0, array([1.]), array([6.]))
    """

    kernel: Kernel
    points: Array
    coef: Array
    offset: float = 0.0
    constant: float = OFFSET

    def __call__(self, X: Array) -> Array:
        """Return the values of the function at points, in blocks of rows."""
        step = max(1, MAX_KERNEL_VALUES // max(1, len(self.points)))
        blocks = [
            self.kernel(X[i : i + step], self.points) @ self.coef for i in range(0, len(X), step)
        ]
        return np.asarray(np.concatenate(blocks) + self.offset)

    def inner(self, other: Weights) -> float:
        """Return the inner product with a function of the same kernel."""
        bias = self.offset * other.offset / self.constant**2 if self.constant else 0.0
        return float(self.coef @ (other(self.points) - other.offset)) + bias

    @cached_property
    def norm(self) -> float:
        """The length of the vector."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def cosine(self, other: Weights) -> float:
        """Return the cosine of the angle to another function, 0 if one of them is 0."""
        lengths = self.norm * other.norm
        return float(np.clip(self.inner(other) / lengths, -1.0, 1.0)) if lengths else 0.0

    def sizes(self, X: Array) -> Array:
        r"""Return the lengths of the points in the kernel's space, :math:`\sqrt{k(x,x)+c^2}`."""
        return np.asarray(np.sqrt(self.kernel.diag(X) + self.constant**2))

    def margins(self, X: Array, signs: ArrayLike) -> Array:
        r"""Return normalized margins :math:`y f(x) / (\|f\| \|\phi(x)\|)`, in [-1, 1].

        Parameters
        ----------
        X : (m, p) array
        signs : (m,) array
            Labels -1 and 1.
        """
        y, norm = check_signs(signs, "signs"), self.norm
        if norm == 0.0:
            return np.zeros(len(X))
        return np.asarray(y * self(X) / (norm * self.sizes(X)))


def weights_of(machine: KernelFunction, *, constant: float = OFFSET) -> Weights:
    """Return the weight vector of a fitted machine with one output.

    Parameters
    ----------
    machine : fitted machine
        With ``kernel_``, ``support_vectors_``, ``dual_coef_`` and ``intercept_``, one function.
    constant : float, default=0.25
        As in :class:`Weights`.

    Examples
    --------
    >>> from mercer import SVC
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> machine = SVC().fit(X, X[:, 0] > 0)
    >>> w = weights_of(machine)
    >>> bool(np.allclose(w(X), machine.decision_function(X)))
    True
    """
    check_is_fitted(machine)
    coef = np.atleast_2d(np.asarray(machine.dual_coef_, dtype=float))
    offset = np.ravel(getattr(machine, "intercept_", 0.0))
    if len(coef) != 1 or offset.size != 1:
        raise ValueError(f"{type(machine).__name__} has {len(coef)} functions; give one with one")
    points = np.asarray(machine.support_vectors_, dtype=float)
    return Weights(machine.kernel_, points, coef[0], float(offset[0]), constant)
