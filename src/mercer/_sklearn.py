"""What scikit-learn keeps private, or has only lately: the one module that imports such names.

Private names may change with any version of scikit-learn; a change is met here and nowhere else.
"""

from typing import Any

import scipy.sparse as sp
from sklearn.base import _fit_context as fit_context
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

from mercer._typing import PointsLike

__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "SparseCoefMixin",
    "StrOptions",
    "align_api_if_sparse",
    "check_feature_names_in",
    "check_y",
    "fit_context",
    "num_samples",
    "ovr_decision_function",
    "safe_indexing",
    "safe_split",
]

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.utils._sparse import _align_api_if_sparse as align_api_if_sparse
except ModuleNotFoundError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Callbacks of a fit, which this version of scikit-learn does not have."""

    def align_api_if_sparse(X: PointsLike) -> Any:
        """Return a sparse array as the sparse matrix that estimators of this version have."""
        sparse: bool = sp.issparse(X)
        return getattr(sp, f"{X.format}_matrix")(X) if sparse else X
