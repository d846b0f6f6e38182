"""Inputs of a graph of ONNX for the columns of a table, and gaps filled in double precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.impute import SimpleImputer

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer as Container
    from skl2onnx.common._topology import Operator, Scope
    from skl2onnx.common.data_types import TensorType

__all__ = ["column_types"]


def column_types(kinds: Mapping[str, str], precision: str) -> list[tuple[str, TensorType]]:
    """Return the inputs of a pipeline that begins with columns by name, as skl2onnx takes them.

    Parameters
    ----------
    kinds : mapping from str to str
        ``"number"``, ``"category"`` or ``"date"`` by the name of the column. Dates are days since
        1970-01-01, in float64 always: float32 tells times of today three minutes apart.
    precision : {"float64", "float32"}
        Type of the numbers.

    Examples
    --------
    >>> column_types({"age": "number", "colour": "category"}, "float32")
    [('age', FloatTensorType(shape=[None, 1])), ('colour', StringTensorType(shape=[None, 1]))]
    """
    number = DoubleTensorType if precision == "float64" else FloatTensorType
    made = {"number": number, "category": StringTensorType, "date": DoubleTensorType}
    return [(name, made[kind]([None, 1])) for name, kind in kinds.items()]


def _shapes(operator: Operator) -> None:
    (x,) = operator.inputs
    operator.outputs[0].type = type(x.type)([None, len(operator.raw_operator.statistics_)])


def _fill(scope: Scope, operator: Operator, container: Container) -> None:
    """Write where(isnan(x), m, x): onnxruntime has the operator Imputer for float32 only."""
    model, (x,) = operator.raw_operator, operator.inputs
    if (
        model.add_indicator
        or np.isnan(model.statistics_).any()
        or model.missing_values == model.missing_values
    ):
        raise NotImplementedError(
            "SimpleImputer is converted where it fills NaN and marks nothing."
        )
    kind = TensorProto.DOUBLE if isinstance(x.type, DoubleTensorType) else TensorProto.FLOAT
    filled, gaps = scope.get_unique_variable_name("filled"), scope.get_unique_variable_name("gaps")
    container.add_initializer(filled, kind, [1, len(model.statistics_)], model.statistics_)
    for op, inputs, outputs in (
        ("IsNaN", [x.full_name], [gaps]),
        ("Where", [gaps, filled, x.full_name], [operator.outputs[0].full_name]),
    ):
        container.add_node(op, inputs, outputs, name=scope.get_unique_operator_name(op))


update_registered_converter(SimpleImputer, "MercerSimpleImputer", _shapes, _fill)
