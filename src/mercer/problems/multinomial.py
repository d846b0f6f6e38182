r"""Several functions of one kernel under the softmax loss: the functional and its certificate.

.. math::

    \min_{A, b}\; \tfrac12 \operatorname{tr} A'KA
    + \sum_i c_i \bigl(\log \sum_c e^{f_{ic}} - f_{i y_i}\bigr), \qquad F = KA + Bb

.. math::

    \max_P\; -\tfrac12 \operatorname{tr} A'KA - \sum_{ic} c_i\, p_{ic} \log p_{ic},
    \qquad a_{ic} = c_i (1[y_i = c] - p_{ic}), \quad p_i \in \Delta, \quad B'A = 0

A point of the dual is a probability of every class at every sample, whose sums over the
unpenalized columns are those of the labels. The two values differ by
:math:`\sum_i c_i \operatorname{KL}(p_i \| \operatorname{softmax} f_i)`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.losses.softmax import Labels, Softmax
from mercer.problems.risk import Certificate

__all__ = ["MultinomialRisk"]

EPS = float(np.finfo(np.float64).eps)
# Rounding errors by which two ways to add up the same decision values differ.
SUMMATION_ROUNDING = 8.0 * EPS
# Newton's steps towards the sums of the labels: half a dozen are usual; a class without weight
# takes one for each power of e by which its probability falls.
MAX_TILTS, MAX_HALVINGS = 60, 30


class MultinomialRisk:
    r"""A sample with labels, a Gram operator and an unpenalized part under the softmax loss.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample, the same for every class.
    y : ndarray of shape (n,)
        Labels 0, ..., k - 1.
    k : int
        Number of classes.
    c : float or ndarray of shape (n,)
        Weight of each sample's loss; losses are summed.
    B : ndarray of shape (n, q), optional
        Unpenalized columns, with coefficients for every class; none by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.multinomial import MultinomialRisk
    >>> risk = MultinomialRisk(Dense(np.eye(3)), np.arange(3), 3, 1.0)
    >>> zero = np.zeros((3, 3))
    >>> found = risk.certificate(zero, np.zeros((0, 3)))
    >>> round(found.primal, 4), round(found.gap, 4)  # 3 log 3, as the dual value is zero
    (3.2958, 3.2958)
    """

    def __init__(
        self, K: Gram, y: Labels, k: int, c: float | Array = 1.0, B: Array | None = None
    ) -> None:
        n = K.shape[0]
        self.K, self.y, self.k = K, np.asarray(y, dtype=np.intp), int(k)
        self.c = np.broadcast_to(np.asarray(c, dtype=np.float64), (n,))
        self.B = np.zeros((n, 0)) if B is None else np.asarray(B, dtype=np.float64)
        if self.y.shape != (n,) or self.B.shape[:1] != (n,) or self.B.ndim != 2:
            raise ValueError(
                f"a Gram of {n} samples needs labels of shape ({n},) and B of shape ({n}, q); got "
                f"{self.y.shape} and {self.B.shape}"
            )
        if n and (self.y.min() < 0 or self.y.max() >= self.k):
            raise ValueError(f"labels must be 0, ..., {self.k - 1}, got {np.unique(self.y)}")
        if not (np.all(self.c >= 0.0) and np.all(np.isfinite(self.c))):
            raise ValueError("weights c must be finite and not negative")
        self.loss = Softmax()

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.y.shape[0])

    @property
    def q(self) -> int:
        """Number of unpenalized columns."""
        return int(self.B.shape[1])

    @cached_property
    def labels(self) -> Array:
        """The labels as rows of the unit matrix, (n, k)."""
        return np.asarray(self.y[:, None] == np.arange(self.k), dtype=np.float64)

    def risk(self, F: Array) -> float:
        """Return the weighted sum of losses at decision values (n, k)."""
        return float(self.c @ self.loss.value(self.y, F))

    def coefficients(self, P: Array) -> Array:
        """Return the coefficients (n, k) that belong to probabilities."""
        return np.asarray(self.c[:, None] * (self.labels - P))

    def probabilities(self, A: Array) -> Array:
        """Return the probabilities that belong to coefficients, negative where there are none."""
        live = self.c[:, None] > 0
        return self.labels - np.divide(A, self.c[:, None], out=np.zeros_like(A), where=live)

    def balanced(self, scores: Array) -> tuple[Array, Array]:
        r"""Return ``b`` and ``P = softmax(scores + B b)`` whose sums are those of the labels.

        .. math:: \sum_i c_i B_i' (p_i - e_{y_i}) = 0

        are the conditions of the minimum of a convex function of b, found by Newton's method. Of
        the scores zero these are the constants that explain the labels best; of logarithms of
        probabilities this is the point of the dual that is nearest to them.

        Parameters
        ----------
        scores : ndarray of shape (n, k)
            Minus infinity where a probability stays zero.
        """
        live = self.c > 0
        c, B, G, E = self.c[live], self.B[live], scores[live], self.labels[live]
        q, k = self.q, self.k
        b, scale = np.zeros((q, k)), np.abs(B).T @ c
        if not q:
            return b, softmax(scores, axis=1)
        # The sums of the labels themselves, and the function whose slope is what is missing.
        sums = B.T @ (c[:, None] * E)
        value, last, P = float(c @ logsumexp(G, axis=1)), np.inf, softmax(G, axis=1)
        for _ in range(MAX_TILTS):
            slope = B.T @ (c[:, None] * (P - E))
            error = float(np.max(np.abs(slope) / np.where(scale > 0, scale, 1.0)[:, None]))
            # As far as the sums are known, and no step makes them better.
            if error <= EPS or (error <= 1e3 * EPS and error >= 0.5 * last):
                break
            last = error
            H = np.zeros((q, k, q, k))
            for i in range(q):
                for j in range(i + 1):
                    w = (c * B[:, i] * B[:, j])[:, None] * P
                    H[i, :, j] = np.diag(w.sum(axis=0)) - P.T @ w
                    H[j, :, i] = H[i, :, j].T
            square = H.reshape(q * k, q * k)
            step = -np.linalg.lstsq(square, slope.ravel(), rcond=EPS)[0].reshape(q, k)
            gain, t = float(np.vdot(slope, step)), 1.0
            for _ in range(MAX_HALVINGS):
                moved = G + B @ (b + t * step)
                after = float(c @ logsumexp(moved, axis=1) - np.vdot(sums, b + t * step))
                if after <= value + 1e-4 * t * gain + 16.0 * EPS * abs(value):
                    break
                t *= 0.5
            b, value, P = b + t * step, after, softmax(moved, axis=1)
        return b - b.mean(axis=1, keepdims=True), softmax(scores + self.B @ b, axis=1)

    def certificate(self, A: Array, b: Array, KA: Array | None = None) -> Certificate:
        """Measure objective, gap, violation and residual of ``(A, b)`` from one product with K.

        The gap has what :meth:`rise` returns, the worst that rounding does to the dual value, and
        the worst of sums over the columns that are not zero.

        Parameters
        ----------
        A : ndarray of shape (n, k)
            Coefficients of a point of the dual; the gap is infinite at any other.
        b : ndarray of shape (q, k)
            Coefficients of the unpenalized columns.
        KA : ndarray of shape (n, k), optional
            The product, if it is known.
        """
        KA = self.K.matvec(A) if KA is None else KA
        F = KA + self.B @ b
        P, Q = self.probabilities(A), self.loss.probability(F)
        penalty, risk = 0.5 * float(np.vdot(A, KA)), self.risk(F)
        delta = SUMMATION_ROUNDING * self.size(A, b, F)
        missed = float(np.max(np.abs(P - Q)[self.c > 0], initial=0.0))
        outside = np.min(P, initial=0.0) < 0.0 or np.max(np.abs(P.sum(axis=1) - 1.0)) > 64.0 * EPS
        excess = np.inf
        if not outside:
            doubt = delta * (float(np.abs(A).sum()) + float(self.c @ np.abs(P - Q).sum(axis=1)))
            doubt += 2.0 * float(np.vdot(np.abs(self.B.T @ A), np.abs(b)))
            excess = float(self.c @ self.loss.young_gap(P, F)) + doubt
        return Certificate(
            primal=penalty + risk,
            dual=penalty + risk - excess,
            gap=excess + self.rise(A, b, F),
            violation=missed,
            residual=self.residual(A),
            f=F,
        )

    def rise(self, A: Array, b: Array, F: Array) -> float:
        """Estimate by how much rounding of decision values can raise the objective."""
        delta = SUMMATION_ROUNDING * self.size(A, b, F)
        others = F + 2.0 * delta * (1.0 - self.labels)
        losses = self.loss.value(self.y, others) - self.loss.value(self.y, F)
        return float(self.c @ losses) + 0.5 * delta * float(np.abs(A).sum())

    def bound(self, A: Array, KA: Array) -> float:
        """Return the largest dual value between no coefficients and those of a point of the dual.

        Coefficients far from the minimum may prove less than none; every part of them is a point
        of the dual too.
        """
        P, E, quadratic = self.probabilities(A), self.labels, 0.5 * float(np.vdot(A, KA))

        def minus(t: float) -> float:
            return t * t * quadratic + float(self.c @ self.loss.conjugate((1.0 - t) * E + t * P))

        found = minimize_scalar(minus, bounds=(0.0, 1.0), method="bounded")
        return max(-float(found.fun), -minus(1.0), 0.0)

    def residual(self, A: Array) -> float:
        """Return the largest entry of ``|B'A|`` relative to the weights in it."""
        if not self.q:
            return 0.0
        scale = (np.abs(self.B).T @ self.c)[:, None]
        error = np.abs(self.B.T @ A)
        return float(np.max(np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)))

    def size(self, A: Array, b: Array, F: Array) -> float:
        """Return the largest number that decision values are made of, whose rounding they have."""
        root = np.sqrt(np.maximum(self.K.diag(), 0.0))
        terms = np.linalg.norm(root[:, None] * A, axis=0)
        parts = (
            float(np.max(np.abs(F), initial=0.0)),
            float(np.max(np.abs(self.B) @ np.abs(b), initial=0.0)),
            float(np.max(root, initial=0.0) * np.max(terms, initial=0.0)),
        )
        return max(parts)
