"""Which plan a model has: every module that knows models registers theirs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from mercer._typing import AnyArray, Array
from mercer.io.errors import CannotConvert
from mercer.io.symbols import Outputs, Value
from mercer.preprocessing import TableEncoder

__all__ = ["Plan", "Planner", "planner_of", "refuse", "register"]


@dataclass(frozen=True, eq=False)
class Plan:
    """How a graph is written from points.

    Parameters
    ----------
    model : estimator
        The model.
    write : callable
        From new points to the outputs by name.
    widths : dict
        Names of the outputs with their number of columns; labels have none.
    classes : array or None
        Labels, which the output `label` counts.
    Z : (m, p) array
        Points where the model is tried.
    wide : bool
        Whether the graph computes in float64 whatever goes in.
    encoder : TableEncoder or None
        How a table that may hold words and gaps becomes the points.
    apart : bool
        Whether parts of the plan take blocks of rows of their own.
    """

    model: Any
    write: Callable[[Value], Outputs]
    widths: dict[str, int]
    classes: AnyArray | None
    Z: Array
    wide: bool
    encoder: TableEncoder | None = None
    apart: bool = False

    def said(self, x: Value) -> Outputs:
        """Write the outputs, block by block where there are many rows."""
        if self.apart:
            return self.write(x)
        return x.backend.blocks(x, self.write, self.widths, len(self.Z))


Planner = Callable[[Any], Plan]

_PLANNERS: dict[type[Any], Planner] = {}


def register(planners: Mapping[type[Any], Planner]) -> None:
    """Say how models of some classes are planned.

    A subclass is planned as the nearest of its bases that is registered.

    Parameters
    ----------
    planners : mapping
        From a class to a function that returns the plan of a fitted model.
    """
    _PLANNERS.update(planners)


def planner_of(model: Any) -> Planner:
    """Return how a model is planned; refuse a model of an unknown class by its name.

    Parameters
    ----------
    model : estimator
        The model.
    """
    for kind in type(model).__mro__:
        if kind in _PLANNERS:
            return _PLANNERS[kind]
    raise CannotConvert(f"{type(model).__name__} cannot be converted to ONNX.")


def refuse(why: str) -> Planner:
    """Return the planner of models without a finite formula of a row.

    Parameters
    ----------
    why : str
        The reason, a sentence that begins with its verb.
    """

    def planner(model: Any) -> NoReturn:
        raise CannotConvert(f"{type(model).__name__} cannot be converted to ONNX: it {why}.")

    return planner
