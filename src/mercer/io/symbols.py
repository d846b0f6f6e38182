"""Arithmetic that is written once and read twice: as nodes of a graph, and at once by NumPy.

An emitter is a function of `Value` objects. Given values of a `Backend` of ONNX it writes nodes;
given arrays it computes, in float32 as the graph would: what a precision costs is known before a
graph is written, and a graph that would not say what its model says is not written at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import softmax

from mercer._typing import AnyArray, Array

__all__ = ["LABEL", "METHODS", "Backend", "Eager", "Handle", "Outputs", "RowNumbers", "Value"]

Handle = str | AnyArray
"""What a backend knows an array by: its name in a graph, or the array itself."""


class Backend(ABC):
    """Where operators go; numbers of a graph have one precision."""

    dtype: np.dtype[Any]

    @abstractmethod
    def constant(self, array: ArrayLike, exact: bool = False) -> Handle:
        """Return the handle of a constant, of the precision of the graph unless it is exact."""

    @abstractmethod
    def apply(self, operator: str, *inputs: Handle, **attributes: Any) -> Handle:
        """Return the handle of an ONNX operator's value."""

    @abstractmethod
    def cast(self, handle: Handle, dtype: DTypeLike) -> Handle:
        """Return a value in another type of numbers."""

    @abstractmethod
    def wide(self) -> Backend:
        """Return a backend of the same graph whose numbers are float64."""

    @abstractmethod
    def blocks(
        self, x: Value, write: Callable[[Value], Outputs], widths: dict[str, int], m: int
    ) -> Outputs:
        """Return functions of rows, some rows at a time: m numbers of a row stay in the cache.

        Widths are numbers of columns by name; of what counts classes there are none.
        """

    def value(self, array: ArrayLike) -> Value:
        """Return a constant as a value."""
        return Value(self, self.constant(array))


LABEL = "label"
"""Name of the output that counts classes."""

METHODS = {
    "prediction": "predict",
    "interval": "predict_interval",
    "quantiles": "predict_quantiles",
    "probabilities": "predict_proba",
    "scores": "decision_function",
}
"""The method of a model that an output stands for."""


class RowNumbers(NamedTuple):
    """Numbers of rows, (k, 1), which are known when points are."""

    handle: Handle


Operand: TypeAlias = "Value | float | AnyArray"


