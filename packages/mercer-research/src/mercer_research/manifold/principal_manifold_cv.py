"""Choice of a principal manifold: weight of the penalty, width and nodes by held-out distortion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._deadline import deadline, time_left
from mercer._fitting import ending, say
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import HasMethods, fit_context
from mercer._sklearn import Interval as Range
from mercer._typing import Constraints, PointsLike, Seed, SplitterLike, TargetsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.kernels.points import Array
from mercer.machines.blocks import refuse_blocks
from mercer.machines.folds import as_splitter
from mercer.manifold.alternation import Descent, Functional, descend
from mercer.manifold.base import LatentMap
from mercer.manifold.latent import Latent
from mercer.manifold.principal_manifold import PrincipalManifold

LAMS = tuple(float(10.0**-k) for k in range(7))
"""Weights that are tried by default, from a stiff manifold to a loose one."""

# The share of a limit that the last fit has, of all rows, where a fold has one.
LAST = 2.0


@settings
class PrincipalManifoldCV(LatentMap):
    r"""Principal manifold whose weight, width and nodes are chosen by held-out distortion.

    .. math:: \min_{\lambda, l, Z} \; \sum_{\text{folds}} \sum_{i \text{ left out}}
              \min_{z \in Z} c(x_i, f_{\lambda, l, Z}(z))

    Every fold is followed along a path of weights, from the largest to the smallest, each manifold
    starting from the one before: that costs little more than one fit, and a manifold that bends
    slowly finds better minima than one that starts loose. The chosen manifold is fitted
    to all rows along the same path.

    A curve that fills the noise is near to new rows as well: where the latent set has nearly as
    many dimensions as the data, held-out distortion falls with the weight until the nodes set a
    limit, and the evidence of :class:`GenerativeTopographicMap` is the better judge.

    Parameters
    ----------
    estimator : PrincipalManifold, optional
        All other settings; a square of 7 x 7 nodes by default.
    lams : sequence of float, default=(1, 0.1, ..., 1e-6)
        Weights of the penalty.
    widths : sequence of float, optional
        Widths of the kernel in distances of nodes; the estimator's by default.
    latents : sequence of Latent, optional
        Latent sets; the estimator's by default.
    cv : int, cross-validation generator or iterable, default=3
        Folds; one split into training and validation rows is a generator with one fold.
    random_state : int, RandomState instance or None, default=0
        Draws the folds of an integer `cv`.
    max_time : float, optional
        Seconds for folds and the last fit. Weights that a fold had no time for are not chosen:
        their distortion is infinite.
    verbose : bool or int, default=False
        Write a line for every latent set and width, and how the fit ended, to the standard error.

    Attributes
    ----------
    best_estimator_ : PrincipalManifold
    best_params_ : dict
        Latent set, width and lam.
    best_score_ : float
        Minus the mean distortion of rows that were left out.
    cv_results_ : dict of arrays
        "latent", "width", "lam", "mean_test_distortion", "std_test_distortion" over folds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Interval, PrincipalManifold
    >>> from mercer_research.manifold import PrincipalManifoldCV
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 150)
    >>> X = np.c_[t, np.sin(np.pi * t)] + 0.1 * rng.normal(size=(150, 2))
    >>> curve = PrincipalManifold(Interval(10), max_iter=50, tol=1e-3)
    >>> found = PrincipalManifoldCV(curve, lams=[1, 0.1, 0.01], random_state=0).fit(X)
    >>> found.best_params_["lam"]
    0.01
    """

    estimator: Any = None
    _: KW_ONLY
    lams: Sequence[float] = LAMS
    widths: Sequence[float] | None = None
    latents: Sequence[Latent] | None = None
    cv: SplitterLike = 3
    random_state: Seed = 0
    max_time: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [PrincipalManifold, None],
        "lams": ["array-like"],
        "widths": ["array-like", None],
        "latents": [list, tuple, None],
        "cv": [
            Range(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            "array-like",
        ],
        "random_state": ["random_state"],
        "max_time": [Range(Real, 0, None, closed="left"), None],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Choose the settings by held-out distortion, and fit the manifold to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        refuse_blocks(self, X)
        X = np.asarray(
            validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
            )
        )
        s = check_sample_weight(sample_weight, X.shape[0])
        base = PrincipalManifold() if self.estimator is None else self.estimator
        lams = np.sort(np.asarray(self.lams, dtype=np.float64))[::-1]
        if not (lams.ndim == 1 and len(lams) and np.all(lams > 0)):
            raise ValueError("lams must be positive numbers, at least one of them.")
        folds = self._folds(X)
        rows: list[tuple[Latent | int, float, Array]] = []
        latents = [base.latent] if self.latents is None else self.latents
        widths = [base.width] if self.widths is None else self.widths
        # What is left is shared by the folds to come and the last fit, which has all rows.
        shares = len(latents) * len(widths) * len(folds) + LAST
        for latent in latents:
            for width in widths:
                made = clone(base).set_params(latent=latent, width=float(width))
                costs = []
                for fold in folds:
                    with deadline(time_left() / shares):
                        costs.append(self._fold(made, X, s, lams, *fold))
                    shares -= 1.0
                rows.append((latent, float(width), np.array(costs)))
                least = float(np.min(np.mean(costs, axis=0)))
                say(self, f"latent {latent}, width {width:g}: held-out distortion {least:.6g}")
        means = np.stack([costs.mean(axis=0) for *_, costs in rows])
        best, k = np.unravel_index(int(np.argmin(means)), means.shape)
        latent, width, _ = rows[best]
        self.cv_results_ = {
            "latent": np.repeat(np.array([row[0] for row in rows], dtype=object), len(lams)),
            "width": np.repeat([row[1] for row in rows], len(lams)),
            "lam": np.tile(lams, len(rows)),
            "mean_test_distortion": means.ravel(),
            "std_test_distortion": np.concatenate([costs.std(axis=0) for *_, costs in rows]),
        }
        self.best_params_ = {"latent": latent, "width": width, "lam": float(lams[k])}
        self.best_score_ = -float(means[best, k])
        made = clone(base).set_params(**self.best_params_)
        with deadline(0.5 * time_left()):
            *_, (_, end) = follow(made, X, s, lams[: k + 1])
        self.best_estimator_ = made.set_params(init=end.Z).fit(X, sample_weight=s)
        return self

    def _ending(self) -> str:
        return f"held-out distortion {-self.best_score_:.6g}, {ending(self.best_estimator_)}"

    def _folds(self, X: Array) -> list[tuple[Any, Any]]:
        return list(as_splitter(self.cv, None, self.random_state).split(X))

    def _fold(
        self, made: PrincipalManifold, X: Array, s: Array, lams: Array, train: Any, test: Any
    ) -> Array:
        """Return the mean distortion of held-out rows for every weight."""
        weights = s[test] if s[test].sum() > 0 else np.ones(len(X[test]))
        costs = np.full(len(lams), np.inf)  # of weights that there is no time for
        for k, (functional, end) in enumerate(follow(made, X[train], s[train], lams)):
            new = functional.projector(end.W)(functional.rows(X[test]))
            costs[k] = np.average(new.cost, weights=weights)
        return costs

    # What the chosen manifold does ----------------------------------------------------------------

    def _chosen(self) -> PrincipalManifold:
        check_is_fitted(self)
        found: PrincipalManifold = self.best_estimator_
        return found

    def transform(self, X: PointsLike) -> Any:
        """Return the latent coordinates of the nearest images of rows."""
        return self._chosen().transform(self._check(X, reset=False))

    def inverse_transform(self, Z: PointsLike) -> Array:
        """Return the images of latent coordinates."""
        return self._chosen().inverse_transform(Z)

    def score_samples(self, X: PointsLike) -> Any:
        """Return minus the distortion of every row."""
        return self._chosen().score_samples(self._check(X, reset=False))

    def impute(self, X: PointsLike) -> Any:
        """Return rows with missing cells filled in from their nearest images."""
        return self._chosen().impute(self._check(X, reset=False))

    @property
    def _latent(self) -> Latent:
        return self._chosen()._latent


def follow(
    made: PrincipalManifold, X: Array, s: Array, lams: Array
) -> Iterator[tuple[Functional, Descent]]:
    """Yield functionals and manifolds for a falling sequence of weights, each from the one before.

    Time may be over before the sequence is, but not before the first.

    Parameters
    ----------
    made : PrincipalManifold
        All other settings.
    X : (n, d) array
    s : (n,) array
    lams : (k,) array
    """
    functional, directions = made._centred(Arrays(X, s=s))
    stiff, rows = functional.weighted(lams[0]), functional.rows(X)
    W, Z = next(iter(made._starts(stiff, directions, rows, s)))
    for k, lam in enumerate(lams):
        if k and time_left() == 0.0:
            break
        now = functional.weighted(lam)
        end = descend(now, rows, s, W, Z=Z, max_iter=made.max_iter, tol=made.tol)
        W, Z = end.W, end.Z
        yield now, end
