"""Tubes that hold the sample, all of it or all but a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import AnyArray, Array, Constraints, Function, PointsLike, TargetsLike
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Pinball
from mercer.machines.base import HARD
from mercer.machines.framing import framed, set_output
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.regression import Regression
from mercer.machines.subproblems import Coefficients, Rows, Sample, Subproblem, prepare
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import from_sides
from mercer.problems.support_vector_tube import tube, tube_back
from mercer.reduced.problem import VariableTube
from mercer.smoothing.intervals import order_statistics
from mercer.smoothing.widths import Guess
from mercer.solvers import Auto, Solution, Solver
from mercer.solvers.tube_path import TubePath, tube_path

__all__ = ["SupportVectorTube"]

# Rounding of a prediction, relative to the targets.
ROUNDING = 1e-12


@settings
class SupportVectorTube(Regression):
    r"""The narrowest tube around a smooth function that holds the sample, but for a few exceptions.

    .. math::

        \min_{f, t}\; \tfrac12 \|f\|^2 + \mu t + \frac{\mu}{e} \sum_i s_i
        \max(0, |y_i - f(x_i) - b| - t)

    What it predicts is the interval :math:`f(x) \pm t`. Without exceptions every target of the
    sample lies inside; with them at most e lie outside, and at least e samples carry the function.
    It is nu-regression with :math:`\nu = e / n` and :math:`C = \mu / e`, told by what its user
    wants: how many exceptions, and how wide. For what it says of *new* observations see
    :meth:`calibrate`: a tube around its own sample is too narrow for others.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty, as in :class:`SVR`.
    mu : float or "auto", default="auto"
        Price of the half-width against the penalty, the largest sum of absolute coefficients.
        "auto" takes the least-squares machine with the lowest leave-one-out error, as ``C="auto"``
        of :class:`NuSVR` does.
    exceptions : float or pair of float, default=0
        How many samples may lie outside: none up to 1, which is the hard tube. A pair is how many
        may lie below and how many above; both must be positive, and :meth:`predict` is then the
        middle of the tube and nothing else.
    gamma, degree, coef0, null_space, tol, cache_size, verbose, max_iter, max_time :
        As in :class:`SVR`.
    gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`; for more than one exception, as many below as above.

    Attributes
    ----------
    tube_halfwidth_ : float
        Half-width t: the smallest that is optimal, or what :meth:`calibrate` made of it.
    halfwidth_range_ : tuple of float
        Smallest and largest half-width that are: they differ where exactly as many samples lie
        outside as may, and the problem leaves the choice.
    mu_ : float
        The price that was used.
    coverage_ : float
        Share of the sample inside, by weight.
    calibration_ : tuple of (int, float) or None
        How many observations :meth:`calibrate` saw, and which coverage it was asked for.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 3.5, Lemma 3.7, eq. (3.52) to
    (3.57); sec. 3.6.2, Lemmas 3.9 and 3.10, eq. (3.67) to (3.70).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SupportVectorTube
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (80, 1))
    >>> y = np.sin(X[:, 0]) + rng.uniform(-0.3, 0.3, 80)
    >>> tube = SupportVectorTube(mu=5.0, tol=1e-6).fit(X, y)
    >>> low, high = tube.predict_interval(X).T
    >>> bool(np.all((low - 1e-9 <= y) & (y <= high + 1e-9))), bool(tube.tube_halfwidth_ < 0.45)
    (True, True)
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    mu: float | str = "auto"
    exceptions: float | tuple[float, float] = 0

    _direct = False

    _parameter_constraints: ClassVar[Constraints] = {
        "mu": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "exceptions": [Interval(Real, 0.0, None, closed="left"), tuple, list],
    }

    # What is declared ----------------------------------------------------------------------------

    @property
    def _pair(self) -> tuple[float, float] | None:
        """Exceptions below and above, if they are counted apart."""
        if not isinstance(self.exceptions, tuple | list):
            return None
        below, above = (float(e) for e in self.exceptions)
        if not (below > 0 and above > 0):
            raise ValueError(
                f"exceptions={self.exceptions!r}: numbers below and above must both be positive; "
                "one that is less than 1 keeps all samples on its side."
            )
        return below, above

    @property
    def _budget(self) -> float:
        """Exceptions on both sides; one for a hard tube, whose weight is then the price."""
        pair = self._pair
        return sum(pair) if pair else max(float(self.exceptions), 1.0)  # type: ignore[arg-type]

    @property
    def _hard(self) -> bool:
        return self._pair is None and self._budget == 1.0

    def _weight(self) -> float:
        return float(min(self.mu_ / self._budget, HARD))

    def _price(self, total: float) -> float | tuple[float, float]:
        """Return the price of the half-width, or of both walls, for samples of some weight."""
        unit, pair = self._weight(), self._pair
        if pair is not None:
            return unit * pair[0], unit * pair[1]
        # With as many exceptions as samples there is no tube, but the machine of absolute errors.
        return min(unit * self._budget, total)

    _tunable = ("mu",)

    def _choose_parameters(self, sample: Sample) -> None:
        if isinstance(self.mu, str) and np.sum(sample.weights > 0) < 2:
            raise ValueError("mu='auto' leaves one sample out, and n_samples=1; give a number.")
        super()._choose_parameters(sample)

    def _set_parameters(self, found: Guess | None, rows: Rows | None = None) -> None:
        if not isinstance(self.mu, str):
            self.mu_ = float(self.mu)
        elif found is not None:
            # The weight with which a loss of the largest errors only holds the function as tightly
            # as that of least squares, times as many as there are; a part of the rows has its part.
            r = np.sort(np.abs(found.left_out[:, 0]))[::-1]
            n = self.shape_fit_[0]
            most = min(max(self._budget * len(r) / n, 1.0), float(len(r)))
            held = float(np.sum(r[: int(np.ceil(most))]))
            weight = found.C * float(np.sum(r**2)) / held if held > 0 else found.C
            self.mu_ = weight * most * n / len(r)

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Pinball()  # above one wall of the tube and below the other

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        y, c = sample.y, self._weight() * sample.weights
        if self._hard:
            c = np.where(c > 0, self._weight(), 0.0)
        price = self._price(float(np.sum(c)))
        risk = tube(sample.K, y, c, price, sample.B, constant_column(self.null_space_names_))
        return [Subproblem("", risk, lambda solution: self._read(solution, y, c, price))]

    def _make_solver(self) -> Solver:
        solver = super()._make_solver()
        if isinstance(solver, Auto) and isinstance(self.solver, str):
            solver.max_stiff *= 2  # every sample is there twice, its factor once
        return solver

    def _read(self, solution: Solution, y: Array, c: Array, price: Any) -> Coefficients:
        n = len(solution.a) // 2
        found = tube_back(
            solution.a, solution.b, y, solution.f, c, price, constant_column(self.null_space_names_)
        )
        # What the middle predicts, with walls moved to targets.
        moved = found.b - from_sides(solution.b, constant_column(self.null_space_names_))[0]
        shift = (
            0.0
            if constant_column(self.null_space_names_) is None
            else float(moved[constant_column(self.null_space_names_)])
        )
        r = np.abs(y - 0.5 * (solution.f[:n] + solution.f[n:]) - shift)
        # What is on a wall is inside it, however predictions round.
        rounding = ROUNDING * (float(np.max(np.abs(y))) + found.halfwidth)
        halfwidth = found.halfwidth + rounding
        coverage = float(np.sum(c[r <= halfwidth]) / np.sum(c))
        return Coefficients(found.a, found.b, _facts(halfwidth, found.widest + rounding, coverage))

    # Low-rank approximation -----------------------------------------------------------------------

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        if self._hard or self._pair is not None:
            raise ValueError(
                "walls that a sample must not pass, or of two prices, need all samples at once; "
                "ask for more than one exception, as many below as above, or approximation=None."
            )
        share = min(self._budget / self.shape_fit_[0], 1.0)
        return replace(
            super()._low_rank_problem(rows, labels),
            width=VariableTube(share, constant_column(self.null_space_names_)),
            read=self._read_wall,
        )

    def _read_wall(self, solution: Solution) -> Coefficients:
        b, distance = from_sides(solution.b, constant_column(self.null_space_names_))
        width, coverage = max(distance, 0.0), 1.0 - self._budget / self.shape_fit_[0]
        return Coefficients(solution.a, b, _facts(width, width, coverage))

    # What it says ---------------------------------------------------------------------------------

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike) -> Array:
        """Return the walls of the tube at new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper wall.
        """
        f = self.predict(X)
        return np.column_stack([f - self.tube_halfwidth_, f + self.tube_halfwidth_])

    def calibrate(self, X: PointsLike, y: TargetsLike, coverage: float = 0.9) -> Self:
        r"""Make the tube as wide as observations that it has not seen ask for.

        .. math:: t = |r|_{(k)}, \qquad k = \lceil \gamma (m + 1) \rceil

        the order statistic of m held-out errors below which a further one lies with probability
        :math:`\gamma` at least, whatever their law: split conformal prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Observations that took no part in the fit.
        coverage : float, default=0.9
            Probability with which a new observation is to lie inside.

        Returns
        -------
        self
            With a new ``tube_halfwidth_``, infinite if there are too few observations.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64))
        r = np.sort(np.abs(y - self.predict(X)))
        _, k = order_statistics(len(r), coverage)
        halfwidth = float(r[k - 1]) if k <= len(r) else np.inf
        found = {"tube_halfwidth_": halfwidth, "calibration_": (len(r), float(coverage))}
        # In one assignment, so that predictions of other threads see both or neither.
        self.__dict__ = self.__dict__ | found
        return self

    def path(self, X: PointsLike, y: TargetsLike) -> TubePath:
        """Return the hard tubes of a sample at all prices: the LASSO in kernel and targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        TubePath
            Half-widths, prices and coefficients at the corners; ``path.at(mu)`` between them.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.estimators import SupportVectorTube
        >>> X = np.linspace(0, 6, 40)[:, None]
        >>> path = SupportVectorTube().path(X, np.sin(X[:, 0]) + 0.2 * np.cos(9 * X[:, 0]))
        >>> bool(np.all(np.diff(path.halfwidths) < 0) and np.all(np.diff(path.prices) > -1e-9))
        True
        """
        prepared = prepare(type(self)(**self.get_params(deep=False)), X, y)
        sample = prepared.sample
        return tube_path(sample.K.dense().astype(np.float64), sample.y, sample.B)


def _facts(halfwidth: float, widest: float, coverage: float) -> dict[str, Any]:
    """Return what a fit tells of its tube."""
    return {
        "tube_halfwidth_": halfwidth,
        "halfwidth_range_": (halfwidth, widest),
        "coverage_": coverage,
        "calibration_": None,
    }