class Value:
    """An array of a graph, shape (n, k), with NumPy's operators.

    A number that it is multiplied by is kept aside until it is needed, and goes into the matrix of
    a product: onnxruntime would otherwise join the two and round the number to float32, in graphs
    of float64 too (5e-9 of the result).
    """

    __array_ufunc__ = None  # so that arrays on the left leave the operation to this class

    def __init__(self, backend: Backend, handle: Handle, factor: float = 1.0) -> None:
        self.backend, self._handle, self._factor = backend, handle, factor

    @property
    def handle(self) -> Handle:
        """What the backend knows the array by."""
        if self._factor != 1.0:
            number = self.backend.constant(self._factor)
            self._handle, self._factor = self.backend.apply("Mul", self._handle, number), 1.0
        return self._handle

    def _of(self, operator: str, *others: Operand, **attributes: Any) -> Value:
        handles = [
            one.handle if isinstance(one, Value) else self.backend.constant(one) for one in others
        ]
        return Value(self.backend, self.backend.apply(operator, *handles, **attributes))

    def __add__(self, other: Operand) -> Value:
        return self._of("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self._of("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._of("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        if isinstance(other, float):
            return Value(self.backend, self._handle, self._factor * other)
        return self._of("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self._of("Div", self, other)

    def __matmul__(self, other: Array) -> Value:
        plain = Value(self.backend, self._handle)
        return plain._of("MatMul", plain, self._factor * other)

    def __neg__(self) -> Value:
        return self * -1.0

    def within(self, backend: Backend) -> Value:
        """Return the numbers in the precision of a backend of the same graph."""
        if backend.dtype == self.backend.dtype:
            return self
        return Value(backend, self.backend.cast(self._handle, backend.dtype), self._factor)

    def expanded(self, coef: Array) -> Value:
        """Return sums of products with coefficients, added in float64.

        Coefficients of both signs cancel: in float32 the sum of a thousand is wrong by several
        times what the rounding of the numbers themselves costs.
        """
        return (self.within(self.backend.wide()) @ coef).within(self.backend)

    __radd__, __rmul__ = __add__, __mul__

    def map(self, operator: str) -> Value:
        """Return a function of every number: ``Exp``, ``Sqrt``, ``Tanh``, ..."""
        return self._of(operator, self)

    def at_least(self, bound: Operand) -> Value:
        """Return the larger of a number and a bound."""
        return self._of("Max", self, bound)

    def at_most(self, bound: Operand) -> Value:
        """Return the smaller of a number and a bound."""
        return self._of("Min", self, bound)

    def power(self, exponent: float) -> Value:
        """Return a power of numbers that are not negative, or an integer power of any."""
        if exponent == int(exponent) and 1 <= exponent <= 64:
            return self._integer_power(int(exponent))
        return self._of("Pow", self, float(exponent))

    def _integer_power(self, exponent: int) -> Value:
        half = self if exponent < 4 else self._integer_power(exponent // 2)
        if exponent < 4:
            return self if exponent == 1 else self * self if exponent == 2 else self * self * self
        return half * half * self if exponent % 2 else half * half

    def columns(self, index: Sequence[int]) -> Value:
        """Return some columns."""
        at = self.backend.constant(np.asarray(index, dtype=np.int64), exact=True)
        return Value(self.backend, self.backend.apply("Gather", self.handle, at, axis=1))

    def beside(self, *others: Value) -> Value:
        """Return values side by side."""
        return self._of("Concat", self, *others, axis=1) if others else self

    def positive(self) -> Value:
        """Return 1 where a number is above zero, else 0."""
        return self.above(0.0)

    def above(self, other: Operand) -> Value:
        """Return 1 where a number is above another, else 0."""
        return self._of("Greater", self, other)._counted()

    def equals(self, other: Operand) -> Value:
        """Return 1 where two numbers are equal, else 0."""
        return self._of("Equal", self, other)._counted()

    def gaps(self) -> Value:
        """Return 1 where a number is missing, else 0."""
        return self._of("IsNaN", self)._counted()

    def filled(self, values: Operand) -> Value:
        """Return the numbers with others in place of the missing ones."""
        return self._of("Where", self._of("IsNaN", self), values, self)

    def _counted(self) -> Value:
        return Value(self.backend, self.backend.cast(self.handle, self.backend.dtype))

    def looked_up(self, table: Array, begin: NDArray[np.int64]) -> Value:
        """Return entries of a list at positions, of which column j begins at ``begin[j]``."""
        at = self.backend.cast(self.handle, np.int64)
        at = self.backend.apply("Add", at, self.backend.constant(begin[None], exact=True))
        return Value(
            self.backend, self.backend.apply("Gather", self.backend.constant(table), at, axis=0)
        )

    def as_column(self) -> Value:
        """Return numbers one below the other, (n, 1)."""
        return self._shaped(-1, 1)

    def _shaped(self, *shape: int) -> Value:
        to = self.backend.constant(np.array(shape, dtype=np.int64), exact=True)
        return Value(self.backend, self.backend.apply("Reshape", self.handle, to))

    def where(self) -> RowNumbers:
        """Return the rows of a single column whose number is above zero."""
        flat = self._shaped(-1)
        above = flat._of("Greater", flat, 0.0)
        at = self.backend.apply("NonZero", above.handle)
        return RowNumbers(self.backend.apply("Transpose", at, perm=[1, 0]))

    def at(self, rows: RowNumbers) -> Value:
        """Return some rows."""
        return Value(self.backend, self.backend.apply("GatherND", self.handle, rows.handle))

    def put(self, rows: RowNumbers, values: Value) -> Value:
        """Return the value with other numbers in some rows."""
        found = self.backend.apply("ScatterND", self.handle, rows.handle, values.handle)
        return Value(self.backend, found)

    def larger(self, others: Array) -> Value:
        """Return sums over features of the larger one of two points, (n, m).

        All features at once, column by column of what follows: two operators, however many
        features there are.
        """
        p = others.shape[1]
        return self._shaped(-1, p, 1).at_least(others.T[None])._summed()

    def _summed(self) -> Value:
        """Return sums over the second of three axes."""
        axis = self.backend.constant(np.array([1], dtype=np.int64), exact=True)
        return Value(self.backend, self.backend.apply("ReduceSum", self.handle, axis, keepdims=0))

    def totals(self, m: int, k: int) -> Value:
        """Return sums of m times k numbers of every row, each over m of them, (n, k)."""
        return self._shaped(-1, m, k)._summed()

    def leaves(self, trees: dict[str, Any]) -> Value:
        """Return numbers of the leaves that points fall into, one for every tree, (n, trees).

        Points are compared in float32, as the operator of ONNX does.
        """
        x = self.backend.cast(self.handle, np.float32)
        found = self.backend.apply("TreeEnsembleRegressor", x, op_domain="ai.onnx.ml", **trees)
        return Value(self.backend, found)

    def total(self, k: int) -> Value:
        """Return sums over k columns, as one column."""
        return self @ np.ones((k, 1))

    def largest(self) -> Value:
        """Return the position of the largest of a row, the first of several, shape (n,)."""
        at = self.backend.apply("ArgMax", self.handle, axis=1, keepdims=0)
        return Value(self.backend, at)

    def shares(self) -> Value:
        """Return exponentials in shares of their sum over the columns, the softmax."""
        return self._of("Softmax", self, axis=1)

    def ascending(self, k: int) -> Value:
        """Return the k columns of every row in ascending order."""
        count = self.backend.constant(np.array([k], dtype=np.int64), exact=True)
        found = self.backend.apply("TopK", self.handle, count, axis=1, largest=0, sorted=1)
        return Value(self.backend, found)

    def smallest(self) -> Value:
        """Return the smallest number of every row."""
        return self._of("ReduceMin", self, axes=[1], keepdims=1)


def _put(x: AnyArray, at: AnyArray, values: AnyArray) -> AnyArray:
    out = x.copy()
    out[at[:, 0]] = values
    return out


def _fallen(x: AnyArray, **trees: Any) -> AnyArray:
    """Return the value of the leaf that a point falls into, of every tree."""
    part = {name: np.asarray(one) for name, one in trees.items()}
    begin = np.flatnonzero(part["nodes_nodeids"] == 0)
    inner, cut = part["nodes_modes"] != "LEAF", part["nodes_values"].astype(x.dtype)
    values = np.zeros(len(inner), dtype=x.dtype)
    values[begin[part["target_treeids"]] + part["target_nodeids"]] = part["target_weights"]
    at = np.repeat(begin[None], len(x), axis=0)
    while np.any(inner[at]):
        feature = np.take_along_axis(x, part["nodes_featureids"][at], axis=1)
        sides = part["nodes_truenodeids"][at], part["nodes_falsenodeids"][at]
        at = np.where(inner[at], begin + np.where(feature <= cut[at], *sides), at)
    return np.asarray(values[at])


Outputs = dict[str, Value]
"""Values of a graph by the names of its outputs."""

OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "MatMul": np.matmul,
    "Neg": np.negative,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Abs": np.abs,
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Cos": np.cos,
    "Floor": np.floor,
    "Round": np.round,
    "Sign": np.sign,
    "Sigmoid": lambda x: 0.5 * (1.0 + np.tanh(0.5 * x)),
    "Max": np.maximum,
    "Min": np.minimum,
    "Pow": np.power,
    "Greater": np.greater,
    "Equal": np.equal,
    "IsNaN": np.isnan,
    "Where": np.where,
    "Softmax": softmax,
    "Reshape": lambda x, shape: np.reshape(x, shape),
    "NonZero": lambda x: np.stack(np.nonzero(x)),
    "Transpose": lambda x, perm: np.transpose(x, perm),
    "GatherND": lambda x, at: x[at[:, 0]],
    "ScatterND": _put,
    "Gather": lambda x, at, axis: np.take(x, at, axis=axis),
    "Concat": lambda *parts, axis: np.concatenate(parts, axis=axis),
    "ArgMax": lambda x, axis, keepdims: np.argmax(x, axis=axis),
    "ReduceMin": lambda x, axes, keepdims: np.min(x, axis=1, keepdims=True),
    "ReduceSum": lambda x, axes, keepdims: np.sum(x, axis=tuple(axes)),
    "TopK": lambda x, k, **_: np.sort(x, axis=1),
    "TreeEnsembleRegressor": _fallen,
}
"""Operators of ONNX that emitters use, as NumPy's functions."""


class Eager(Backend):
    """Compute at once, in one precision.

    Parameters
    ----------
    dtype : numpy type
        Precision of the numbers.

    Examples
    --------
    >>> x = Eager(np.float64).value([[3.0, 4.0]])
    >>> (x * x).total(2).map("Sqrt").handle
    array([[5.]])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)

    def constant(self, array: ArrayLike, exact: bool = False) -> Handle:
        return np.asarray(array) if exact else np.asarray(array, dtype=self.dtype)

    def apply(self, operator: str, *inputs: Handle, **attributes: Any) -> Handle:
        found: Handle = OPERATORS[operator](*inputs, **attributes)
        return found

    def cast(self, handle: Handle, dtype: DTypeLike) -> Handle:
        return np.asarray(handle, dtype=dtype)

    def wide(self) -> Eager:
        return Eager(np.float64)

    def blocks(
        self, x: Value, write: Callable[[Value], Outputs], widths: dict[str, int], m: int
    ) -> Outputs:
        return write(x)
