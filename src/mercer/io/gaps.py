"""Values of machines at rows with gaps, as values of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.estimators.missing_risks import ByComponent
from mercer.io.emitters import around, gram
from mercer.io.errors import CannotConvert
from mercer.io.symbols import Value

__all__ = ["with_gaps"]


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
            "are no operators: fit it with components of single columns."
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
            f = gram(part.functions.kernel, around(cells.filled(0.0), Z)) @ coef
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
