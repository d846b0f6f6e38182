r"""One Cholesky factorization gives the least-squares machine and all that its inverse tells."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsyr2k, dsyrk

from mercer._lapack import dpotrf, dpotrs
from mercer._typing import Array
from mercer.gram.factor import mirrored, squared, triangular_inverse
from mercer.smoothing._off import OffColumns
from mercer.smoothing.fit import Fit

__all__ = ["Factored"]


class Factored:
    r"""The squared-loss machine with one C, from one factorization off the free columns.

    With :math:`P = 1 - UU'` for an orthonormal basis U of the weighted columns,
    :math:`PWKWP + 1/C + \tau UU'` is positive definite, also where K is so only off the columns,
    and its inverse without :math:`UU'/(\tau + 1/C)` is that of the bordered system.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix, positive semidefinite at least off the columns of B.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    weights : (n,) array, optional
        Weights of the samples; ones by default.
    C : float, default=1.0
        Weight of the loss.
    ratio : float, optional
        Signal-to-noise ratio :math:`C \operatorname{tr}(PWKWP)/n`, from which C then follows.
    overwrite : bool, default=False
        Whether the memory of K may be used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.factored import Factored
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> K, B, y = Gaussian(0.2)(x), np.ones((20, 1)), np.sin(6 * x[:, 0])
    >>> a, b = Factored(K, B, C=10.0).coefficients(y)
    >>> np.allclose(a, Spectral(K, B).coefficients(y, 10.0)[0])
    True
    """

    def __init__(
        self,
        K: ArrayLike,
        B: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        C: float = 1.0,
        *,
        ratio: float | None = None,
        overwrite: bool = False,
    ) -> None:
        self._off = off = OffColumns(K, B, weights, overwrite)
        M = off.matrix
        self._tau = float(np.mean(np.diag(M))) or 1.0
        if ratio is not None:
            C = ratio / self._tau
        if not 0 < C < np.inf:
            raise ValueError(f"C must be positive and finite, got {C!r}.")
        self.C, self.n, self.rank = float(C), off.n, off.rank
        if off.rank:
            M = dsyrk(self._tau, off.U, beta=1.0, c=M, lower=1, overwrite_c=1)
        M[np.diag_indices(len(M))] += 1.0 / C
        self._factor, info = dpotrf(M, lower=1, overwrite_a=1, clean=0)
        del off.matrix
        if info:
            raise ValueError(
                "the kernel matrix is not positive definite off the unpenalized columns, even "
                f"with 1/C = {1 / C:.3g} on its diagonal: lower C, or use another kernel."
            )

    def _solve(self, v: Array) -> Array:
        return np.asarray(dpotrs(self._factor, v, lower=1)[0])

    def coefficients(self, y: ArrayLike) -> tuple[Array, Array]:
        """Return the expansion and the unpenalized coefficients of targets (n,) or (n, d)."""
        Y = np.asarray(y, dtype=np.float64)
        a, b = self._off.coefficients(Y.reshape(self.n, -1), self._solve(self._off.targets(Y)))
        return a.reshape(Y.shape), b.reshape(b.shape[:1] + Y.shape[1:])

    @cached_property
    def Q(self) -> Array:
        """The inverse on the vectors orthogonal to the weighted columns, over live samples."""
        lower = squared(triangular_inverse(self._factor))
        if self.rank:
            weight = -1.0 / (self._tau + 1.0 / self.C)
            lower = dsyrk(weight, self._off.U, beta=1.0, c=lower, lower=1, overwrite_c=1)
        return mirrored(lower)

    @cached_property
    def _diagonal(self) -> Array:
        """The diagonal of Q: half of the work of all of Q, or nothing where that is known."""
        if "Q" in vars(self):
            return np.diag(self.Q).copy()
        inverse = triangular_inverse(self._factor)
        q: Array = np.einsum("ij,ij->j", inverse, inverse)
        if self.rank:
            q -= np.einsum("ij,ij->i", self._off.U, self._off.U) / (self._tau + 1.0 / self.C)
        return q

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant off the columns."""
        whole = 2.0 * float(np.sum(np.log(np.diag(self._factor))))
        return whole - self.rank * float(np.log(self._tau + 1.0 / self.C))

    def at_ratio(self, G: Array, slope: float) -> Array:
        r"""Turn derivatives at constant C into derivatives at a constant signal-to-noise ratio.

        C then falls as the variance of the function grows: K moves the criterion by
        :math:`G - \frac{dJ}{d \log C} \frac{WPW}{\operatorname{tr}(PWKWP)}`.

        Parameters
        ----------
        G : (n, n) array
            Derivative by K at constant C; it is changed in place.
        slope : float
            Derivative by the logarithm of C.
        """
        off, share = self._off, slope / (len(self._off.live) * self._tau)
        G[off.live, off.live] -= share * off.root**2
        if self.rank:
            WU = np.zeros((self.n, self.rank))
            WU[off.live] = off.root[:, None] * off.U
            G += (share * WU) @ WU.T
        return G

    def slopes(self, by_Q: float, by_a: float, a: Array, at_ratio: bool) -> tuple[Array, float]:
        r"""Return what a change of K and of C does to a criterion that is simple in Q and a.

        :math:`G = \beta Q - \gamma aa'`, made of the lower triangle of the inverse alone, and its
        slope in :math:`\log C`. With `at_ratio` derivatives are those of :meth:`at_ratio`.

        Parameters
        ----------
        by_Q, by_a : float
            :math:`\beta` and :math:`\gamma`.
        a : (m, d) array
            Weighted coefficients of samples with weight.
        at_ratio : bool
            Whether the signal-to-noise ratio is constant, instead of C.
        """
        off, U = self._off, self._off.U
        lower, left = squared(triangular_inverse(self._factor)), self._tau + 1.0 / self.C
        trace = float(np.trace(lower)) - float(np.vdot(U, U)) / left
        slope = -(by_Q * trace - by_a * float(np.vdot(a, a))) / self.C
        share = slope / (len(off.live) * self._tau) if at_ratio else 0.0
        both = np.hstack([(share - by_Q / left) * U, -by_a * a])
        G = dsyr2k(0.5, both, np.hstack([U, a]), beta=by_Q, c=lower, lower=1, overwrite_c=1)
        G[np.diag_indices(len(G))] -= share
        G = mirrored(G)
        if np.any(off.root != 1):
            G *= off.root[:, None]
            G *= off.root
        return self.spread(G), slope

    def spread(self, G: Array) -> Array:
        """Return a matrix over live samples as one over all, zero where there is no weight."""
        if len(self._off.live) == self.n:
            return G
        out = np.zeros((self.n, self.n))
        out[np.ix_(self._off.live, self._off.live)] = G
        return out

    def solved(self, y: ArrayLike) -> tuple[Array, Array]:
        """Return weighted targets off the columns and weighted coefficients of live samples."""
        targets = self._off.targets(np.asarray(y, dtype=np.float64).reshape(self.n, -1))
        return targets, self._solve(targets)

    def fit(self, y: ArrayLike) -> Fit:
        """Return the smoother fit of the machine with targets (n,) or (n, d), for criteria."""
        Y = np.asarray(y, dtype=np.float64).reshape(self.n, -1)
        targets, a = self.solved(Y)
        return Fit(
            y=Y[self._off.live],
            targets=targets,
            a=a,
            q=self._diagonal,
            C=self.C,
            root=self._off.root,
            rank=self.rank,
            log_det=self.log_det,
            inverse=lambda rows, columns: self.Q[np.ix_(rows, columns)],
        )
