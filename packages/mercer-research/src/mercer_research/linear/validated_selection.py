"""Stepwise selection of inputs as bounds on their coefficients, chosen by validation."""

from __future__ import annotations

import heapq
import itertools
import warnings
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import train_test_split

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike
from mercer_research.linear._validation import Split, Validated
from mercer_research.linear.constrained import ConstrainedFit, constrained_least_squares
from mercer_research.linear.fused_ridge import RidgeFusion, spectrum
from mercer_research.linear.lasso import best_along, lasso_homotopy

__all__ = ["ValidatedSelection", "selection_penalty"]

# A product of coefficient and force below this part of what it could be is rounding, and a
# coefficient below this part of the largest is not selected.
FEASIBLE, ZERO = 1e-10, 1e-8
# Up to so many inputs branch and bound is taken by itself.
FEW = 20


def selection_penalty(coef: Array, X: Array, y: Array) -> float:
    r"""Return by how much coefficients fail to be a bounded least-squares fit.

    .. math:: \sum_d \max(0, -w_d\, g_d(w)), \qquad g(w) = X'(y - Xw)

    It is zero exactly if w minimizes :math:`\|y - Xw\|^2` under bounds :math:`|w_d| \le W_d`, for
    which :math:`W = |w|` will do: each coefficient either is free to move (:math:`g_d = 0`) or is
    held back by its bound, pulled outwards.

    Parameters
    ----------
    coef : ndarray of shape (p,)
        The coefficients w.
    X, y : ndarray of shape (n, p) and (n,)
        Design and targets without a free constant.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.14), with the bounds and
    multipliers eliminated, and :math:`X'y` instead of the :math:`2X'y` that is printed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import selection_penalty
    >>> X, y = np.eye(2), np.array([2.0, 1.0])
    >>> [selection_penalty(np.array(w), X, y) for w in ([2.0, 0.0], [1.0, 0.5], [3.0, 0.0])]
    [0.0, 0.0, 3.0]
    """
    return float(np.sum(np.maximum(0.0, -coef * (X.T @ (y - X @ coef)))))


@settings
class ValidatedSelection(Validated):
    r"""Select inputs and shrink their coefficients so that validation data are predicted best.

    .. math:: \min_{W \ge 0} \|y^v - X^v w\|^2 \quad\text{subject to}\quad
              w = \arg\min_{|w_d| \le W_d} \tfrac12 \|y - Xw\|^2

    A bound of zero drops an input, a bound that is not felt leaves it free, so least squares on
    every subset is among the candidates, and so are the paths of ridge regression and the lasso.
    With the bounds eliminated the problem is

    .. math:: \min_w \|y^v - X^v w\|^2 \quad\text{subject to}\quad w_d\, g_d(w) \ge 0
              \text{ for all } d, \qquad g(w) = X'(y - Xw):

    for given signs s the set :math:`s_d w_d \ge 0,\, s_d g_d(w) \ge 0` is a polyhedron, and the
    problem in it a convex one. An orthogonal design admits one polyhedron, a box. In general they
    are searched

    - ``"exact"``: by branch and bound on the signs, with the problem under the signs decided so far
      as lower bound;
    - ``"local"``: from least squares, the lasso, ridge regression and forward selection, changing
      one sign at a time;
    - ``"penalty"``: by the document's penalty on :math:`-w_d g_d(w)`, with growing weight, which is
      not convex; its answer is brought into its polyhedron.

    Parameters
    ----------
    method : {"auto", "exact", "local", "penalty"}, default="auto"
        "exact" up to 20 inputs, else "local".
    max_nodes : int, default=2000
        Largest number of problems that branch and bound may solve.
    validation_fraction : float, default=0.3
        Part of the sample that validates, unless validation data are given to :meth:`fit`.
    random_state : int, RandomState instance or None, default=0
        How that part is drawn.
    fit_intercept : bool, default=True
        Fit a free constant.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane, fitted to the training part.
    bounds_ : ndarray of shape (n_features,)
        The bounds W.
    support_ : ndarray of bool of shape (n_features,)
        Which inputs are selected.
    validation_cost_ : float
        Half of the squared errors of validation.
    bound_ : float
        What no choice of bounds goes below; minus infinity unless proven.
    certified_ : bool
        Whether the answer is proven to be the best one.
    n_nodes_ : int
        How many convex problems were solved.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 7.1.3, eq. (7.9) to (7.14),
    whose relaxation (7.14) is not convex for any weight.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import ValidatedSelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 5))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.standard_normal(80)
    >>> model = ValidatedSelection().fit(X[:40], y[:40], X[40:], y[40:])
    >>> model.support_[:2], model.certified_
    (array([ True,  True]), True)
    """

    method: str = "auto"
    _: KW_ONLY
    max_nodes: int = 2000
    validation_fraction: float = 0.3
    random_state: Seed = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "method": [StrOptions({"auto", "exact", "local", "penalty"})],
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: PointsLike, y: TargetsLike, X_val: PointsLike = None, y_val: TargetsLike = None
    ) -> Self:
        """Find the bounds and the coefficients under them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        X_val, y_val : array-like of shape (n_validation, n_features) and (n_validation,), optional
            Validation data, instead of a part of the sample. They should be more than the inputs:
            as many coefficients can follow fewer errors wherever they go.
        """
        if X_val is not None or y_val is not None:
            _, (split,) = self._splits(X, y, X_val, y_val)
            if len(split.y_val) < split.X_val.shape[1]:
                warnings.warn(
                    f"{len(split.y_val)} validation samples cannot judge {split.X_val.shape[1]} "
                    "coefficients; give more.",
                    UserWarning,
                    stacklevel=2,
                )
        else:
            X, y, _ = self._data(X, y, least=2)
            parts = train_test_split(
                X, y, test_size=self.validation_fraction, random_state=self.random_state
            )
            split = Split.of(parts[0], parts[2], parts[1], parts[3], self.fit_intercept)
        search = _Signs(split, int(self.max_nodes))
        method = self.method
        if method == "auto":
            method = "exact" if search.p <= FEW else "local"
        w, bound = search.orthogonal() if search.is_orthogonal else getattr(search, method)()
        w = w / search.scale
        w[np.abs(w) * search.scale <= ZERO * np.max(np.abs(w) * search.scale, initial=0.0)] = 0.0
        self.validation_cost_ = split.cost(w)
        self.bound_ = min(bound, self.validation_cost_)
        self.certified_ = bool(self.validation_cost_ - self.bound_ <= search.slack)
        self.bounds_, self.support_ = np.abs(w), w != 0
        self.n_nodes_ = search.seen
        self._keep(split.train, w)
        return self


