"""Fits that succeed or change nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["AllOrNothing", "all_or_nothing"]

# What changes an estimator, where a class defines it.
FITTING = ("fit", "fit_transform", "partial_fit")


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Leave a machine exactly as it was if its fit fails or is interrupted."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            raise

    return guarded


class AllOrNothing:
    """Base of every estimator: a fit that fails or is interrupted leaves it exactly as it was.

    Each class guards the fits that it defines when it is created, so that no estimator has to
    remember to, nor one that a user derives.

    Examples
    --------
    >>> from mercer._fitting import AllOrNothing
    >>> class Mean(AllOrNothing):
    ...     def fit(self, y):
    ...         self.n_ = len(y)
    ...         self.mean_ = sum(y) / self.n_
    ...         return self
    >>> machine = Mean().fit([1.0, 2.0])
    >>> machine.fit([])
    Traceback (most recent call last):
    ZeroDivisionError: float division by zero
    >>> machine.n_, machine.mean_
    (2, 1.5)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in FITTING:
            if name in vars(cls):
                setattr(cls, name, all_or_nothing(vars(cls)[name]))
