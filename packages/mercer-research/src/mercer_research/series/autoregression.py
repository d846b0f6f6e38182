"""Series explained by their own neighbours: delays, autoregressions, exponential memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import PointsLike, TargetsLike
from mercer.kernels.points import Array
from mercer_research.series.power_spectrum import as_series


class LagTable(NamedTuple):
    """LagTable values of a series and the values that they predict."""

    X: Array
    """``(n, q)``: the values at each delay, in the order of the delays."""

    y: Array
    """``(n,)``"""

    positions: Array
    """``(n,)``: where y is in the series."""


def lag_matrix(
    y: ArrayLike,
    lags: int | Sequence[int],
    *,
    horizon: int = 1,
    exogenous: ArrayLike | None = None,
) -> LagTable:
    r"""Return delayed values of a series as features, for any machine of the library.

    The target :math:`y_{t+h}` has the features :math:`y_t, y_{t-1}, \dots, y_{t-q+1}`, and those
    of an exogenous series at the same delays after them.

    Parameters
    ----------
    y : (n,) array
    lags : int or sequence of int
        The number q of delays, or the delays themselves, counted from the last value known, 0.
    horizon : int, default=1
        How far ahead the target lies.
    exogenous : (n,) or (n, e) array, optional
        Known over the same times.

    Returns
    -------
    LagTable
        With fields ``X``, ``y`` and ``positions``.

    Examples
    --------
    >>> X, y, positions = lag_matrix([1.0, 2.0, 3.0, 4.0], 2)
    >>> X
    array([[2., 1.],
           [3., 2.]])
    >>> y
    array([3., 4.])
    """
    y = as_series(y)
    delays = np.asarray(lags, dtype=int)
    delays = np.arange(int(delays)) if delays.ndim == 0 else delays
    if not delays.size or delays.min() < 0 or horizon < 1:
        raise ValueError("lags must be positive numbers of delays from 0 on, horizon at least 1.")
    columns = [y]
    if exogenous is not None:
        outside = np.asarray(exogenous, dtype=float)
        outside = outside[:, None] if outside.ndim == 1 else outside
        if len(outside) != len(y):
            raise ValueError(f"exogenous must have {len(y)} rows, got {len(outside)}.")
        columns += list(outside.T)
    index = np.arange(int(delays.max()) + horizon, len(y))
    if not len(index):
        raise ValueError(f"A series of {len(y)} values is too short for these lags and horizon.")
    now = index - horizon
    return LagTable(np.column_stack([c[now - d] for c in columns for d in delays]), y[index], index)


@dataclass(frozen=True, eq=False)
class AutoRegression:
    r"""The autoregression :math:`\hat y_{t+1} = c + \sum_{k=0}^{q-1} a_k y_{t-k}`.

    Parameters
    ----------
    coef : (q,) array
        From the last value backwards.
    intercept : float
    noise_variance : float
        Mean squared error of one step, over the degrees of freedom.

    Examples
    --------
    >>> y = 0.5 ** np.arange(10)
    >>> AutoRegression.fit(y, 1).coef
    array([0.5])
    """

    coef: Array
    intercept: float
    noise_variance: float

    one_sided: ClassVar[bool] = True

    @classmethod
    def fit(cls, y: ArrayLike, order: int, *, intercept: bool = False) -> AutoRegression:
        """Fit the coefficients to a series.

        Parameters
        ----------
        y : (n,) array
        order : int
            The number q of past values.
        intercept : bool, default=False
        """
        X, target, _ = lag_matrix(y, order)
        return cls(*_least_squares(X, target, intercept))

    def predict(self, y: ArrayLike, steps: int = 1) -> Array:
        """Continue a series, each step from the values before it and its own predictions.

        Parameters
        ----------
        y : (n,) array
            As long as there are coefficients, or longer.
        steps : int, default=1

        Returns
        -------
        (steps,) array
        """
        q = len(self.coef)
        past = list(as_series(np.append(y, 0.0))[:-1])
        if len(past) < q:
            raise ValueError(f"The last {q} values are needed, got {len(past)}.")
        for _ in range(steps):
            past.append(self.intercept + float(self.coef @ past[: -q - 1 : -1]))
        return np.array(past[len(past) - steps :])

    @property
    def stable(self) -> bool:
        """Whether predictions tend to a constant: all roots lie inside the unit circle."""
        return bool((np.abs(np.roots(np.append(1.0, -self.coef))) < 1.0).all())


@dataclass(frozen=True, eq=False)
class SpatialAutoRegression:
    r"""The conditional expectation :math:`E[z_i | \text{rest}] = \sum_k a_k (z_{i-k} + z_{i+k})`.

    Neighbours on both sides: for values along a line that is not time.

    Parameters
    ----------
    coef : (q,) array
        From the nearest neighbours outwards.
    intercept : float
    noise_variance : float
        Mean squared error, over the degrees of freedom.

    Examples
    --------
    >>> SpatialAutoRegression.fit(np.arange(9.0), 1).coef
    array([0.5])
    """

    coef: Array
    intercept: float
    noise_variance: float

    one_sided: ClassVar[bool] = False

    @classmethod
    def fit(cls, z: ArrayLike, order: int, *, intercept: bool = False) -> SpatialAutoRegression:
        """Fit the coefficients to values along a line.

        Parameters
        ----------
        z : (n,) array
        order : int
            The number q of neighbours on each side.
        intercept : bool, default=False
        """
        z = as_series(z)
        return cls(*_least_squares(_sums(z, order), z[order : len(z) - order], intercept))

    def predict(self, z: ArrayLike) -> Array:
        """Predict values from their neighbours, where there are enough neighbours, ``(n - 2q,)``.

        Parameters
        ----------
        z : (n,) array
        """
        return np.asarray(self.intercept + _sums(as_series(z), len(self.coef)) @ self.coef)


def _sums(z: Array, order: int) -> Array:
    """Return sums over both neighbours at each distance."""
    n = len(z)
    if n <= 2 * order:
        raise ValueError(f"{n} values are too few for {order} neighbours on each side.")
    inner = np.arange(order, n - order)
    return np.column_stack([z[inner - k] + z[inner + k] for k in range(1, order + 1)])


def _least_squares(X: Array, y: Array, intercept: bool) -> tuple[Array, float, float]:
    design = np.column_stack([X, np.ones(len(X))]) if intercept else X
    if len(y) < design.shape[1]:
        raise ValueError(f"{len(y)} equations are too few for {design.shape[1]} coefficients.")
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    residual = y - design @ solution
    freedom = max(1, len(y) - design.shape[1])
    q = X.shape[1]
    return (
        solution[:q],
        float(solution[q]) if intercept else 0.0,
        float(residual @ residual) / freedom,
    )


class Memory(NamedTuple):
    r"""An exponential memory :math:`y_t = \sum_\tau e^{-\tau/\sigma} e_{t-\tau}`."""

    decay: float
    r"""The factor :math:`a = e^{-1/\sigma}` of one step, :math:`y_t = a y_{t-1} + e_t`."""

    time: float
    r"""The time :math:`\sigma` in steps; 0 without memory, infinite without decay."""

    coef: Array
    """Coefficients of exogenous terms."""


def exponential_memory(y: ArrayLike, exogenous: ArrayLike | None = None) -> Memory:
    r"""Fit an exponential memory to a series.

    .. math:: y_t = a y_{t-1} + x_t'b + e_t, \qquad a = e^{-1/\sigma}

    is linear in a and b, where the memory time itself would make it a problem with many optima;
    a is kept between -1 and 1.

    Parameters
    ----------
    y : (n,) array
    exogenous : (n, e) array, optional
        Terms known at the same times; values of a kernel mean are such.

    Returns
    -------
    Memory
        With fields ``decay``, ``time`` and ``coef``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.4.

    Examples
    --------
    >>> exponential_memory(np.exp(-np.arange(8) / 3.0)).time
    3.0...
    """
    y = as_series(y)
    past, now = y[:-1], y[1:]
    Z = np.empty((len(now), 0))
    if exogenous is not None:
        Z = np.asarray(exogenous, dtype=float)
        Z = (Z[:, None] if Z.ndim == 1 else Z)[1:]
        if len(Z) != len(now):
            raise ValueError(f"exogenous must have {len(y)} rows, got {len(Z) + 1}.")
    solution = np.linalg.lstsq(np.column_stack([past, Z]), now, rcond=None)[0]
    a = float(np.clip(solution[0], -1.0, 1.0))
    # Convex in one variable and the rest: at a bound the others follow from what is left.
    coef = np.linalg.lstsq(Z, now - a * past, rcond=None)[0] if Z.size else solution[1:]
    time = 0.0 if a <= 0.0 else np.inf if a >= 1.0 else float(-1.0 / np.log(a))
    return Memory(a, time, coef)


@dataclass(frozen=True)
class BlockedSplit:
    """Splits of a series into adjacent blocks for cross-validation.

    Parameters
    ----------
    n_splits : int, default=5
        Number of blocks that are left out in turn.
    gap : int, default=0
        Samples on each side of a block that are left out of training, because delays reach there.
    one_sided : bool, default=True
        Train on what comes before a block only, as a model of the future must; models of both
        sides may use what comes after it.

    Examples
    --------
    >>> for train, test in BlockedSplit(2, gap=1).split(np.zeros(9)):
    ...     print(train, test)
    [0 1] [3 4 5]
    [0 1 2 3 4] [6 7 8]
    """

    n_splits: int = 5
    gap: int = 0
    one_sided: bool = True

    def get_n_splits(
        self, X: PointsLike = None, y: TargetsLike = None, groups: object = None
    ) -> int:
        """Return the number of splits."""
        return self.n_splits

    def split(
        self, X: PointsLike, y: TargetsLike = None, groups: object = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of training and test samples.

        Parameters
        ----------
        X : sequence of n samples
        y, groups : ignored
        """
        n = len(X)
        # The first block of a one-sided split has nothing before it and only serves training.
        blocks = np.array_split(np.arange(n), self.n_splits + self.one_sided)[self.one_sided :]
        for test in blocks:
            train = np.arange(n) < test[0] - self.gap
            if not self.one_sided:
                train |= np.arange(n) > test[-1] + self.gap
            if not train.any():
                raise ValueError(f"{n} samples are too few for {self.n_splits} blocks and the gap.")
            yield np.flatnonzero(train), test
