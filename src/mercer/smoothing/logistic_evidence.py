r"""The evidence of a kernel for classes: Laplace's approximation with the logistic loss.

A Gaussian process with covariance K and labels with log odds f have the most likely values

.. math:: \hat f = \arg\min_f \Psi(f), \qquad
          \Psi(f) = \sum_i s_i \log(1 + e^{-y_i f_i}) + \tfrac12 f' K^{-1} f,

and, with the curvatures :math:`W` of the losses there,

.. math:: -\log Z \approx \Psi(\hat f) + \tfrac12 \log |1 + W^{1/2} K W^{1/2}|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsymv, dsyr2k
from scipy.special import expit

from mercer._lapack import dpotrf, dpotrs
from mercer._typing import Array
from mercer.gram.factor import mirrored, squared, triangular_inverse

__all__ = ["LogisticEvidence"]


# Prior variance of the log odds of the classes: a constant of three either way is usual.
OFFSET_VARIANCE = 10.0
# Newton's steps; it is a convex problem with a bounded third derivative, and takes half a dozen.
MAX_NEWTON_STEPS = 50
# Decrease of the functional, per sample, by the last step; the next one would be its square.
MIN_DECREASE = 1e-11
# Curvatures are not smaller: a sample whose class is certain has no say, but is not infinite.
MIN_CURVATURE = 1e-10


@dataclass(frozen=True, eq=False)
class _Mode:
    f: Array
    a: Array
    """Coefficients, so that f = K a."""

    root: Array
    """Roots of the curvatures."""

    factor: Array
    """Cholesky factor of :math:`1 + W^{1/2} K W^{1/2}`."""

    value: float
    """The functional at the mode."""

    @property
    def log_det(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diag(self.factor))))


class LogisticEvidence:
    """Minus the approximate log evidence of kernel matrices for labels, with its derivative.

    Machines of several classes against the rest share the kernel: their evidence is the sum. The
    constant of the log odds has a prior of variance 10.

    Parameters
    ----------
    Y : (n, d) array
        Labels +1 or -1, a column a machine.
    weights : (n,) array, optional
        Weights of the samples; ones by default.
    tol : float, default=1e-11
        Decrease of the functional, per sample, after which Newton's method ends. The curvatures are
        those before the last step, so that the error of the evidence is of the order of its root.

    References
    ----------
    C. K. I. Williams, D. Barber, *Bayesian classification with Gaussian processes*, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 20, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.smoothing.logistic_evidence import LogisticEvidence
    >>> x = np.linspace(-3, 3, 40)[:, None]
    >>> evidence = LogisticEvidence(np.sign(np.sin(2 * x)))
    >>> narrow, right = (evidence.value(9.0 * Gaussian(width)(x)) for width in (0.05, 0.8))
    >>> bool(right < narrow)
    True
    """

    def __init__(
        self, Y: ArrayLike, weights: ArrayLike | None = None, tol: float = MIN_DECREASE
    ) -> None:
        self.tol = tol
        self.Y: Array = np.asarray(Y, dtype=np.float64).reshape(len(np.asarray(Y)), -1)
        n = len(self.Y)
        self.weights: Array = (
            np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        )
        # The modes of the last matrix are good starts for the next: only speed depends on them.
        self._starts = np.zeros_like(self.Y)

    def value(self, K: ArrayLike) -> float:
        """Return minus the log evidence of a kernel matrix, per sample."""
        K = np.asarray(K, dtype=np.float64) + OFFSET_VARIANCE
        modes = [self._mode(K, k) for k in range(self.Y.shape[1])]
        return sum(mode.value + 0.5 * mode.log_det for mode in modes) / len(self.Y)

    def gradient(self, K: ArrayLike) -> tuple[float, Array]:
        """Return the same with its derivative by the kernel matrix, a symmetric (n, n) array."""
        K = np.asarray(K, dtype=np.float64) + OFFSET_VARIANCE
        modes = [self._mode(K, k) for k in range(self.Y.shape[1])]
        value = sum(mode.value + 0.5 * mode.log_det for mode in modes)
        G = reduce(np.add, (self._lower(K, k, mode) for k, mode in enumerate(modes)))
        G /= len(self.Y)
        return value / len(self.Y), mirrored(G)

    def _lower(self, K: Array, k: int, mode: _Mode) -> Array:
        """Return the derivative of a machine's evidence by K, in the lower triangle."""
        p = expit(mode.f)
        # R = (K + 1/W)^-1, and what the mode's own motion does to the determinant.
        R = squared(triangular_inverse(mode.factor) * mode.root)
        variance = (1.0 - np.diag(R) / mode.root**2) / mode.root**2
        bend = 0.5 * variance * self.weights * p * (1.0 - p) * (1.0 - 2.0 * p)
        moved = bend - dsymv(1.0, R, K @ bend, lower=1)
        pull = self.weights * (0.5 * (self.Y[:, k] + 1.0) - p)
        # Half of R - aa' + moved pull' + pull moved'.
        sides = np.column_stack([-0.5 * mode.a, moved]), np.column_stack([mode.a, pull])
        return np.asarray(dsyr2k(0.5, *sides, beta=0.5, c=R, lower=1, overwrite_c=1))

    def _mode(self, K: Array, k: int) -> _Mode:
        """Return the most likely values of a machine, by Newton's method."""
        y, s, n = self.Y[:, k], self.weights, len(self.Y)
        f = self._starts[:, k]
        a, value = np.zeros(n), np.inf
        for _ in range(MAX_NEWTON_STEPS):
            p = expit(f)
            W = s * p * (1.0 - p)
            root = np.sqrt(np.maximum(W, MIN_CURVATURE))
            M = K * root[:, None]
            M *= root
            M[np.diag_indices(n)] += 1.0
            factor, info = dpotrf(M.T, lower=1, overwrite_a=1, clean=0)
            if info:
                raise ValueError("the kernel matrix is not positive semidefinite.")
            right = W * f + s * (0.5 * (y + 1.0) - p)
            target = right - root * dpotrs(factor, root * (K @ right), lower=1)[0]
            step = 1.0
            # A start from elsewhere has no coefficients yet: the first step is taken whole.
            while True:
                coefficients = target if value == np.inf else a + step * (target - a)
                values = K @ coefficients
                moved = float(s @ np.logaddexp(0.0, -y * values) + 0.5 * coefficients @ values)
                if moved <= value + 1e-12 * abs(moved) or step < 1e-6 or value == np.inf:
                    break
                step *= 0.5
            done = abs(value - moved) <= self.tol * n
            a, f, value = coefficients, values, moved
            if done:
                break
        self._starts[:, k] = f
        return _Mode(f, a, root, factor, value)
