r"""One eigendecomposition gives the least-squares machine for every C.

.. math:: \tilde a = V \operatorname{diag}\Bigl(\frac{1}{\sigma_j + 1/C}\Bigr) V' W y, \qquad
          PWKWP = V \operatorname{diag}(\sigma) V'
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsyrk

from mercer._deadline import eigh
from mercer._typing import Array
from mercer.smoothing._off import OffColumns
from mercer.smoothing.fit import Fit

__all__ = ["Spectral"]

# Negative eigenvalues up to this share of the largest are rounding.
ROUNDING_SHARE = 1e-8
# Memory for coefficients of several C at once.
CHUNK_BYTES = 2**26


class Spectral:
    r"""The squared-loss machine with any C, from one eigendecomposition off the free columns.

    .. math:: \min_{a, b} \tfrac12 a'Ka + \tfrac{C}{2} \sum_i s_i (y_i - f_i)^2, \qquad f = Ka + Bb

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix, positive semidefinite at least off the columns of B.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    weights : (n,) array, optional
        Weights s of the samples; ones by default. A sample of weight zero is predicted only.

    Attributes
    ----------
    values : (m,) array
        Eigenvalues, ascending, not negative.
    vectors : (n_live, m) array
        Eigenvectors of weighted samples, orthogonal to the weighted columns of B.
    n, rank : int
        Number of samples, and of independent columns of B.
    weights : (n,) array
        Weights of the samples.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 3.4, eq. (3.16), (3.17);
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (7.6), for leaving one out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.smoothing import Spectral
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> spectral = Spectral(Gaussian(0.2)(x), np.ones((20, 1)))
    >>> Cs = np.array([0.1, 1.0, 10.0])
    >>> spectral.degrees_of_freedom(Cs).round(2)
    array([1.85, 3.82, 5.82])
    >>> errors = spectral.leave_one_out(np.sin(6 * x[:, 0]), Cs)
    >>> errors.shape, int(np.argmin(np.mean(errors**2, axis=1)))
    ((3, 20), 2)
    """

    def __init__(
        self, K: ArrayLike, B: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> None:
        self._off = off = OffColumns(K, B, weights)
        self.n, self.rank, self.weights = off.n, off.rank, off.weights
        M = off.matrix
        # Directions of the columns are moved below all others, to be left out.
        below = float(np.max(np.abs(np.diag(M)), initial=0.0)) or 1.0
        if off.rank:
            M = dsyrk(-below, off.U, beta=1.0, c=M, lower=1, overwrite_c=1)
        values, vectors = eigh(M)  # of its lower triangle
        del off.matrix
        values, self.vectors = values[off.rank :], vectors[:, off.rank :]
        if len(values) and values[0] < -ROUNDING_SHARE * max(values[-1], below):
            raise ValueError(
                "K is not positive semidefinite off the columns of B (smallest eigenvalue "
                f"{values[0]:.3g}): use a positive definite kernel, or add the null space that a "
                "conditionally positive definite kernel needs."
            )
        # Eigenvalues are known to so much; below it there is nothing but rounding.
        top = float(values[-1]) if len(values) else 0.0
        self._floor = len(values) * float(np.finfo(np.float64).eps) * max(top, below)
        self.values: Array = np.where(values > self._floor, values, 0.0)

    @property
    def signal(self) -> float:
        r"""Mean variance of the function, :math:`\operatorname{tr}(PWKWP)/n`."""
        return float(np.sum(self.values)) / len(self.vectors)

    # The machine ---------------------------------------------------------------------------------

    def coefficients(self, y: ArrayLike, C: ArrayLike) -> tuple[Array, Array]:
        """Return the expansion and the unpenalized coefficients.

        Parameters
        ----------
        y : (n,) or (n, d) array
            Targets.
        C : float or (k,) array
            Weights of the loss; infinity interpolates as far as K can.

        Returns
        -------
        a : (n,) or (n, d) array
            With a first axis of k if there are several C.
        b : (q,) or (q, d) array
            Likewise.
        """
        Y, C = np.asarray(y, dtype=np.float64), np.asarray(C, dtype=np.float64)
        W = self._weighted(Y, C)
        a, b = self._off.coefficients(self._repeated(Y, C), W)
        return self._apart(a, Y, C), self._apart(b, Y, C)

    def residuals(self, y: ArrayLike, C: ArrayLike) -> Array:
        """Return the residuals ``y - f`` of the machine, for one or several C."""
        Y, C = np.asarray(y, dtype=np.float64), np.asarray(C, dtype=np.float64)
        W, Y2 = self._weighted(Y, C), self._repeated(Y, C)
        out = np.empty_like(Y2)
        shift = np.repeat(self._shift(C).reshape(-1), W.shape[1] // C.size)
        out[self._off.live] = W * shift / self._off.root[:, None]
        if len(self._off.dead):
            a, b = self._off.coefficients(Y2, W)
            out[self._off.dead] = Y2[self._off.dead] - self._off.outside(a, b)
        return self._apart(out, Y, C)

    def fitted(self, y: ArrayLike, C: ArrayLike) -> Array:
        """Return the values of the machine at the sample, for one C or for several."""
        return np.asarray(np.asarray(y, dtype=np.float64) - self.residuals(y, C))

    # What it tells -------------------------------------------------------------------------------

    def degrees_of_freedom(self, C: ArrayLike) -> Array:
        r"""Return :math:`\operatorname{tr} S = q + \sum_j \sigma_j / (\sigma_j + 1/C)`."""
        C = np.asarray(C, dtype=np.float64)
        return np.asarray(self.rank + np.sum(self.values * self._inverse(C), axis=-1))

    def leverages(self, C: ArrayLike) -> Array:
        """Return the diagonal of the smoother, ``df_i/dy_i``, for one C or for each of several."""
        C = np.asarray(C, dtype=np.float64)
        out = np.zeros((*C.shape, self.n))
        out[..., self._off.live] = 1.0 - self._shift(C)[..., None] * (
            self._inverse(C) @ self._squares.T
        )
        return out

    def smoother(self, C: float) -> Array:
        """Return the matrix S that makes fitted values of targets, (n, n)."""
        return np.asarray(self.fitted(np.eye(self.n), C))

    def leave_one_out(self, y: ArrayLike, C: ArrayLike) -> Array:
        r"""Return residuals of samples that were not used, :math:`y_i - f^{(-i)}(x_i)`.

        They are :math:`a_i / Q_{ii}` with the inverse Q of the bordered matrix, for no more than
        the eigenvectors.

        Parameters
        ----------
        y : (n,) or (n, d) array
            Targets.
        C : float or (k,) array
            Weights of the loss.

        Returns
        -------
        (n,), (n, d), (k, n) or (k, n, d) array
            Infinite where a sample alone determines an unpenalized function.
        """
        Y, C = np.asarray(y, dtype=np.float64), np.asarray(C, dtype=np.float64)
        Y2 = Y.reshape(self.n, -1)
        many = C.reshape(-1)
        out = np.empty((len(many), *Y2.shape))
        projected = self.components(Y)
        step = max(1, int(CHUNK_BYTES / (8 * max(self.n * Y2.shape[1], 1))))
        for first in range(0, len(many), step):
            some = many[first : first + step]
            inverse = self._inverse(some)
            Q = (inverse @ self._squares.T)[..., None]
            A = np.einsum("kj,jd->jkd", inverse, projected)
            A = A.reshape(len(self.values), len(some) * Y2.shape[1])
            A = (self.vectors @ A).reshape(-1, len(some), Y2.shape[1]).transpose(1, 0, 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                left = A / (Q * self._off.root[:, None])
            out[first : first + step][:, self._off.live] = np.where(Q > 0, left, np.inf)
        for k, one in enumerate(many if len(self._off.dead) else []):
            out[k, self._off.dead] = self.residuals(Y2, float(one))[self._off.dead]
        return out.reshape(C.shape + Y.shape)

    def fold_residuals(self, y: ArrayLike, C: float, labels: ArrayLike) -> Array:
        r"""Return residuals of folds that were not used, without refits.

        They are :math:`Q_{VV}^{-1} a_V` for the samples V of a fold.

        Parameters
        ----------
        y : (n,) or (n, d) array
            Targets.
        C : float
            Weight of the loss.
        labels : (n,) array
            Which fold each sample belongs to.

        Returns
        -------
        array like y
        """
        Y, labels = np.asarray(y, dtype=np.float64), np.asarray(labels)
        if labels.shape != (self.n,):
            raise ValueError(f"labels must name the fold of {self.n} samples.")
        off, Y2 = self._off, Y.reshape(self.n, -1)
        fit = self.at(Y2, C)
        out = np.empty_like(Y2)
        for label in np.unique(labels):
            inside = np.flatnonzero(labels[off.live] == label)
            left = fit.left_out(inside) / off.root[inside, None]
            out[off.live[inside]] = left
            dead = np.flatnonzero(labels[off.dead] == label)
            if len(dead):
                # Without the fold is as if its targets were what the others predict.
                others = Y2.copy()
                others[off.live[inside]] -= left
                a, b = self.coefficients(others, C)
                out[off.dead[dead]] = Y2[off.dead[dead]] - off.outside(a, b)[dead]
        return out.reshape(Y.shape)

    def at(self, y: ArrayLike, C: float) -> Fit:
        """Return the smoother fit to targets y of the machine with one C, for criteria."""
        inverse = self._inverse(np.asarray(C))
        targets = self._targets(np.asarray(y, dtype=np.float64))
        return Fit(
            y=np.asarray(y, dtype=np.float64).reshape(self.n, -1)[self._off.live],
            targets=targets,
            a=self.vectors @ (inverse[:, None] * (self.vectors.T @ targets)),
            q=self._squares @ inverse,
            C=1.0 / float(self._shift(C)),
            root=self._off.root,
            rank=self.rank,
            log_det=-float(np.sum(np.log(inverse))),
            inverse=lambda rows, columns: (self.vectors[rows] * inverse) @ self.vectors[columns].T,
        )

    # The spectrum --------------------------------------------------------------------------------

    def components(self, y: ArrayLike) -> Array:
        """Return weighted targets in the basis of the eigenvectors, ``V'Wy``, (m, d)."""
        return np.asarray(self.vectors.T @ self._targets(np.asarray(y, dtype=np.float64)))

    def _shift(self, C: ArrayLike) -> Array:
        """Return 1/C, no smaller than the rounding error of the eigenvalues."""
        C = np.asarray(C, dtype=np.float64)
        if not np.all(C > 0):
            raise ValueError("C must be positive.")
        return np.asarray(np.maximum(1.0 / C, self._floor))

    def _inverse(self, C: ArrayLike) -> Array:
        r"""Return :math:`1/(\sigma_j + 1/C)`, for each C if there are several."""
        return np.asarray(1.0 / (self.values + self._shift(C)[..., None]))

    @cached_property
    def _squares(self) -> Array:
        return np.square(self.vectors)

    def _targets(self, Y: Array) -> Array:
        return self._off.targets(Y)

    # Targets of several outputs and several C are columns, those of one C together.

    def _weighted(self, Y: Array, C: Array) -> Array:
        """Return weighted coefficients of live samples, (m, k d)."""
        p, inverse = self.components(Y), self._inverse(C.reshape(-1))
        many = (inverse.T[:, :, None] * p[:, None]).reshape(len(p), inverse.shape[0] * p.shape[1])
        return np.asarray(self.vectors @ many)

    def _repeated(self, Y: Array, C: Array) -> Array:
        """Return the targets for every C, (n, k d)."""
        return np.tile(Y.reshape(self.n, -1), (1, C.size))

    def _apart(self, columns: Array, Y: Array, C: Array) -> Array:
        """Return columns with an axis of C, if there are several, and one of outputs, if any."""
        d = columns.shape[1] // C.size
        values = columns.reshape(len(columns), C.size, d).transpose(1, 0, 2)
        return np.ascontiguousarray(values.reshape(*C.shape, len(columns), *Y.shape[1:]))
