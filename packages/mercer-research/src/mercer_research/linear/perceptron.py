"""The perceptron: learning from mistakes, of which there are few where the margin is wide."""

from __future__ import annotations

import copy
import warnings
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike
from mercer.kernels.base import Kernel
from mercer.kernels.named import resolve
from mercer_research.linear._hyperplanes import TwoClasses
from mercer_research.linear._model import require_squares

__all__ = ["KernelPerceptron", "mistake_bound"]


def mistake_bound(margin: float, offset: float, radius: float) -> float:
    r"""Return how many mistakes the perceptron makes at most, in any order of the samples.

    .. math:: \frac{(1 + b^2)(R^2 + 1)}{\rho^2}, \qquad \|w\| = 1, \quad
              y_i (w'x_i + b) \ge \rho, \quad \|x_i\| \le R

    Parameters
    ----------
    margin, offset : float
        :math:`\rho` and b of a separating plane with weights of length one, as
        :class:`LpMarginSVC` or ``HardMarginSVC`` find it (its intercept times the margin).
    radius : float
        The largest norm R of a sample.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, theorem 1.1, eq. (1.10), where R is the
    largest norm and not its square.

    Examples
    --------
    >>> mistake_bound(0.5, 0.0, 1.0)
    8.0
    """
    if not margin > 0:
        raise ValueError("The bound is one for a positive margin; the classes must be separable.")
    return (1.0 + offset**2) * (radius**2 + 1.0) / margin**2


@settings
class KernelPerceptron(TwoClasses):
    r"""Correct a sum of kernels at every mistake, until no mistake is left.

    .. math:: f(x) = \eta \sum_i n_i y_i \bigl(k(x_i, x) + 1\bigr), \qquad
              n_i \leftarrow n_i + 1 \quad\text{where}\quad y_i f(x_i) \le 0

    The one carries the threshold; with the linear kernel this is the perceptron step by step. A
    baseline for two classes: scikit-learn's ``Perceptron`` has neither kernels nor the averages
    that make it useful where classes overlap, and does not count mistakes.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        Reproducing kernel; a name as in ``SVC``.
    gamma, degree, coef0 : float or str, int, float
        Parameters of the named kernels.
    eta : float, default=1.0
        Size of a correction. It scales the function and changes no decision.
    max_epochs : int, default=100
        How often the sample is shown at most.
    output : {"last", "mean", "vote"}, default="mean"
        The last function, the mean of all functions on the way, or their vote, each weighed with
        how long it survived.
    budget : int, optional
        Largest number of samples with coefficients. Where it is exceeded, the one leaves whose
        last correction is the longest ago. Only for the last function.
    shuffle : bool, default=False
        Show the sample in a new order each time.
    random_state : int or RandomState, optional
        Draws the orders.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    counts_ : ndarray of shape (n_samples,)
        Corrections :math:`n_i` that are left of each sample.
    support_, support_vectors_, dual_coef_, intercept_ :
        Samples that were corrected, :math:`\eta n_i y_i` (their means for ``output="mean"``), and
        the constant.
    n_updates_ : int
        Mistakes made, to be compared with :func:`mistake_bound`.
    mistakes_ : list of int
        How many in each pass.
    converged_ : bool
        Whether a whole pass had none.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, table 1.1; Y. Freund, R. E. Schapire,
    Large margin classification using the perceptron algorithm, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = KernelPerceptron("rbf", gamma=1.0, output="last").fit(X, [0, 0, 1, 1])
    >>> model.predict(X), model.converged_
    (array([0, 0, 1, 1]), True)
    """

    kernel: Kernel | str = "linear"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    eta: float = 1.0
    max_epochs: int = 100
    output: str = "mean"
    budget: int | None = None
    shuffle: bool = False
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [str, Kernel],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "eta": [Interval(Real, 0.0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "output": [StrOptions({"last", "mean", "vote"})],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike) -> Self:
        """Show the sample until a pass has no mistake, or often enough.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        require_squares(X)
        check_classification_targets(y)
        if self.budget is not None and self.output != "last":
            raise ValueError("A budget is one of the last function; set output='last'.")
        labels = self._signs(y)
        kernel = copy.deepcopy(self.kernel)
        self.kernel_ = resolve(kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        run = _Run(self.kernel_(X) + 1.0, labels, self.budget)
        rng, order = check_random_state(self.random_state), np.arange(len(y))
        self.mistakes_ = []
        for _ in range(self.max_epochs):
            if self.shuffle:
                order = rng.permutation(len(y))
            self.mistakes_.append(run.show(order))
            if not self.mistakes_[-1]:
                break
        self.converged_ = self.mistakes_[-1] == 0
        if not self.converged_ and self.output == "last":
            warnings.warn(
                f"The last of {self.max_epochs} passes had {self.mistakes_[-1]} mistakes; where "
                "classes overlap, output='mean' or 'vote' are better than the last function.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_updates_, self.counts_ = len(run.made), run.counts
        self._survival, self._made = np.append(run.lived, run.age), np.array(run.made, dtype=int)
        coef = self.eta * labels * (run.mean if self.output == "mean" else run.counts)
        self.support_ = np.flatnonzero(run.ever if self.output == "vote" else coef)
        self.support_vectors_ = X[self.support_]
        self.dual_coef_, self.intercept_ = coef[self.support_], float(coef.sum())
        self._labels = labels
        return self

    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the function, or the difference of the votes between minus one and one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        K = self.kernel_(X, self.support_vectors_)
        if self.output != "vote":
            return np.asarray(K @ self.dual_coef_ + self.intercept_)
        where = np.searchsorted(self.support_, self._made)
        steps = (K[:, where] + 1.0) * self._labels[self._made]
        # Before the first mistake everything is zero, and says nothing.
        votes = np.sign(np.cumsum(steps, axis=1)) @ self._survival[1:]
        return np.asarray(votes / max(float(self._survival[1:].sum()), 1.0))


class _Run:
    """Corrections so far: their counts, when they were made, and how long each function lived."""

    def __init__(self, K: Array, y: Array, budget: int | None) -> None:
        self.K, self.y, self.budget = K, y, budget
        self.counts = np.zeros(len(y))
        self.f = np.zeros(len(y))
        self.made: list[int] = []
        self.lived: list[int] = []
        self.age = self.time = 0
        self._late = np.zeros(len(y))
        self._last = np.zeros(len(y))

    def show(self, order: NDArray[np.intp]) -> int:
        """Show all samples once; return how many mistakes that made."""
        before = len(self.made)
        for i in order.tolist():
            if self.y[i] * self.f[i] <= 0:
                self._correct(i)
            self.time += 1
            self.age += 1
        return len(self.made) - before

    def _correct(self, i: int) -> None:
        self.made.append(i)
        self.lived.append(self.age)
        self.age = 0
        self._move(i, 1.0)
        self._late[i] += self.time
        self._last[i] = self.time
        if self.budget is not None and np.count_nonzero(self.counts) > self.budget:
            held = np.flatnonzero(self.counts)
            j = int(held[np.argmin(self._last[held])])
            self._move(j, -self.counts[j])

    def _move(self, i: int, amount: float) -> None:
        self.counts[i] += amount
        self.f += amount * self.y[i] * self.K[:, i]

    @property
    def mean(self) -> Array:
        """Counts averaged over all samples shown: a correction counts from when it was made."""
        return self.counts - self._late / max(self.time, 1)

    @property
    def ever(self) -> NDArray[np.bool_]:
        """Which samples were ever corrected."""
        return np.isin(np.arange(len(self.y)), self.made)
