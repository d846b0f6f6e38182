"""Regression of tables as they are, without settings."""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._deadline import deadline
from mercer._settings import settings
from mercer._sklearn import check_y, fit_context
from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.machines.framing import framed, quantile_names, set_output
from mercer.tabular.automatic import (
    BY_NAME,
    TREES_BY_NAME,
    Automatic,
    LeftOutPredictions,
    Plan,
)
from mercer.tabular.explanation import Explanation
from mercer.tabular.members import METRIC
from mercer.tabular.spread import ErrorScales
from mercer.tabular.stacking import convex_weights, without_negligible
from mercer.tabular.tasks import Squares

__all__ = ["AutoRegressor"]

LEVELS = (0.05, 0.5, 0.95)

FEW_TARGETS = 20
"""Rows up to which two different targets may be chance."""


@settings
class AutoRegressor(RegressorMixin, Automatic):  # type: ignore[misc]
    r"""Regression of a table as it is: kernels learned from the data, and stacked.

    Least-squares machines with five kernels, and a sixth in a learned metric, predict together,

    .. math:: f(x) = \sum_m w_m f_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

    Every machine has a length scale for each column and a weight C that maximize the evidence. The
    weights :math:`w_m` minimize the squared error of exact leave-one-out predictions, drawn to
    equal weights as far as these do not tell the machines apart. The kernels are the Laplacian
    :math:`\exp(-\sum_j |x_j - z_j| / l_j)`, Matern 3/2 and Gaussian, of standardized columns and of
    normal scores of their ranks; categories are equal or not.

    Numbers, booleans, words and categories may be mixed, cells may be missing, and nothing needs to
    be scaled (see :class:`~mercer.preprocessing.TableEncoder`). Predictions do not depend on the
    order of the rows, on constant columns or on copies of columns, nor on units of columns beyond
    the tolerance of the searches for scales.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are categories although they hold numbers; columns of words always are.
    members : "auto", "kernels" or list of str, default="auto"
        Machines to fit, among "laplacian-ranks", "matern", "laplacian", "gaussian", "matern-ranks"
        and "metric", all by default; and "forest", "extra-trees" and "boosting" of scikit-learn if
        they are asked for. "metric" learns directions from the gradients of "matern".
    budget : float, optional
        Seconds that the fit may take. Where they do not suffice for the first machine it is fitted
        to fewer rows, drawn at random, with a warning; no further machine is begun that would
        hardly be ready. ``notes_`` say what was left out. The fit is deterministic without it.
    max_rows : int, default=10000
        Largest number of rows to which exact machines are fitted. Of a larger table this many rows
        are drawn, and the two best machines are fitted to all rows once more, as local machines in
        parts of 4000 (:class:`~mercer.local.Local`); rows that none of them saw then decide.
    n_jobs : int, optional
        Number of machines that are fitted at the same time, in threads: one by default, unless
        :func:`joblib.parallel_config` says otherwise, and -1 for as many as there are cores. The
        number changes no prediction; each of them has its own kernel matrices. With None, large
        matrices have all threads of BLAS instead, on which last digits depend.
    verbose : bool, optional
        Show on a terminal or in a notebook one line that is drawn anew: what is being fitted, how
        many machines are done, the time and, once a machine is done, about how long the rest
        takes. By default the line appears after two seconds, and nothing is printed elsewhere; True
        shows it at once, and prints a line for every machine elsewhere; False shows nothing.
    random_state : int, default=0
        Which rows are drawn, and folds.

    Attributes
    ----------
    members_ : list
        The fitted machines with their features, parameters and left-out predictions.
    weights_ : ndarray of shape (n_members,) or (n_outputs, n_members)
        Their weights; zeros where nothing predicts better than the mean.
    left_out_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions of rows by machines that were not fitted to them; NaN for rows that were not
        left out, of more than 3000.
    left_out_score_ : float
        Coefficient of determination of these.
    notes_ : list of str
        What the fit decided, and what deserves a second look.
    dropped_ : dict from str to str
        Names of the columns that are left out, each with the reason.
    encoder_ : TableEncoder
        How columns were read, and which were dropped for which reason.
    seconds_ : float
        Time of the fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Notes
    -----
    Up to 3000 rows every machine is fitted exactly to all rows and judged by exact leave-one-out
    predictions. Beyond, scales are chosen by 1000 rows and weights by 3000, and the three best
    machines are fitted exactly to all rows, at most `max_rows`. Left-out predictions of the learned
    metric are made by five folds, since leave-one-out after the metric was learned is optimistic.

    See Also
    --------
    AutoClassifier : the same for classes.
    mercer.selection.tune : one machine with a kernel of your own.

    References
    ----------
    D. Wolpert, *Stacked generalization*, Neural Networks 5, 1992; A. Radhakrishnan, D. Beaglehole,
    P. Pandit and M. Belkin, *Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models*, Science 383, 2024; K. Pelckmans, *Primal-Dual
    Kernel Machines*, KU Leuven 2005, ch. 7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 4))
    >>> y = np.sin(4 * X[:, 0]) + (X[:, 1] > 0.5) + 0.1 * rng.normal(size=200)
    >>> machine = AutoRegressor(members=["laplacian", "gaussian"]).fit(X, y)
    >>> bool(machine.left_out_score_ > 0.9)
    True
    >>> machine.predict_interval(X[:3], coverage=0.8).shape
    (3, 2)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit machines to a table and weigh them.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self.notes_: list[str] = []
        with deadline(self.budget), self._threads_of_blas(X), self._shown():
            M, weights = self._read(X, y, sample_weight)
            y = check_y(y, multi_output=True, y_numeric=True, estimator=self)
            Y = np.asarray(y, dtype=np.float64).reshape(len(M), -1)
            self._note_classes(y)
            self._flat, self._outputs = np.ndim(y) == 1, Y.shape[1]
            order, weights, place = self._ordered(M, Y, weights)
            M, Y = M[order], Y[order]
            if self._outputs == 1:
                self._note_leaks(M, Y[:, 0])
            self._mean = np.average(Y, axis=0, weights=weights)
            with np.errstate(over="ignore"):
                scale = np.sqrt(np.average((Y - self._mean) ** 2, axis=0, weights=weights))
            _require_squares(Y, scale)
            self._scale = np.where(scale > 0, scale, 1.0)
            task = Squares((Y - self._mean) / self._scale, weights)
            plan: Plan = {name: (candidate, task) for name, candidate in BY_NAME.items()}
            plan[METRIC] = None, task
            usual = list(plan)
            plan |= {name: (ensemble, task) for name, ensemble in TREES_BY_NAME.items()}
            judged = self._fit_members(
                M,
                plan,
                usual,
                lambda judged: np.asarray(self._convex(judged, task).mean(axis=0)),
            )
            self._weigh(judged, task)
            self._set_left_out(judged, Y, order, place)
            self._spreads = self._learn_spreads(M[judged.rows], judged, task)
        self.seconds_ = time.perf_counter() - began
        return self

    def _note_classes(self, y: Array) -> None:
        """Warn of targets that look like classes: two different whole numbers."""
        values = np.unique(y)
        if (
            np.ndim(y) != 1
            or len(values) != 2
            or len(y) <= FEW_TARGETS
            or np.any(values != np.round(values))
        ):
            return
        note = (
            f"y has two values, {values[0]:g} and {values[1]:g}: for classes take AutoClassifier, "
            "which predicts their probabilities."
        )
        self.notes_.append(note)
        warnings.warn(note, UserWarning, stacklevel=6)

    def _convex(self, judged: LeftOutPredictions, task: Squares) -> Array:
        """Return the weights of members for every output, (d, m)."""
        Y, s = task.Y[judged.rows], task.weights[judged.rows]
        return np.stack(
            [convex_weights(judged.values[:, :, k], Y[:, k], s) for k in range(self._outputs)]
        )

    def _weigh(self, judged: LeftOutPredictions, task: Squares) -> None:
        """Weigh the members, or none of them where the mean is as good."""
        Y, s = task.Y[judged.rows], task.weights[judged.rows]
        self._weights = np.stack(
            [
                without_negligible(w, judged.values[:, :, k], Y[:, k], s)
                for k, w in enumerate(self._convex(judged, task))
            ]
        )
        # The mean without a row is further from it than the mean with it.
        total = float(np.sum(s))
        away = total / np.maximum(total - s, np.finfo(float).tiny)
        constant = np.mean(((Y - np.average(Y, axis=0, weights=s)) * away[:, None]) ** 2, axis=1)

        def gain(values: Array) -> Array:
            w = self._convex(LeftOutPredictions(judged.rows, values), task)
            F = np.einsum("km,mnk->nk", w, values)
            return np.asarray(constant - np.mean((Y - F) ** 2, axis=1))

        if not self._proved(gain, judged, s):
            self._weights = np.zeros_like(self._weights)
        self.weights_ = self._weights[0] if self._flat else self._weights

    def _set_left_out(
        self,
        judged: LeftOutPredictions,
        Y: Array,
        order: NDArray[np.intp],
        place: NDArray[np.intp],
    ) -> None:
        """Put left-out predictions in the order of the rows as they came."""
        F = self._together(judged.values)
        known = Y[judged.rows]
        out = np.full((len(place), self._outputs), np.nan)
        out[order[judged.rows]] = F
        out = out[place]
        self.left_out_predictions_ = out[:, 0] if self._flat else out
        spread = np.sum((known - known.mean(axis=0)) ** 2)
        self.left_out_score_ = 1.0 - float(np.sum((known - F) ** 2) / spread) if spread > 0 else 0.0
        self._left_out_errors = np.sqrt(
            np.mean((judged.values * self._scale + self._mean - known) ** 2, axis=(1, 2))
        )
        self._left_out_error = float(np.sqrt(np.mean((known - F) ** 2)))

    def _learn_spreads(
        self, M: Array, judged: LeftOutPredictions, task: Squares
    ) -> list[ErrorScales]:
        """Return the scale of errors of every output."""
        order = np.argsort(-self._weights.mean(axis=0), kind="stable")
        members = [self.members_[k] for k in order]
        best = next((one for one in members if hasattr(one.machine, "kernel_")), members[0])
        points, kernel = best.points(M), getattr(best.machine, "kernel_", None)
        errors = task.Y[judged.rows] - np.einsum("km,mnk->nk", self._weights, judged.values)
        self._spread_member = best
        s = task.weights[judged.rows]
        few, seed = task.tuned, self.random_state
        seconds, rows = judged.seconds, judged.single
        # Of copies one: the size of an error would be known from its copies.
        if rows is not None:
            points, errors, s = points[rows], errors[rows], s[rows]
        return [ErrorScales.of(kernel, points, error, s, few, seed, seconds) for error in errors.T]

    def _together(self, values: Array) -> Array:
        """Return predictions in units of the targets, (n, d)."""
        F = np.einsum("km,mnk->nk", self._weights, values)
        return np.asarray(self._mean + F * self._scale)

    # Predicting -----------------------------------------------------------------------------------

    def predict(self, X: PointsLike) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        F = self._together(self._values(X))
        return F[:, 0] if self._flat else F

    set_output = set_output

    @framed(lambda self, levels=LEVELS: quantile_names(levels))
    def predict_quantiles(self, X: PointsLike, levels: ArrayLike = LEVELS) -> Array:
        """Predict quantiles of new targets from the errors of rows left out.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.
        levels : array-like of float, default=(0.05, 0.5, 0.95)
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples, n_levels) or (n_samples, n_outputs, n_levels)
        """
        levels = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"levels must be between 0 and 1, got {levels.tolist()}.")
        F = self._together(self._values(X))
        points = self._spread_member.points(self._encoded(X))
        out = np.empty((*F.shape, len(levels)))
        for k, spread in enumerate(self._spreads):
            quantiles = np.array([spread.quantile(float(level)) for level in levels])
            scale = self._scale[k] * spread.scale(points)
            out[:, k] = F[:, k, None] + scale[:, None] * quantiles
        return out[:, 0] if self._flat else out

    @framed()
    def predict_interval(self, X: PointsLike, coverage: float = 0.9) -> Array:
        r"""Predict intervals that contain new targets with a probability.

        Both ends are as likely to be exceeded. Left-out errors are as good as exchangeable with
        the error of a new row; their coverage is checked on real tables, not proved for every law.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.
        coverage : float, default=0.9
            Probability.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        ends = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
        return np.asarray(self.predict_quantiles(X, ends))

    # Explaining -----------------------------------------------------------------------------------

    def explain(self) -> Explanation:
        """Return the machines and their weights, and how much columns matter.

        Returns
        -------
        Explanation
            Printed as a table.
        """
        check_is_fitted(self)
        return self._explanation(
            self._weights.mean(axis=0), self._left_out_errors, self._left_out_error, "left-out RMSE"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _require_squares(Y: Array, scale: Array) -> None:
    """Raise ValueError if squares of targets overflow, or if all of them are rounded to zero."""
    outside = ~np.isfinite(scale) | ((scale == 0.0) & (np.ptp(Y, axis=0) > 0.0))
    if np.any(outside):
        largest = np.max(np.abs(Y[:, outside]))
        raise ValueError(
            f"y has values of size {largest:.0e}, whose squares are beyond the range of floating "
            "point: multiply y by a constant, so that its values are closer to one."
        )
