r"""The functional that every supervised machine minimizes, its dual, and the certificate.

.. math::

    \min_{a, b}\; \tfrac12 a'Ka + \sum_i c_i\, l(y_i, f_i) + d'b, \qquad f = Ka + Bb

.. math::

    \min_a\; \tfrac12 a'Ka + \sum_i c_i\, l^*(y_i, -a_i / c_i) \qquad \text{subject to}\; B'a = d

The two values add up to the duality gap, a sum of one non-negative Fenchel-Young term per sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.losses.base import Loss, WeightedLosses
from mercer.losses.fenchel_young import young_gap

__all__ = ["Certificate", "RegularizedRisk", "coefficient_size", "value_roots"]

# Rows and columns of a matrix whose largest value stands for all.
MAX_LOOKED_AT_ROWS, MAX_LOOKED_AT_COLUMNS = 64, 2048


@dataclass(frozen=True)
class Certificate:
    """Certificate of a pair ``(a, b)``, from one product with K: values, gap and residuals.

    Parameters
    ----------
    primal : float
        Value of the regularized risk at ``(a, b)``.
    dual : float
        Lower bound on that value over all ``(a, b)``: minus the dual function at ``a``.
    gap : float
        Duality gap, the sum of the Fenchel-Young terms. The excess of ``primal`` over the minimum
        is at most this, up to ``residual`` times the size of the optimal ``b``.
    violation : float
        Largest violation of an optimality condition, in units of the decision function for losses
        with quadratic dual and in units of the loss's slope for others.
    residual : float
        Largest entry of ``|B'a - d|`` relative to the scale of its terms.
    f : ndarray of shape (n,)
        Decision values of the sample.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    residual: float
    f: Array


