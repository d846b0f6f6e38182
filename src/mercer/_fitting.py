"""Fits that succeed and say how they ended, or change nothing and say why.

A fit runs on a twin of its estimator, which nobody else has, and becomes the estimator's state in
one assignment. A method that reads an estimator reads the state that it found when it was called.
So what one thread predicts while another one fits is of the old machine or of the new one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Integral, Real
from types import FunctionType
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from mercer._complaints import complaint
from mercer._deadline import deadline
from mercer._settings import KW_ONLY, settings
from mercer._threads import small_algebra
from mercer._typing import Constraints

__all__ = [
    "AllOrNothing",
    "all_or_nothing",
    "ending",
    "guard_fits",
    "guard_frames",
    "say",
    "within",
]

# What changes an estimator, where a class defines it.
FITTING = ("fit", "fit_transform", "partial_fit")

# Beginnings of the names of public methods that change the object that they are called on.
SETTING = ("calibrate", "fit", "set_")


# What a result that double precision does not hold raises.
ARITHMETIC = (ArithmeticError, np.linalg.LinAlgError)

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


_fitting: ContextVar[tuple[int, ...]] = ContextVar("_fitting", default=())


State = TypeVar("State")


class Talking(Protocol):
    """What may be asked to say how its fit goes."""

    @property
    def verbose(self) -> bool | int: ...


class Timed(Protocol):
    """What has a clock for all of its fit, or not."""

    @property
    def _whole_clock(self) -> bool: ...


@contextmanager
def within(machine: object) -> Iterator[None]:
    """Enter a fit of a machine: fits of it inside are parts of this one, and say no end."""
    token = _fitting.set((*_fitting.get(), id(machine)))
    try:
        yield
    finally:
        _fitting.reset(token)


def say(machine: Talking, text: str) -> None:
    """Write a line about the fit of a machine to the standard error, if it is ``verbose``.

    Parameters
    ----------
    machine : estimator
    text : str
        What is behind the name of its class.
    """
    if machine.verbose:
        print(f"{type(machine).__name__}: {text}", file=sys.stderr, flush=True)


def ending(machine: object) -> str:
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
    """Let a fit change a machine in one assignment at its end, and not at all if it fails.

    It runs on a twin with the same parameters and attributes. Of two threads that fit the same
    machine the last one makes it what it is; neither sees the other.

    Arithmetic that overflows is not reported by NumPy's warnings, which name a line of this
    library: a result that is not finite is refused where it is found, or does not matter. An
    arithmetic error is explained by the magnitudes that caused it; where all of them are ordinary
    it is an error of this library, and stays what it is.

    The machine's ``max_time`` is the deadline of all that is inside, and algebra on few rows runs
    on one thread.

    A ``verbose`` machine ends with a line that says how; a fit that is part of a fit of the same
    machine (``fit_transform``, ``super().fit``) leaves that to the whole.
    """

    @functools.wraps(fit)
    def fit_twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _fitting.get():
            # Part of a fit of the same twin, which the whole fit makes and publishes.
            return fit(self, *args, **kwargs)
        twin = with_state(self, dict(vars(self)))
        try:
            limit, few = _seconds(twin), small_algebra(_rows(args, kwargs))
            in_time = nullcontext() if limit is None else deadline(limit)
            with within(twin), in_time, np.errstate(all="ignore"), few:
                answer = fit(twin, *args, **kwargs)
            _require_finite(twin)
        except (ArithmeticError, TypeError, ValueError) as error:
            overflow = isinstance(error, ARITHMETIC) or str(error) == NOT_FINITE
            if overflow and (causes := _extremes(self, args, kwargs)):
                raise ValueError(
                    f"{type(self).__name__} cannot be fitted in double precision: {causes}. "
                    "Scale inputs and targets to magnitudes near one (StandardScaler, "
                    f"TransformedTargetRegressor) and weights and C alike. ({error})"
                ) from error
            X = args[0] if args else kwargs.get("X")
            y = args[1] if len(args) > 1 else kwargs.get("y")
            if sentence := complaint(self, X, y, error):
                raise ValueError(sentence) from error
            raise
        self.__dict__ = vars(twin)
        if self.verbose and (end := self._ending()):
            say(self, end)
        return self if answer is twin else answer

    fit_twin.all_or_nothing = True  # type: ignore[attr-defined]
    return fit_twin


def with_state(machine: State, state: dict[str, Any]) -> State:
    """Return another object of a machine's class whose attributes are these, not a copy of them."""
    other = object.__new__(type(machine))
    other.__dict__ = state
    return other


def of_one_state(read: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method read the state that a machine has when it is called, whatever is fitted since.

    A fit never changes a state, it assigns another one: so no copy is needed.
    """

    @functools.wraps(read)
    def read_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        view = with_state(self, self.__dict__)
        answer = read(view, *args, **kwargs)
        return self if answer is view else answer

    read_state.of_one_state = True  # type: ignore[attr-defined]
    return read_state


def _require_finite(machine: object) -> None:
    """Refuse a fit whose coefficients overflowed, instead of predicting NaN from then on."""
    known = vars(machine)
    for name in COEFFICIENTS:
        if (value := known.get(name)) is None:
            continue
        value = value.data if hasattr(value, "tocsr") else value
        if isinstance(value, (np.ndarray, float)) and not np.isfinite(value).all():
            raise FloatingPointError(f"{name} is not finite")


def _extremes(machine: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
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


def _seconds(machine: Timed) -> float | None:
    """Return the limit that a machine was given; one that is no number is refused elsewhere."""
    limit = getattr(machine, "max_time", None) if machine._whole_clock else None
    return max(float(limit), 0.0) if isinstance(limit, Real) else None


def guard_fits(cls: type) -> None:
    """Let the fits that a class defines change it at once, and its public methods read it so."""
    for name, own in list(vars(cls).items()):
        if name in FITTING:
            setattr(cls, name, all_or_nothing(own))
        elif name.startswith(("_", *SETTING)):
            continue
        elif isinstance(own, FunctionType):
            setattr(cls, name, of_one_state(own))
        elif isinstance(own, property) and name.endswith("_"):
            setattr(cls, name, property(of_one_state(own.fget), doc=own.__doc__))  # type: ignore[arg-type]
        elif isinstance(getattr(own, "fn", None), FunctionType):
            own.fn = of_one_state(own.fn)  # of scikit-learn's available_if


def guard_frames(cls: Any) -> None:
    """Guard also what scikit-learn wraps around a method when the class is made: its frame."""
    if "transform" in vars(cls):
        cls.transform = of_one_state(vars(cls)["transform"])


@settings
class AllOrNothing:
    """Base of every estimator: a fit changes it at once, or leaves it exactly as it was.

    Each class guards the fits that it defines when it is created, so that no estimator has to
    remember to, nor one that a user derives; and public methods and properties read one state,
    also where another thread fits meanwhile. The last line of a ``verbose`` fit is said here too.

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

    _parameter_constraints: ClassVar[Constraints] = {"verbose": ["verbose"]}

    _whole_clock: ClassVar[bool] = True
    """Whether ``max_time`` is a limit for all of a fit, and not for a search before it."""

    def _ending(self) -> str:
        """Return how the fit ended, for the last line; nothing where its passes have said it."""
        return ending(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        guard_fits(cls)

    _guard_frames = classmethod(guard_frames)
