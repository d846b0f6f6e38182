r"""The best scaling of feature space: the factor-of-6 bound with its infimum in closed form.

The features :math:`\sqrt{\lambda_j}\psi_j(x)` lie in an ellipsoid with axes :math:`R_A a_j` for any
weights a, and the bound of Gordon, König and Schütt asks for the best of them. The answer is
reverse water-filling, known from rate-distortion theory: pour to the level :math:`\theta`, and

.. math:: \ln n = \tfrac12 \sum_j \ln^+ \frac{\lambda_j}{\theta}, \qquad
          \varepsilon_n \le 6 C \Bigl(\sum_j \min(\theta, \lambda_j)\Bigr)^{1/2}, \qquad
          a_j = \max(1, \lambda_j/\theta)^{1/2}

so that entropy numbers and covering numbers are two readings of one curve.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import SLACK, Covering
from mercer_research.covering.diagonal import FACTOR, head_cover, whole

__all__ = ["BestScaling", "MeasuredScaling", "Truncation"]

TIE = 1e-10
"""Logarithms of eigenvalues closer than this are one eigenvalue, rounded."""

BOUNDED = Assumption("eigenfunctions are bounded by the constant given, on all inputs", "given")


class Blocks:
    """A spectrum sorted into blocks of equal eigenvalues, with its sums before and after each.

    A head and a tail never split a block: sums of squared eigenfunctions are constant over blocks
    only (a sine with its cosine).
    """

    def __init__(
        self, log_eigenvalues: ArrayLike, multiplicity: ArrayLike | None, log_tail: float
    ) -> None:
        values = np.asarray(log_eigenvalues, dtype=np.float64).ravel()
        times = np.ones(len(values)) if multiplicity is None else np.asarray(multiplicity, float)
        if times.shape != values.shape or not np.all((times >= 0) & (times < np.inf)):
            raise ValueError("multiplicity must count every eigenvalue, with no negative numbers")
        if np.any(np.isnan(values)) or np.any(np.isposinf(values)):
            raise ValueError("logarithms of eigenvalues must be numbers below infinity")
        if not log_tail < np.inf:
            raise ValueError(f"log_tail must be a number below infinity, got {log_tail!r}")
        order = np.argsort(-values, kind="stable")
        order = order[np.isfinite(values[order]) & (times[order] > 0)]
        if not len(order):
            raise ValueError("give at least one eigenvalue above zero")
        values, times = values[order], times[order]
        ends = np.append(np.flatnonzero(-np.diff(values) > TIE), len(values) - 1)
        self.first = values[np.append(0, ends[:-1] + 1)]
        self.last = values[ends]
        self.count: Array = np.cumsum(times)[ends]
        sums = np.cumsum(times * values, dtype=np.longdouble)
        self.prefix: Array = sums[ends].astype(np.float64)
        terms = np.append(values + np.log(times), log_tail)
        after = np.logaddexp.accumulate(terms[::-1])[::-1]
        self.total = float(after[0])
        self.rest: Array = after[ends + 1]
        self.log_tail = log_tail


class BestScaling(Covering):
    r"""A ball of a kernel's space in the sup norm, from the spectrum and the factor of 6.

    .. math:: \varepsilon_n \le 6 \Lambda C_k \sqrt{j^* \theta + \sum_{i > j^*} \lambda_i}, \qquad
              \theta = (\lambda_1 \cdots \lambda_{j^*} / n^2)^{1/j^*}

    where :math:`j^*` is the first index with :math:`\lambda_{j^*+1} < \theta`. Does not depend on
    the number of points.

    Parameters
    ----------
    log_eigenvalues : (k,) array
        Logarithms of the eigenvalues of the integral operator, in any order.
    multiplicity : (k,) array, optional
        How often each occurs.
    log_tail : float, default=-inf
        Logarithm of the sum of all eigenvalues that are not listed, or of an upper bound.
    eigenfunction_bound : float, default=1
        The constant :math:`C_k`: least upper bound of all eigenfunctions, normalized in the mean
        square. For kernels of period v in d dimensions :math:`v^{-d/2}`.
    norm : float, default=1
        The bound :math:`\Lambda` on the norm; with ``power=2`` on the sum of absolute coefficients.
    power : {1, 2}, default=1
        How often the features' ellipsoid enters: 2 for convex combinations of kernel functions,
        whose weight vectors lie in it themselves.
    outputs : int, default=1
        Number D of functions that share the bound on the norm; every axis occurs D times.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.14) to (8.19), (9.27), (9.48),
    whose infimum is solved here; see Y. Guo, P. Bartlett, J. Shawe-Taylor and R. Williamson (2002),
    Covering numbers for support vector machines, IEEE Transactions on Information Theory 48.

    Examples
    --------
    >>> scaling = BestScaling(-2 * np.log(np.arange(1, 31)))
    >>> round(float(np.exp(scaling.log_scale(5.0))), 6), scaling.head(5.0)
    (0.497193, 6)
    """

    name = "best scaling"

    def __init__(
        self,
        log_eigenvalues: ArrayLike,
        *,
        multiplicity: ArrayLike | None = None,
        log_tail: float = -np.inf,
        eigenfunction_bound: float = 1.0,
        norm: float = 1.0,
        power: int = 1,
        outputs: int = 1,
    ) -> None:
        check_positive(eigenfunction_bound=eigenfunction_bound, norm=norm)
        _check_times(power, outputs)
        self.blocks = Blocks(log_eigenvalues, multiplicity, log_tail)
        self.log_bound, self.log_norm = np.log(eigenfunction_bound), np.log(norm)
        self.power, self.outputs = power, outputs
        self.assumptions = (BOUNDED,)
        b = self.blocks
        # Where the water has just reached the next block: how many nats, and how much water.
        self.reached = 0.5 * (b.prefix[:-1] - b.count[:-1] * b.first[1:])
        self.poured = np.logaddexp(np.log(b.count[:-1]) + b.first[1:], b.rest[:-1])

    @property
    def norm(self) -> float:
        return float(
            np.exp(self.log_norm + self.power * (self.log_bound + 0.5 * self.blocks.total))
        )

    def _block(self, nats: float) -> int:
        return int(np.searchsorted(self.reached, nats, side="right"))

    def head(self, log_n: float) -> int:
        r"""Return the number :math:`j^*` of eigenvalues above the level for this many balls."""
        return int(self.blocks.count[self._block(log_n / (self.power * self.outputs))])

    def log_scale(self, log_n: float) -> float:
        """Return the logarithm of the entropy number's bound without the factor of 6."""
        b, nats = self.blocks, log_n / (self.power * self.outputs)
        t = self._block(nats)
        level = (b.prefix[t] - 2 * nats) / b.count[t]
        water = np.logaddexp(np.log(b.count[t]) + level, b.rest[t])
        return float(self.log_norm + self.power * (self.log_bound + 0.5 * water))

    def log_entropy(self, log_n: float) -> float:
        return float(min(np.log(FACTOR) + self.log_scale(log_n), np.log(self.norm)))

    def _log_covering(self, radius: float) -> float:
        b = self.blocks
        water = 2 * ((np.log(radius / FACTOR) - self.log_norm) / self.power - self.log_bound)
        t = int(np.searchsorted(-self.poured, -water, side="right"))
        if water <= b.rest[t]:
            return np.inf  # more water than this is beyond the eigenvalues that are known
        level = water + np.log1p(-np.exp(b.rest[t] - water)) - np.log(b.count[t])
        nats = max(0.5 * (b.prefix[t] - b.count[t] * level), 0.0)
        return whole(float(self.power * self.outputs * nats))


