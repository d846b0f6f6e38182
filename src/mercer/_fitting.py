"""Fits that succeed and say how they ended, or change nothing and say why."""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._complaints import complaint
from mercer._patience import deadline
from mercer._settings import KW_ONLY, settings
from mercer._threads import small_algebra

__all__ = ["AllOrNothing", "all_or_nothing", "ending", "guard_fits", "say", "within"]

# What changes an estimator, where a class defines it.
FITTING = ("fit", "fit_transform", "partial_fit")


# What SciPy and NumPy say of a matrix that overflowed on its way to LAPACK.
NOT_FINITE = "array must not contain infs or NaNs"

# Fitted attributes that predictions are made of, whatever the estimator.
COEFFICIENTS = (
    "coef_",
    "dual_coef_",
    "heights_",
    "intercept_",
    "mean_",
    "null_space_coef_",
)

# Fitted numbers that say how a fit without a solution ended, in words.
MEASURES = {
    "objective_": "objective {:.6g}",
    "cost_": "cost {:.6g}",
    "validation_cost_": "validation cost {:.6g}",
    "best_score_": "score {:.6g}",
    "loo_error_": "leave-one-out error {:.6g}",
    "distance_": "distance {:.6g}",
    "purity_": "purity {:.6g}",
    "reconstruction_error_": "reconstruction error {:.6g}",
    "bound_": "bound {:.6g}",
    "gap_": "gap {:.2g}",
    "n_components_": "{:.0f} components",
    "n_nodes_": "{:.0f} nodes",
    "n_updates_": "{:.0f} updates",
    "n_iter_": "{:.0f} iterations",
}

# Beyond this, or below one over it, the square of a number leaves no digit of those of others.
EXTREME = 1e8


_opening = threading.Lock()
_locks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _lock(machine: Any) -> Any:
    """Return the lock of a machine, which does not travel with it; a fit may fit itself again."""
    with _opening:
        return _locks.setdefault(machine, threading.RLock())


def _forget() -> None:
    """Let a forked child begin anew: who held a lock in its parent is not there to open it."""
    global _opening
    _opening = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


_fitting: ContextVar[tuple[int, ...]] = ContextVar("_fitting", default=())


@contextmanager
def within(machine: Any) -> Iterator[None]:
    """Enter a fit of a machine: fits of it inside are parts of this one, and say no end."""
    token = _fitting.set((*_fitting.get(), id(machine)))
    try:
        yield
    finally:
        _fitting.reset(token)


def say(machine: Any, text: str) -> None:
    """Write a line about the fit of a machine to the standard error, if it is ``verbose``.

    Parameters
    ----------
    machine : estimator
    text : str
        What is behind the name of its class.
    """
    if machine.verbose:
        print(f"{type(machine).__name__}: {text}", file=sys.stderr, flush=True)


