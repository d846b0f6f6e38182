"""Classification of tables as they are, without settings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._deadline import deadline
from mercer._settings import settings
from mercer._sklearn import fit_context
from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.tabular.automatic import (
    BY_NAME,
    TREES_BY_NAME,
    Automatic,
    LeftOutPredictions,
    Plan,
)
from mercer.tabular.candidates import MARKS, binary
from mercer.tabular.explanation import Explanation
from mercer.tabular.members import METRIC
from mercer.tabular.stacking import log_odds, logistic_weights, probabilities
from mercer.tabular.tasks import Logistic, SquaredSigns, signs
from mercer.tabular.trees import BOOSTING

__all__ = ["AutoClassifier"]


# Rows squared, times classes, beyond which logistic machines would take too long.
AFFORDABLE = 1.2e8
# Rows beyond which boosting, which is fitted again without each fold, pays.
BOOSTED = 3000
# Machines of two classes, and of many, each of which has a logistic machine of its own; least
# squares share a factorization between the classes.
OF_TWO = ("laplacian-ranks", "matern", "gaussian", "squares-laplacian-ranks")
OF_MANY = ("matern", "squares-laplacian-ranks", "squares-matern", "squares-gaussian")


@settings
class AutoClassifier(ClassifierMixin, Automatic):  # type: ignore[misc]
    r"""Classification of a table as it is: kernels learned from the data, stacked and calibrated.

    Kernel machines make log odds together, and two forests beside them: of two classes, logistic
    machines with three kernels and one of least squares,

    .. math:: \log \frac{p_c}{p_0} = \sum_m w_m f_{mc}(x) + b_c, \qquad w_m \ge 0.

    Every machine has a length scale for each column and a weight C that maximize the evidence, by
    Laplace's approximation where the loss is logistic. The weights :math:`w_m` and constants
    :math:`b_c` minimize the logistic loss of left-out decisions, so that probabilities are
    calibrated; weights are drawn to equal ones as far as these decisions do not tell the machines
    apart. Kernels, columns, categories and missing cells are as in :class:`AutoRegressor`. Forests
    are scikit-learn's; every row is judged by the trees that were grown without it.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are categories although they hold numbers; columns of words always are.
    members : "auto", "kernels" or list of str, default="auto"
        Machines to fit: names as in :class:`AutoRegressor`, and with "squares-" before them for
        least squares of plus and minus one. "kernels" leaves trees out. `explain` tells what share
        each of them has, and each kind.
    budget : float, optional
        Seconds that the fit may take. Where they do not suffice for the first machine it is fitted
        to fewer rows, drawn at random, with a warning; no further machine is begun that would
        hardly be ready. ``notes_`` say what was left out. The fit is deterministic without it.
    max_rows : int, default=10000
        Largest number of rows to which exact machines are fitted, as in :class:`AutoRegressor`.
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
    classes_ : ndarray of shape (n_classes,)
        Classes.
    members_ : list
        The fitted machines with their features, parameters and left-out decisions.
    weights_ : ndarray of shape (n_members,)
        Weights of their decisions; zeros where nothing predicts better than class frequencies.
    left_out_probabilities_ : ndarray of shape (n_samples, n_classes)
        Probabilities of rows by machines that were not fitted to them; NaN for rows that were not
        left out, of more than 3000.
    left_out_score_ : float
        Share of these rows that are classified correctly.
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
    Of three classes and more one kernel is logistic, under the softmax loss of all classes up to
    some 790 rows of six classes and one against the rest beyond; three machines are of least
    squares, which share one factorization between the classes. Beyond 3000 rows gradient boosting
    of scikit-learn is a member too, judged by five folds. Where most of the columns, and more than
    30, have two values, no machine of two classes is of least squares; such columns begin with
    length scales of one size.

    Left-out decisions of least squares are exact; those of logistic machines are one Newton step
    from the machine with all rows, and those of the learned metric are made by five folds. Where
    logistic machines would take too long (more than some 4,500 rows for six classes, 3,500 for ten)
    all kernel machines are of least squares. Least squares estimate :math:`2 p - 1`: their log odds
    are soft logarithms of these estimates.

    See Also
    --------
    AutoRegressor : the same for numbers.
    KernelLogisticRegression : one machine with a kernel of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 3))
    >>> y = np.where(np.abs(X[:, 0] - X[:, 1]) < 0.3, "near", "far")
    >>> machine = AutoClassifier(members=["laplacian", "gaussian"]).fit(X, y)
    >>> bool(machine.left_out_score_ > 0.9)
    True
    >>> machine.predict_proba(X[:2]).shape
    (2, 2)
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit machines to a table, weigh and calibrate them.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Classes.
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
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            if len(np.unique(labels[weights > 0])) < 2:
                raise ValueError(
                    "The number of classes has to be greater than one; got 1 class with weight."
                )
            order, weights, place = self._ordered(M, labels[:, None], weights)
            M, labels = M[order], labels[order]
            self._note_leaks(M, self.classes_[labels])
            self._outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
            shares = partial(_shares, labels, weights)
            with _warned_once(len(self.classes_), len(labels)):
                judged = self._fit_members(M, *self._plan(M, labels, weights), shares)
            self._weigh(judged, labels, weights)
            self._set_left_out(judged, labels, weights, order, place)
        self.seconds_ = time.perf_counter() - began
        return self

    def _plan(self, M: Array, labels: NDArray[np.intp], weights: Array) -> tuple[Plan, list[str]]:
        """Return all machines, and those that can be had in reasonable time."""
        k, n = len(self.classes_), min(len(labels), self.max_rows)
        logistic, squares = Logistic(labels, k, weights), SquaredSigns(signs(labels, k), weights)
        plan: Plan = {name: (candidate, logistic) for name, candidate in BY_NAME.items()}
        plan |= {METRIC: (None, logistic)}
        plan |= {f"squares-{name}": (candidate, squares) for name, candidate in BY_NAME.items()}
        plan |= {name: (ensemble, logistic) for name, ensemble in TREES_BY_NAME.items()}
        trees = [name for name in TREES_BY_NAME if name != BOOSTING or n > BOOSTED]
        if self._outputs * float(n) ** 2 > AFFORDABLE:
            if isinstance(self.members, str):
                self.notes_.append(
                    f"Logistic machines of {n} rows and {k} classes would take long: all machines "
                    "are of least squares."
                )
            return plan, _in_turn([f"squares-{name}" for name in BY_NAME], trees)
        if k > 2:
            return plan, _in_turn(OF_MANY, trees)
        marks = len(binary(M))
        # Least squares are too sure of rows that differ in marks alone.
        mostly = marks > max(MARKS, 0.5 * M.shape[1])
        return plan, _in_turn([n for n in OF_TWO if n in BY_NAME or not mostly], trees)

    def _weigh(self, judged: LeftOutPredictions, labels: NDArray[np.intp], weights: Array) -> None:
        """Weigh the members, or none of them where class frequencies are as good."""
        y, s = labels[judged.rows], weights[judged.rows]
        self._portions = _shares(labels, weights, judged)
        self.weights_, self._constants = logistic_weights(judged.values, y, s)
        counts = np.bincount(y, weights=s, minlength=len(self.classes_))
        frequency = np.maximum(counts[y] / counts.sum(), 1e-15)

        def gain(values: Array) -> Array:
            P = probabilities(log_odds(values, *logistic_weights(values, y, s)))
            return np.asarray(np.log(np.maximum(P[np.arange(len(y)), y], 1e-15) / frequency))

        if not self._proved(gain, judged, s):
            share = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
            self.weights_ = np.zeros_like(self.weights_)
            log_share = np.log(share)
            self._constants = log_share if len(share) > 2 else log_share[1:] - log_share[:1]

    def _set_left_out(
        self,
        judged: LeftOutPredictions,
        labels: NDArray[np.intp],
        weights: Array,
        order: NDArray[np.intp],
        place: NDArray[np.intp],
    ) -> None:
        """Put left-out probabilities in the order of the rows as they came."""
        y, weights = labels[judged.rows], weights[judged.rows]
        P = probabilities(log_odds(judged.values, self.weights_, self._constants))
        out = np.full((len(place), len(self.classes_)), np.nan)
        out[order[judged.rows]] = P
        out = out[place]
        self.left_out_probabilities_ = out
        self.left_out_score_ = float(np.mean(np.argmax(P, axis=1) == y))
        rows = np.arange(len(y))
        self._left_out_error = -float(np.mean(np.log(np.maximum(P[rows, y], 1e-15))))
        self._left_out_errors = []
        for F in judged.values:
            # Each machine calibrated by itself, since decisions of least squares are no log odds.
            P = probabilities(log_odds(F[None], *logistic_weights(F[None], y, weights)))
            self._left_out_errors.append(-float(np.mean(np.log(np.maximum(P[rows, y], 1e-15)))))

    # Predicting -----------------------------------------------------------------------------------

    def _odds(self, X: PointsLike) -> Array:
        return log_odds(self._values(X), self.weights_, self._constants)

    def decision_function(self, X: PointsLike) -> Array:
        """Return log odds of the second class, or logarithms of odds of all classes.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        odds = self._odds(X)
        return odds[:, 0] if odds.shape[1] == 1 else odds

    def predict_proba(self, X: PointsLike) -> Array:
        """Return calibrated probabilities of the classes.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return probabilities(self._odds(X))

    def predict(self, X: PointsLike) -> Any:
        """Return the most probable classes.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            Table with the same columns.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        P = self.predict_proba(X)
        return self.classes_[np.argmax(P, axis=1)]

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
            self._portions, self._left_out_errors, self._left_out_error, "left-out log loss"
        )


@contextmanager
def _warned_once(n_classes: int, n: int) -> Iterator[None]:
    """Ignore scikit-learn's warning of many classes, which each of 600 trees would repeat.

    It is given once, before; folds have fewer rows, and would give it where the whole does not.
    """
    if 4 * n_classes <= n:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")
        yield


def _in_turn(kernels: Sequence[str], trees: Sequence[str]) -> list[str]:
    """Return names in the order in which they are fitted: where time is short, trees cost least."""
    return [*kernels[:1], *trees, *kernels[1:]]


def _shares(labels: NDArray[np.intp], weights: Array, judged: LeftOutPredictions) -> Array:
    """Return how far each member moves log odds, in shares of all."""
    w, _ = logistic_weights(judged.values, labels[judged.rows], weights[judged.rows])
    moved = w * np.sqrt(np.mean(judged.values**2, axis=(1, 2)))
    return np.asarray(moved / moved.sum())
