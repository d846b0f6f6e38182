"""The sparsest linear model that the sample does not contradict."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, SplitterLike, TargetsLike
from mercer_research.linear._model import Centred
from mercer_research.linear._validation import Validated
from mercer_research.linear.plausible import METHODS, PlausibleSet, plausible_sets

__all__ = ["PlausibleLeastSquares"]

# Levels that are tried: from a model of nothing but the strongest inputs to nearly least squares.
LEVELS = np.concatenate([np.logspace(-8, -1, 15), np.linspace(0.2, 0.9, 8)])
ZERO = 1e-8


@settings
class PlausibleLeastSquares(Validated):
    r"""Find the coefficients of least norm that a hypothesis test does not reject.

    .. math:: \min_w \sum_d h_d |w_d| \quad\text{subject to}\quad
              c(\alpha_s / 2) \le X'Xw \le c(1 - \alpha_s / 2), \qquad h_d = \|x_d\|

    a linear program, followed by least squares on the inputs that it keeps. What the test is made
    of is described at :func:`covariance_quantiles`; with ``method="t"`` this is the Dantzig
    selector with a noise level read off the sample.

    Parameters
    ----------
    alpha_s : float or "auto", default="auto"
        Level of the test: small levels reject little and leave sparse models. "auto" takes the one
        with the least error of validation.
    method : {"t", "normal", "wishart", "bootstrap-pairs", "bootstrap-residual"}, default="t"
        How the law of the covariances is found.
    simultaneous : {"bonferroni", "max"}, optional
        Let the level be that of all inputs together.
    refit : bool, default=True
        Predict with the least-squares fit of the selected inputs; otherwise with the solution of
        the program.
    noise_variance : float, optional
        Variance of the errors, for ``method="normal"``.
    cv : int or cross-validation splitter, default=5
        Folds that validate, as in :func:`~mercer.machines.folds.as_splitter`, unless validation
        data are given to :meth:`fit`.
    n_draws : int, default=10000
        Size of a bootstrap.
    random_state : int, RandomState instance or None, default=None
        For the bootstrap.
    fit_intercept : bool, default=True
        Fit a free constant.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane that predicts.
    sparse_coef_, refit_coef_ : ndarray of shape (n_features,)
        Solution of the program, and least squares on what it keeps.
    support_ : ndarray of bool of shape (n_features,)
        Which inputs are kept; none if a model of zeros is plausible.
    alpha_s_ : float
        The level.
    plausible_set_ : PlausibleSet
        The polytope, for centred inputs.
    levels_, validation_costs_ : ndarray
        The levels that were tried and what validation cost there; only for ``alpha_s="auto"``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 7.1.5, eq. (7.17) to
    (7.19), algorithm 7.1; E. Candes and T. Tao, The Dantzig selector, Annals of Statistics 35
    (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import PlausibleLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 8))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.standard_normal(100)
    >>> model = PlausibleLeastSquares(alpha_s=0.001).fit(X, y)
    >>> np.flatnonzero(model.support_)
    array([0, 1])
    """

    alpha_s: float | str = "auto"
    _: KW_ONLY
    method: str = "t"
    simultaneous: str | None = None
    refit: bool = True
    noise_variance: float | None = None
    cv: SplitterLike = 5
    n_draws: int = 10_000
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "alpha_s": [StrOptions({"auto"}), Interval(Real, 0.0, 1.0, closed="neither")],
        "method": [StrOptions(set(METHODS))],
        "simultaneous": [StrOptions({"bonferroni", "max"}), None],
        "refit": ["boolean"],
        "noise_variance": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: PointsLike, y: TargetsLike, X_val: PointsLike = None, y_val: TargetsLike = None
    ) -> Self:
        """Find the level if it is not given, and the model that belongs to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        X_val, y_val : array-like of shape (n_validation, n_features) and (n_validation,), optional
            Validation data, instead of ``cv``; they are read only for ``alpha_s="auto"``.
        """
        # One seed for every level, so that their sets are nested.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if self.alpha_s == "auto":
            train, splits = self._splits(X, y, X_val, y_val)
            chosen = [
                [split.cost(self._coefs(split.train, S)[int(self.refit)]) for S in sets]
                for split in splits
                for sets in [self._sets(split.train, LEVELS, seed)]
            ]
            self.levels_, self.validation_costs_ = LEVELS, np.sum(chosen, axis=0)
            self.alpha_s_ = float(LEVELS[np.argmin(self.validation_costs_)])
        else:
            self.alpha_s_ = float(self.alpha_s)
            train = self._centred(X, y, least=2)
        (self.plausible_set_,) = self._sets(train, np.array([self.alpha_s_]), seed)
        self.sparse_coef_, self.refit_coef_ = self._coefs(train, self.plausible_set_)
        self.support_ = self.sparse_coef_ != 0
        self._keep(train, self.refit_coef_ if self.refit else self.sparse_coef_)
        return self

    def _ending(self) -> str:
        kept = int(np.sum(self.support_))
        return f"fitted, {kept} of {self.support_.size} coefficients at level {self.alpha_s_:.4g}"

    def _sets(self, train: Centred, levels: Array, seed: int) -> list[PlausibleSet]:
        return plausible_sets(
            train.X,
            train.y,
            levels,
            method=self.method,
            simultaneous=self.simultaneous,
            noise_variance=self.noise_variance,
            n_draws=self.n_draws,
            n_constants=int(self.fit_intercept),
            random_state=seed,
        )

    def _coefs(self, train: Centred, plausible: PlausibleSet) -> tuple[Array, Array]:
        """Return the solution of the program, and least squares on its nonzero coefficients."""
        length = np.linalg.norm(train.X, axis=0)
        length = np.where(length > 0, length, 1.0)
        w = plausible.sparsest(length)
        size = np.abs(w) * length
        w[size <= ZERO * size.max(initial=0.0)] = 0.0
        refit, kept = np.zeros_like(w), w != 0
        if kept.any():
            refit[kept] = np.linalg.lstsq(train.X[:, kept], train.y, rcond=None)[0]
        return w, refit
