"""Principal curves of a given length: polygonal lines with a penalty on their length."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._deadline import time_left
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval as Range
from mercer._sklearn import StrOptions, fit_context
from mercer._typing import Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.points import Array
from mercer.manifold.base import LatentMap
from mercer.manifold.distortions import Distortion
from mercer.manifold.latent import Circle, Interval, Latent, as_latent
from mercer.manifold.low_rank import principal_plane
from mercer.manifold.principal_manifold import PrincipalManifold

__all__ = ["PrincipalCurve"]

# Weights of the penalty at which a path begins: an open curve grows from a short segment, a closed
# one would shrink to a point, from which it does not come back.
STIFF = {False: 1.0, True: 1e-2}

# Factor between weights of a path, and the least weight: 1e-6 hardly shortens any curve.
FACTOR, LEAST = 2.0, 1e-6

# Relative fall at which fits on the way end: the next begins elsewhere.
ROUGH = 1e-4

# Rounds of equal speed at a weight, cuts of the interval of weights, and how near a length is.
ROUNDS, CUTS, NEAR = 5, 30, 5e-3

# Part by which a length that was asked for may be missed without a word.
MISSED = 1e-2


class Ruler(NamedTuple):
    """Arc lengths of a curve at latent coordinates."""

    t: Array
    """Coordinates, increasing."""

    lengths: Array
    """Length of the curve up to them."""

    @classmethod
    def of(cls, curve: PrincipalManifold) -> Ruler:
        """Measure a curve from vertex to vertex."""
        fitted = curve.fitted_
        latent = fitted.functional.basis.latent
        t = np.union1d(latent.nodes, latent.ends)
        # Not clipped, because the last point of a circle is the first.
        P = fitted.functional.basis(t[:, None])
        F = fitted.functional.distortion.restore(P @ fitted.W)
        steps = np.linalg.norm(np.diff(F, axis=0), axis=1)
        return cls(t, np.concatenate([[0.0], np.cumsum(steps)]))

    @property
    def total(self) -> float:
        """Length of the curve."""
        return float(self.lengths[-1])

    def along(self, Z: Array) -> Array:
        """Return arc lengths at coordinates, (n,)."""
        return np.asarray(np.interp(Z[:, 0], self.t, self.lengths))

    def even(self, Z: Array) -> Array:
        """Return coordinates at which a curve of constant speed has the images of others."""
        if not self.total > 0.0:
            return Z
        share = self.along(Z) / self.total
        return np.asarray(self.t[0] + share * (self.t[-1] - self.t[0]))[:, None]


class Step(NamedTuple):
    """A curve on the way to the curve that is wanted."""

    curve: PrincipalManifold
    ruler: Ruler
    converged: bool

    @property
    def even(self) -> Array:
        """Coordinates of the sample on the curve at constant speed."""
        return self.ruler.even(self.curve.embedding_)


def _ranks(X: Array, s: Array, n: int) -> list[Array]:
    """Return coordinates of rows by their rank along directions of the first principal plane."""
    missing = np.isnan(X)
    means = s @ np.where(missing, 0.0, X) / np.maximum(s @ ~missing, 1e-300)
    rows = np.where(missing, means, X)
    if X.shape[1] < 2 or n < 2:
        return []
    plane = principal_plane(rows, s, 2)
    starts = []
    for angle in np.pi * np.arange(1, n) / n:
        along = (rows - plane.mean) @ plane.axes.T @ [np.cos(angle), np.sin(angle)]
        order = np.argsort(along, kind="stable")
        share = np.empty(len(X))
        share[order] = (np.cumsum(s[order]) - 0.5 * s[order]) / s.sum()
        starts.append((2.0 * share - 1.0)[:, None])
    return starts


@settings
class PrincipalCurve(LatentMap):
    r"""Principal curve: a polygonal line through the middle of a sample, of limited length.

    .. math:: \min_f \; \frac1m \sum_i \min_t c(x_i, f(t)) + \frac\lambda2 \int \|f'(t)\|^2\, dt

    At the minimum the speed is constant and the integral is the squared length over the length of
    the interval, so that the weight :math:`\lambda` trades distance against length. Give the weight
    or the length. This is :class:`PrincipalManifold` with ``penalty="length"`` on an interval or a
    circle, followed from a stiff curve, so that it grows out of the first principal component, and
    from ranks along other directions, which find the way through samples that turn back.

    Parameters
    ----------
    n_nodes : int, default=20
        Number of vertices of the polygon.
    lam : float, optional
        Weight of the penalty, without units; 0.003 unless a `length` is given.
    length : float, optional
        Largest length of the curve, in units of the data: the weight is found by interpolation.
        Where the curve stays shorter by more than one per cent, because it is shorter without any
        penalty or its length jumps with the weight, a warning says how long it is.
    closed : bool, default=False
        Fit a closed curve.
    cost : Distortion or {"squared", "huber", "absolute"}, default="squared"
        Cost of a distance. Huber's and absolute costs resist rows far away.
    max_iter : int, default=1000
        Largest number of iterations at each weight.
    max_time : float, optional
        Seconds after which a fit ends with the curve so far, and a warning.
    tol : float, default=1e-5
        Relative fall of the functional in an iteration at which a fit ends.
    n_init : int, default=6
        Number of starts of an open curve: the stiff curve, and ranks of the rows along further
        directions of the first principal plane. The lowest functional is kept.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    lam_ : float
        Weight of the penalty.
    length_ : float
        Length of the curve.
    vertices_ : ndarray of shape (n_nodes, n_features)
        Vertices of the polygon.
    embedding_ : ndarray of shape (n_samples, 1)
        Coordinates of the sample.
    objective_, distortion_, gap_ : float
        The functional, the mean cost, and the bound on the excess of the last convex half step.
    path_ : ndarray of shape (n, 3)
        Weight, length and mean cost of every curve that was fitted on the way.
    manifold_ : PrincipalManifold
        The curve.
    n_iter_ : int
        Number of iterations at the last weight.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, examples 6 and 7; B. Kegl, A. Krzyzak, T. Linder and K.
    Zeger, *Learning and design of principal curves*, IEEE Transactions on Pattern Analysis and
    Machine Intelligence 22, 2000.

    Examples
    --------
    Half a circle of radius 1 has the length 3.14.

    >>> import numpy as np
    >>> from mercer.manifold import PrincipalCurve
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(0, np.pi, 100)
    >>> X = np.c_[np.cos(t), np.sin(t)] + 0.05 * rng.normal(size=(100, 2))
    >>> curve = PrincipalCurve(10, length=3.0).fit(X)
    >>> round(curve.length_, 1), np.linalg.norm(curve.vertices_, axis=1).mean().round(2)
    (3.0, np.float64(1.0))
    >>> abs(np.corrcoef(curve.arc_length(X), t)[0, 1]).round(2)
    np.float64(1.0)
    """

    n_nodes: int = 20
    _: KW_ONLY
    lam: float | None = None
    length: float | None = None
    closed: bool = False
    cost: Distortion | str = "squared"
    max_iter: int = 1000
    max_time: float | None = None
    tol: float = 1e-5
    n_init: int = 6

    _parameter_constraints: ClassVar[Constraints] = {
        "n_nodes": [Range(Integral, 3, None, closed="left")],
        "lam": [Range(Real, 0, None, closed="neither"), None],
        "length": [Range(Real, 0, None, closed="neither"), None],
        "closed": ["boolean"],
        "cost": [Distortion, StrOptions({"squared", "huber", "absolute"})],
        "max_iter": [Range(Integral, 1, None, closed="left")],
        "max_time": [Range(Real, 0, None, closed="left"), None],
        "tol": [Range(Real, 0, None, closed="left")],
        "n_init": [Range(Integral, 1, None, closed="left")],
    }

    # Fitting --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the curve.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        """
        if self.lam is not None and self.length is not None:
            raise ValueError("give lam or length: each of them decides the other.")
        if is_source(X):
            raise ValueError(
                "PrincipalCurve goes over its rows many times: give an array of some of them "
                "(mercer.data.draw), or fit PrincipalManifold(penalty='length') to rows in blocks."
            )
        X = self._check(X, reset=True)
        s = check_sample_weight(sample_weight, X.shape[0])
        path: list[Step] = []
        if self.length is None:
            step = self._follow(X, s, 3e-3 if self.lam is None else float(self.lam), path)
        else:
            step = self._search(X, s, float(self.length), path)
        curve = step.curve
        self.manifold_ = curve
        self.lam_, self.length_ = float(curve.lam), step.ruler.total
        self.vertices_ = curve.inverse_transform(as_latent(curve.latent).nodes)
        self.embedding_ = curve.embedding_
        self.path_ = np.array([[o.curve.lam, o.ruler.total, o.curve.distortion_] for o in path])
        self.objective_, self.distortion_ = curve.objective_, curve.distortion_
        self.gap_, self.n_iter_ = curve.gap_, curve.n_iter_
        if not step.converged or not time_left():
            warnings.warn(
                f"PrincipalCurve stopped after {curve.n_iter_} iterations at its last weight while "
                "its functional still fell; raise max_iter, max_time or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _at(
        self,
        X: Array,
        s: Array,
        lam: float,
        Z: Array | None,
        path: list[Step],
        tol: float = ROUGH,
    ) -> Step:
        """Return the curve of a weight, started at coordinates of the rows."""
        curve = PrincipalManifold(
            (Circle if self.closed else Interval)(int(self.n_nodes)),
            lam=lam,
            penalty="length",
            cost=self.cost,
            init="pca" if Z is None else Z,
            max_iter=self.max_iter,
            tol=max(self.tol, tol),
        )
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            curve.fit(X, sample_weight=s)
        converged = not any(issubclass(one.category, ConvergenceWarning) for one in heard)
        path.append(Step(curve, Ruler.of(curve), converged))
        return path[-1]

    def _settle(self, X: Array, s: Array, lam: float, Z: Array | None, path: list[Step]) -> Step:
        """Return the curve of a weight, made even in speed until the functional stops falling."""
        best = self._at(X, s, lam, Z, path, self.tol)
        for _ in range(ROUNDS):
            new = self._at(X, s, lam, best.even, path, self.tol)
            fell = best.curve.objective_ - new.curve.objective_
            best = new if fell > 0 else best
            if fell <= self.tol * abs(best.curve.objective_) or not time_left():
                break
        return best

    def _follow(self, X: Array, s: Array, lam: float, path: list[Step]) -> Step:
        """Return the curve of a weight: grown from a stiff curve, or from a better start."""
        Z, weight = None, STIFF[self.closed]
        while weight > max(lam, LEAST) and time_left():
            Z = self._at(X, s, weight, Z, path).even
            weight /= FACTOR
        rough = self._at(X, s, lam, Z, path)
        best = min([rough, *self._others(X, s, lam, path)], key=lambda one: one.curve.objective_)
        return self._settle(X, s, lam, best.even, path)

    def _others(self, X: Array, s: Array, lam: float, path: list[Step]) -> list[Step]:
        """Return curves of a weight that start along other directions than the principal one."""
        starts = [] if self.closed else _ranks(X, s, int(self.n_init))
        return [self._at(X, s, lam, Z, path) for Z in starts if time_left()]

    def _search(self, X: Array, s: Array, length: float, path: list[Step]) -> Step:
        """Return the longest curve that is not longer than a length, the nearest of its starts."""
        first = self._at(X, s, STIFF[self.closed], None, path)
        grown = self._bisect(X, s, length, first, path)
        lam = float(grown.curve.lam)
        others = self._others(X, s, lam, path)
        best = min([grown, *others], key=lambda one: one.curve.objective_)
        if best is not grown:
            other = self._bisect(X, s, length, best, path)
            if other.curve.distortion_ < grown.curve.distortion_:
                grown = other
        if (reached := grown.ruler.total) < (1.0 - MISSED) * length:
            why = (
                f"at lam={grown.curve.lam:.4g} the curve finds another way, longer than that; the "
                "shorter curve is kept."
                if grown.curve.lam > LEAST
                else f"the rows ask for no longer curve of {self.n_nodes} nodes, even without a "
                "penalty."
            )
            warnings.warn(
                f"The curve has the length {reached:.4g} and not length={length:.4g}: {why}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return grown

    def _bisect(self, X: Array, s: Array, length: float, short: Step, path: list[Step]) -> Step:
        """Return the longest curve that is not longer than a length, from some curve."""
        weight = float(short.curve.lam)
        while short.ruler.total > length and time_left():
            # The length of a stiff curve is one over the weight, up to a factor.
            weight *= max(FACTOR, short.ruler.total / length)
            short = self._at(X, s, weight, short.even, path)
        long = short
        # A curve that shrank to a point does not come back.
        while 0.0 < long.ruler.total <= length and weight > LEAST and time_left():
            fall = max(FACTOR, length / long.ruler.total)
            short, weight = long, max(weight / fall, LEAST / FACTOR)
            long = self._at(X, s, weight, short.even, path)
        if long.ruler.total <= length or not time_left():
            return short if long.ruler.total > length else long
        high, low = float(short.curve.lam), float(long.curve.lam)
        for _ in range(CUTS):
            near = short.ruler.total >= (1.0 - NEAR) * length or low >= (1.0 - 1e-4) * high
            if near or not time_left():
                break
            # The length is nearly linear in the logarithm of the weight.
            share = (length - short.ruler.total) / (long.ruler.total - short.ruler.total)
            weight = high * (low / high) ** float(np.clip(share, 0.1, 0.9))
            found = self._at(X, s, weight, short.even, path)
            if found.ruler.total <= length:
                short, high = found, weight
            else:
                long, low = found, weight
        return short

    # New points -----------------------------------------------------------------------------------

    def transform(self, X: PointsLike) -> Array:
        """Return the coordinates of the nearest points of the curve.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.

        Returns
        -------
        (n_samples, 1) array
            From -1 to 1, or angles of a closed curve.
        """
        return np.asarray(self._fitted().transform(self._check(X, reset=False)))

    def arc_length(self, X: PointsLike) -> Array:
        """Return the length of the curve up to the nearest points of rows, in units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        Z = self.transform(X)
        return Ruler.of(self.manifold_).along(Z)

    def inverse_transform(self, Z: PointsLike) -> Array:
        """Return points of the curve.

        Parameters
        ----------
        Z : array-like of shape (n_samples, 1)
        """
        return self._fitted().inverse_transform(Z)

    def reconstruct(self, X: PointsLike) -> Array:
        """Return the nearest points of the curve.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return np.asarray(self._fitted().reconstruct(self._check(X, reset=False)))

    def impute(self, X: PointsLike) -> Array:
        """Return rows with missing cells filled in from the nearest points of the curve.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        return np.asarray(self._fitted().impute(self._check(X, reset=False)))

    def distortion(self, X: PointsLike) -> Array:
        """Return the cost of every row at its nearest point, (n_samples,): a score of novelty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return np.asarray(self._fitted().distortion(self._check(X, reset=False)))

    def score_samples(self, X: PointsLike) -> Array:
        """Return minus the cost of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return -self.distortion(X)

    # Inside ---------------------------------------------------------------------------------------

    def _fitted(self) -> PrincipalManifold:
        check_is_fitted(self)
        return self.manifold_

    @property
    def _latent(self) -> Latent:
        return self._fitted()._latent
