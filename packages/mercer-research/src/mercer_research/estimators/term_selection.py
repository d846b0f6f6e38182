"""Which parametric terms, of many, a sample needs beside a smooth function."""

from __future__ import annotations

import copy
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.linear_model import lars_path
from sklearn.utils.validation import check_is_fitted

from mercer._fitting import ending, say
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, Function, PointsLike, TargetsLike
from mercer.estimators.general import KernelRegressor
from mercer.io.plans import plan_of
from mercer.io.registry import register
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.machines.best_linear import BestLinear
from mercer.machines.blocks import refuse_blocks
from mercer.machines.expansion import Expansion
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import unpenalized_columns
from mercer.regularizers.null_space import Breaks, Columns, Constant, Functions, NullSpace

__all__ = ["TermSelector"]


@settings
class TermSelector(RegressorMixin, Expansion):  # type: ignore[misc]
    r"""Fit a smooth function and as few parametric terms as the sample asks for.

    .. math:: \min_{f, b, w} \tfrac12 \|f\|^2 + \tfrac{C}{2} \sum_i
              \bigl(y_i - f(x_i) - b'p(x_i) - w'z(x_i)\bigr)^2
              + C \rho \sum_j m_j |w_j|, \qquad m_j = \max_i |z_j(x_i)|

    The smooth part and b are eliminated, which leaves a lasso in w,

    .. math:: \tfrac12 (y - Zw)'H(y - Zw) + \rho \sum_j m_j |w_j|, \qquad
              H = \bigl(CK + 1\bigr)^{-1} \text{ off the columns of } B,

    whose whole path is computed. Terms that :math:`\rho` keeps are then fitted without penalty, so
    that their coefficients are not shrunk. With ``Breaks`` as candidates this finds jumps and
    kinks: where they are, of which order, how high.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the smooth part.
    candidates : NullSpace, optional
        The terms z; by default a jump half way between any two neighbours in the first feature.
    null_space : NullSpace, optional
        The functions p that are neither penalized nor selected; an intercept by default.
    C : float, default=1.0
        Weight of the squared errors against the smoothness of f.
    penalty : float or "bic", default="bic"
        The weight :math:`\rho`, or that on the path with the least
        :math:`n \log (r'Hr) + k (\log n + 2 \log m)` for k of m terms fitted without penalty, the
        extended information criterion: m candidates offer m chances of a coincidence.
    alike : float, default=0.9
        Of two kept terms whose columns have a larger correlation in H, as neighbouring jumps have,
        the one with the smaller coefficient is dropped.
    degree, gamma, coef0 :
        Of named kernels, as in :class:`SVR`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    terms_ : dict
        Names of the terms that were kept, with their coefficients: for ``Breaks`` the heights.
    machine_ : KernelRegressor
        The refitted machine.
    path_ : tuple of ndarray of shape (n_steps,) and (n_steps, n_terms)
        Values of :math:`\rho` from the largest on, and the coefficients of the candidates there.
    penalty_ : float
        The weight that was used.
    candidate_names_ : list of str
        Names of the candidates.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 9.3 and section 9.2.2;
    J. Chen and Z. Chen, Extended Bayesian information criteria for model selection with large model
    spaces, Biometrika 95 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import TermSelector
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(-5, 5, 60)
    >>> y = np.sinc(x / np.pi) + (x > 1.11)
    >>> machine = TermSelector(Gaussian(2.0), C=100.0).fit(x[:, None], y)
    >>> {name: round(float(height), 1) for name, height in machine.terms_.items()}
    {'jump at x0 = 1.18644': 1.0}
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    candidates: NullSpace | None = None
    null_space: NullSpace | None = None
    C: float = 1.0
    penalty: float | str = "bic"
    alike: float = 0.9
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({*FREE, *NAMES} - {"precomputed"}), callable],
        "candidates": [NullSpace, None],
        "null_space": [NullSpace, None],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "penalty": [StrOptions({"bic"}), Interval(Real, 0.0, None, closed="left")],
        "alike": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    # One dense factorization: nothing to set about how it is done.
    gram, cache_size, tol = "dense", 200.0, 1e-6

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None) -> Self:
        """Select terms and fit them with the smooth part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        """
        refuse_blocks(self, X)
        given = X
        X, y = self._check_X(X, y)
        y = np.asarray(y, dtype=np.float64)
        K = self._make_gram(Rows(X)).dense()
        B = unpenalized_columns(self, X, Constant() if self.null_space is None else self.null_space)
        features = getattr(self, "feature_names_in_", None)
        space = self._candidates(X) if self.candidates is None else copy.deepcopy(self.candidates)
        space = space if features is None else space.bind(list(features))
        Z, self.candidate_names_ = space(X), space.names(X.shape[1], features)
        size = np.max(np.abs(Z), axis=0, initial=0.0)
        live = np.flatnonzero(size > 0)
        # H = R'R with R = L^-1 off B, at the scale of (CK + 1)^-1.
        white = BestLinear(self.C * K + np.eye(len(y)), B).whitened
        A, t = white(Z[:, live] / size[live]), white(y)
        rho, coefs = np.zeros(1), np.zeros((0, 1))
        if len(live):
            rho, _, coefs = lars_path(A, t, method="lasso")
        rho = rho * len(y)  # its penalty is that of the mean
        path = np.zeros((len(rho), Z.shape[1]))
        path[:, live] = coefs.T / size[live]
        self.path_ = rho, path
        say(self, f"path of {len(rho)} steps over {Z.shape[1]} candidates")
        kept = self._kept(A, t, rho, coefs.T)
        chosen = live[kept]
        names = [self.candidate_names_[j] for j in chosen]
        machine = KernelRegressor(
            "squared", self.kernel, null_space=self._with(space, chosen), C=self.C
        )
        self.machine_ = machine.set_params(
            degree=self.degree, gamma=self.gamma, coef0=self.coef0
        ).fit(given, y)
        coef = self.machine_.null_space_coef_
        self.terms_ = dict(zip(names, coef[len(coef) - len(names) :].tolist(), strict=True))
        self.support_ = self.machine_.support_
        return self

    def _ending(self) -> str:
        return (
            f"{len(self.terms_)} of {len(self.candidate_names_)} terms at penalty "
            f"{self.penalty_:.6g}, {ending(self.machine_)}"
        )

    def _candidates(self, X: Array) -> NullSpace:
        values = np.unique(X[:, 0])
        return Breaks(0.5 * (values[1:] + values[:-1])) if len(values) > 1 else Columns([0])

    def _kept(self, A: Array, t: Array, rho: Array, path: Array) -> NDArray[np.intp]:
        """Return the terms that the penalty keeps, told apart from each other."""

        def distinct(w: Array) -> NDArray[np.intp]:
            length = np.linalg.norm(A, axis=0)
            found: list[int] = []
            for j in sorted(np.flatnonzero(w), key=lambda j: -abs(w[j]) * length[j]):
                cosines = np.abs(A[:, found].T @ A[:, j]) / (length[found] * length[j])
                if not np.any(cosines > self.alike):
                    found.append(int(j))
            return np.array(sorted(found), dtype=np.intp)

        if self.penalty != "bic":
            self.penalty_ = float(self.penalty)
            return distinct(_at(self.penalty_, rho, path))
        n = len(t)
        # Beyond so many terms the criterion would reward interpolation.
        steps = [k for k in range(len(rho)) if np.count_nonzero(path[k]) <= n // 4]
        sets = [distinct(path[k]) for k in steps]
        price = np.log(n) + 2.0 * np.log(max(1, A.shape[1]))
        costs = [n * np.log(max(_left(A[:, s], t), 1e-300)) + price * len(s) for s in sets]
        best = int(np.argmin(costs))
        self.penalty_ = float(rho[steps[best]])
        return sets[best]

    def _with(self, space: NullSpace, chosen: NDArray[np.intp]) -> NullSpace:
        base = Constant() if self.null_space is None else copy.deepcopy(self.null_space)
        if not len(chosen):
            return base
        picked = Functions([_Picked(space, chosen)], widths=[len(chosen)])
        return base + picked

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the refitted machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        prediction: Array = self.machine_.predict(X)
        return prediction


class _Picked:
    """Some columns of a space, as a function of points."""

    def __init__(self, space: NullSpace, columns: NDArray[np.intp]) -> None:
        self.space, self.columns = space, columns

    def __call__(self, X: PointsLike) -> Array:
        return self.space(X)[:, self.columns]


def _at(rho: float, knots: Array, path: Array) -> Array:
    """Interpolate the path, which is linear between its knots, largest first."""
    columns = [np.interp(rho, knots[::-1], column[::-1]) for column in path.T]
    return np.array(columns)


def _left(A: Array, t: Array) -> float:
    """Return the squared length of what columns leave of a vector."""
    r = t - A @ np.linalg.lstsq(A, t, rcond=None)[0] if A.shape[1] else t
    return float(r @ r)


register({TermSelector: lambda model: plan_of(model.machine_)})