def _check_times(power: int, outputs: int) -> None:
    """Raise ValueError for other exponents than 1 and 2, and for numbers of outputs below 1."""
    if power not in (1, 2):
        raise ValueError(f"power must be 1 or 2, got {power!r}.")
    check_integer("outputs", outputs, 1)


def _check_features(Z: ArrayLike, residual: ArrayLike) -> tuple[Array, Array]:
    """Return squares of features and what they leave, or raise ValueError for other numbers."""
    square, left = np.asarray(Z, dtype=np.float64) ** 2, np.asarray(residual, dtype=np.float64)
    if square.ndim != 2 or left.shape != square.shape[:1] or not np.isfinite(square).all():
        raise ValueError(
            "Z must hold finite features, a row for each point, and residual a number for each; "
            f"got shapes {square.shape} and {left.shape}"
        )
    if not np.all((left >= 0) & (left < np.inf)):
        raise ValueError("residual must be one number for every row of Z, none below zero")
    return square, left


def _sums_beyond(square: Array) -> Array:
    """Return sums of every row from column 0, 1, ... on: (m, k + 1), summed from the small end."""
    sums = np.zeros((len(square), square.shape[1] + 1))
    sums[:, :-1] = np.cumsum(square[:, ::-1], axis=1)[:, ::-1]
    return sums


