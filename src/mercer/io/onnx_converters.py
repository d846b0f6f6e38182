"""The graph of ONNX: a backend that writes nodes, and converters in skl2onnx's registry."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper
from onnx.helper import (
    make_graph,
    make_node,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)
from skl2onnx import convert_sklearn, update_registered_converter
from skl2onnx._parse import _parse_sklearn_column_transformer
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer._typing import AnyArray
from mercer._version import PACKAGES
from mercer.io.column_types import column_types
from mercer.io.errors import CannotConvert
from mercer.io.inputs import MATRIX, inputs_of
from mercer.io.plans import LABEL, Plan, plan_of
from mercer.io.steps import Cells, dated, dates, encoded, interpolated
from mercer.io.symbols import Backend, Handle, Outputs, Value
from mercer.preprocessing import DateEncoder, RankNormalizer, Scaler

if TYPE_CHECKING:
    from skl2onnx.common._container import ModelComponentContainer as Container
    from skl2onnx.common._topology import Operator, Scope, Variable
    from skl2onnx.common.data_types import TensorType

__all__ = ["OPSET", "to_onnx"]

INTERVAL, LOWER, UPPER = "interval", "lower", "upper"
"""An interval in plans, and the outputs of a graph that have its ends."""

OPSET = 17
"""Version of ONNX's operators that graphs are written in; all of them are there since 13."""

TYPES: dict[Any, Any] = {
    np.dtype(np.float32): FloatTensorType,
    np.dtype(np.float64): DoubleTensorType,
}
CODES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE}
CODES[np.dtype(np.int64)] = TensorProto.INT64

# Kernel values of a block of rows, and how many rows it may have: operators that read what the one
# before wrote take a third of the time in the cache. Products of float64 prepare their matrix anew
# for every block, which pays for larger ones only.
BLOCK_PAIRS = {np.dtype(np.float32): 2.0**15, np.dtype(np.float64): 2.0**17}
BLOCK_ROWS = 16, 1024


