"""Models as graphs of ONNX, which other languages and machines run without this library."""

from __future__ import annotations

from typing import Any

from mercer._optional import plugin

__all__ = ["to_onnx"]

PRECISIONS = ("float32", "float64")


def to_onnx(
    model: Any,
    *,
    precision: str = "float64",
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
    precision : {"float64", "float32"}, default="float64"
        Type of the inputs and outputs.
    initial_types : list of (str, type), optional
        Inputs as skl2onnx takes them, for pipelines whose columns have different types; by default
        one matrix of numbers, ``X``.
    name : str, default="mercer"
        Name of the graph.

    Returns
    -------
    onnx.ModelProto
        Its outputs are ``variable`` (n, k) of regressors, with ``interval`` (n, 2) and
        ``quantiles`` (n, q) where the machine has them as functions; ``label`` (n,), ``scores``
        and ``probabilities`` (n, k) of classifiers, whose columns are in the order of ``classes_``,
        of two classes too.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> graph = to_onnx(SVR(C=10.0).fit(X, np.sin(6.0 * X[:, 0])), precision="float32")
    >>> [output.name for output in graph.graph.output]
    ['variable']
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    return plugin("onnx").to_onnx(model, precision, initial_types, name)