class RegularizedRisk:
    r"""A loss, a Gram operator and an unpenalized part: the problem that solvers see.

    Parameters
    ----------
    loss : Loss
        Cost of a decision value.
    K : Gram
        Kernel matrix of the sample, wherever it lives.
    y : ndarray of shape (n,)
        Targets, or labels plus and minus one.
    c : float or ndarray of shape (n,)
        Weight of each sample's loss; losses are summed.
    B : ndarray of shape (n, q), optional
        Unpenalized columns; none by default.
    d : ndarray of shape (q,), optional
        Linear cost of their coefficients; zero by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(2)), np.array([1.0, -1.0]), 1.0)
    >>> risk.certificate(np.array([0.5, -0.5]), np.empty(0)).gap
    0.0
    """

    def __init__(
        self,
        loss: Loss,
        K: Gram,
        y: Array,
        c: float | Array = 1.0,
        B: Array | None = None,
        d: Array | None = None,
    ) -> None:
        n = K.shape[0]
        self.loss = loss
        self.K = K
        self.y = np.asarray(y, dtype=np.float64)
        c = np.asarray(c, dtype=np.float64)
        self.c = c if c.shape == (n,) else np.broadcast_to(c, (n,))
        self.B = np.zeros((n, 0)) if B is None else np.asarray(B, dtype=np.float64)
        q = self.B.shape[1]
        self.d = np.zeros(q) if d is None else np.asarray(d, dtype=np.float64)
        if self.y.shape != (n,) or self.B.shape != (n, q) or self.d.shape != (q,):
            raise ValueError(
                f"a Gram of {n} samples needs y of shape ({n},), B of shape ({n}, q) and d of "
                f"shape (q,); got {self.y.shape}, {self.B.shape} and {self.d.shape}"
            )
        low, high = np.minimum.reduce(self.c, initial=0.0), np.maximum.reduce(self.c, initial=0.0)
        if not (low >= 0.0 and high < np.inf):
            raise ValueError("weights c must be finite and not negative")

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.y.shape[0])

    @property
    def q(self) -> int:
        """Number of unpenalized columns."""
        return int(self.B.shape[1])

    def slope(self, a: Array) -> Array:
        """Return v = -a / c, the slope of the loss that coefficients ``a`` claim."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.c > 0, -a / self.c, np.where(a == 0, 0.0, -np.sign(a) * np.inf))

    @cached_property
    def terms(self) -> WeightedLosses:
        r"""The weighted losses :math:`c_i l(y_i, f_i)` with their conjugates, computed once."""
        return self.loss.weigh(self.y, self.c)

    def box(self) -> tuple[Array, Array]:
        """Return the bounds on ``a`` that the slopes of the loss imply."""
        return self.terms.lower, self.terms.upper

    def risk(self, f: Array) -> float:
        """Return the weighted sum of losses at decision values ``f``."""
        return float(np.sum(self.terms.value(f)))

    def conjugate(self, a: Array) -> float:
        r"""Return :math:`\sum_i c_i l^*(y_i, -a_i / c_i)`, infinite outside the box."""
        return float(np.sum(self.terms.conjugate(a)))

    def certificate(
        self, a: Array, b: Array, Ka: Array | None = None, error: Array | None = None
    ) -> Certificate:
        """Measure objective, gap, violation and residual of ``(a, b)`` from one product with K.

        Parameters
        ----------
        a, b : ndarray of shape (n,) and (q,)
        Ka : ndarray of shape (n,), optional
            The product, if it is known.
        error : ndarray of shape (n,), optional
            How far each entry of ``Ka`` may be from the exact one. Then objective, gap and
            violation are the largest and the dual value is the smallest for all products within
            that distance: convex functions are largest at an end of an interval.
        """
        Ka = self.K.matvec(a) if Ka is None else Ka
        f = Ka + self.B @ b
        quadratic = 0.5 * float(a @ Ka)
        conjugate = self.terms.conjugate(a)
        ends, doubt = [f], 0.0
        if error is not None and error.any():
            ends, doubt = [f - error, f + error], 0.5 * float(np.abs(a) @ error)
        values = [self.terms.value(end) for end in ends]
        # Summed sample by sample, so that the gap does not suffer from the size of the two values.
        gaps = [young_gap(value, conjugate, a, f) for value, f in zip(values, ends, strict=True)]
        loss = float(_largest(values).sum())
        violations = [self.terms.violation(a, end) for end in ends]
        return Certificate(
            primal=quadratic + doubt + loss + float(self.d @ b),
            dual=-(quadratic + doubt + float(conjugate.sum())),
            gap=float(_largest(gaps).sum()),
            violation=float(_largest(violations).max(initial=0.0)),
            residual=self.residual(a),
            f=f,
        )

    def feels(self, a: Array, f: Array, error: Array) -> NDArray[np.bool_]:
        """Answer which samples an error of decision values reaches the certificate through.

        Those with a coefficient do, and those whose loss is not zero at one of the two ends: for
        all others a correct side of the margin, or of the tube, is all that is to be known.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.stack([self.terms.value(f - error), self.terms.value(f + error)])
            felt = ~(np.max(ends, axis=0) + self.terms.conjugate(a) <= 0.0)
        # Nothing is known of a value whose error is infinite, even at a sample without weight.
        return np.asarray((a != 0) | felt | np.isinf(error))

    def residual(self, a: Array) -> float:
        """Return the largest entry of ``|B'a - d|`` relative to the scale of its terms."""
        if not self.q:
            return 0.0
        largest = max(float(np.max(np.abs(a), initial=0.0)), self._unit)
        size = coefficient_size(a, self.c, largest)
        scale = np.abs(self.B).T @ size + np.abs(self.d)
        error = np.abs(self.B.T @ a - self.d)
        return float(np.max(np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)))

    @cached_property
    def _unit(self) -> float:
        """The largest target over the largest kernel value: a coefficient that makes a target."""
        values = float(np.max(np.abs(self.K.diag()), initial=0.0))
        return float(np.max(np.abs(self.y), initial=0.0)) / values if values > 0 else np.inf

    def size(self, a: Array, b: Array, f: Array) -> float:
        r"""Return the largest number that residuals are made of, whose rounding they inherit.

        A target, a decision value, or a part of it; the n terms of :math:`\sum_j K_{ij} a_j` are at
        most :math:`\sqrt{K_{ii} K_{jj}} |a_j|`, and their rounding errors, having no common sign,
        add up like the sides of a right angle.
        """
        root = self.roots
        parts = (
            float(np.max(np.abs(self.y), initial=0.0)),
            float(np.max(np.abs(f), initial=0.0)),
            float(np.max(np.abs(self.B) @ np.abs(b), initial=0.0)),
            float(np.max(root, initial=0.0) * np.linalg.norm(root * a)),
        )
        return max(parts)

    @cached_property
    def roots(self) -> Array:
        """Return what :func:`value_roots` makes of K."""
        return value_roots(self.K)

    def take(self, index: NDArray[np.intp], K: Gram) -> RegularizedRisk:
        """Restrict the problem to the samples ``index``, whose Gram is ``K``."""
        return RegularizedRisk(
            self.loss.take(index), K, self.y[index], self.c[index], self.B[index], self.d
        )


def value_roots(K: Gram) -> Array:
    r"""Return :math:`\sqrt{K_{ii}}`, by which values are bounded: :math:`|K_{ij}|` by products.

    Of kernels that are positive definite. The largest value in some rows stands for that of
    others, whose diagonal is not positive.
    """
    diagonal = K.diag()
    if np.all(diagonal > 0.0):
        return np.sqrt(diagonal)
    n = len(diagonal)
    rows, columns = (
        np.arange(0, n, -(-n // most)) for most in (MAX_LOOKED_AT_ROWS, MAX_LOOKED_AT_COLUMNS)
    )
    values = np.abs(K.block(rows, columns))
    return np.full(n, np.sqrt(float(np.max(values, initial=0.0))))


def coefficient_size(a: Array, c: Array, unit: float) -> Array:
    """Return magnitudes of coefficients, beside which a residual is small or large.

    Coefficients below a millionth of the weights count as such (of the coefficient that makes a
    target, where weights are larger): what is left of them when the optimum is zero is rounding,
    and so is their sum.
    """
    return np.maximum(np.abs(a), 1e-6 * np.minimum(c, unit))


def _largest(arrays: list[Array]) -> Array:
    """Return the largest of several arrays, entry by entry."""
    return arrays[0] if len(arrays) == 1 else np.max(arrays, axis=0)