class MeasuredScaling(Covering):
    r"""A ball of a kernel's space on given points, the scaled features measured on them.

    .. math:: \varepsilon_n \le 6\Lambda \max_s \Bigl(\sum_j Z_{sj}^2 \min(1, \theta/\lambda_j)
              + r_s\Bigr)^{1/2}, \qquad \ln n = \tfrac12 \sum_j \ln^+ (\lambda_j / \theta)

    with features Z of the points in any orthonormal frame and the squared length :math:`r_s` that
    the frame leaves of point s. No bound on eigenfunctions is needed.

    Parameters
    ----------
    Z : (m, k) array
        Features.
    residual : (m,) array
        What is left of the squared length of each.
    norm, power, outputs
        As in :class:`BestScaling`.

    Examples
    --------
    >>> ball = MeasuredScaling(np.diag([1.0, 0.5, 0.1]), np.zeros(3))
    >>> round(ball.log_covering(0.5), 3), ball.norm
    (4.466, 1.0)
    """

    name = "best scaling, measured"
    data_dependent = True

    def __init__(
        self,
        Z: Array,
        residual: Array,
        *,
        norm: float = 1.0,
        power: int = 1,
        outputs: int = 1,
    ) -> None:
        check_positive(norm=norm)
        _check_times(power, outputs)
        square, residual = _check_features(Z, residual)
        # Any weights are allowed; mean squares are the eigenvalues where the frame is principal.
        weight = np.mean(square, axis=0)
        order = np.argsort(-weight)
        order = order[weight[order] > np.finfo(float).eps ** 2 * max(np.max(weight), 1e-300)]
        weight = weight[order]
        self.log_norm, self.power, self.outputs = np.log(norm), power, outputs
        self.assumptions = (MEASURED,)
        self.prefix: Array = np.cumsum(np.log(weight))
        # Water at level theta: max_s (A_s + theta B_s), convex between two eigenvalues, so that the
        # chord is a bound. Knots from the top of the spectrum down to 0.
        ordered = square[:, order]
        below = _sums_beyond(ordered) + residual[:, None]
        above = np.cumsum(ordered / weight, axis=1)
        water = np.max(below[:, 1:] + np.append(weight[1:], 0.0) * above, axis=0)
        water = np.append(np.max(below[:, 0]), water)
        self.levels: Array = np.append(weight, 0.0)
        # Poured to the top there is all of it, and never less below than above.
        self.water: Array = np.maximum.accumulate(water[::-1])[::-1]

    @property
    def norm(self) -> float:
        return float(np.exp(self.log_norm) * self.water[0] ** (0.5 * self.power))

    def _nats(self, t: int, level: float) -> float:
        return float(0.5 * (self.prefix[t] - (t + 1) * np.log(level)))

    def _log_covering(self, radius: float) -> float:
        water = np.exp(2 * (np.log(radius / FACTOR) - self.log_norm) / self.power)
        if water <= self.water[-1]:
            return np.inf
        # The segment [levels[t + 1], levels[t]] that holds the level.
        t = min(int(np.searchsorted(-self.water, -water, side="right")) - 1, len(self.levels) - 2)
        high, low = self.water[t], self.water[t + 1]
        share = (water - low) / (high - low) if high > low else 1.0
        level = self.levels[t + 1] + min(share, 1.0) * (self.levels[t] - self.levels[t + 1])
        return whole(self.power * self.outputs * max(self._nats(t, level), 0.0))


MEASURED = Assumption("the class is considered on these points only", "given")