def ending(machine: Any) -> str:
    """Return how the fit of a machine ended in a line: status, objective and gap where known.

    Parameters
    ----------
    machine : estimator
        Fitted, by this library or another.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> ending(Lasso(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0]))
    'fitted, 2 iterations'
    """
    solution: Any = getattr(machine, "solution_", None)
    if hasattr(solution, "summary"):
        return str(solution.summary()[0])
    known = {name: getattr(machine, name, None) for name in MEASURES}
    # Of several outputs the largest, which for a gap is the worst.
    numbers = {
        name: float(np.max(np.asarray(value)))
        for name, value in known.items()
        if isinstance(value, Real | np.ndarray)
    }
    return ", ".join(["fitted", *(MEASURES[name].format(v) for name, v in numbers.items())])


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Leave a machine exactly as it was if its fit fails or is interrupted.

    Arithmetic that overflows is not reported by NumPy's warnings, which name a line of this
    library: a result that is not finite is refused where it is found, or does not matter. An
    arithmetic error is explained by the magnitudes that caused it; where all of them are ordinary
    it is an error of this library, and stays what it is.

    The machine's ``max_time`` is the deadline of all that is inside, and algebra on few rows runs
    on one thread. Two threads that fit the same
    machine do so one after the other, so that it is what one of them made, and no mixture.

    A ``verbose`` machine ends with a line that says how; a fit that is part of a fit of the same
    machine (``fit_transform``, ``super().fit``) leaves that to the whole.
    """

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            limit, few = _seconds(self), small_algebra(_rows(args, kwargs))
            in_time = nullcontext() if limit is None else deadline(limit)
            with in_time, np.errstate(all="ignore"), few:
                answer = fit(self, *args, **kwargs)
            _require_finite(self)
            return answer
        except BaseException as error:
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            if isinstance(error, ArithmeticError | np.linalg.LinAlgError) or (
                str(error) == NOT_FINITE
            ):
                causes = _extremes(self, args, kwargs)
                if causes:
                    raise ValueError(
                        f"{type(self).__name__} cannot be fitted in double precision: {causes}. "
                        "Scale inputs and targets to magnitudes near one (StandardScaler, "
                        f"TransformedTargetRegressor) and weights and C alike. ({error})"
                    ) from error
            if isinstance(error, TypeError | ValueError):
                X = args[0] if args else kwargs.get("X")
                y = args[1] if len(args) > 1 else kwargs.get("y")
                if sentence := complaint(self, X, y, error):
                    raise ValueError(sentence) from error
            raise

    @functools.wraps(fit)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _fitting.get():
            # Part of a fit of the same machine, which the guard of the whole fit protects.
            return fit(self, *args, **kwargs)
        with _lock(self):
            with within(self):
                answer = guarded(self, *args, **kwargs)
            if self.verbose and (end := self._ending()):
                say(self, end)
        return answer

    alone.all_or_nothing = True  # type: ignore[attr-defined]
    return alone


def _require_finite(machine: Any) -> None:
    """Refuse a fit whose coefficients overflowed, instead of predicting NaN from then on."""
    known = vars(machine)
    for name in COEFFICIENTS:
        if (value := known.get(name)) is None:
            continue
        value = value.data if hasattr(value, "tocsr") else value
        if isinstance(value, (np.ndarray, float)) and not np.isfinite(value).all():
            raise FloatingPointError(f"{name} is not finite")


def _extremes(machine: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the magnitudes of the data and of the settings that double precision cannot join."""
    given = {**dict(zip(("X", "y", "sample_weight"), args, strict=False)), **kwargs}
    given |= machine.get_params(deep=False) if hasattr(machine, "get_params") else {}
    found = []
    for name, value in given.items():
        if isinstance(value, str | bool) or value is None:
            continue
        try:
            values = value.data if hasattr(value, "tocsr") else value
            sizes = np.abs(np.asarray(values, dtype=np.float64)).ravel()
        except OverflowError:
            found.append(f"{name} holds integers that no float can")
            continue
        except (TypeError, ValueError):
            continue
        sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
        if not sizes.size:
            continue
        low, high = sizes.min(), sizes.max()
        if high > EXTREME or low < 1.0 / EXTREME:
            found.append(
                f"{name} reaches from {low:.1e} to {high:.1e}"
                if low < high
                else f"{name} is {low:.1e}"
            )
    return ", ".join(found)


def _rows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """Return the number of rows that a fit was given; infinite where nobody has counted them."""
    X = args[0] if args else kwargs.get("X")
    shape = getattr(X, "shape", None)
    if shape:
        return float(shape[0]) if isinstance(shape[0], Integral) else np.inf
    return float(len(X)) if isinstance(X, list | tuple) else np.inf


def _seconds(machine: Any) -> float | None:
    """Return the limit that a machine was given; one that is no number is refused elsewhere."""
    limit = getattr(machine, "max_time", None) if machine._whole_clock else None
    return max(float(limit), 0.0) if isinstance(limit, Real) else None


def guard_fits(cls: type) -> None:
    """Make the fits that a class defines leave it as it was if they fail."""
    for name in FITTING:
        if name in vars(cls):
            setattr(cls, name, all_or_nothing(vars(cls)[name]))


@settings
class AllOrNothing:
    """Base of every estimator: a fit that fails or is interrupted leaves it exactly as it was.

    Each class guards the fits that it defines when it is created, so that no estimator has to
    remember to, nor one that a user derives. The last line of a ``verbose`` fit is said here too.

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
    ZeroDivisionError: division by zero
    >>> machine.n_, machine.mean_
    (2, 1.5)
    """

    _: KW_ONLY
    verbose: bool | int = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {"verbose": ["verbose"]}

    _whole_clock: ClassVar[bool] = True
    """Whether ``max_time`` is a limit for all of a fit, and not for a search before it."""

    def _ending(self) -> str:
        """Return how the fit ended, for the last line; nothing where its passes have said it."""
        return ending(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        guard_fits(cls)
