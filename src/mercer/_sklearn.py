"""What scikit-learn keeps private and estimators need: the only module that imports such names.

Private names may change with any version of scikit-learn; a change is met here and nowhere else.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)
from sklearn.utils._sparse import _align_api_if_sparse as align_api_if_sparse
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.multiclass import _ovr_decision_function as ovr_decision_function
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "align_api_if_sparse",
    "check_feature_names_in",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "num_samples",
    "ovr_decision_function",
    "safe_indexing",
    "safe_split",
]
