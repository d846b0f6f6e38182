"""Normal scores of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval
from mercer._typing import AnyArray, Array, Constraints, PointsLike
from mercer.data import DataError, Source
from mercer.data.base import Block
from mercer.data.sampling import sampled_columns
from mercer.data.table import Table
from mercer.preprocessing.base import Streamed

__all__ = ["RankNormalizer"]


@settings
class RankNormalizer(Streamed):
    r"""Replace the values of each feature by normal scores of their mid-ranks.

    .. math:: z(x) = \Phi^{-1}(u), \qquad
              u = \frac{1}{n} \bigl( \#\{x_i < x\} + \tfrac12 \#\{x_i = x\} \bigr)

    at the values of the fit, with the quantile function :math:`\Phi^{-1}` of the normal
    distribution. So features have about a normal distribution whatever theirs is, outliers are not
    far away, and equal values share the score of their mid-rank, also at the ends: a feature that
    is 0 in half of the rows has the score :math:`\Phi^{-1}(1/4) = -0.67` there. Scores at the
    values of the fit do not change if a feature passes through an increasing function.

    Between two neighbouring values of the fit scores are linear in the value. Beyond the smallest
    and the largest value they stay as they are there: ranks say nothing about how far away a value
    is, and a line would depend on the units of the last two values.

    A feature with two values has the scores 0 and 1, so that their distance does not depend on how
    frequent they are, and a feature with one value the score 0. Missing values (NaN) are not
    counted and stay missing.

    Parameters
    ----------
    n_quantiles : int, default=10,000
        Largest number of different values of a feature that are kept, at least ten. Of more values
        those at evenly spaced ranks are kept, with the extreme ones. Ranks are those of the rows,
        or of 100,000 rows drawn at random if there are more.
    verbose : bool, default=False
        Tell how far a pass has come.

    Attributes
    ----------
    values_ : list of ndarray
        For each feature the values of the fit, ascending.
    scores_ : list of ndarray
        Their scores.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    See Also
    --------
    Scaler : Linear scaling, by standard deviations or by quartiles.

    References
    ----------
    B. L. van der Waerden, Order tests for the two-sample problem and their power, Indagationes
    Mathematicae 14 (1952); T. M. Beasley, S. Erickson and D. B. Allison, Rank-based inverse normal
    transformations are increasingly used, but are they merited?, Behavior Genetics 39 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import RankNormalizer
    >>> X = np.array([[0.0, 5.0], [0.0, 7.0], [3.0, 5.0], [1e6, 5.0]])
    >>> normalizer = RankNormalizer().fit(X)
    >>> normalizer.transform(X).round(2)
    array([[-0.67,  0.  ],
           [-0.67,  1.  ],
           [ 0.32,  0.  ],
           [ 1.15,  0.  ]])
    >>> normalizer.inverse_transform(normalizer.transform(X))[:, 0].tolist()
    [0.0, 0.0, 3.0, 1000000.0]
    """

    _: KW_ONLY
    n_quantiles: int = 10_000

    _parameter_constraints: ClassVar[Constraints] = {
        "n_quantiles": [Interval(Integral, 10, None, closed="left")],
    }

    def _learn(self, source: Source) -> None:
        names = source.feature_names or [f"x{j}" for j in range(source.n_features)]
        numbers = source.map(_Numbers(names))
        columns = self._pass("ranks", source, sampled_columns, numbers, range(len(names)))
        knots = [_knots(values, self.n_quantiles) for values in columns]
        self.values_ = [values for values, _ in knots]
        self.scores_ = [scores for _, scores in knots]

    def _applied(self, X: PointsLike) -> PointsLike:
        return _mapped(X, self.values_, self.scores_, 0.0)

    def inverse_transform(self, X: PointsLike) -> PointsLike:
        """Return the values that have given scores, linear between those of the fit.

        Parameters
        ----------
        X : array-like, or source, of shape (n_samples, n_features)
            Scores. Those beyond the ends become the smallest and the largest value; a feature that
            had no values becomes NaN.
        """
        check_is_fitted(self)
        return self._transformed(X, "_returned")

    def _returned(self, X: PointsLike) -> PointsLike:
        return _mapped(X, self.scores_, self.values_, np.nan)


@dataclass
class _Numbers:
    """Make arrays of finite numbers of blocks."""

    names: list[str]

    def __call__(self, block: Block) -> Block:
        if sp.issparse(block.X):
            raise DataError("ranks of sparse columns are not sparse; use X.toarray()")
        X = block.X.numbers() if isinstance(block.X, Table) else block.X
        infinite = np.isinf(X).any(axis=0)
        if infinite.any():
            name = self.names[int(np.argmax(infinite))]
            raise DataError(f"Input X contains infinity, which has no rank: column {name!r}")
        return block._replace(X=X)


def _knots(x: Array, size: int) -> tuple[Array, Array]:
    """Return at most `size` values, ascending, and their scores."""
    values, counts = np.unique(x + 0.0, return_counts=True)  # one zero, not two
    if len(values) <= 2:
        return values, np.arange(float(len(values)))
    upto = np.cumsum(counts)
    scores = ndtri((upto - 0.5 * counts) / len(x))
    if len(values) > size:
        at = np.searchsorted(upto, np.linspace(0.0, len(x), size), side="left")
        kept = np.unique(np.minimum(at, len(values) - 1))
        values, scores = values[kept], scores[kept]
    return values, np.asarray(scores)


def _mapped(X: AnyArray, start: list[Array], end: list[Array], empty: float) -> AnyArray:
    """Map each column by linear interpolation, in the precision it came in."""
    result = np.empty_like(X)
    for j, (knots, values) in enumerate(zip(start, end, strict=True)):
        x = X[:, j].astype(np.float64)
        result[:, j] = interpolated(x, knots, values) if len(knots) else empty
        result[np.isnan(x), j] = np.nan
    return result


def interpolated(x: Array, knots: Array, values: Array) -> Array:
    """Interpolate increasing values at increasing knots linearly, constant beyond the ends.

    The result is exact at the knots and never decreases, which :func:`numpy.interp` does not
    promise: slopes overflow between knots that are very close, and differences of very large ones.

    Parameters
    ----------
    x : (n,) array
    knots, values : (k,) arrays
        At least one.

    Examples
    --------
    >>> interpolated(np.array([-1.0, 0.5, 9.0]), np.array([0.0, 2.0]), np.array([10.0, 20.0]))
    array([10. , 12.5, 20. ])
    """
    if len(knots) == 1:
        return np.full(len(x), values[0])
    left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    a, b, low, high = knots[left], knots[left + 1], values[left], values[left + 1]
    p, q = _quarter(a, b), _quarter(low, high)
    # Beyond the ends first: a quotient of a large and a small number is no number.
    x = np.clip(x, knots[0], knots[-1])
    share = np.clip((x * p - a * p) / (b * p - a * p), 0.0, 1.0)
    mixed = (low * q + share * (high * q - low * q)) / q
    return np.where(share < 1.0, np.minimum(mixed, high), high)


def _quarter(a: Array, b: Array) -> Array:
    """Return 1/4 for numbers near the largest, so that no difference overflows, or else 1."""
    return np.where(np.maximum(np.abs(a), np.abs(b)) > 1e300, 0.25, 1.0)
