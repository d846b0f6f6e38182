"""Inputs of a graph of ONNX: which columns a model saw, and in which types a sample has them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from mercer._typing import AnyArray
from mercer.preprocessing import DateEncoder, TableEncoder
from mercer.preprocessing.readings import NUMBERS

__all__ = ["Inputs", "inputs_of"]

NUMBER, CATEGORY, DATE = "number", "category", "date"
MATRIX = "X"
"""Name of the input of a matrix of numbers."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What goes into a graph."""

    kinds: dict[str, str] | None
    """``"number"``, ``"category"`` or ``"date"`` by the name of the column; None for a matrix of
    numbers, :data:`MATRIX`."""

    types: dict[str, np.dtype[Any]]
    """Types of the numbers of a sample by the name of their input; empty without a sample."""

    @property
    def precision(self) -> str:
        """Return float32 where every fraction of the sample has that type, otherwise float64."""
        fractions = {dtype for dtype in self.types.values() if dtype.kind == "f"}
        return "float32" if fractions == {np.dtype(np.float32)} else "float64"


def inputs_of(model: Any, X: Any = None) -> Inputs:
    """Return the inputs of a model's graph, from a sample and from what the model saw.

    The model is believed where it read words as numbers or dates: a graph reads no words. All else
    is as in the sample. Without a sample, a model that saw numbers only has one matrix of them.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : data frame or array, optional
        Rows as those that will be fed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> machine = SVR().fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])
    >>> inputs_of(machine, np.zeros((1, 2), dtype=np.float32))
    Inputs(kinds=None, types={'X': dtype('float32')})
    """
    known = _kinds(model)
    if X is None:
        words = known is not None and any(kind != NUMBER for kind in known.values())
        return Inputs(known if words else None, {})
    columns = _columns(X, list(known or ()))
    if columns is None:
        return Inputs(None, {MATRIX: X.dtype if hasattr(X, "tocsr") else np.asarray(X).dtype})
    kinds, types = {}, {}
    for name in known or columns:
        values = _named(columns, name, known)
        kind = _kind(values)
        saw = (known or {}).get(name)
        kinds[name] = saw if kind == CATEGORY and saw in (NUMBER, DATE) else kind
        if kind == NUMBER:
            types[name] = values.dtype if values.dtype.kind in "fiub" else np.dtype(np.float64)
    return Inputs(kinds, types)


# What the sample says -----------------------------------------------------------------------------


def _columns(X: Any, names: list[str]) -> dict[str, AnyArray] | None:
    """Return the columns of a sample by name, or None if it is a matrix of numbers."""
    if hasattr(X, "columns"):
        return {str(name): np.asarray(X[name]) for name in X.columns}
    if hasattr(X, "tocsr"):
        return None
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got shape {values.shape}.")
    if values.dtype.kind in "fiub":
        return None
    names = names or [f"x{j}" for j in range(values.shape[1])]
    return dict(zip(names, values.T, strict=True))


def _named(columns: dict[str, AnyArray], name: str, known: dict[str, str] | None) -> AnyArray:
    """Return a column of a sample; refuse a sample of other columns than the model saw."""
    if known and (other := known.keys() ^ columns.keys()):
        told = [f"{one!r} {'is missing' if one in known else 'was not there'}" for one in other]
        raise ValueError(f"X has other columns than the model saw: {', '.join(sorted(told))}.")
    return columns[name]


def _kind(values: AnyArray) -> str:
    if values.dtype.kind == "M":
        return DATE
    if values.dtype.kind in "fiub":
        return NUMBER
    there = [value for value in values.tolist() if value is not None and value == value]
    return NUMBER if there and all(isinstance(value, Real) for value in there) else CATEGORY


# What the model saw -------------------------------------------------------------------------------


def _kinds(model: Any) -> dict[str, str] | None:
    """Return the kinds of the columns that a model saw; None where it does not know names."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        if isinstance(steps[0], ColumnTransformer):
            return _transformed(steps[0], _kinds(steps[1]) if len(steps) > 1 else None)
        return _kinds(steps[0])
    if isinstance(model, ColumnTransformer):
        return _transformed(model, None)
    encoder = getattr(model, "encoder_", None)
    if isinstance(encoder, TableEncoder):
        return _encoded(encoder)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    if isinstance(model, DateEncoder):
        return dict.fromkeys(names, DATE)
    # An encoder of scikit-learn has the labels of every column.
    labels = getattr(model, "categories_", None)
    if labels is None:
        return dict.fromkeys(map(str, names), NUMBER)
    return {str(name): _kind(np.asarray(one)) for name, one in zip(names, labels, strict=True)}


def _transformed(model: ColumnTransformer, after: dict[str, str] | None) -> dict[str, str] | None:
    """Return kinds of columns by what they are sent to; columns that pass, by what follows."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    found: dict[str, str] = {}
    for label, step, chosen in model.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        picked = np.atleast_1d(np.asarray(names)[_positions(chosen, list(names))])
        passes = isinstance(step, str) or not hasattr(step, "n_features_in_")
        inside = None if passes else _kinds(step)
        if not inside or getattr(step, "func", inside) is None:
            inside = {}
        for name in map(str, picked):
            later = (after or {}).get(name) or (after or {}).get(f"{label}__{name}")
            found[name] = inside.get(name) or later or NUMBER
    return {str(name): found.get(str(name), NUMBER) for name in names}


def _positions(chosen: Any, names: list[str]) -> Any:
    if callable(chosen):
        return []
    if isinstance(chosen, str):
        return [names.index(chosen)]
    if isinstance(chosen, slice):
        return chosen
    return [names.index(one) if isinstance(one, str) else one for one in chosen]


def _encoded(encoder: TableEncoder) -> dict[str, str]:
    """Return kinds of the columns that an encoder of tables read."""
    names = encoder._names or [f"x{j}" for j in range(encoder.n_features_in_)]
    found = dict.fromkeys(names, NUMBER)
    for name, form in getattr(encoder, "readings_", {}).items():
        found[name] = NUMBER if form in NUMBERS else DATE
    for o, labels in zip(encoder.categorical_, encoder.categories_, strict=True):
        words = any(isinstance(label, str) for label in labels)
        found[names[encoder.kept_[o]]] = CATEGORY if words else NUMBER
    for name, labels in getattr(encoder, "orders_", {}).items():
        found[name] = CATEGORY if any(isinstance(label, str) for label in labels) else NUMBER
    # Columns that are left out have an input, which nothing reads: words if the reason shows them.
    for name, why in encoder.dropped_.items():
        if found[name] == NUMBER and name not in getattr(encoder, "readings_", {}):
            copied = why.removeprefix("equals ").strip("'") if why.startswith("equals ") else ""
            shows_words = "categories" in why or "texts" in why or why.endswith("'")
            found[name] = found.get(copied, CATEGORY if shows_words else NUMBER)
    return found