class Truncation(Covering):
    r"""A ball of a kernel's space: long axes by a packing, the rest by its largest value.

    .. math:: \ln N(\varepsilon) \le \min_k \sum_{i \le k} \ln\sigma_i
              + k \ln\Bigl(\frac2{r_k} + \frac1{\sigma_k}\Bigr), \qquad
              r_k = (\varepsilon - \tau_k) / \rho_k > 0

    for functions whose first k coefficients lie in an ellipsoid with axes :math:`\sigma_i`, a unit
    of coefficients being a function of at most :math:`\rho_k`, and the rest at most :math:`\tau_k`.
    Make it :meth:`from_spectrum` or :meth:`from_factor`.

    Parameters
    ----------
    sizes : (q,) array
        Numbers k of axes that may be tried.
    log_products : (q,) array
        Logarithms of the products of the first k axes.
    log_last : (q,) array
        Logarithms of the k-th axes.
    log_spreads : (q,) array
        Logarithms of :math:`\rho_k`.
    tails : (q,) array
        The numbers :math:`\tau_k`.
    largest : float
        Largest value of any function of the class.
    outputs : int, default=1
        Number D of functions that share the bound on the norm: D times the logarithm.

    Examples
    --------
    >>> ball = Truncation.from_spectrum(-(np.arange(12.0) ** 2), eigenfunction_bound=1.0)
    >>> round(ball.log_covering(0.1), 3), ball.head(0.1)
    (9.009, 3)
    """

    name = "truncation"

    def __init__(
        self,
        sizes: ArrayLike,
        log_products: ArrayLike,
        log_last: ArrayLike,
        log_spreads: ArrayLike,
        tails: ArrayLike,
        *,
        largest: float,
        outputs: int = 1,
        assumptions: tuple[Assumption, ...] = (),
        data_dependent: bool = False,
    ) -> None:
        check_integer("outputs", outputs, 1)
        check_nonnegative(largest=largest)
        self.sizes = np.asarray(sizes, dtype=np.float64)
        self.log_products = np.asarray(log_products, dtype=np.float64)
        self.log_last = np.asarray(log_last, dtype=np.float64)
        self.log_spreads = np.asarray(log_spreads, dtype=np.float64)
        self.tails = np.asarray(tails, dtype=np.float64)
        self.largest, self.outputs = largest, outputs
        self.assumptions, self.data_dependent = assumptions, data_dependent

    @classmethod
    def from_spectrum(
        cls,
        log_eigenvalues: ArrayLike,
        *,
        multiplicity: ArrayLike | None = None,
        log_tail: float = -np.inf,
        eigenfunction_bound: float = 1.0,
        norm: float = 1.0,
        outputs: int = 1,
    ) -> Truncation:
        """Return the bound on a whole domain; parameters as in :class:`BestScaling`."""
        check_positive(eigenfunction_bound=eigenfunction_bound, norm=norm)
        b = Blocks(log_eigenvalues, multiplicity, log_tail)
        log_bound, log_norm = np.log(eigenfunction_bound), np.log(norm)
        return cls(
            b.count,
            b.count * log_norm + 0.5 * b.prefix,
            log_norm + 0.5 * b.last,
            log_bound + 0.5 * np.log(b.count),
            np.exp(log_norm + log_bound + 0.5 * b.rest),
            largest=float(np.exp(log_norm + log_bound + 0.5 * b.total)),
            outputs=outputs,
            assumptions=(BOUNDED,),
        )

    @classmethod
    def from_factor(
        cls, Z: Array, residual: Array, *, norm: float = 1.0, outputs: int = 1
    ) -> Truncation:
        r"""Return the bound on given points from their features in a principal frame.

        Values of the head are :math:`\sum_j u_{sj} v_j` with :math:`u_j` the normalized columns of
        Z, and v in an ellipsoid whose axes are the columns' lengths.
        """
        check_positive(norm=norm)
        square, residual = _check_features(Z, residual)
        length = np.sum(square, axis=0)
        order = np.argsort(-length)
        order = order[length[order] > 0]
        axes = np.log(norm) + 0.5 * np.log(length[order])
        square, length = square[:, order], length[order]
        left = np.sqrt(np.max(_sums_beyond(square) + residual[:, None], axis=0))
        spreads = 0.5 * np.log(np.max(np.cumsum(square / length, axis=1), axis=0))
        k = np.arange(1, len(order) + 1)
        bound = cls(
            k,
            np.cumsum(axes),
            axes,
            spreads,
            norm * left[1:],
            largest=norm * float(left[0]),
            outputs=outputs,
            assumptions=(MEASURED,),
            data_dependent=True,
        )
        bound.name = "truncation, measured"
        return bound

    @property
    def norm(self) -> float:
        return self.largest

    def _candidates(self, radius: float) -> tuple[NDArray[np.intp], Array]:
        k = np.flatnonzero(self.tails < radius)
        log_r = np.log(radius - self.tails[k]) - self.log_spreads[k]
        counts = head_cover(self.log_products[k], self.sizes[k], self.log_last[k], log_r)
        return k, counts

    def _log_covering(self, radius: float) -> float:
        return float(self.outputs * np.min(self._candidates(radius)[1], initial=np.inf))

    def head(self, radius: float) -> int:
        """Return the number of axes that matter at this radius; 0 where one ball suffices."""
        k, counts = self._candidates(radius)
        if radius >= self.norm * (1 - SLACK) or not len(k):
            return 0
        return int(self.sizes[k[np.argmin(counts)]])
