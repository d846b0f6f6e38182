"""Models as graphs of ONNX, which other languages and machines run without this library."""

from __future__ import annotations

from typing import Any

from mercer._optional import plugin

__all__ = ["to_onnx"]

PRECISIONS = ("float32", "float64")


def to_onnx(
    model: Any,
    X: Any = None,
    *,
    precision: str | None = None,
    initial_types: Any = None,
    name: str = "mercer",
) -> Any:
    r"""Return a fitted model as a graph of ONNX's plain operators.

    Every kernel is written by the parts it is made of: sums, products, scales, length scales and
    active dimensions. Points are centred on the mean of the support vectors, so that float32 keeps
    its digits far from zero; where it would not be within 1e-4 of a standard deviation all the
    same, the graph computes in float64 inside. Pipelines with scikit-learn's preprocessors are
    converted by skl2onnx, in whose registry the converters of this library are.

    Parameters
    ----------
    model : estimator
        A fitted machine, or a pipeline that ends in one.
    X : data frame or array-like, optional
        Some rows in the types in which they will be fed, one row is enough: a data frame has one
        input a column, a matrix of numbers the input ``X``. A graph of ONNX takes one type for an
        input and refuses others: give rows of float32 where float32 will be fed.
    precision : {"float64", "float32"}, optional
        Type in which the graph computes, and type of its outputs: by default float32 where all
        fractions of `X` are of that type, otherwise float64. Inputs of another type are cast first.
    initial_types : list of (str, type), optional
        Inputs as skl2onnx takes them, instead of `X`. Without both, a model has one matrix of
        numbers ``X``, or one input a column where it saw words or dates.
    name : str, default="mercer"
        Name of the graph.

    Returns
    -------
    onnx.ModelProto
        Its outputs are ``prediction`` (n, k) of regressors, with ``lower`` and ``upper`` (n, 1),
        the ends of ``predict_interval``, and ``quantiles`` (n, q) where the machine has them as
        functions; ``label`` (n,), ``scores`` and ``probabilities`` (n, k) of classifiers, whose
        columns are in the order of ``classes_``, of two classes too.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0.0, 1.0, 20, dtype=np.float32)[:, None]
    >>> graph = to_onnx(SVR(C=10.0).fit(X, np.sin(6.0 * X[:, 0])), X[:1])
    >>> [output.name for output in graph.graph.output]
    ['prediction']
    """
    if precision not in (None, *PRECISIONS):
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    if X is not None and initial_types is not None:
        raise ValueError("give rows X or initial_types, not both: each says what the inputs are.")
    return plugin("onnx").to_onnx(model, X, precision, initial_types, name)
