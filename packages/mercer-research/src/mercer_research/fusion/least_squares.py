"""Least-squares machines fused with validation: C is part of the fit, not a grid around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, RealNotInt, StrOptions, fit_context
from mercer._typing import (
    Array,
    Constraints,
    Function,
    PointsLike,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.kernels.base import Kernel
from mercer.machines.folds import as_splitter
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import unpenalized_columns
from mercer.regularizers.null_space import Constant
from mercer_research.fusion.filters import (
    RANK,
    Decomposition,
    Filtered,
    ValidationPath,
    shrinkage,
)
from mercer_research.fusion.hull import minimize_over_hull
from mercer_research.fusion.machine import Found
from mercer_research.fusion.relaxation import relax

__all__ = ["FusedLSSVR"]

Indices = NDArray[np.intp]

# A filter free to keep components this small fits the noise of validation data with them.
RELAXED_RANK = 1e-8


@settings
class FusedLSSVR(Found):
    r"""Fit a least-squares machine whose C minimizes the squared errors on validation data.

    .. math:: \min_{C, a, b} \sum_j \bigl(y^v_j - f(x^v_j)\bigr)^2 \quad\text{subject to}\quad
              (K + \tfrac1C)\, a + Bb = y, \; B'a = 0

    One eigendecomposition makes the errors a function of C that costs O(n) an evaluation. The
    machines of all C are a curve; three sets around it make the problem convex, at the price of
    machines that no single C has:

    * ``"path"``: the curve itself, minimized over all C.
    * ``"hull"``: its convex hull, averages of machines. A few values of C are active.
    * ``"spectral"``: all filters of the eigenvalues that are ordered as those of a C are. Their
      minimum bounds that of the curve from below, and a machine with the nearest C from above.
      Components below 1e-8 of the largest eigenvalue are left out, in the curve as well; for the
      other sets below 1e-10.
    * ``"nw"``: a start, no minimum: with the residuals of the Nadaraya-Watson smoother in place
      of those of the machine, the coefficients are proportional to C.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel. Of a kernel with few explicit features a thin singular value
        decomposition is taken instead of the eigendecomposition, O(n m^2).
    strategy : {"path", "hull", "spectral", "nw"}, default="path"
        The set of machines to choose from.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    cv : int, float, splitter or iterable, default=5
        Without validation data: folds, or a share of the sample to validate on, as in
        :func:`~mercer.machines.folds.as_splitter`. The machine is then fitted to the whole sample
        with the hyperparameters that were found.
    nodes : array-like of shape (n_nodes,), optional
        For ``"hull"``: the values of C to combine; the whole path by default.
    tight : bool, default=True
        For ``"spectral"``: whether shrinkage must fall with the eigenvalues, which every C
        satisfies, or only filters must rise, as printed.
    refit : bool, default=False
        For ``"spectral"`` with validation data: whether the machine has the nearest C instead of
        the best filter. With `cv`, where every fold has a filter of its own, it always has.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    degree, gamma, coef0 :
        Of named kernels, as in :class:`~mercer.SVR`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    C_ : float
        The best C; for averages and filters the one that is nearest to them. It is 0 where no
        kernel part helps, and infinite where interpolation is best.
    boundary_ : str or None
        ``"zero"`` or ``"infinity"`` for these, for ``"path"``.
    cost_ : float
        Sum of the squared validation errors of the chosen element, with `cv` over all folds.
    upper_bound_ : float
        The cost of ``C_``.
    lower_bound_ : float
        For ``"hull"`` over all C and ``"spectral"``: no C has a lower cost.
    validation_curve_ : tuple of ndarray
        Values of C and their costs.
    nodes_, node_weights_ : ndarray
        For ``"hull"``: the active C and their weights.
    filter_ : ndarray of shape (m,)
        Shrinkage of the components of the fitted sample, largest eigenvalue first.
    values_ : ndarray of shape (m,)
        These eigenvalues.
    dual_coef_, support_, support_vectors_, intercept_, null_space_coef_ :
        As in :class:`~mercer.KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.20), example 7.2 with eq.
    (7.21) to (7.25), and section 8.2.1 with eq. (8.15), (8.16) and algorithm 8.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import FusedLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (150, 1))
    >>> y = np.sinc(X[:, 0]) + 0.3 * rng.normal(size=150)
    >>> data = X[:100], y[:100]
    >>> held_out = {"X_val": X[100:], "y_val": y[100:]}
    >>> costs = [
    ...     FusedLSSVR(Gaussian(0.5), strategy=s).fit(*data, **held_out).cost_
    ...     for s in ("path", "hull", "spectral")
    ... ]
    >>> costs == sorted(costs, reverse=True)
    True
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    strategy: str = "path"
    cv: SplitterLike = 5
    nodes: Any = None
    tight: bool = True
    refit: bool = False

    _parameter_constraints: ClassVar[Constraints] = {
        "strategy": [StrOptions({"path", "hull", "spectral", "nw"})],
        "cv": ["cv_object", Interval(RealNotInt, 0.0, 1.0, closed="neither")],
        "nodes": ["array-like", None],
        "tight": ["boolean"],
        "refit": ["boolean"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike = None,
        *,
        X_val: PointsLike = None,
        y_val: TargetsLike = None,
    ) -> Self:
        """Fit the machine and its C together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; errors of several outputs add up.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared errors, in training and in folds.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), optional
            Validation inputs; for ``kernel="precomputed"`` the kernel with the sample. Without
            them, parts of the sample are held out by `cv`.
        y_val : array-like of shape (n_val,) or (n_val, n_outputs), optional
            Validation targets.
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("give X_val and y_val both, or neither and a cv.")
        X, y = self._check_X(X, y)
        Y = self._targets(y)
        weights, live = self._weights(sample_weight, len(Y))
        gram = self._make_gram(Rows(X))
        B = unpenalized_columns(self, X, Constant() if self.null_space is None else self.null_space)
        G = self._map(X)
        if G is not None and G.shape[1] >= len(Y):
            G = None
        K = np.asarray(gram.dense(), dtype=np.float64) if G is None else None
        rank = RELAXED_RANK if self.strategy == "spectral" else RANK
        sample = _Sample(K, G, B, Y, weights, rank)
        whole = sample.decompose(live)
        given = X_val is not None
        splits = (
            [self._given(sample, whole, live, X, X_val, y_val)]
            if given
            else list(self._held_out(sample, live, y))
        )
        path = ValidationPath([split.part(sample) for split in splits])
        for name in ("boundary_", "lower_bound_", "nodes_", "node_weights_"):
            self.__dict__.pop(name, None)  # what another strategy said
        choose = {
            "path": self._by_path,
            "hull": self._by_hull,
            "spectral": self._by_spectral,
            "nw": self._by_nw,
        }[self.strategy]
        mu = choose(path, whole.values, given, [split.start for split in splits], sample)
        self.upper_bound_ = float(path.cost(self.C_))
        self.validation_curve_ = path.grid, path.cost(path.grid)
        self.values_, self.filter_ = whole.values, mu
        a = np.zeros_like(Y)
        a[live], b = whole.coefficients(Y[live], mu)
        self._expand_to(X, a, b)
        return self

    def _given(
        self,
        sample: _Sample,
        whole: Decomposition,
        live: Indices,
        X: PointsLike,
        X_val: PointsLike,
        y_val: TargetsLike,
    ) -> _Split:
        """Return the whole sample against the validation data."""
        X_val = self._check_X(X_val, reset=False)
        Y_val = np.asarray(y_val, dtype=np.float64)
        Y_val = Y_val[:, None] if Y_val.ndim == 1 else Y_val
        B_val = self.null_space_(X_val)
        if Y_val.shape != (len(B_val), sample.Y.shape[1]):
            raise ValueError(
                f"y_val has shape {Y_val.shape}; X_val has {len(B_val)} rows and y "
                f"{sample.Y.shape[1]} outputs."
            )
        cross = self._map(X_val) if sample.K is None else None
        if cross is None:
            cross = self._cross(X_val, X)[:, live]
        return _Split(live, whole, cross, B_val, Y_val, np.ones(len(Y_val)))

    def _held_out(self, sample: _Sample, live: Indices, y: TargetsLike) -> Iterator[_Split]:
        """Yield parts of the sample against those that were held out."""
        splitter = as_splitter(self.cv, y, self.random_state)
        for T, V in splitter.split(np.empty((len(sample.Y), 1)), y):
            rows, out = np.intersect1d(T, live), np.intersect1d(V, live)
            cross, weights = sample.cross(out, rows), sample.weights[out]
            yield _Split(rows, sample.decompose(rows), cross, sample.B[out], sample.Y[out], weights)

    # The sets of machines ------------------------------------------------------------------------

    def _by_path(
        self, path: ValidationPath, values: Array, given: bool, starts: Any, sample: Any
    ) -> Array:
        best = path.minimum()
        self.C_, self.cost_, self.boundary_ = best.C, best.cost, best.boundary
        return shrinkage(values, best.C)

    def _by_hull(
        self, path: ValidationPath, values: Array, given: bool, starts: Any, sample: Any
    ) -> Array:
        if self.nodes is not None and not np.all(np.asarray(self.nodes, dtype=float) > 0):
            raise ValueError("nodes are values of C, which must be positive.")
        found = minimize_over_hull(path, self.nodes)
        order = np.argsort(found.labels)
        self.nodes_, self.node_weights_ = found.labels[order], found.weights[order]
        self.cost_ = found.cost
        if self.nodes is None:
            self.lower_bound_ = found.cost - found.gap

        def mixed(sigma: Array) -> Array:
            return np.asarray(self.node_weights_ @ shrinkage(sigma, self.nodes_))

        self.C_ = path.nearest([mixed(part.values) for part in path.parts])
        return mixed(values)

    def _by_spectral(
        self, path: ValidationPath, values: Array, given: bool, starts: Any, sample: Any
    ) -> Array:
        found = [relax(part, tight=self.tight) for part in path.parts]
        self.lower_bound_ = sum(one.lower_bound for one in found)
        self.C_ = path.nearest([one.filter for one in found])
        if given and not self.refit:
            self.cost_ = found[0].cost
            return found[0].filter
        self.cost_ = float(path.cost(self.C_))
        return shrinkage(values, self.C_)

    def _by_nw(
        self, path: ValidationPath, values: Array, given: bool, starts: Any, sample: Any
    ) -> Array:
        z = np.concatenate([start(sample) for start in starts])
        t = np.concatenate([part.t for part in path.parts])
        self.C_ = max(0.0, float(z @ t) / float(z @ z)) if np.any(z) else 0.0
        self.cost_ = float(path.cost(self.C_))
        return shrinkage(values, self.C_)


class _Sample:
    """A sample whose rows are decomposed, with the kernel matrix or a factor of it."""

    def __init__(
        self, K: Array | None, G: Array | None, B: Array, Y: Array, weights: Array, rank: float
    ):
        self.K, self.G, self.B, self.Y, self.weights, self.rank = K, G, B, Y, weights, rank

    def decompose(self, rows: Indices) -> Decomposition:
        B, weights = self.B[rows], self.weights[rows]
        if self.K is None:
            assert self.G is not None
            return Decomposition(None, B, weights, factor=self.G[rows], rank=self.rank)
        return Decomposition(self.K[np.ix_(rows, rows)], B, weights, rank=self.rank)

    def cross(self, held_out: Indices, rows: Indices) -> Array:
        if self.K is None:
            assert self.G is not None
            return np.asarray(self.G[held_out])
        return self.K[np.ix_(held_out, rows)]


class _Split(NamedTuple):
    """Rows to fit and others to validate on."""

    rows: Indices
    fold: Decomposition
    cross: Array
    B: Array
    Y: Array
    weights: Array

    def part(self, sample: _Sample) -> Filtered:
        """Return the errors of every filter."""
        return self.fold.against(sample.Y[self.rows], self.cross, self.B, self.Y, self.weights)

    def start(self, sample: _Sample) -> Array:
        """Return predictions by C = 1 times smoothed residuals as coefficients."""
        rows = self.rows
        if sample.K is not None:
            smooth = sample.K[np.ix_(rows, rows)]
        else:
            assert sample.G is not None
            smooth = sample.G[rows] @ sample.G[rows].T
        if np.min(smooth) < 0:
            raise ValueError(
                "strategy='nw' averages with the values of the kernel, which must not be negative; "
                "use a kernel such as Gaussian, or strategy='path'."
            )
        smooth = smooth * sample.weights[rows]
        Y = sample.Y[rows]
        residuals = Y - smooth @ Y / np.sum(smooth, axis=1)[:, None]
        moved = self.fold.moves(self.cross, self.B) @ self.fold.project(residuals)
        return np.asarray((np.sqrt(self.weights)[:, None] * moved).T.reshape(-1))
