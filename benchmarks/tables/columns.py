"""Numeric columns made of a table, for methods that know neither categories nor missing cells."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.tables.sets import Split


def columns(data: Split, impute: bool = True, scale: bool = True) -> Any:
    """Return a transformer fitted to the training rows.

    Medians replace missing numbers; categories are one-hot, a missing cell being a level of its
    own and a level that no training row has being no column at all.
    """
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = SimpleImputer(strategy="median") if impute else "passthrough"
    parts = [("numbers", numbers, data.numbers), ("categories", levels, data.categories)]
    made = ColumnTransformer(parts)
    return (make_pipeline(made, StandardScaler()) if scale else made).fit(data.X)
