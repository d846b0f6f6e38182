"""A smooth distribution function that is one: monotone, from zero to one, and its density."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.losses.base import Loss
from mercer.losses.regression import EpsilonInsensitive, Squared
from mercer.machines.evaluating import expand
from mercer.machines.expansion import store
from mercer.machines.shaping import ShapedMachine
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem
from mercer.problems.constrained import SampleLosses, chebychev
from mercer.problems.proof import Curve
from mercer.regularizers.constraints import Constraint
from mercer.regularizers.knowledge import At, AtLeast, AtMost, Order
from mercer.regularizers.shape import Bounded, Increasing

__all__ = ["KernelCDF"]

# Rows that can be counted in double precision.
MAX_COUNTED_ROWS = 2.0**53


class Steps(NamedTuple):
    """The steps of an empirical distribution function at its points."""

    lower: Array
    upper: Array
    total: float
    """The sum of the weights."""
    spread: Array
    """Standard deviations of the features, one where they are constant."""


@settings
class KernelCDF(DensityMixin, ShapedMachine):  # type: ignore[misc]
    r"""A smooth distribution function: a monotone kernel machine of the empirical one.

    .. math::

        \min_{f} \tfrac12 \|f\|^2 + C\, \mathcal{L}(f; \hat F) \quad \text{subject to} \quad
        f' \ge 0, \quad f(\text{lower}) = 0, \quad f(\text{upper}) = 1

    The empirical distribution function jumps at the points of a sample, from its limit from the
    left :math:`Y^2_i` to its value :math:`Y^1_i`; equal points are one point with their jump. The
    loss is half the squared distance to the middle of the jump, the distance to the jump, or the
    largest distance to a jump: then :math:`t` in :math:`Y^2_i - t \le f(x_i) \le Y^1_i + t` is a
    Kolmogorov-Smirnov discrepancy. The density is the derivative of the expansion; nothing says
    that it is best in any sense.

    Of two features the function rises along each of them, of more at pairs of the sample that are
    ordered in all of them; it is fitted to the middle of the joint empirical function. Densities
    are mixed derivatives, for Gaussian kernels, and are set to zero where they are negative, which
    slopes along single features do not exclude.

    Parameters
    ----------
    loss : {"squared", "absolute", "largest"}, default="squared"
        What is to be small.
    kernel : Kernel or str, default="rbf"
        Reproducing kernel of the penalty.
    gamma : float or "auto", default="auto"
        Parameter of a kernel given by name; "auto" takes a Gaussian of one standard deviation times
        :math:`2.5\, n^{-1/5}`.
    C : float, default=1000.0
        Weight of the loss.
    support : tuple of float or None, default=(None, None)
        Where the distribution is known to begin and to end; one standard deviation beyond the
        sample where it is not.
    grid : int, optional
        Steps at which the function is asked to rise.
    prove : bool, default=False
        Move walls until the density is proved not to be negative anywhere.
    lines, tol, null_space, max_iter, max_time, solver, random_state :
        As in :class:`~mercer.ShapeConstrainedRegressor`.
    verbose : bool or int, default=False
        Write a line for every round of constraints, and how the fit ended, to the standard error.

    Attributes
    ----------
    support_interval_ : tuple of float
        Where the distribution begins and ends.
    discrepancy_ : float
        Largest distance to a jump of the empirical distribution function.
    shape_certificate_, solution_, dual_coef_, support_vectors_ :
        As in :class:`~mercer.ShapeConstrainedRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 4.1, (4.26)-(4.27), with
    "at most" in the empirical function.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> model = KernelCDF(support=(0.0, None)).fit(rng.exponential(size=(60, 1)))
    >>> model.cdf([[0.0], [1.0], [50.0]]).round(2)
    array([0.  , 0.61, 1.  ])
    >>> bool(np.all(model.pdf(np.linspace(0, 5, 50)[:, None]) >= 0))
    True
    """

    loss: str = "squared"
    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    gamma: float | str = "auto"
    C: float = 1000.0
    support: tuple[float | None, float | None] | None = (None, None)
    tol: float = 1e-4

    # What a machine of this family has, and a distribution needs no choice of.
    approximation: None = fixed(None)
    degree: int = fixed(3)
    coef0: float = fixed(0.0)
    cache_size: float = fixed(200)
    gram: str = fixed("auto")
    standardize: bool = fixed(False)
    constraints = None

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [StrOptions({"squared", "absolute", "largest"})],
        "gamma": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "support": [tuple, list, None],
    }

    # From a sample to a machine ------------------------------------------------------------

    def _encode(self, y: TargetsLike) -> tuple[Array, float]:
        return np.asarray(y), 1.0

    def _loss(self, rows: Rows | None = None) -> Loss:
        if self.loss == "squared":
            return Squared()
        if rows is None:
            raise ValueError("the steps of an empirical distribution are part of the loss.")
        steps: Steps = rows.known
        return EpsilonInsensitive(0.5 * (steps.upper - steps.lower))

    def _validate(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Rows:
        X = self._check_X(X)
        w = check_sample_weight(sample_weight, len(X))
        live = w > 0
        points, back = np.unique(X[live], axis=0, return_inverse=True)
        jumps = np.bincount(back.ravel(), w[live])
        total = float(jumps.sum())
        if not np.isfinite(total):
            raise ValueError("the sum of sample_weight overflows; divide it by its largest value.")
        below = np.all(points[:, None, :] <= points[None, :, :], axis=2)
        upper = np.minimum(jumps @ below / total, 1.0)
        if X.shape[1] == 1:
            lower = upper - jumps / total
        else:
            strictly = np.all(points[:, None, :] < points[None, :, :], axis=2)
            lower = jumps @ strictly / total
        centre = np.average(X[live], axis=0, weights=w[live])
        spread = np.sqrt(np.average((X[live] - centre) ** 2, axis=0, weights=w[live]))
        steps = Steps(lower, upper, total, np.where(spread > 0, spread, 1.0))
        weights = jumps * len(points) / total
        return Rows(points, 0.5 * (lower + upper), weights, known=steps)

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel:
        steps: Steps = rows.known
        if isinstance(self.kernel, str) and self.gamma == "auto":
            if self.kernel != "rbf":
                raise ValueError('gamma="auto" is for kernel="rbf"; give a number, or a Kernel.')
            if steps.total > MAX_COUNTED_ROWS:
                raise ValueError(
                    f"sample_weight sums to {steps.total:.1e}: a weight says how often a row was "
                    'seen, and gamma="auto" takes the width from how many rows there were. Divide '
                    "the weights so that their sum is that number, or give gamma."
                )
            width = 2.5 * steps.spread * max(steps.total, 2.0) ** -0.2
            return Gaussian(float(width[0]) if len(width) == 1 else width)
        return super()._resolved(rows, gamma)

    def _interval(self, X: Array, spread: float) -> tuple[float, float]:
        low, high = (None, None) if self.support is None else self.support
        ends = float(X.min()), float(X.max())
        if (low is not None and low > ends[0]) or (high is not None and high < ends[1]):
            raise ValueError(
                f"The sample goes from {ends[0]:.6g} to {ends[1]:.6g}, beyond the support "
                f"{self.support}."
            )
        return (
            ends[0] - spread if low is None else float(low),
            ends[1] + spread if high is None else float(high),
        )

    def _knowledge(self, rows: Rows) -> list[Constraint]:
        X, steps = rows.X, rows.known
        if X.shape[1] > 1:
            self.support_interval_ = (-np.inf, np.inf)
            if X.shape[1] == 2:
                return [Increasing(0), Increasing(1), Bounded(0.0, 1.0)]
            pairs = coordinate_order(X)
            ends: list[Constraint] = [AtLeast(X, 0.0), AtMost(X, 1.0)]
            return [Order(X, pairs), *ends] if len(pairs) else ends
        low, high = self.support_interval_ = self._interval(X, float(steps.spread[0]))
        ends = [At([low, high], [0.0, 1.0])]
        if steps.lower[0] < 0.0 or low == X.min():
            # An atom at the end of the support: the function cannot be zero there.
            ends = [AtLeast(low, 0.0), AtMost(low, steps.upper[0]), At(high, 1.0)]
        return [Increasing(0, over={0: (low, high)}), *ends]

    def _data_term(self, sample: Sample) -> SampleLosses:
        steps: Steps = sample.known
        if self.loss == "largest":
            return chebychev(steps.lower, steps.upper, self._weight(), sample.B)
        c, d = self._weight() * sample.weights, np.zeros(sample.B.shape[1])
        return SampleLosses(self._loss(sample), sample.y, c, sample.B, d)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        steps, f = sample.known, self._values(sample.X)
        gaps = np.maximum(np.maximum(steps.lower - f, f - steps.upper), 0.0)
        self.discrepancy_ = float(gaps.max())

    def _keep(self, X: Array, index: NDArray[np.intp], coef: Array, b: Array) -> None:
        store(self, X, index, coef[:, None])
        self.null_space_coef_ = b[:-1] if self.loss == "largest" else b

    # The distribution ------------------------------------------------------------

    def _values(self, Z: Array) -> Array:
        f = expand(self, Z, self._dual_coef_.T)[:, 0]
        return np.asarray(f + self.null_space_(Z) @ self.null_space_coef_)

    @property
    def _curve(self) -> Curve:
        return Curve(
            self.kernel_,
            np.asarray(self.support_vectors_),
            np.asarray(self.dual_coef_)[0],
            np.nan,
            self.null_space_,
            self.null_space_coef_,
        )

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Between 0 and 1; exactly these beyond the ends of the support.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        F = np.clip(self._values(X), 0.0, 1.0)
        if X.shape[1] > 1:
            return F
        low, high = self.support_interval_
        return np.where(X[:, 0] < low, 0.0, np.where(X[:, 0] >= high, 1.0, F))

    def pdf(self, X: PointsLike) -> Array:
        """Evaluate the density, the derivative of the distribution function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Not negative: what is left of rounding and of walls between steps is cut off.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        if X.shape[1] > 1:
            return np.maximum(self._mixed(X), 0.0)
        low, high = self.support_interval_
        inside = (X[:, 0] >= low) & (X[:, 0] <= high)
        curve = self._curve
        if curve.obstacle(1):
            h = 1e-5 * (high - low)
            slope = (self._values(X + h) - self._values(X - h)) / (2.0 * h)
        else:
            slope = curve.derivative(X, 0, 1)[1]
        return np.where(inside, np.maximum(slope, 0.0), 0.0)

    def _mixed(self, X: Array) -> Array:
        """Return the derivative by all features at once."""
        kernel = self.kernel_
        if not isinstance(kernel, Gaussian):
            raise ValueError("Densities of several features need a Gaussian kernel.")
        Z, scale = np.asarray(self.support_vectors_), np.asarray(kernel.length_scale, float)
        values = np.asarray(kernel(X, Z))
        # Far from a point the Gaussian is zero before the product of distances overflows.
        near = (values > 0)[:, :, None]
        gaps = np.where(near, (X[:, None, :] - Z[None, :, :]) / scale**2, 0.0)
        return np.asarray((np.prod(-gaps, axis=2) * values) @ np.asarray(self.dual_coef_)[0])

    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n_samples,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(X))

    def score(self, X: PointsLike, y: TargetsLike = None) -> float:
        """Return the mean logarithm of the density at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        return float(np.mean(self.score_samples(X)))

    def quantile(self, q: Any) -> Array:
        """Return where the distribution function reaches levels.

        Parameters
        ----------
        q : array-like
            Levels between 0 and 1.

        Returns
        -------
        ndarray of the shape of q
            By halving the support to the last digits.
        """
        check_is_fitted(self)
        q = np.asarray(q, dtype=float)
        if self.n_features_in_ > 1:
            raise ValueError("Quantiles are defined for the distribution of a single feature.")
        if not np.all((q >= 0) & (q <= 1)):
            raise ValueError("levels must lie between 0 and 1.")
        level = q.ravel()
        low = np.full(level.shape, self.support_interval_[0])
        high = np.full(level.shape, self.support_interval_[1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            reached = self.cdf(middle[:, None]) >= level
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high.reshape(q.shape)

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw new points, (n_samples, 1), by inverting the distribution function."""
        rng = check_random_state(random_state)
        return self.quantile(rng.uniform(size=n_samples))[:, None]


def coordinate_order(X: PointsLike) -> NDArray[np.intp]:
    r"""Return the pairs of points ordered in every coordinate, without implied pairs.

    Of :math:`x_i \le x_j \le x_k` only the neighbours are kept, since the third follows.

    Parameters
    ----------
    X : (n, p) array
        Points; of equal ones only the first counts.

    Returns
    -------
    (k, 2) array of int
        Positions (i, j) with :math:`x_i \le x_j`.

    Examples
    --------
    >>> coordinate_order([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]]).tolist()
    [[0, 1], [1, 2]]
    """
    Z = np.asarray(X, dtype=np.float64)
    unique, first = np.unique(Z, axis=0, return_index=True)
    below = np.all(unique[:, None, :] <= unique[None, :, :], axis=2)
    np.fill_diagonal(below, False)
    # i < j is implied if some k lies between them: a path of two steps.
    step = below.astype(np.float32)
    i, j = np.nonzero(below & ~(step @ step > 0))
    pairs = np.column_stack([first[i], first[j]])
    return pairs[np.lexsort(pairs.T[::-1])]