class Emitted(Backend):
    """Write operators as nodes.

    Parameters
    ----------
    scope, container : skl2onnx's
        What names nodes, and what holds them.
    dtype : numpy type
        Precision of the numbers.
    inside : bool, default=False
        Whether nodes are those of a block of rows.
    """

    def __init__(
        self,
        scope: Scope,
        container: Container,
        dtype: DTypeLike,
        inside: bool = False,
    ) -> None:
        self.scope, self.container, self.dtype = scope, container, np.dtype(dtype)
        self.inside = inside

    def constant(self, array: ArrayLike, exact: bool = False) -> str:
        content = np.asarray(array) if exact else np.asarray(array, dtype=self.dtype)
        name = self.scope.get_unique_variable_name("mercer")
        if content.dtype.kind in "UO":
            strings = [str(word).encode() for word in content]
            self.container.add_initializer(name, TensorProto.STRING, [len(strings)], strings)
        else:
            tensor = numpy_helper.from_array(np.asarray(content, order="C"), name)
            self.container.add_initializer(name, tensor.data_type, list(content.shape), tensor)
        return str(name)

    def apply(self, operator: str, *inputs: Handle, **attributes: Any) -> str:
        out = [self.scope.get_unique_variable_name(operator.lower())]
        if operator == "TopK":
            out.append(self.scope.get_unique_variable_name("order"))
        name = self.scope.get_unique_operator_name(operator)
        self.container.add_node(operator, list(inputs), out, name=name, **attributes)
        return str(out[0])

    def cast(self, handle: Handle, dtype: DTypeLike) -> str:
        return self.apply("Cast", handle, to=CODES[np.dtype(dtype)])

    def wide(self) -> Emitted:
        return Emitted(self.scope, self.container, np.float64, self.inside)

    def blocks(
        self, x: Value, write: Callable[[Value], Outputs], widths: dict[str, int], m: int
    ) -> Outputs:
        """Write a Loop over blocks of rows; the last block is filled up with the last row."""
        if self.inside:
            return write(x)
        height = int(np.clip(2 ** round(np.log2(BLOCK_PAIRS[self.dtype] / max(m, 1))), *BLOCK_ROWS))
        # Under a name of its own: that of an input may be another's once identities are removed.
        x = Value(self, self.apply("Concat", x.handle, axis=1))
        one, rows = self._integer([1]), self.apply("Shape", x.handle, end=1)
        size = self.apply("Max", self.apply("Min", rows, self._integer([height])), one)
        last = self.apply("Sub", rows, one)
        # Rounded up: minus the quotient of minus the rows would be rounded towards zero.
        count = self.apply("Div", self.apply("Add", last, size), size)
        start = self._integer([0])
        body, names = self._block(x, write, widths, (height, size, last))
        out = [self.scope.get_unique_variable_name(name) for name in names]
        name = self.scope.get_unique_operator_name("Loop")
        trips = self.apply("Reshape", count, self._integer(np.zeros(0)))
        always = self.constant(np.array(True), exact=True)
        self.container.add_node("Loop", [trips, always], out, name=name, body=body)
        found = {}
        for key, handle in zip(names, out, strict=True):
            width = widths[key]
            flat = self.apply("Reshape", handle, self._integer([-1, width] if width else [-1]))
            found[key] = Value(self, self.apply("Slice", flat, start, rows))
        return found

    def _integer(self, numbers: ArrayLike) -> str:
        return self.constant(np.asarray(numbers, dtype=np.int64), exact=True)

    def _block(
        self,
        x: Value,
        write: Callable[[Value], Outputs],
        widths: dict[str, int],
        rows: tuple[int, str, str],
    ) -> tuple[GraphProto, list[str]]:
        """Return the graph of a block, and the names of its outputs."""
        height, size, last = rows
        nodes, before = self.container.nodes, len(self.container.nodes)
        count, go, on = (self.scope.get_unique_variable_name(name) for name in ("i", "go", "on"))
        inside = Emitted(self.scope, self.container, self.dtype, inside=True)
        begin = inside.apply("Mul", count, size)
        whole, zero = inside._integer(np.arange(height)), inside._integer([0])
        first = inside.apply("Slice", whole, zero, size)
        at = inside.apply("Min", inside.apply("Add", begin, first), last)
        found = write(Value(inside, inside.apply("Gather", x.handle, at, axis=0)))
        outputs = [make_tensor_value_info(on, TensorProto.BOOL, [])]
        inside.container.add_node("Identity", [go], [on], name=f"{on}_node")
        for key, width in widths.items():
            kind = CODES[self.dtype] if width else TensorProto.INT64
            handle = inside.apply("Identity", found[key].handle)
            outputs.append(make_tensor_value_info(handle, kind, [None, width][: 1 + bool(width)]))
        written = nodes[before:]
        del nodes[before:]
        inputs = [
            make_tensor_value_info(count, TensorProto.INT64, []),
            make_tensor_value_info(go, TensorProto.BOOL, []),
        ]
        name = self.scope.get_unique_operator_name("block")
        return make_graph(written, name, inputs, outputs), list(widths)


# Plans are made once for a model, though parsers and converters ask one after the other.
_PLANS: dict[int, tuple[Any, Plan]] = {}


def _plan(model: Any) -> Plan:
    if id(model) not in _PLANS:
        step = type(model) in STEPS
        _PLANS[id(model)] = model, _step(model) if step else plan_of(model)
    return _PLANS[id(model)][1]


def _label_type(classes: AnyArray | None) -> TensorType:
    kind = np.asarray(classes).dtype.kind
    if kind in "iu":
        return Int64TensorType([None])
    if kind == "b":
        return BooleanTensorType([None])
    if kind in "UO":
        return StringTensorType([None])
    raise CannotConvert(f"labels of type {np.asarray(classes).dtype} cannot be converted to ONNX.")


def _parse(scope: Scope, model: Any, inputs: list[Variable], custom_parsers: Any = None) -> Any:
    plan = _plan(model)
    operator = scope.declare_local_operator(_alias(type(model)), model)
    operator.inputs = inputs
    number = DoubleTensorType if _is_wide(inputs) else FloatTensorType
    for name, width in _named(plan.widths).items():
        kind = _label_type(plan.classes) if name == LABEL else number([None, width])
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _named(widths: dict[str, int]) -> dict[str, int]:
    """Return the outputs of a graph with their widths: an interval has an output for each end."""
    ends = {LOWER: 1, UPPER: 1}
    found: dict[str, int] = {}
    for name, width in widths.items():
        found |= ends if name == INTERVAL else {name: width}
    return found


