r"""Models of correlated errors: the covariance C of a sample's errors, through its whitening.

With :math:`W C W' = 1` the functional

.. math:: \min_{a, b}\; \tfrac12 a'Ka + \sum_i c_i\, l\bigl((W(y - Ka - Bb))_i\bigr)

is that of :math:`Wy`, :math:`WB` and :math:`WKW'`, and :math:`a = W'\tilde a`. So any loss of
residuals combines with any of these models, and the squared loss becomes generalized least squares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias, TypeVar

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator

from mercer._params import Params, is_integer
from mercer._typing import LinearMap, PointsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, count, is_sparse, named_positions
from mercer.regularizers import _arma

__all__ = [
    "ARMA",
    "AutoRegressive",
    "Covariance",
    "ErrorModel",
    "Independent",
    "LinearProcess",
    "MovingAverage",
    "Precision",
]

# Time stamps are rounded numbers: this far from an integer they still count as one.
TIME_ROUNDING = 1e-6

ColumnT = TypeVar("ColumnT")
Column: TypeAlias = int | str | Array | Sequence[float] | None


class ErrorModel(Params, ABC):
    """The covariance of the errors of a sample, up to a factor."""

    @abstractmethod
    def whitening(self, X: Data) -> LinearMap:
        """Return the map W of the sample `X`, ``(n, n)``: an array, sparse or a LinearOperator.

        Row i makes of all errors one of sample i that is uncorrelated with the others and has
        variance one.
        """

    @abstractmethod
    def matrix(self, X: Data) -> Array:
        """Return the covariance of the errors of the sample `X`, ``(n, n)``."""

    @abstractmethod
    def cross(self, Z: Data, X: Data) -> Array:
        """Return the covariance of the errors of new observations at `Z` with those at `X`.

        Parameters
        ----------
        Z : (m, p) points of new observations
        X : (n, p) points of the sample

        Returns
        -------
        (m, n) array
        """

    def bind(self, features: Sequence[str]) -> Self:
        """Return the model with names of features replaced by their positions in `features`."""
        return self

    @property
    def free(self) -> Array:
        """Parameters that can be estimated, as any numbers; none by default."""
        return np.empty(0)

    def from_free(self, free: Array) -> Self:
        """Return the model of any numbers, as many as :attr:`free` has."""
        return self


@dataclass(eq=False)
class Independent(ErrorModel):
    r"""Errors that are independent, of one size or each of its own (heteroscedastic).

    .. math:: C = \operatorname{diag}(s_1^2, \dots, s_n^2)

    The loss acts on :math:`r_i / s_i`. For the squared loss that is a weight :math:`1/s_i^2`; for
    others it also stretches a tube, or the place where a loss turns linear.

    Parameters
    ----------
    scale : float or (n,) array, default=1.0
        The size s of the errors, or a factor of it.
    column : int or str, optional
        A feature that tells the size of the error of each sample, times `scale`. A kernel sees it
        too, unless it is told to look elsewhere, ``kernel.on([...])``.

    Examples
    --------
    >>> Independent([1.0, 2.0]).matrix(np.ones((2, 1)))
    array([[1., 0.],
           [0., 4.]])
    """

    scale: float | Array | Sequence[float] = 1.0
    column: int | str | None = None

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim > 1 or not np.all((scale > 0) & np.isfinite(scale)):
            raise ValueError(
                "scale must be a positive number, or one for each sample; to leave a sample out "
                "give it the weight zero."
            )

    def bind(self, features: Sequence[str]) -> Self:
        return replace(self, column=_bound(self.column, features))

    def _sizes(self, X: Data) -> Array:
        n, scale = count(X), np.asarray(self.scale, dtype=np.float64)
        if scale.ndim and len(scale) != n:
            raise ValueError(f"scale has {len(scale)} entries for {n} samples; give one for each.")
        sizes = scale if self.column is None else scale * _feature(X, self.column)
        if not np.all(sizes > 0):
            raise ValueError(f"the feature {self.column!r} of sizes of errors must be positive.")
        return np.broadcast_to(sizes, (n,))

    def whitening(self, X: Data) -> LinearMap:
        return sparse.csr_array(sparse.diags_array(1.0 / self._sizes(X)))

    def matrix(self, X: Data) -> Array:
        return np.asarray(np.diag(self._sizes(X) ** 2))

    def cross(self, Z: Data, X: Data) -> Array:
        return np.zeros((count(Z), count(X)))


class LinearProcess(ErrorModel):
    r"""Errors in the order of time: each remembers those before it and their innovations.

    .. math:: z_t = \sum_{i=1}^p \varphi_i z_{t-i} + e_t + \sum_{j=1}^q \theta_j e_{t-j}

    Innovations :math:`e_t` have variance one, so that without memory this is :class:`Independent`.
    Without gaps in time the whitening is exact and takes a time proportional to n.
    """

    time: int | str | Array | Sequence[float] | None
    step: float
    start: str

    @property
    @abstractmethod
    def coefficients(self) -> tuple[Array, Array]:
        r"""The arrays :math:`\varphi` and :math:`\theta`."""

    @abstractmethod
    def from_coefficients(self, phi: Array, theta: Array) -> Self:
        """Return the model with other coefficients, as many as it has."""

    @property
    def free(self) -> Array:
        """Coefficients as any numbers: the partial autocorrelations behind them, stretched."""
        phi, theta = self.coefficients
        return np.asarray(np.arctanh(np.r_[_arma.partial(phi), _arma.partial(-theta)]))

    def from_free(self, free: Array) -> Self:
        r, p = np.tanh(free), len(self.coefficients[0])
        return self.from_coefficients(_arma.autoregression(r[:p]), -_arma.autoregression(r[p:]))

    def __post_init__(self) -> None:
        phi, theta = self.coefficients
        for name, values, what in (("phi", phi, "stationary"), ("theta", -theta, "invertible")):
            if values.ndim != 1 or not np.all(np.abs(_arma.partial(values)) < 1):
                raise ValueError(
                    f"{name} must be a number or a list of numbers with which the process is "
                    f"{what}: a single one lies between -1 and 1, got {getattr(self, name)!r}."
                )
        if self.start not in ("stationary", "zero"):
            raise ValueError(f"start must be 'stationary' or 'zero', got {self.start!r}.")
        if not 0 < self.step < np.inf:
            raise ValueError(f"step must be a positive number, got {self.step!r}.")
        if self.time is not None and self.start == "zero":
            raise ValueError("start='zero' has no memory of gaps: leave time out, or start.")

    def bind(self, features: Sequence[str]) -> Self:
        return replace(self, time=_bound(self.time, features))  # type: ignore[type-var]

    def whitening(self, X: Data) -> LinearMap:
        phi, theta = self.coefficients
        n, t = count(X), self._times(X)
        if t is None:
            return _arma.whitening(phi, theta, n, self.start == "stationary")
        order = np.argsort(t)
        gaps = np.diff(t[order])
        if np.any(gaps <= TIME_ROUNDING):
            raise ValueError("two errors at one time; average the observations, or shift one.")
        if np.all(np.abs(gaps - 1.0) <= TIME_ROUNDING):
            W = _arma.whitening(phi, theta, n, True)
        elif len(phi) == 1 and not len(theta):
            W = _arma.bridged(self._memory(gaps), gaps)
        else:
            return _inverse_factor(self._between(t, t))
        return _arma.reordered(W, order)

    def matrix(self, X: Data) -> Array:
        t = self._times(X)
        if t is None:
            return _arma.covariance(*self.coefficients, count(X), self.start == "stationary")
        return self._between(t, t)

    def cross(self, Z: Data, X: Data) -> Array:
        if self.time is None:
            n = count(X)
            size = n + count(Z)
            whole = _arma.covariance(*self.coefficients, size, self.start == "stationary")
            return np.asarray(whole[n:, :n])
        if not isinstance(self.time, str) and np.ndim(self.time):
            raise ValueError("time is an array for the sample; make it a feature to look ahead.")
        new, old = self._times(Z), self._times(X)
        assert new is not None
        assert old is not None
        return self._between(new, old)

    def _times(self, X: Data) -> Array | None:
        """Return the time of each sample in steps; None if they are one after the other."""
        if self.time is None:
            return None
        if isinstance(self.time, str) or not np.ndim(self.time):
            t = _feature(X, self.time)
        else:
            t = np.asarray(self.time, dtype=np.float64)
            if t.shape != (count(X),):
                raise ValueError(f"time has shape {t.shape} for {count(X)} samples.")
        return t / self.step

    def _between(self, t: Array, s: Array) -> Array:
        """Return the covariances of values at times t with those at times s."""
        phi, theta = self.coefficients
        lags = np.abs(np.subtract.outer(t, s))
        if len(phi) == 1 and not len(theta):
            memory = self._memory(lags)
            return np.asarray(memory**lags / (1.0 - memory**2))
        whole = np.rint(lags).astype(int)
        if np.any(np.abs(lags - whole) > TIME_ROUNDING):
            raise ValueError(
                "times must lie whole steps apart; set step, or use AutoRegressive of order one, "
                "which is defined between the steps."
            )
        gamma = _arma.autocovariance(phi, theta, int(whole.max(initial=0)) + 1)
        return np.asarray(gamma[whole])

    def _memory(self, lags: Array) -> float:
        phi = float(self.coefficients[0][0])
        if phi < 0 and np.any(np.abs(lags - np.rint(lags)) > TIME_ROUNDING):
            raise ValueError("phi must not be negative for times between whole steps.")
        return phi


@dataclass(eq=False)
class AutoRegressive(LinearProcess):
    r"""Errors that remember the errors before them, AR(p).

    .. math:: z_t = \sum_{i=1}^p \varphi_i z_{t-i} + e_t

    For p = 1 the covariance is :math:`\varphi^{|t-s|}/(1 - \varphi^2)` at any times t and s, so
    observations need not be equally spaced. The whitening is a sparse matrix.

    Parameters
    ----------
    phi : float or sequence of float, default=0.5
        The memory, such that the process is stationary.
    time : int, str or (n,) array, optional
        The times: a feature by position or name, or an array. Without it samples come one step
        after the other, and new observations after the sample.
    step : float, default=1.0
        The unit of time in which `phi` is meant.
    start : {"stationary", "zero"}, default="stationary"
        What was before the first error: more of the same, or nothing.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.2; P. J. Brockwell and
    R. A. Davis, *Time Series: Theory and Methods*, 1991, secs. 3.3 and 8.1.

    Examples
    --------
    >>> model = AutoRegressive(0.5)
    >>> X = np.zeros((3, 1))
    >>> model.matrix(X)[0]
    array([1.33333333, 0.66666667, 0.33333333])
    >>> model.whitening(X).toarray().round(4)
    array([[ 0.866,  0.   ,  0.   ],
           [-0.5  ,  1.   ,  0.   ],
           [ 0.   , -0.5  ,  1.   ]])
    """

    phi: float | Sequence[float] | Array = 0.5
    time: Column = None
    step: float = 1.0
    start: str = "stationary"

    @property
    def coefficients(self) -> tuple[Array, Array]:
        return _list(self.phi), np.empty(0)

    def from_coefficients(self, phi: Array, theta: Array) -> Self:
        return replace(self, phi=_like(self.phi, phi))


@dataclass(eq=False)
class MovingAverage(LinearProcess):
    r"""Errors that remember the innovations before them, MA(q).

    .. math:: z_t = e_t + \sum_{j=1}^q \theta_j e_{t-j}

    With ``start="zero"`` and q = 1 the covariance is :math:`BB'` with ones on the diagonal of B and
    :math:`\theta` below it.

    Parameters
    ----------
    theta : float or sequence of float, default=0.5
        The memory, such that innovations can be recovered from the errors. Every moving average has
        the covariance of one of this kind.
    time, step, start :
        As in :class:`AutoRegressive`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.2, where this model is
    called autoregressive and the covariance printed is not its own.

    Examples
    --------
    >>> MovingAverage(0.5, start="zero").matrix(np.zeros((3, 1)))
    array([[1.  , 0.5 , 0.  ],
           [0.5 , 1.25, 0.5 ],
           [0.  , 0.5 , 1.25]])
    """

    theta: float | Sequence[float] | Array = 0.5
    time: Column = None
    step: float = 1.0
    start: str = "stationary"

    @property
    def coefficients(self) -> tuple[Array, Array]:
        return np.empty(0), _list(self.theta)

    def from_coefficients(self, phi: Array, theta: Array) -> Self:
        return replace(self, theta=_like(self.theta, theta))


@dataclass(eq=False)
class ARMA(LinearProcess):
    r"""Errors that remember errors and innovations, ARMA(p, q).

    .. math:: z_t = \sum_{i=1}^p \varphi_i z_{t-i} + e_t + \sum_{j=1}^q \theta_j e_{t-j}

    Parameters
    ----------
    phi, theta : float or sequence of float
        The memory; stationary and invertible.
    time, step, start :
        As in :class:`AutoRegressive`.

    References
    ----------
    C. F. Ansley, *An algorithm for the exact likelihood of a mixed autoregressive-moving average
    process*, Biometrika 66, 1979, for the banded whitening.

    Examples
    --------
    >>> ARMA(0.5, 0.4).matrix(np.zeros((3, 1)))[0].round(4)
    array([2.08, 1.44, 0.72])
    """

    phi: float | Sequence[float] | Array = 0.5
    theta: float | Sequence[float] | Array = 0.5
    time: Column = None
    step: float = 1.0
    start: str = "stationary"

    @property
    def coefficients(self) -> tuple[Array, Array]:
        return _list(self.phi), _list(self.theta)

    def from_coefficients(self, phi: Array, theta: Array) -> Self:
        return replace(self, phi=_like(self.phi, phi), theta=_like(self.theta, theta))


@dataclass(eq=False)
class Covariance(ErrorModel):
    r"""Errors whose covariance is a matrix, or a kernel of the points.

    .. math:: C_{ij} = \rho(x_i, x_j) + \nu\, \delta_{ij}

    Parameters
    ----------
    covariance : Kernel or (n, n) array
        The kernel :math:`\rho`, or the matrix.
    nugget : float, default=0.0
        The variance :math:`\nu` of an independent part of each error.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.23) to (9.26).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Covariance(Gaussian(1.0), nugget=0.5).matrix(np.array([[0.0], [1.0]])).round(4)
    array([[1.5   , 0.6065],
           [0.6065, 1.5   ]])
    """

    covariance: Kernel | Array
    nugget: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, Kernel):
            _check_square(self.covariance, "covariance")
        if not 0 <= self.nugget < np.inf:
            raise ValueError(f"nugget must be a variance, at least 0, got {self.nugget!r}.")

    def bind(self, features: Sequence[str]) -> Self:
        if not isinstance(self.covariance, Kernel):
            return self
        return replace(self, covariance=self.covariance.bind(features))

    def whitening(self, X: Data) -> LinearMap:
        return _inverse_factor(self.matrix(X))

    def matrix(self, X: Data) -> Array:
        if isinstance(self.covariance, Kernel):
            C = np.array(self.covariance(X), dtype=np.float64)
        else:
            C = _of_sample(self.covariance, X, "covariance").copy()
        C.flat[:: len(C) + 1] += self.nugget
        return C

    def cross(self, Z: Data, X: Data) -> Array:
        if not isinstance(self.covariance, Kernel):
            raise ValueError(
                "A matrix says nothing about the errors of new observations: give a kernel."
            )
        return np.asarray(self.covariance(Z, X), dtype=np.float64)


@dataclass(eq=False)
class Precision(ErrorModel):
    r"""Errors by the inverse H of their covariance, which may be singular.

    With the squared loss this is the penalty :math:`\tfrac12 e'He` of the errors; directions in
    which H vanishes cost nothing.

    Parameters
    ----------
    precision : (n, n) array
        Symmetric, positive semidefinite.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Theorem 9.2.

    Examples
    --------
    >>> W = Precision(np.diag([4.0, 0.0])).whitening(np.ones((2, 1)))
    >>> W.T @ W
    array([[4., 0.],
           [0., 0.]])
    """

    precision: Array

    def __post_init__(self) -> None:
        _check_square(self.precision, "precision")

    def whitening(self, X: Data) -> LinearMap:
        H = _of_sample(self.precision, X, "precision")
        values, vectors = np.linalg.eigh(H)
        floor = len(H) * np.finfo(float).eps * np.max(np.abs(values), initial=0.0)
        if np.any(values < -floor):
            raise ValueError("precision has a negative eigenvalue: an error would be rewarded.")
        # The symmetric root, so that the whitened error of a sample is mostly its own.
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def matrix(self, X: Data) -> Array:
        return np.linalg.pinv(_of_sample(self.precision, X, "precision"), hermitian=True)

    def cross(self, Z: Data, X: Data) -> Array:
        raise ValueError(
            "A matrix says nothing about the errors of new observations: give a kernel, Covariance."
        )


def _inverse_factor(C: Array) -> LinearOperator:
    """Return the inverse of the Cholesky factor of a covariance, as a map."""
    try:
        L = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the covariance of the errors is not positive definite; add a nugget, or remove "
            "observations at the same place."
        ) from None

    def forward(v: Array) -> Array:
        return np.asarray(solve_triangular(L, v, lower=True))

    def backward(v: Array) -> Array:
        return np.asarray(solve_triangular(L, v, lower=True, trans="T"))

    return _arma.operator(len(C), forward, backward)


def _check_square(matrix: PointsLike, name: str) -> None:
    shape, M = np.shape(matrix), np.asarray(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or not np.allclose(M, M.T):
        raise ValueError(f"{name} must be a symmetric matrix, one row a sample, got {shape}.")


def _of_sample(matrix: PointsLike, X: Data, name: str) -> Array:
    M = np.asarray(matrix, dtype=np.float64)
    if len(M) != count(X):
        raise ValueError(f"{name} has {len(M)} rows for {count(X)} samples.")
    return M


def _list(values: float | Sequence[float] | Array) -> Array:
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def _like(old: float | Sequence[float] | Array, new: Array) -> float | Array:
    """Return coefficients as a number if they were given as a number."""
    return new if np.ndim(old) else float(new[0])


def _bound(column: ColumnT, features: Sequence[str]) -> ColumnT | int:
    return named_positions([column], features)[0] if isinstance(column, str) else column


def _feature(X: Data, column: PointsLike) -> Array:
    """Return a feature of the points by its position."""
    if not is_integer(column):
        raise ValueError(
            f"The feature {column!r} is given by name: fit the machine on a data frame with this "
            "column, or give its position."
        )
    values = X[:, [int(column)]]
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)[:, 0]
