"""Features of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer._settings import settings
from mercer._sklearn import StrOptions
from mercer._typing import Constraints, PointsLike
from mercer.data import Source, moments, quantiles
from mercer.data.base import Block
from mercer.data.table import Table
from mercer.preprocessing.base import Streamed

__all__ = ["Scaler"]


@settings
class Scaler(Streamed):
    r"""Centre features and divide them by their spread, learned in one pass.

    .. math:: z = (x - m) / v

    with the mean and the standard deviation, or with the median and the distance between the
    quartiles, of the values that are not missing. A feature with one value only is not divided.

    Parameters
    ----------
    centre : bool, default=True
        Subtract the mean or the median; not possible for sparse matrices.
    scale : bool or "robust", default=True
        Divide by the standard deviation, not at all, or by the distance between the quartiles,
        which outliers do not move. Then the centre is the median, and there are two to four passes.
    verbose : bool, default=False
        Tell how far a pass has come.

    Attributes
    ----------
    centre_ : ndarray of shape (n_features,)
        What is subtracted, m.
    scale_ : ndarray of shape (n_features,)
        What is divided by, v.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_source
    >>> from mercer.preprocessing import Scaler
    >>> X = np.array([[1.0, 10.0], [3.0, 10.0]])
    >>> scaler = Scaler().fit(as_source(X))
    >>> scaler.transform(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    centre: bool = True
    scale: bool | str = True

    takes_sparse = True

    _parameter_constraints: ClassVar[Constraints] = {
        "centre": ["boolean"],
        "scale": ["boolean", StrOptions({"robust"})],
    }

    def _learn(self, source: Source) -> None:
        dense = source.map(_Dense(self.centre))
        if self.scale == "robust":
            low, middle, high = self._pass("quartiles", source, quantiles, dense, [0.25, 0.5, 0.75])
            spread, constant = high - low, ~(high > low)
        else:
            found = self._pass("moments", source, moments, dense)
            if not np.isfinite(found.squares).all() or not np.isfinite(found.mean).all():
                j = int(np.argmin(np.isfinite(found.squares) & np.isfinite(found.mean)))
                what = f"feature {j}" if self._names is None else repr(self._names[j])
                raise ValueError(f"Input X contains infinity, or values too large: {what}")
            middle, spread = found.mean, np.sqrt(found.variance)
            constant = found.constant
        p = self.n_features_in_
        self.centre_ = np.where(np.isnan(middle), 0.0, middle) if self.centre else np.zeros(p)
        self.scale_ = np.where(constant, 1.0, spread) if self.scale else np.ones(p)

    def _applied(self, X: PointsLike) -> PointsLike:
        if sp.issparse(X):
            return self._resized(X, np.divide)
        return (X - self.centre_.astype(X.dtype)) / self.scale_.astype(X.dtype)

    def _resized(self, X: PointsLike, by: np.ufunc) -> sp.csr_array:
        """Return a sparse matrix times, or divided by, the spread of each feature."""
        _refuse_sparse(self.centre)
        made = sp.csr_array(X, copy=True)
        by(made.data, self.scale_.astype(X.dtype)[made.indices], out=made.data)
        return made

    def inverse_transform(self, X: PointsLike) -> PointsLike:
        """Return features to the size they had.

        Parameters
        ----------
        X : array-like, or source, of shape (n_samples, n_features)
            Scaled inputs.
        """
        check_is_fitted(self)
        return self._transformed(X, "_returned")

    def _returned(self, X: PointsLike) -> PointsLike:
        if sp.issparse(X):
            return self._resized(X, np.multiply)
        return X * self.scale_.astype(X.dtype) + self.centre_.astype(X.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.centre
        return tags


def _refuse_sparse(centre: bool) -> None:
    if centre:
        raise ValueError("a sparse matrix minus its mean is dense; use Scaler(centre=False)")


@dataclass(frozen=True)
class _Dense:
    """Refuse sparse blocks, if they are to be centred; make numbers of tables."""

    centre: bool

    def __call__(self, block: Block) -> Block:
        if sp.issparse(block.X):
            _refuse_sparse(self.centre)
        return block._replace(X=block.X.numbers()) if isinstance(block.X, Table) else block