def _shapes(operator: Operator) -> None:
    """Shapes are said where the outputs are declared."""


def _convert(scope: Scope, operator: Operator, container: Container) -> None:
    plan, single = _plan(operator.raw_operator), not _is_wide(operator.inputs)
    given = Emitted(scope, container, np.float32 if single else np.float64)
    backend = given.wide() if plan.wide else given
    if plan.encoder is None:
        x = _beside(backend, operator.inputs)
    else:
        cells = _columns(backend, operator.inputs, dated(plan.encoder))
        x = encoded(cells, plan.encoder, backend, single)
    found = dict(plan.said(x))
    if INTERVAL in found:
        ends = found[INTERVAL]
        found |= {LOWER: ends.columns([0]), UPPER: ends.columns([1])}
    for name, output in zip(_named(plan.widths), operator.outputs, strict=True):
        value = found[name].handle
        if name == LABEL:
            assert plan.classes is not None
            classes = plan.classes
            classes = classes.astype(np.int64) if classes.dtype.kind in "iu" else classes
            value = backend.apply("Gather", backend.constant(classes, exact=True), value, axis=0)
        elif single and plan.wide:
            value = given.cast(value, given.dtype)
        _name(scope, container, value, output)


def _is_wide(inputs: list[Variable]) -> bool:
    """Return whether numbers come in float64; a graph without any computes in it."""
    return not any(isinstance(x.type, FloatTensorType) for x in inputs) or any(
        isinstance(x.type, DoubleTensorType) for x in inputs
    )


def _number(backend: Emitted, x: Variable) -> str:
    """Return the handle of an input of numbers in the precision of a graph."""
    known = TYPES[backend.dtype]
    return str(x.full_name) if type(x.type) is known else backend.cast(x.full_name, backend.dtype)


def _beside(backend: Emitted, inputs: list[Variable]) -> Value:
    if any(isinstance(x.type, StringTensorType) for x in inputs):
        raise CannotConvert("inputs of words are for AutoRegressor and AutoClassifier only.")
    first, *others = (Value(backend, _number(backend, x)) for x in inputs)
    return first.beside(*others)


def _columns(backend: Emitted, inputs: list[Variable], exact: Collection[int]) -> list[Cells]:
    """Return the columns of all inputs, one after the other, some of them in float64."""
    found: list[Cells] = []
    for x in inputs:
        words, width = isinstance(x.type, StringTensorType), int(x.type.shape[1])
        usual = x.full_name if words else _number(backend, x)
        for j in range(width):
            wide = len(found) in exact and not words
            handle = _number(backend.wide(), x) if wide else usual
            at = backend.constant(np.array([j], dtype=np.int64), exact=True)
            one = handle if width == 1 else backend.apply("Gather", handle, at, axis=1)
            found.append(Cells(one, words))
    return found


def _name(scope: Scope, container: Container, handle: Handle, output: Variable) -> None:
    """Give a value the name of an output."""
    name = scope.get_unique_operator_name("Identity")
    container.add_node("Identity", [handle], [output.full_name], name=name)


# Steps of pipelines ------------------------------------------------------------------------------

STEPS: dict[type[Any], tuple[Callable[[Any], int], Callable[[Any, Value], Value]]] = {
    Scaler: (
        lambda model: model.n_features_in_,
        lambda model, x: (x - model.centre_[None]) / model.scale_[None],
    ),
    RankNormalizer: (
        lambda model: model.n_features_in_,
        # Gaps stay gaps: interpolation would take them for the largest number.
        lambda model, x: x * 0.0 + interpolated(x.filled(0.0), model.values_, model.scores_),
    ),
    DateEncoder: (
        lambda model: sum(1 + 2 * len(periods) for periods in model.periods_),
        lambda model, t: dates(t, model.periods_),
    ),
}
"""Transformers of this library: how many columns come out, and how they are written."""


def _step(model: Any) -> Plan:
    """Return the plan of a transformer, in the precision that its rows come in."""
    width, write = STEPS[type(model)]
    nothing = np.zeros((0, 0))
    return Plan(
        model,
        lambda x: {"step": write(model, x)},
        {"step": width(model)},
        None,
        nothing,
        wide=False,
        apart=True,
    )


