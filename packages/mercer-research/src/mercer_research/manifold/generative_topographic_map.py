"""Generative topographic maps: principal manifolds with soft assignments and a density."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import (
    DensityMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_sample_weight
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
from mercer.manifold.alternation import Functional
from mercer.manifold.base import LatentMap
from mercer.manifold.basis import Basis, as_null_space, by_chunks, make_basis
from mercer.manifold.distortions import SquaredDistortion
from mercer.manifold.latent import Latent, as_latent
from mercer.manifold.start import Directions, find_directions, start_from
from mercer.regularizers.null_space import NullSpace
from mercer_research.manifold.expectation_maximization import (
    FLOOR,
    Ascent,
    Mixture,
    raise_likelihood,
    responsibilities,
)

# Entries of the matrix of responsibilities that are held at once.
ENTRIES = 2**21

# Changes of mu by the evidence, and the relative change at which they end.
ROUNDS, STILL = 30, 1e-3

# Part of the variance that the noise has at least at the start: a sharper start does not let rows
# find their place.
BLUR = 1e-2


class Generated(NamedTuple):
    """A fitted map: its columns, latent points and mixture."""

    basis: Basis
    points: Array
    """Latent points, (L, D)."""

    mixture: Mixture


@settings
class GenerativeTopographicMap(DensityMixin, LatentMap):  # type: ignore[misc]
    r"""Generative topographic map (GTM): a density around a smooth map of a latent set.

    .. math:: \max_{f, \beta} \; \sum_i \log \frac1L \sum_l N\bigl(x_i \mid f(u_l), \beta^{-1} I
              \bigr) - \frac\mu2 Q(f), \qquad f(u) = b + \sum_j \alpha_j k(z_j, u)

    with latent points :math:`u_l` that fill the latent set evenly. It has the map of
    :class:`PrincipalManifold` and soft assignments of rows to latent points instead of projections,
    and so a log density for every row (`score_samples`). Fitted by expectation maximization, which
    never lowers the penalized log-likelihood.

    Parameters
    ----------
    latent : Latent or {1, 2, 3}, default=2
        The latent set and its nodes, as in :class:`PrincipalManifold`.
    kernel : Kernel, optional
        Kernel of latent coordinates; a Gaussian of the given `width` by default.
    width : float, default=1.0
        Width of the default kernel in distances of neighbouring nodes.
    penalty : {"weight decay", "kernel"}, default="kernel"
        Squared norm Q of the kernel, so that the map has a Gaussian-process prior with this
        covariance; or the sum of squares of the coefficients of kernels, as in the first
        papers, which depends on the number of nodes.
    mu : float or "evidence", default="evidence"
        Precision of the prior of the map, over one mean variance of the features. "evidence":
        increased or lowered until the effective number of coefficients explains their size.
        Otherwise choose it by the score of held-out rows (``GridSearchCV``).
    beta : float, optional
        Precision of the noise, in units of the data; estimated by default.
    null_space : {"constant", "linear"}, NullSpace or None, default="constant"
        Functions of latent coordinates that cost nothing.
    density : float, default=0.5
        Number of latent points along every coordinate, relative to the number of starts of the
        projection of :class:`PrincipalManifold`: 200 of an interval, 20 x 20 of a square.
    coordinates : {"mean", "mode"}, default="mean"
        Coordinates of a row: the mean of the posterior distribution over latent points (along the
        shorter arcs of a circle), or its most probable point.
    init_scale : float, default=1.0
        Spread of the first figure in deviations of the data.
    max_iter : int, default=500
        Largest number of steps.
    tol : float, default=1e-5
        Rise of the penalized log-likelihood for each row in a step at which the fit ends.
    max_time : float, optional
        Seconds after which a fit ends with the map so far, and a warning.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    beta_ : float
        Precision of the noise.
    mu_ : float
        Precision of the prior, in units of the data.
    embedding_ : ndarray of shape (n_samples, D)
        Coordinates of the sample; absent after a fit to rows that came in blocks.
    points_ : ndarray of shape (L, D)
        Latent points.
    nodes_, coef_, null_space_coef_ : ndarray
        Nodes that carry kernels, their coefficients, and coefficients of free functions of rows
        less their mean `mean_`.
    mean_ : ndarray of shape (n_features,)
        Mean of the sample.
    history_ : dict of arrays
        "objective", the penalized log-likelihood, and "likelihood", its first term, after every
        step of the last value of mu.
    n_iter_ : int
        Number of steps for all values of mu.

    References
    ----------
    C. M. Bishop, M. Svensen and C. K. I. Williams, *GTM: the generative topographic mapping*,
    Neural Computation 10, 1998; A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson,
    *Regularized principal manifolds*, J. Machine Learning Research 1, 2001, section 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Interval
    >>> from mercer_research.manifold import GenerativeTopographicMap
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 300)
    >>> X = np.c_[t, np.sin(np.pi * t)] + 0.1 * rng.normal(size=(300, 2))
    >>> model = GenerativeTopographicMap(Interval(10)).fit(X[:200])
    >>> (1 / np.sqrt(model.beta_)).round(2), round(model.score(X[200:]), 2)
    (np.float64(0.08), -0.73)
    """

    latent: Latent | int = 2
    _: KW_ONLY
    kernel: Kernel | None = None
    width: float = 1.0
    penalty: str = "kernel"
    mu: float | str = "evidence"
    beta: float | None = None
    null_space: NullSpace | str | None = "constant"
    density: float = 0.5
    coordinates: str = "mean"
    init_scale: float = 1.0
    max_iter: int = 500
    tol: float = 1e-5
    max_time: float | None = None

    _least_rows = 2

    _parameter_constraints: ClassVar[Constraints] = {
        "latent": [Latent, Integral],
        "kernel": [Kernel, None],
        "width": [Range(Real, 0, None, closed="neither")],
        "penalty": [StrOptions({"weight decay", "kernel"})],
        "mu": [Range(Real, 0, None, closed="neither"), StrOptions({"evidence"})],
        "beta": [Range(Real, 0, None, closed="neither"), None],
        "null_space": [NullSpace, StrOptions({"constant", "linear"}), None],
        "density": [Range(Real, 0, None, closed="neither")],
        "coordinates": [StrOptions({"mean", "mode"})],
        "init_scale": [Range(Real, 0, None, closed="neither")],
        "max_iter": [Range(Integral, 1, None, closed="left")],
        "tol": [Range(Real, 0, None, closed="left")],
        "max_time": [Range(Real, 0, None, closed="left"), None],
    }

    # Fitting --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the map and the noise.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell, which is integrated out.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        """
        latent = as_latent(self.latent)
        kernel = latent.kernel(float(self.width)) if self.kernel is None else self.kernel
        null_space = as_null_space(self.null_space, kernel, latent.dim)
        basis = make_basis(latent, kernel, self.penalty, null_space)
        source: Source
        if is_source(X):
            source = as_source(X)
            self.n_features_in_ = source.n_features
            self.__dict__.pop("feature_names_in_", None)
            if source.given_names is not None:
                self.feature_names_in_ = np.asarray(source.given_names, dtype=object)
            self.__dict__.pop("embedding_", None)
        else:
            X = self._check(X, reset=True)
            s = check_sample_weight(sample_weight, X.shape[0])
            if not np.isfinite(s.sum()):
                raise ValueError("the sum of sample_weight is infinite; scale the weights down")
            source = Arrays(X, s=s)
        points = latent.samples(float(self.density))
        rows = max(64, ENTRIES // len(points))

        def total(work: Any, shared: Any, state: Any) -> Any:
            return source.total(work, shared, state, rows=rows)

        directions = find_directions(total, SquaredDistortion(), latent.directions)
        unit = directions.unit
        if not 0.0 < unit < np.inf:
            raise ValueError("the rows do not vary, or their squares overflow; scale them.")
        start = self._start(basis, points, directions)
        floor = FLOOR * unit
        mu = (1.0 if self.mu == "evidence" else float(self.mu)) / unit
        found, steps, settled = Ascent(start), 0, False
        for _ in range(ROUNDS if self.mu == "evidence" else 1):
            found = raise_likelihood(
                total,
                found.mixture,
                basis.r,
                mu,
                missing=directions.missing,
                fixed=self.beta is not None,
                floor=floor,
                weight=directions.weight,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            steps += len(found.objective)
            settled = self.mu != "evidence" or abs(found.evidence_mu - mu) <= STILL * mu
            if settled or not found.converged:
                break
            mu = found.evidence_mu
        self._keep(Generated(basis, points, found.mixture), found, mu)
        self.n_iter_ = steps
        if not (settled and found.converged):
            warnings.warn(
                f"{type(self).__name__} stopped after {steps} steps while its likelihood still "
                "rose; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if not is_source(X):
            self.embedding_ = self.transform(X)
        return self

    def _start(self, basis: Basis, points: Array, directions: Directions) -> Mixture:
        """Return a map along the principal directions, with noise as wide as it leaves."""
        penalty = Penalty(self.penalty, 1e-6, basis.r)
        functional = Functional(basis, SquaredDistortion(), penalty)
        centred = directions._replace(mean=np.zeros_like(directions.mean))
        W = start_from(functional, centred, float(self.init_scale))
        latent = basis.latent
        flat = float(np.sum(directions.axes[: latent.directions] ** 2))
        noise = max(1.0 - flat / directions.variance, BLUR) * directions.unit
        beta = 1.0 / noise if self.beta is None else float(self.beta)
        return Mixture(by_chunks(basis, points), W, beta, directions.mean)

    def _keep(self, fitted: Generated, found: Ascent, mu: float) -> None:
        self.fitted_ = fitted
        self.points_, self.nodes_ = fitted.points, fitted.basis.centres
        self.coef_, self.null_space_coef_ = fitted.basis.coefficients(fitted.mixture.W)
        self.mean_, self.beta_, self.mu_ = fitted.mixture.mean, fitted.mixture.beta, mu
        self.kernel_ = fitted.basis.kernel
        self.history_ = {
            "objective": np.array(found.objective),
            "likelihood": np.array(found.likelihood),
        }

    # New points -----------------------------------------------------------------------------------

    @by_blocks
    def responsibilities(self, X: PointsLike) -> Any:
        """Return posterior probabilities of the latent points, (n_samples, L).

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        return self._posterior(X)[0]

    @by_blocks
    def score_samples(self, X: PointsLike) -> Any:
        """Return the log density of every row, over the cells that are known, (n_samples,).

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
        """
        return self._posterior(X)[1]

    score = LatentMap.score  # that of the mixin of densities does nothing

    @by_blocks
    def transform(self, X: PointsLike) -> Any:
        """Return latent coordinates of rows, the mean or the mode of their posterior.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)

        Returns
        -------
        (n_samples, D) array
        """
        R = self._posterior(X)[0]
        points, latent = self.fitted_.points, self.fitted_.basis.latent
        if self.coordinates == "mode":
            return points[np.argmax(R, axis=1)]
        if getattr(latent, "periodic", False):
            # The direction of the mean of unit vectors: angles have no mean across zero.
            turns = by_chunks(lambda part: part @ np.hstack([np.sin(points), np.cos(points)]), R)
            return latent.clip(np.arctan2(*np.split(turns, 2, axis=1)))
        return latent.clip(by_chunks(lambda part: part @ points, R))

    def inverse_transform(self, Z: PointsLike) -> Array:
        """Return the images of latent coordinates.

        Parameters
        ----------
        Z : array-like of shape (n_samples, D)
            Coordinates; those outside of the latent set are moved to its boundary.
        """
        inside = self._coordinates(Z)
        basis, mixture = self.fitted_.basis, self.fitted_.mixture
        images = by_chunks(lambda part: basis(part) @ mixture.W, inside)
        return np.asarray(images + mixture.mean)

    @by_blocks
    def impute(self, X: PointsLike) -> Any:
        """Return rows with missing cells replaced by their mean given the known cells.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        rows = self._check(X, reset=False)
        mixture = self.fitted_.mixture
        R, _ = self._posterior(rows)
        return np.where(np.isnan(rows), R @ (mixture.P @ mixture.W) + mixture.mean, rows)

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw rows from the density, (n_samples, n_features).

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        mixture = self.fitted_.mixture
        F = mixture.P @ mixture.W + mixture.mean
        chosen = rng.randint(len(F), size=n_samples)
        noise = rng.normal(size=(n_samples, F.shape[1])) / np.sqrt(mixture.beta)
        return np.asarray(F[chosen] + noise)

    # Inside ---------------------------------------------------------------------------------------

    def _posterior(self, X: PointsLike) -> tuple[Array, Array]:
        """Return responsibilities and log densities of rows, to the same bits in any batch."""
        X = self._check(X, reset=False)
        mixture = self.fitted_.mixture

        def both(part: Array) -> Array:
            R, density = responsibilities(mixture, part)
            return np.hstack([R, density[:, None]])

        found = by_chunks(both, X)
        return found[:, :-1], found[:, -1]

    @property
    def _latent(self) -> Latent:
        return self.fitted_.basis.latent