class _Signs:
    """The problem under given signs, for columns of length one, and ways to search for signs."""

    def __init__(self, split: Split, max_nodes: int) -> None:
        scale = np.linalg.norm(split.train.X, axis=0)
        self.scale = np.where(scale > 0, scale, 1.0)
        self.split, self.max_nodes, self.seen = split, max_nodes, 0
        self.X, self.y = split.train.X / self.scale, split.train.y
        self.E, self.f = split.X_val / self.scale, split.y_val
        self.G, self.c = self.X.T @ self.X, self.X.T @ self.y
        self.p = len(self.c)
        self.slack = 1e-8 * 0.5 * float(self.f @ self.f) + 1e-300
        self.size = float(np.linalg.norm(self.y)) or 1.0

    @property
    def is_orthogonal(self) -> bool:
        return bool(np.max(np.abs(self.G - np.diag(np.diag(self.G))), initial=0.0) < 1e-10)

    def solve(self, signs: NDArray[np.intp]) -> ConstrainedFit:
        """Minimize the error of validation under the signs that are not zero."""
        self.seen += 1
        d = np.flatnonzero(signs)
        s = signs[d].astype(np.float64)
        G = np.vstack([s[:, None] * np.eye(self.p)[d], -s[:, None] * self.G[d]])
        return constrained_least_squares(
            self.E, self.f, G, np.concatenate([np.zeros(len(d)), -s * self.c[d]])
        )

    def crossed(self, w: Array) -> Array:
        """Return by how much each coefficient goes against its force, relative to their size."""
        g = self.c - self.G @ w
        return np.asarray(np.maximum(0.0, -w * g)) / self.size**2

    def signs(self, w: Array) -> NDArray[np.intp]:
        """Return the polyhedron of a feasible point: of the coefficient, or of its force."""
        g = self.c - self.G @ w
        live = np.abs(w) > ZERO * np.max(np.abs(w), initial=0.0)
        s = np.where(live, np.sign(w), np.sign(g))
        return np.where(s == 0, 1, s).astype(np.intp)

    def cost(self, w: Array) -> float:
        return 0.5 * float(np.sum((self.f - self.E @ w) ** 2))

    def orthogonal(self) -> tuple[Array, float]:
        """Solve where only one polyhedron has inner points."""
        fit = self.solve(np.where(self.c < 0, -1, 1))
        return fit.x, fit.bound

    def starts(self) -> list[Array]:
        """Return feasible points: least squares, lasso, ridge, forward selection and zero."""
        split = Split.of(self.X, self.y, self.E, self.f, False)
        path = lasso_homotopy(self.X, self.y)
        fusion = RidgeFusion([split])
        U, s2, q = spectrum(split.train)
        ridge = U @ (q[:, 0] * s2 / (s2 + fusion.minimize()))
        found = [
            np.asarray(np.linalg.lstsq(self.X, self.y, rcond=None)[0]),
            path.at(best_along([path], [split])[0]),
            ridge,
            np.zeros(self.p),
        ]
        kept: list[int] = []
        best = np.inf
        while len(kept) < self.p:
            trials = [self.subset([*kept, d]) for d in range(self.p) if d not in kept]
            w = min(trials, key=self.cost)
            if not self.cost(w) < best:
                break
            best, kept = self.cost(w), list(np.flatnonzero(w))
            found.append(w)
        return found

    def subset(self, kept: list[int]) -> Array:
        w = np.zeros(self.p)
        w[kept] = np.linalg.lstsq(self.X[:, kept], self.y, rcond=None)[0]
        return w

    def local(self) -> tuple[Array, float]:
        """Change one sign at a time, from several points, as long as that helps."""
        best, best_cost = np.zeros(self.p), self.cost(np.zeros(self.p))
        tried: set[bytes] = set()
        for start in sorted(self.starts(), key=self.cost):
            s = self.signs(start)
            fit = self.solve(s)
            better = True
            while better and s.tobytes() not in tried:
                tried.add(s.tobytes())
                better = False
                for d in range(self.p):
                    other = s.copy()
                    other[d] *= -1
                    trial = self.solve(other)
                    if trial.value < fit.value - self.slack:
                        s, fit, better = other, trial, True
            if fit.value < best_cost:
                best, best_cost = fit.x, fit.value
        return best, -np.inf

    def exact(self) -> tuple[Array, float]:
        """Branch on the sign of the coefficient that goes most against its force."""
        best, _ = self.local()
        cost = self.cost(best)
        count = itertools.count()
        root = self.solve(np.zeros(self.p, dtype=np.intp))
        heap = [(root.bound, next(count), np.zeros(self.p, dtype=np.intp), root.x)]
        # The local search does not count against the budget of the proof.
        end = self.seen + self.max_nodes
        while heap:
            bound, _, s, w = heap[0]
            if bound >= cost - self.slack or self.seen >= end:
                return best, min(bound, cost)
            heapq.heappop(heap)
            against = np.where(s == 0, self.crossed(w), 0.0)
            if against.max() <= FEASIBLE:
                best, cost = w, self.cost(w)
                continue
            d = int(np.argmax(against))
            for sign in (-1, 1):
                child = s.copy()
                child[d] = sign
                fit = self.solve(child)
                if fit.bound < cost - self.slack:
                    heapq.heappush(heap, (fit.bound, next(count), child, fit.x))
        return best, cost

    def penalty(self) -> tuple[Array, float]:
        r"""Minimize the error plus a growing multiple of the penalty, smoothed, from ridge on."""
        w = self.starts()[2]
        weight = 1e-3 * (float(np.linalg.norm(self.E.T @ (self.f - self.E @ w))) or 1.0)
        for _ in range(12):
            for width in self.size**2 * np.array([1e-2, 1e-4, 1e-6, 1e-8]):
                w = np.asarray(minimize(self._smoothed, w, (weight, width), "L-BFGS-B", jac=True).x)
            if np.max(self.crossed(w), initial=0.0) <= 1e-8:
                break
            weight *= 10.0
        fit = self.solve(self.signs(w))
        return (fit.x if np.isfinite(fit.value) else np.zeros(self.p)), -np.inf

    def _smoothed(self, w: Array, weight: float, width: float) -> tuple[float, Array]:
        r, g = self.E @ w - self.f, self.c - self.G @ w
        t = -w * g
        root = np.hypot(t, width)
        value = 0.5 * float(r @ r) + weight * 0.5 * float(np.sum(t + root))
        # dt_d/dw = -g_d e_d + w_d G_d
        v = weight * 0.5 * (1.0 + t / root)
        return value, self.E.T @ r - v * g + self.G @ (v * w)
