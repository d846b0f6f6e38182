"""Models beside the kernel machines as values of a graph: averages, networks, votes, gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.missing_risks import ByComponent
from mercer.io.emitters import Points, gram, origin_of
from mercer.io.errors import CannotConvert
from mercer.io.symbols import Value

__all__ = ["average", "network", "perceptron", "with_gaps"]

Array = NDArray[np.float64]
Function = Callable[[Value], Value]

# Sums of weights below which no sample is near, as the machine has it.
LOST = 1e-300
# Distances that are as small as the smallest but for rounding.
ALIKE = 1.0 + 1e-12


def _around(x: Value, Z: Array) -> Points:
    origin = origin_of(Z)
    return Points(x - origin[None], Z - origin, origin, np.ones(Z.shape[1]))


def average(model: Any) -> Function:
    """Return the ratio of sums of a NadarayaWatson, or the nearest target where none has weight.

    Parameters
    ----------
    model : NadarayaWatson
        The model.
    """
    Z, y = np.asarray(model.X_fit_, dtype=np.float64), np.asarray(model.y_fit_, dtype=np.float64)
    both = np.column_stack([y, np.ones(len(y))]) * np.asarray(model.sample_weight_)[:, None]

    def ratio(weights: Value, guard: Value | None = None) -> Value:
        sums = weights @ both
        below = sums.columns([1])
        value: Value = sums.columns([0]) / (below if guard is None else below + guard)
        return value

    def write(x: Value) -> Value:
        points = _around(x, Z)
        K = gram(model.kernel_, points)
        lost = 1.0 - (K @ both[:, 1:]).above(LOST)
        f = ratio(K, lost)
        if model.far == "nearest":
            d2 = points.squares(exact=True)
            near = 1.0 - d2.above(d2.smallest() * ALIKE)
            f = f * (1.0 - lost) + ratio(near) * lost
        else:
            f = f + (lost * 0.0) / (1.0 - lost)
        value: Value = f.at_least(float(y.min())).at_most(float(y.max()))
        return value

    return write


def network(model: Any) -> Function:
    """Return the sum of Gaussians of an RBFNetwork, each with a width of its own.

    Parameters
    ----------
    model : RBFNetwork
        The model.
    """
    Z, widths = np.asarray(model.centres_, dtype=np.float64), np.asarray(model.widths_)
    coef = np.asarray(model.coef_, dtype=np.float64).reshape(len(Z), -1)
    shift = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))

    def write(x: Value) -> Value:
        s = _around(x, Z).squares(exact=False)
        widened = s * np.broadcast_to(-0.5 / widths**2, len(Z))[None]
        value: Value = widened.map("Exp") @ coef + shift[None]
        return value

    return write


def perceptron(model: Any) -> Function:
    """Return the last, the mean or the vote of all functions of a KernelPerceptron.

    Parameters
    ----------
    model : KernelPerceptron
        The model.
    """
    Z = np.asarray(model.support_vectors_, dtype=np.float64)
    if model.output != "vote":
        coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(-1, 1)
        return lambda x: gram(model.kernel_, _around(x, Z)) @ coef + float(model.intercept_)
    made, lived = model._made, np.asarray(model._survival[1:], dtype=np.float64)
    # Every function is the one before with a term more: their coefficients are cumulative sums.
    steps = np.zeros((len(Z), len(made)))
    steps[np.searchsorted(model.support_, made), np.arange(len(made))] = model._labels[made]
    total = max(float(lived.sum()), 1.0)

    def write(x: Value) -> Value:
        K = gram(model.kernel_, _around(x, Z))
        functions = K @ np.cumsum(steps, axis=1) + np.cumsum(model._labels[made])[None]
        value: Value = functions.map("Sign") @ (lived / total)[:, None]
        return value

    return write


def with_gaps(model: Any) -> tuple[Callable[[Value], tuple[Value, Value, Value]], Array]:
    """Return values of a machine at rows with gaps, with the least and largest that gaps leave.

    A component with a missing cell counts as its centre, between its bounds.

    Parameters
    ----------
    model : MissingInputs
        The model.
    """
    reading = model._reading
    if not isinstance(reading, ByComponent):
        raise CannotConvert(
            f"{type(model).__name__} averages over random completions of the gaps of a row, which "
            "are no operators: fit it with strategy='worst', or components of single columns."
        )
    parts, d = reading.parts, len(reading.b)
    lifted = [
        part.functions.lift(reading.W[at])
        for part, at in zip(parts.parts, parts.slices, strict=True)
    ]

    def write(x: Value) -> tuple[Value, Value, Value]:
        nothing = x.columns([0]).filled(0.0) * np.zeros((1, d)) + reading.b[None]
        found = [nothing, nothing, nothing]
        for p, (part, coef) in enumerate(zip(parts.parts, lifted, strict=True)):
            cells, Z = x.columns(part.columns), np.asarray(part.functions.Z, dtype=np.float64)
            missing = cells.gaps().total(len(part.columns)).positive()
            f = gram(part.functions.kernel, _around(cells.filled(0.0), Z)) @ coef
            f = f * (1.0 - missing)
            found = [
                total + f + missing * bound[p][None]
                for total, bound in zip(
                    found, (reading.centre, reading.low, reading.high), strict=True
                )
            ]
        middle, low, high = found
        return middle, low, high

    rows = [part.functions.Z for part in parts.parts]
    Z = np.zeros((max((len(one) for one in rows), default=1), model.n_features_in_))
    for part, one in zip(parts.parts, rows, strict=True):
        Z[:, list(part.columns)] = np.resize(one, (len(Z), len(part.columns)))
    # Every third cell is a gap, so that what they leave open is tried as well.
    Z[np.add.outer(np.arange(len(Z)), np.arange(Z.shape[1])) % 3 == 0] = np.nan
    return write, Z
