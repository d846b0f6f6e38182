"""What all displays share: fields, axes, labels, legends, and the text that explains them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MethodType
from typing import Any, Self, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from mercer._optional import how_to_install
from mercer._typing import AnyArray

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError(f"Plots need matplotlib; {how_to_install('plot')}.") from error

__all__ = [
    "Axes",
    "AxesLike",
    "BoundaryNorm",
    "Display",
    "Factory",
    "Figure",
    "axes_of",
    "chosen_of",
    "figure_of",
    "floats",
    "plt",
]

D = TypeVar("D", bound="Display")
T = TypeVar("T")
# One Axes or several, in any nesting that NumPy flattens; None for new ones.
AxesLike: TypeAlias = Axes | Sequence[Axes] | AnyArray | None


def axes_of(ax: object, count: int = 1, space: bool = False) -> list[Axes]:
    """Return as many axes as a display needs, new ones in one row if none are given.

    Axes in space, of three dimensions, are asked for by ``space=True``.
    """
    if ax is None:
        kind = {"projection": "3d"} if space else {}
        _, ax = plt.subplots(1, count, squeeze=False, subplot_kw=kind)
    given: list[Any] = list(np.ravel(ax)) if isinstance(ax, Sequence | np.ndarray) else [ax]
    if len(given) != count or not all(isinstance(one, Axes) for one in given):
        wanted = "one Axes" if count == 1 else f"a sequence of {count} Axes"
        raise ValueError(f"ax must be {wanted} of matplotlib, got {ax!r}.")
    if space and not all(one.name == "3d" for one in given):
        raise ValueError("three coordinates need axes made with projection='3d'.")
    return given


def chosen_of(estimator: object) -> Any:
    """Return the estimator that a search chose, or the one that is given."""
    return getattr(estimator, "best_estimator_", estimator)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("The axes belong to no figure.")
    return figure


def floats(values: T) -> T:
    """Return an array of double precision; None, a field that is not given, stays None."""
    return None if values is None else np.asarray(values, dtype=np.float64)  # type: ignore[return-value]


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display:
    """A figure of the fields that a subclass declares.

    Fields are the keyword arguments of its constructor, as of a dataclass; ``__post_init__``
    checks them. ``plot`` begins with :meth:`_draw_on` or :meth:`_draw_on_each` and ends with
    :meth:`_finish`. What every ``plot`` and every class method ``from_...`` returns, and the last
    two parameters of the latter, are documented here.
    """

    ax_: Axes
    """What was drawn on."""

    axes_: list[Axes]
    """What was drawn on, by displays on several axes."""

    figure_: Figure

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        for name, member in vars(cls).items():
            function = getattr(member, "__func__", member)
            if name.startswith(("plot", "from_")) and inspect.isfunction(function):
                _document(function, cls.__name__)

    def _draw_on(self, ax: Axes | None, space: bool = False) -> Axes:
        """Return the axes that are given, or new ones, and keep them."""
        (self.ax_,) = axes_of(ax, space=space)
        self.figure_ = figure_of(self.ax_)
        return self.ax_

    def _draw_on_each(
        self, ax: AxesLike, count: int, columns: int, cell: Sequence[float] = (), **new: Any
    ) -> list[Axes]:
        """Return the axes that are given, or new ones in columns, and keep them.

        Parameters
        ----------
        ax : sequence of Axes or None
        count : int
        columns : int
            At most so many new axes stand beside each other.
        cell : (width, height), optional
            Size in inches of each.
        **new
            For ``plt.subplots``.
        """
        if ax is None:
            across = min(columns, count)
            rows = -(-count // across)
            size = (cell[0] * across, cell[1] * rows) if cell else None
            how: dict[str, Any] = {"squeeze": False, "layout": "constrained", **new}
            grid = plt.subplots(rows, across, figsize=size, **how)[1].ravel()
            for spare in grid[count:]:
                spare.remove()
            ax = grid[:count]
        self.axes_ = axes_of(ax, count)
        self.figure_ = figure_of(self.axes_[0])
        return self.axes_

    def _finish(self, *, legend: bool | Mapping[str, object] = False, **properties: Any) -> Self:
        """Set labels, scales and limits of the axes, add a legend, and return the display.

        A legend has no frame, unless its own properties are given.
        """
        self.ax_.set(**properties)
        if legend is not False:
            self.ax_.legend(**({"frameon": False} if legend is True else legend))
        return self


class Factory:
    """A class method that computes the first field of a display by a function, and draws it.

    It takes the parameters of the function, the other fields of the display, ``ax``, and what the
    display's ``plot`` takes.

    Parameters
    ----------
    compute : callable
        An instrument such as :func:`mercer.inspect.margin_report`.
    """

    def __init__(self, compute: Callable[..., object]) -> None:
        self.compute = compute

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type[D]) -> Callable[..., D]:
        names = inspect.signature(self.compute).parameters
        first, *others = fields(owner)  # type: ignore[arg-type]

        def draw(cls: type[D], *args: object, ax: AxesLike = None, **kwargs: Any) -> Any:
            found = self.compute(*args, **{k: kwargs.pop(k) for k in names if k in kwargs})
            given = {f.name: kwargs.pop(f.name) for f in others if f.name in kwargs}
            display: Any = cls(**{first.name: found}, **given)
            return display.plot(ax, **kwargs)

        text = inspect.cleandoc(self.compute.__doc__ or "").partition("Parameters\n----------\n")[2]
        rest = "".join(f"\n{field.name} :\n    As in the constructor." for field in others)
        draw.__name__ = self.name
        draw.__doc__ = (
            f"Compute and draw the {first.name}.\n\nParameters\n----------\n"
            + text.partition("\n\n")[0]
            + rest
        )
        _document(draw, owner.__name__)
        keywords = [(field.name, field.default) for field in others] + [("ax", None)]
        parameters = [
            inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY),
            *names.values(),
            *(inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v) for k, v in keywords),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
        draw.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return MethodType(draw, owner)


def _document(function: Any, name: str) -> None:
    """Add to a docstring what all displays share."""
    text = inspect.cleandoc(function.__doc__ or "")
    if not text or "\nReturns\n" in text:
        return
    if "\nParameters\n" not in text:
        text += "\n\nParameters\n----------"
    if "\nax :" not in text:
        text += "\nax : matplotlib Axes, optional\n    New ones if not given."
        if "kwargs" in inspect.signature(function).parameters:
            plots = function.__name__ == "plot"
            text += "\n**kwargs\n    " + ("For what draws." if plots else "As in :meth:`plot`.")
    function.__doc__ = f"{text.rstrip()}\n\nReturns\n-------\n{name}\n"
