r"""Series that switch between laws: machines that compete for stretches of it.

Every machine learns the samples it predicts best, and every stretch of time belongs to the machine
with the smallest error over it. Errors are averaged over a window that shrinks while competition
hardens, so that machines divide the series by regimes before they divide it by chance:

.. math::

    p_k(t) \propto \exp\Bigl(-\beta \sum_{|s - t| \le \Delta} (y_s - f_k(x_s))^2\Bigr)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing, say
from mercer._settings import KW_ONLY, settings
from mercer._typing import Array, PointsLike, Seed, TargetsLike
from mercer.estimators.ls_svm import LSSVR
from mercer.io.registry import refuse, register

__all__ = ["RegimeSwitchingRegressor"]


# A share below which a sample is not learned: it would only spoil the condition of a system.
MIN_SHARE = 1e-6


@settings
class RegimeSwitchingRegressor(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """Regime switching: machines that divide the samples of a series among themselves.

    Parameters
    ----------
    estimator : regressor, optional
        The machine, with ``sample_weight`` in its ``fit``; :class:`LSSVR` by default.
    n_regimes : int, default=2
        How many machines compete.
    window : int, default=10
        Half the number of samples over which an error is averaged: how long a regime lasts at
        least.
    n_rounds : int, default=10
        Rounds of fits, in which competition hardens from equal shares to all or nothing.
    random_state : int, default=0
        Draws the shares that the machines begin with.
    verbose : bool or int, default=False
        Write a line for every round, and how the fit ended, to the standard error.

    Attributes
    ----------
    estimators_ : list
        The machine of each regime.
    shares_ : ndarray of shape (n, n_regimes)
        To which machine each sample belongs; rows add up to one.
    labels_ : ndarray of shape (n,)
        The machine with the largest share.
    errors_ : ndarray of shape (n_rounds,)
        Mean squared error of the machine in charge, round by round.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 6.2.3, where segments found by
    competing predictors are what machines are trained on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer_research.estimators import RegimeSwitchingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> y = np.where(np.arange(200) < 100, X[:, 0], -X[:, 0])
    >>> labels = RegimeSwitchingRegressor(LSSVR(kernel="linear")).fit(X, y).labels_
    >>> len(set(labels[:95])), len(set(labels[105:])), bool(labels[0] != labels[-1])
    (1, 1, True)
    """

    estimator: Any = None
    _: KW_ONLY
    n_regimes: int = 2
    window: int = 10
    n_rounds: int = 10
    random_state: Seed = 0

    def fit(self, X: PointsLike, y: TargetsLike) -> Self:
        """Divide samples in the order of time among the machines.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Delays of the series, say, oldest sample first.
        y : array-like of shape (n,)
            What followed.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64)
        if self.n_regimes < 1 or self.window < 0 or self.n_rounds < 1:
            raise ValueError("n_regimes and n_rounds must be at least 1, window not negative")
        rng = check_random_state(self.random_state)
        base = LSSVR() if self.estimator is None else self.estimator
        # Shares begin as smooth noise: stretches, not single samples, tell regimes apart.
        noise = _averaged(rng.normal(size=(len(y), self.n_regimes)), self.window)
        shares = _softmax(noise / np.std(noise) if self.n_regimes > 1 else noise)
        self.errors_ = np.empty(self.n_rounds)
        machines: list[Any] = [None] * self.n_regimes
        for k in range(self.n_rounds):
            machines = [_won(base, X, y, *pair) for pair in zip(shares.T, machines, strict=True)]
            squares = np.column_stack([(y - machine.predict(X)) ** 2 for machine in machines])
            window = round(self.window * (2.0 - k / self.n_rounds))
            local = _averaged(squares, window)
            best = np.min(local, axis=1)
            self.errors_[k] = float(np.mean(squares[np.arange(len(y)), np.argmin(local, axis=1)]))
            say(self, f"round {k + 1} of {self.n_rounds}: mean squared error {self.errors_[k]:.6g}")
            # From shares that hardly differ to all or nothing, in units of the error left.
            hardness = 0.5 * (2 * window + 1) * 10.0 ** (2.0 * k / self.n_rounds - 1.0)
            scale = max(float(np.mean(best)), 1e-300)
            shares = _softmax(-hardness * local / scale)
        self.shares_ = shares
        self.labels_ = np.argmax(shares, axis=1)
        hard = np.eye(self.n_regimes)[self.labels_]
        self.estimators_ = [_won(base, X, y, *pair) for pair in zip(hard.T, machines, strict=True)]
        return self

    def _ending(self) -> str:
        sizes = np.bincount(self.labels_, minlength=self.n_regimes).tolist()
        return (
            f"{self.n_rounds} rounds, regimes of {sizes} samples, "
            f"mean squared error {self.errors_[-1]:.6g}"
        )

    def predict(self, X: PointsLike) -> Array:
        """Predict by the machine of the regime that the series ended in."""
        check_is_fitted(self, "estimators_")
        return np.asarray(self.estimators_[self.labels_[-1]].predict(X))

    def last_segment(self) -> NDArray[np.intp]:
        """Return the samples of the regime that the series ended in, wherever they are."""
        check_is_fitted(self, "labels_")
        return np.flatnonzero(self.labels_ == self.labels_[-1])


def _won(base: Any, X: Array, y: Array, share: Array, before: Any) -> Any:
    """Return the machine of a share of the samples; who wins nothing stays what it was."""
    share = np.where(share > MIN_SHARE, share, 0.0)
    return clone(base).fit(X, y, sample_weight=share) if np.any(share) else before


def _averaged(values: Array, window: int) -> Array:
    """Return means over neighbours in time."""
    return np.asarray(uniform_filter1d(values, 2 * window + 1, axis=0, mode="nearest"))


def _softmax(values: Array) -> Array:
    e = np.exp(values - np.max(values, axis=1, keepdims=True))
    return np.asarray(e / np.sum(e, axis=1, keepdims=True))


register({RegimeSwitchingRegressor: refuse("predicts a row from those before it, in their order")})
