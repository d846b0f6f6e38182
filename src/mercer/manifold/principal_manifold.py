"""Principal manifolds: smooth curves, sheets and volumes through the middle of a sample."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer._deadline import time_left
from mercer._fitting import say
from mercer._params import check_sample_weight
from mercer._progress import Bar
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval as Range
from mercer._sklearn import StrOptions, fit_context
from mercer._typing import Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.data import Source, as_source
from mercer.data.arrays import Arrays
from mercer.data.opening import is_source
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.machines.low_rank import by_blocks
from mercer.manifold.adaptation import Penalty
from mercer.manifold.alternation import Descent, Functional, descend, descend_blocks
from mercer.manifold.base import LatentMap
from mercer.manifold.basis import PENALTIES, as_null_space, by_chunks, make_basis
from mercer.manifold.distortions import Distortion, as_distortion
from mercer.manifold.latent import Latent, as_latent
from mercer.manifold.projection import Projected
from mercer.manifold.start import Directions, find_directions, random_directions, start_from
from mercer.regularizers.null_space import NullSpace

__all__ = ["PrincipalManifold"]

# Gap of the convex half, relative to the objective, that a user is told of.
LOOSE = 1e-2

# Share of the variance that is rounding of the sums.
EXACT = 1e-12

# Iterations at weights on the way, those of passes over blocks among them, and the fall that ends
# them.
ON_THE_WAY, FEW, ROUGH = 50, 20, 1e-3

# Directions more than the figure has, among which random starts are drawn.
SPARE = 3

# Rows of a block where the caller's blocks have no size of their own.
BLOCK = 8192


def directions_of(source: Source, functional: Functional) -> Directions:
    """Return the principal directions that starts of a manifold are made of."""
    total = partial(source.total, rows=BLOCK)
    count = functional.basis.latent.directions + SPARE
    return find_directions(total, functional.distortion, count)


class Fitted(NamedTuple):
    """A manifold: its functional and the coefficients of its columns."""

    functional: Functional
    W: Array

    def images(self, Z: Array) -> Array:
        """Return images of coordinates, to the same bits in any batch."""
        basis, images = self.functional.basis, self.functional.images
        return by_chunks(lambda part: images(basis(part) @ self.W), Z)


@settings
class PrincipalManifold(LatentMap):
    r"""Principal manifold: a smooth map of a latent set through the middle of a sample.

    .. math:: \min_f \; \frac1m \sum_i \min_{z \in Z} c(x_i, f(z)) + \lambda Q(f), \qquad
              f(z) = b + \sum_j \alpha_j k(z_j, z)

    By default :math:`Q = \tfrac12 \|f\|^2` in the norm of the kernel and c is the squared distance:
    an interval gives a principal curve, a square a map of the data, a circle a closed curve. Rows
    get the coordinates of their nearest image (`transform`), coordinates get back to rows
    (`inverse_transform`), and new points are treated as the sample was. Fitted by alternating
    projection and adaptation: neither ever raises the functional, and each adaptation is a convex
    problem whose error is bounded. The result is a local minimum; more starts (`n_init`) can
    find better ones.

    Parameters
    ----------
    latent : Latent or {1, 2, 3}, default=2
        The latent set and its nodes: :class:`Interval`, :class:`Grid`, :class:`Circle`,
        :class:`Torus` or :class:`Sphere`; a number of dimensions means 10, 7 x 7 or 6 x 6 x 6 nodes
        in a box.
    lam : float, default=1e-3
        Weight of the penalty. Both terms are squared lengths in the units of the data, so that it
        has no units.
    kernel : Kernel, optional
        Kernel of latent coordinates, in their units (the box has edges of length 2, a circle
        :math:`2\pi`). A Gaussian of the given `width` by default.
    width : float, default=1.0
        Width of the default kernel in distances of neighbouring nodes.
    penalty : {"kernel", "length", "weight decay", "l1", "group"}, default="kernel"
        The norm of the kernel; the squared length of a curve; half the sum of squares, the sum of
        sizes, or of lengths of rows, of the coefficients of kernels, which depend on the number of
        nodes (weight decay), or leave few of them (l1, group).
    cost : Distortion or {"squared", "huber", "absolute"}, default="squared"
        Cost of a distance. Huber's and absolute costs resist rows far away.
    null_space : {"constant", "linear"}, NullSpace or None, default="constant"
        Functions of latent coordinates that cost nothing. With "linear" a large `lam` leads to the
        principal plane. Without constants the manifold is drawn to the origin, so that a shift of
        the data changes it.
    normalization : {"mean", "sum"}, default="mean"
        Whether costs of rows are averaged or summed.
    init : {"pca", "random"} or array of shape (n_samples, n_coordinates), default="pca"
        First figure: along the first principal directions, along random ones, or coordinates of
        the rows, for example from another embedding.
    init_scale : float, default=1.0
        Spread of the first figure in deviations of the data.
    continuation : bool, default=True
        Begin with a stiff manifold and lower the weight of the penalty by tenths until it is `lam`:
        slower than beginning with `lam`, and much better at finding the order of the rows. Without
        effect where `init` gives coordinates and on penalties of sizes.
    n_init : int, default=1
        Number of starts; those after the first are random.
    warm_start : bool, default=False
        Begin with the manifold of the last fit, of the same latent set and kernel: fit a sample
        first, then all rows of a source.
    max_iter : int, default=300
        Largest number of iterations of each start.
    tol : float, default=1e-5
        Relative fall of the functional in an iteration at which the fit ends.
    max_time : float, optional
        Seconds after which a fit ends with the best manifold so far, and a warning.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.
    verbose : bool, default=False
        Show the iterations.

    Attributes
    ----------
    embedding_ : (n_samples, D) array
        Latent coordinates of the sample; absent after a fit to rows that came in blocks.
    nodes_ : (M, D) array
        Nodes that carry kernels; nodes that depend on others to rounding are left out.
    coef_ : (M, n_features) array
        Coefficients of the kernels.
    null_space_coef_ : (q, n_features) array
        Coefficients of the free functions; the first row is the offset.
    objective_ : float
        The functional.
    distortion_, penalty_ : float
        Its two terms, mean (or summed) cost of the rows at their nearest images and Q. After a fit
        to rows that came in blocks the cost is that at the coordinates of the last pass, which is
        an upper bound.
    gap_ : float
        Bound on the excess of the objective over the best manifold with the coordinates of the
        last adaptation.
    history_ : dict of arrays
        "objective" after every half step, "distortion" and "penalty" after every adaptation.
    n_iter_ : int
        Number of iterations of the best start.
    explained_variance_ratio_ : float
        Share of the variance of the sample that images have in common with it; absent after a fit
        to rows that came in blocks, as is the next one.
    boundary_share_ : float
        Share of the rows whose coordinates lie on the boundary of the latent set.
    local_minima_ : (n_init,) array
        Objective of every start.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, eq. (12), (29)-(35).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Interval, PrincipalManifold
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 100)
    >>> X = np.c_[t, np.sin(np.pi * t)] + 0.1 * rng.normal(size=(100, 2))
    >>> curve = PrincipalManifold(Interval(10), lam=0.01).fit(X)
    >>> round(curve.distortion_, 3), round(curve.length(), 1)
    (0.01, 4.6)
    """

    latent: Latent | int = 2
    _: KW_ONLY
    lam: float = 1e-3
    kernel: Kernel | None = None
    width: float = 1.0
    penalty: str = "kernel"
    cost: Distortion | str = "squared"
    null_space: NullSpace | str | None = "constant"
    normalization: str = "mean"
    init: Any = "pca"
    init_scale: float = 1.0
    continuation: bool = True
    n_init: int = 1
    warm_start: bool = False
    max_iter: int = 300
    tol: float = 1e-5
    max_time: float | None = None
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "latent": [Latent, Integral],
        "lam": [Range(Real, 0, None, closed="neither")],
        "kernel": [Kernel, None],
        "width": [Range(Real, 0, None, closed="neither")],
        "penalty": [StrOptions(set(PENALTIES))],
        "cost": [Distortion, StrOptions({"squared", "huber", "absolute"})],
        "null_space": [NullSpace, StrOptions({"constant", "linear"}), None],
        "normalization": [StrOptions({"mean", "sum"})],
        "init": [StrOptions({"pca", "random"}), "array-like"],
        "init_scale": [Range(Real, 0, None, closed="neither")],
        "continuation": ["boolean"],
        "n_init": [Range(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "max_iter": [Range(Integral, 1, None, closed="left")],
        "tol": [Range(Real, 0, None, closed="left")],
        "max_time": [Range(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    # Fitting --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the manifold.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell, which neither pulls the manifold nor the row.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        """
        if is_source(X):
            return self._fit_blocks(as_source(X))
        X = self._check(X, reset=True)
        s = check_sample_weight(sample_weight, X.shape[0])
        functional, directions = self._centred(Arrays(X, s=s))
        rows = functional.rows(X)
        best: tuple[Descent, Projected] | None = None
        ends: list[float] = []
        path = self._path(functional, directions)
        for W, Z in self._starts(functional.weighted(path[0]), directions, rows, s):
            if best is not None and time_left() == 0.0:
                break
            for lam in path[:-1]:
                now, rough = functional.weighted(lam), max(self.tol, ROUGH)
                end = descend(now, rows, s, W, Z=Z, max_iter=ON_THE_WAY, tol=rough)
                W, Z = end.W, end.Z
            found = descend(
                functional,
                rows,
                s,
                W,
                Z=Z,
                max_iter=self.max_iter,
                tol=self.tol,
                report=self._report,
            )
            # The coordinates of the last half step are those before the coefficients changed.
            last = functional.projector(found.W)(rows)
            ends.append(functional.value(last.cost, s, found.W))
            if best is None or ends[-1] < min(ends[:-1]):
                best = found, last
        assert best is not None
        found, last = best
        distortion = float(s @ last.cost) / functional.nu(float(s.sum()))
        self._keep(Fitted(functional, found.W), found, distortion, directions)
        self.local_minima_ = np.array(ends)
        self.embedding_ = last.Z
        R = np.where(np.isnan(rows), 0.0, rows - last.columns @ found.W)
        left = float(s @ np.einsum("nd,nd->n", R, R)) / float(s.sum())
        self.explained_variance_ratio_ = directions.share(left)
        self.boundary_share_ = float(np.mean(functional.basis.latent.on_boundary(self.embedding_)))
        self._warn(directions)
        return self

    def fit_transform(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> Any:
        """Fit the manifold and return the coordinates of the sample."""
        self.fit(X, y, sample_weight=sample_weight)
        return self.transform(X) if is_source(X) else self.embedding_

    def _functional(self) -> Functional:
        """Return the functional that the parameters describe."""
        latent = as_latent(self.latent)
        if self.penalty == "length":
            if self.kernel is not None:
                raise ValueError("penalty='length' has a kernel of its own; leave kernel=None.")
            kernel = latent.length_kernel()
        else:
            kernel = latent.kernel(float(self.width)) if self.kernel is None else self.kernel
        null_space = as_null_space(self.null_space, kernel, latent.dim)
        basis = make_basis(latent, kernel, self.penalty, null_space)
        penalty = Penalty(self.penalty, float(self.lam), basis.r)
        return Functional(basis, as_distortion(self.cost), penalty, self.normalization == "mean")

    def _centred(self, source: Source) -> tuple[Functional, Directions]:
        """Return the functional around the mean of some rows, and their principal directions."""
        functional = self._functional()
        functional.distortion.check(source.n_features)
        directions = directions_of(source, functional)
        return functional.centred(directions.mean), directions

    def _path(self, functional: Functional, directions: Directions) -> list[float]:
        """Return weights of the penalty that a fit passes, its own the last."""
        straight = isinstance(self.init, str) and not self._warm()
        path = functional.path(directions.weight) if self.continuation and straight else []
        return [*path, float(self.lam)]

    def _warm(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "fitted_")

    def _starts(self, functional: Functional, directions: Directions, X: Array, s: Array) -> Any:
        """Yield coefficients and coordinates to start from."""
        rng = check_random_state(self.random_state)
        latent = functional.basis.latent
        if self._warm():
            W = self.fitted_.W
            if W.shape != (functional.basis.r + functional.basis.q, X.shape[1]):
                raise ValueError(
                    "warm_start goes on with the nodes, the kernel and the features of the last "
                    "fit, and these are others; set warm_start=False."
                )
            yield self.fitted_.functional.recentred(W, directions.mean), None
            return
        for number in range(self.n_init):
            if number == 0 and not isinstance(self.init, str):
                Z = latent.clip(np.asarray(self.init, dtype=np.float64).reshape(len(X), latent.dim))
                yield functional.adapt(functional.basis(Z), X, s, None).W, Z
                continue
            chosen = directions
            if number or self.init == "random":
                seed = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
                chosen = random_directions(directions, latent.directions, seed)
            yield start_from(functional, chosen, float(self.init_scale)), None

    def _fit_blocks(self, source: Source) -> Self:
        if self.n_init > 1 or not isinstance(self.init, str):
            raise ValueError(
                "rows that come in blocks are fitted from one start, init='pca' or 'random', with "
                "n_init=1."
            )
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        if source.given_names is not None:
            self.feature_names_in_ = np.asarray(source.given_names, dtype=object)
        functional, directions = self._centred(source)
        path = self._path(functional, directions)
        ((W, _),) = self._starts(
            functional.weighted(path[0]), directions, np.empty((0, source.n_features)), np.empty(0)
        )

        def total(work: Any, shared: Any, state: Any) -> Any:
            with Bar(type(self).__name__, source.n_rows, show=bool(self.verbose)) as bar:
                return source.total(work, shared, state, rows=BLOCK, report=bar.update)

        how: dict[str, Any] = {
            "missing": directions.missing,
            "total": total,
            "report": self._report,
        }
        for lam in path[:-1]:
            rough = max(self.tol, ROUGH)
            W = descend_blocks(functional.weighted(lam), W, max_iter=FEW, tol=rough, **how).W
        found = descend_blocks(functional, W, max_iter=self.max_iter, tol=self.tol, **how)
        # All that a fit to rows in memory looks at them once more for.
        for name in ("embedding_", "boundary_share_", "explained_variance_ratio_"):
            self.__dict__.pop(name, None)
        self._keep(Fitted(functional, found.W), found, found.distortion[-1], directions)
        self.local_minima_ = np.array([self.objective_])
        return self

    def _keep(
        self, fitted: Fitted, found: Descent, distortion: float, directions: Directions
    ) -> None:
        functional, basis = fitted.functional, fitted.functional.basis
        restore = functional.distortion.restore
        W = functional.recentred(found.W, np.zeros(self.n_features_in_))
        alpha, b = basis.coefficients(W)
        self.fitted_ = fitted
        self.nodes_ = basis.centres
        self.kernel_ = basis.kernel
        self.coef_, self.null_space_coef_ = restore(alpha), restore(b)
        self.distortion_, self.penalty_ = distortion, found.penalty[-1]
        self.objective_ = distortion + functional.penalty.lam * self.penalty_
        self.gap_, self.n_iter_ = float(found.gap), found.n_iter
        self.history_ = {
            name: np.array(getattr(found, name)) for name in ("objective", "distortion", "penalty")
        }
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} iterations while its "
                "functional still fell; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _warn(self, directions: Directions) -> None:
        if self.gap_ > max(LOOSE * self.objective_, EXACT * directions.variance):
            warnings.warn(
                f"the last adaptation of {type(self).__name__} may be {self.gap_:.1e} above its "
                f"minimum, at an objective of {self.objective_:.1e}; raise lam.",
                ConvergenceWarning,
                stacklevel=4,
            )
        D = self._latent.directions
        plane = directions.share(directions.variance - float(np.sum(directions.axes[:D] ** 2)))
        if self.explained_variance_ratio_ < 0.5 * plane:
            warnings.warn(
                f"the manifold explains {self.explained_variance_ratio_:.0%} of the variance, "
                f"{D} principal directions {plane:.0%}: lam={self.lam:g} makes it too stiff; "
                "lower lam, or set null_space='linear'.",
                UserWarning,
                stacklevel=4,
            )

    def _report(self, iteration: int, objective: float) -> None:
        say(self, f"iteration {iteration}, objective {objective:.6g}")

    # New points -----------------------------------------------------------------------------------

    @by_blocks
    def transform(self, X: PointsLike) -> Any:
        """Return the latent coordinates of the nearest images of rows.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.

        Returns
        -------
        (n_samples, D) array
            The same to the last bit for a row alone and in any batch.
        """
        return self._projected(X).Z

    def inverse_transform(self, Z: PointsLike) -> Array:
        """Return the images of latent coordinates.

        Parameters
        ----------
        Z : array-like of shape (n_samples, D)
            Coordinates; those outside of the latent set are moved to its boundary.
        """
        return self.fitted_.images(self._coordinates(Z))

    @by_blocks
    def distortion(self, X: PointsLike) -> Any:
        """Return the cost of every row at its nearest image, (n_samples,): a score of novelty."""
        return self._projected(X).cost

    @by_blocks
    def score_samples(self, X: PointsLike) -> Any:
        """Return minus the distortion of every row: low for rows unlike the sample."""
        return -self._projected(X).cost

    @by_blocks
    def reconstruct(self, X: PointsLike) -> Any:
        """Return the nearest images of rows.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
        """
        return self.fitted_.images(self._projected(X).Z)

    @by_blocks
    def impute(self, X: PointsLike) -> Any:
        """Return rows with missing cells filled in from their nearest images.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        rows = self._check(X, reset=False)
        return np.where(np.isnan(rows), self.fitted_.images(self._projected(rows).Z), rows)

    # The map itself -------------------------------------------------------------------------------

    def jacobian(self, Z: PointsLike) -> Array:
        """Return derivatives of images by latent coordinates, (n_samples, D, n_features).

        Parameters
        ----------
        Z : array-like of shape (n_samples, D)
        """
        fitted = self.fitted_
        J = fitted.functional.basis.tangents(fitted.W)(self._coordinates(Z))[1]
        n, D, d = J.shape
        return fitted.functional.distortion.restore(J.reshape(n * D, d)).reshape(n, D, d)

    def magnification(self, Z: PointsLike) -> Array:
        r"""Return the factor by which the map enlarges areas, :math:`\sqrt{\det JJ'}`.

        Parameters
        ----------
        Z : array-like of shape (n_samples, D)
        """
        values = np.linalg.svd(self.jacobian(Z), compute_uv=False)
        # A sphere has three coordinates and two dimensions.
        rank = self._latent.intrinsic
        if values.shape[1] < rank:
            return np.zeros(len(values))
        return np.asarray(np.prod(values[:, :rank], axis=1))

    def length(self, n: int = 2000) -> float:
        """Return the length of a curve, measured along a polygon.

        Parameters
        ----------
        n : int, default=2000
            Number of edges.
        """
        latent = self._latent
        if latent.dim != 1:
            raise ValueError(
                f"a length belongs to a curve; the latent set has {latent.dim} dimensions."
            )
        # Coordinates of a circle are not clipped: its last point is the first.
        P = self.fitted_.functional.basis(np.linspace(*latent.ends, n + 1)[:, None])
        F = self.fitted_.functional.distortion.restore(P @ self.fitted_.W)
        return float(np.linalg.norm(np.diff(F, axis=0), axis=1).sum())

    def lipschitz(self) -> float:
        """Estimate the Lipschitz constant of the map by its largest slope on a dense grid.

        An estimate from below, and no bound: between points of the grid a slope may be larger.
        """
        J = self.jacobian(self._latent.samples())
        return float(np.linalg.norm(J, ord=2, axis=(1, 2)).max())

    # Inside ---------------------------------------------------------------------------------------

    def _projected(self, X: PointsLike) -> Projected:
        X = self._check(X, reset=False)
        if np.isnan(X).all(axis=1).any():
            raise ValueError("some rows have no known cell, so that they lie nowhere; drop them.")
        fitted = self.fitted_
        return fitted.functional.projector(fitted.W)(fitted.functional.rows(X))

    @property
    def _latent(self) -> Latent:
        return self.fitted_.functional.basis.latent
