"""Intervals and quantiles as data frames with named columns, where that was asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._optional import plugin
from mercer._typing import PointsLike

__all__ = ["framed", "quantile_names", "set_output"]

CONTAINERS = ("default", "pandas", "polars")
ENDS = ("lower", "upper")


def set_output(self: Any, *, predict: str | None = None) -> Any:
    """Choose what `predict_interval` and `predict_quantiles` return.

    Parameters
    ----------
    predict : {"default", "pandas", "polars"}, optional
        Arrays, or data frames with named columns ("lower" and "upper", or "q0.05", ...); pandas
        ones have the index of `X`.

    Returns
    -------
    self

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileBand
    >>> X = np.linspace(0.0, 1.0, 30)[:, None]
    >>> band = QuantileBand((0.1, 0.9)).set_output(predict="pandas").fit(X, X[:, 0])
    >>> list(band.predict_interval(X).columns), list(band.predict_quantiles(X).columns)
    (['lower', 'upper'], ['q0.1', 'q0.9'])
    """
    if predict is None:
        return self
    if predict not in CONTAINERS:
        raise ValueError(f"predict must be one of {', '.join(CONTAINERS)}, got {predict!r}.")
    # The attribute that clone copies.
    self._sklearn_output_config = getattr(self, "_sklearn_output_config", {}) | {"predict": predict}
    return self


def framed(names: Callable[..., Sequence[str]] | None = None) -> Callable[[Any], Any]:
    """Return a decorator of methods that return one column an end, or a level, of each row.

    Parameters
    ----------
    names : callable, optional
        Returns the names of the columns, given what the method is; those of the ends by default.
    """

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def wrapped(self: Any, X: PointsLike, *args: Any, **how: Any) -> Any:
            found = method(self, X, *args, **how)
            container = getattr(self, "_sklearn_output_config", {}).get("predict", "default")
            if container == "default" or np.ndim(found) != 2:
                return found
            columns = list(ENDS if names is None else names(self, *args, **how))
            named = {"columns" if container == "pandas" else "schema": columns}
            made = plugin(container).DataFrame(np.asarray(found), **named)
            if container == "pandas" and hasattr(X, "index"):
                made.index = X.index
            return made

        return wrapped

    return decorate


def quantile_names(levels: Any) -> list[str]:
    """Return names of columns, such as q0.05.

    Examples
    --------
    >>> quantile_names([0.05, 0.5])
    ['q0.05', 'q0.5']
    """
    return [f"q{level:g}" for level in np.atleast_1d(levels)]