def _parse_columns(
    scope: Scope, model: Any, inputs: list[Variable], custom_parsers: Any = None
) -> Any:
    """Parse a ColumnTransformer; words stay apart from numbers, which cannot be joined with them.

    What follows must be a machine that reads tables, column by column.
    """
    found = []
    for name, step, columns in model.transformers_:
        part = copy.copy(model)
        # What "passthrough" becomes in a fit is taken for a matrix of numbers elsewhere.
        same = isinstance(step, FunctionTransformer) and step.func is None
        apart = (same or step == "passthrough") and not isinstance(columns, str | int | slice)
        for some in [[column] for column in columns] if apart else [columns]:
            part.transformers_ = [(name, "passthrough" if same else step, some)]
            found += _parse_sklearn_column_transformer(scope, part, inputs, custom_parsers)
    if len(found) < 2 or any(isinstance(x.type, StringTensorType) for x in found):
        return found
    operator = scope.declare_local_operator("SklearnConcat")
    operator.inputs = found
    kind = DoubleTensorType if _is_wide(found) else FloatTensorType
    operator.outputs.append(scope.declare_local_variable("columns", kind([None, None])))
    return operator.outputs


def _alias(cls: type[Any]) -> str:
    return f"Mercer{cls.__name__}"


def _register(cls: type[Any]) -> None:
    if cls not in _KNOWN:
        update_registered_converter(cls, _alias(cls), _shapes, _convert, parser=_parse)
        _KNOWN.add(cls)


_KNOWN: set[type[Any]] = set()
for _transformer in STEPS:
    _register(_transformer)


def _own(model: Any) -> list[Any]:
    """Return the estimators of this library in a model, which may be a pipeline."""
    found, left = [], [model]
    while left:
        one = left.pop()
        if isinstance(one, Pipeline):
            left += [step for _, step in one.steps]
        elif any(base.__module__.partition(".")[0] in PACKAGES for base in type(one).__mro__):
            found.append(one)
        elif hasattr(one, "best_estimator_"):
            left.append(one.best_estimator_)
        elif isinstance(one, BaseEstimator):
            inside = getattr(one, "calibrated_classifiers_", ()) or getattr(one, "estimators_", ())
            for part in inside if isinstance(inside, list | tuple) else ():
                left.append(getattr(part, "estimator", part))
    return found


def _cast_inputs(graph: GraphProto, types: Mapping[str, np.dtype[Any]]) -> None:
    """Let inputs of a graph have the types of a sample; the first nodes cast them.

    Parameters
    ----------
    graph : GraphProto
        The graph, which is changed.
    types : mapping from str to dtype
        Types by the name of the input.
    """
    renamed, casts = {}, []
    for one in graph.input:
        wanted = one.type.tensor_type.elem_type
        given = np_dtype_to_tensor_dtype(types[one.name]) if one.name in types else wanted
        if given != wanted:
            renamed[one.name] = f"{one.name}_cast"
            casts.append(make_node("Cast", [one.name], [renamed[one.name]], to=wanted))
            one.type.tensor_type.elem_type = given
    left = [graph]
    while left:  # bodies of loops read the inputs of the graph around them
        for node in (part := left.pop()).node:
            node.input[:] = [renamed.get(name, name) for name in node.input]
            left += [one.g for one in node.attribute if one.HasField("g")]
        if part is graph:
            nodes = [*casts, *graph.node]
            del graph.node[:]
            graph.node.extend(nodes)


def to_onnx(model: Any, X: Any, precision: str | None, initial_types: Any, name: str) -> ModelProto:
    """Convert a model; see :func:`mercer.io.to_onnx`."""
    try:
        for machine in _own(model):
            _plan(machine)  # refuses by name before anything is written
            _register(type(machine))
        types: dict[str, np.dtype[Any]] = {}
        if initial_types is None:
            found = inputs_of(model, X)
            precision, types = precision or found.precision, found.types
            kind = TYPES[np.dtype(precision)]
            matrix = [(MATRIX, kind([None, int(model.n_features_in_)]))]
            initial_types = column_types(found.kinds, precision) if found.kinds else matrix
        graph: ModelProto = convert_sklearn(
            model,
            name=name,
            initial_types=initial_types,
            target_opset={"": OPSET, "ai.onnx.ml": 3},
            custom_parsers={ColumnTransformer: _parse_columns},
        )
        _cast_inputs(graph.graph, types)
        return graph
    finally:
        _PLANS.clear()
