r"""Losses that a user writes down by their value and slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import check_positive
from mercer.losses.conjugate import keep_nan
from mercer.losses.numeric import NumericLoss

__all__ = ["Custom"]

Function = Callable[..., Any]

# Steps of central differences at which rounding and truncation of a first derivative balance, in
# units of the argument: the cube root of the rounding unit.
DIFFERENCE_STEP = 6e-6
# Where a loss is looked at, in units: near its vertex and twenty units away.
TESTED_ARGUMENTS = np.concatenate(
    [-np.geomspace(20.0, 1e-3, 60), [0.0], np.geomspace(1e-3, 20.0, 60)]
)
# Relative error that a slope, a curvature or a conjugate given by hand may have.
MAX_RELATIVE_ERROR = 1e-5
ARGUMENTS = {"residual": "r", "margin": "m", "both": "f"}


@dataclass(frozen=True)
class _Reflected:
    """A function of minus its arguments, times a sign."""

    function: Function
    sign: float = 1.0

    def __call__(self, *arguments: Array) -> Array:
        return self.sign * np.asarray(self.function(*(-np.asarray(x) for x in arguments)))


@dataclass(eq=False)
class Custom(NumericLoss):
    r"""A convex loss given by functions: any cost of a residual, of a margin, or of both.

    .. math:: l(y, f) = \rho(y - f), \qquad \varphi(y f), \qquad \text{or } l(y, f)

    What is not given is computed: slopes and curvatures by differences, the conjugate by looking
    for the place where the slope is :math:`v`, the range of slopes far away from the vertex. The
    functions are checked when the loss is made (is the cost convex, is the slope its derivative, is
    the conjugate the supremum?), and a certificate is measured as for any other loss. A loss
    without kinks goes to Newton's method, others to the interior point.

    Parameters
    ----------
    cost : callable
        The loss of an array of arguments, elementwise: of residuals :math:`r = y - f`, of margins
        :math:`m = y f`, or of ``(y, f)``.
    slope : callable, optional
        Its derivative in r, m or f; at a kink, any slope of a tangent.
    bend : callable, optional
        Its second derivative.
    dual : callable, optional
        The conjugate :math:`\rho^*(u) = \sup_r u r - \rho(r)`; of ``(y, v)`` with ``of="both"``.
    of : {"residual", "margin", "both"}, default="residual"
        What the functions are functions of.
    bounds : (float, float), optional
        Smallest and largest slope, in r, m or f; measured far away from the vertex by default.
    kinks : bool, optional
        Whether the slope jumps anywhere; looked for by default.
    unit : float, default=1.0
        A typical argument: the functions are checked up to twenty units from zero.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 2.1 and eq. (2.10) to (2.12).

    Examples
    --------
    The cost of a forecast that is too low grows faster than that of one that is too high:

    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import Custom
    >>> linex = Custom(lambda r: np.exp(r) - r - 1.0, lambda r: np.exp(r) - 1.0)
    >>> linex.value(np.array([1.0, -1.0]), np.zeros(2)).round(3)
    array([0.718, 0.368])
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> machine = KernelRegressor(linex, C=10.0).fit(X, np.sin(X[:, 0]))
    >>> machine.solution_.converged
    True

    Mistakes are found at once:

    >>> Custom(np.abs, lambda r: r)
    Traceback (most recent call last):
        ...
    ValueError: slope is not the derivative of cost: at r = -16.9095 it is -16.9095, but the cost...
    """

    cost: Function
    slope: Function | None = None
    bend: Function | None = None
    dual: Function | None = None
    of: str = "residual"
    bounds: tuple[float, float] | None = None
    kinks: bool | None = None
    unit: float = 1.0

    def __post_init__(self) -> None:
        if self.of not in ARGUMENTS:
            raise ValueError(f"of must be one of {list(ARGUMENTS)}, got {self.of!r}")
        check_positive(self.unit, "unit")
        if self.bounds is not None and not self.bounds[0] <= 0.0 <= self.bounds[1]:
            raise ValueError(
                f"bounds are the smallest and the largest slope, on both sides of zero; got "
                f"{self.bounds}"
            )
        checks = [_Check(self, y) for y in ((-1.0, 1.0) if self.of == "both" else (1.0,))]
        for check in checks:
            check.functions()
        self._jumps = [_jumps(self, check.y) for check in checks]
        found = np.concatenate([places for places, _, _ in self._jumps])
        if len(found) and self.slope is None:
            raise ValueError(
                f"cost has a kink near {ARGUMENTS[self.of]} = {found[0]:.6g}, which differences "
                "blur; give its slope too"
            )
        self._kinked = bool(len(found)) if self.kinks is None else self.kinks
        for check in checks if self.dual is not None else ():
            check.duals()

    @property
    def smooth(self) -> bool:
        return not self._kinked

    def value(self, y: Array, f: Array) -> Array:
        z = self._arguments(y, f)
        return keep_nan(np.asarray(self.cost(*z), dtype=np.float64), *z)

    def gradient(self, y: Array, f: Array) -> Array:
        sides, z = self._inner(y), self._arguments(y, f)
        u = np.asarray(self._slope(*z))
        if self.bounds is not None:
            u = np.clip(u, *self.bounds)
        return keep_nan(sides * u, *z)

    def curvature(self, y: Array, f: Array) -> Array:
        z = self._arguments(y, f)
        return keep_nan(self._inner(y) ** 2 * self._bend(*z), *z)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        if self.bounds is None:
            return super().slopes(y)
        ends = np.multiply.outer(self.bounds, self._inner(y) + np.zeros(np.shape(y)))
        return np.min(ends, axis=0), np.max(ends, axis=0)

    def conjugate(self, y: Array, v: Array) -> Array:
        if self.dual is None:
            if self.slope is not None:
                return super().conjugate(y, v)
            return self._refined(y, v)
        inside, v = self._inside(y, v)
        with np.errstate(all="ignore"):
            value = self._dual(np.asarray(y, dtype=np.float64), v)
        return np.where(inside, value, np.inf)

    def mirrored(self) -> Self:
        if self.of == "margin":
            return self
        return replace(
            self,
            cost=_Reflected(self.cost),
            slope=self.slope and _Reflected(self.slope, -1.0),
            bend=self.bend and _Reflected(self.bend),
            dual=self.dual and _Reflected(self.dual),
            bounds=self.bounds and (-self.bounds[1], -self.bounds[0]),
        )

    def take(self, index: NDArray[np.intp]) -> Self:
        return self

    def _dual(self, y: Array, v: Array) -> Array:
        assert self.dual is not None
        if self.of == "both":
            return np.asarray(self.dual(y, v))
        if self.of == "margin":
            return np.asarray(self.dual(v / y))
        return np.asarray(v * y + self.dual(-v))

    def _refined(self, y: Array, v: Array) -> Array:
        """Return the supremum by values alone, around the place where differences say it is."""
        inside, v = self._inside(y, v)
        f = self._touch(y, v)
        # Central differences smear a kink over their step; values know it to the last digit.
        step = 2.0 * DIFFERENCE_STEP * (self.unit + np.abs(y - f) + np.abs(f))
        low, high = f - step, f + step
        for _ in range(80):
            left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
            rising = v * left - self.value(y, left) < v * right - self.value(y, right)
            low, high = np.where(rising, left, low), np.where(rising, high, right)
        best = [v * g - self.value(y, g) for g in (f, low, high)]
        return np.where(inside, np.max(best, axis=0), np.inf)

    def _touch(self, y: Array, v: Array) -> Array:
        if self.of == "both" or not len(self._jumps[0][0]):
            return super()._touch(y, v)
        # A kink has a whole range of slopes, so that nothing needs to be looked for there.
        y, v = np.broadcast_arrays(np.asarray(y, dtype=np.float64), v)
        u, f, left = v / self._inner(y), np.empty(v.shape), np.ones(v.shape, dtype=bool)
        for place, low, high in zip(*self._jumps[0], strict=True):
            here = (u > low) & (u < high)
            f = np.where(here, y - place if self.of == "residual" else place / y, f)
            left &= ~here
        if np.any(left):
            f[left] = super()._touch(y[left], v[left])
        return f

    def _start(self, y: Array, v: Array) -> Array:
        if self.of == "both" or not len(self._jumps[0][0]):
            return super()._start(y, v)
        # From the last kink on the way, behind which the slope is smooth.
        places, _, after = self._jumps[0]
        passed = np.searchsorted(after, v / self._inner(y), side="right")
        place = places[np.maximum(passed - 1, 0)]
        return np.asarray(y - place if self.of == "residual" else place / y)

    def _centre(self, y: Array) -> Array:
        return np.zeros(np.shape(y)) + (y if self.of == "residual" else 0.0)

    def _unit(self) -> float:
        return float(self.unit)

    def _arguments(self, y: Array, f: Array) -> tuple[Array, ...]:
        if self.of == "both":
            return np.broadcast_arrays(np.asarray(y, dtype=np.float64), f)
        return (np.asarray(y - f if self.of == "residual" else y * f, dtype=np.float64),)

    def _inner(self, y: Array) -> Any:
        """Return the derivative of the argument in f."""
        return {"residual": -1.0, "margin": y, "both": 1.0}[self.of]

    def _slope(self, *arguments: Array) -> Array:
        if self.slope is not None:
            return np.asarray(self.slope(*arguments), dtype=np.float64)
        return self._difference(self.cost, DIFFERENCE_STEP, *arguments)

    def _bend(self, *arguments: Array) -> Array:
        if self.bend is not None:
            return np.asarray(self.bend(*arguments), dtype=np.float64)
        # Of differences that are known to about 1e-10 themselves, a wider step.
        step = DIFFERENCE_STEP if self.slope is not None else 3e-4
        return np.maximum(self._difference(self._slope, step, *arguments), 0.0)

    def _difference(self, function: Function, step: float, *arguments: Array) -> Array:
        *rest, z = arguments
        h = step * (self.unit + np.abs(z))
        up, down = z + h, z - h
        change = np.asarray(function(*rest, up)) - np.asarray(function(*rest, down))
        return np.asarray(change / (up - down))


@dataclass(frozen=True)
class _Check:
    """What must be true of the functions of a loss, at one target."""

    loss: Custom
    y: float

    def functions(self) -> None:
        loss, name = self.loss, ARGUMENTS[self.loss.of]
        z = TESTED_ARGUMENTS * loss.unit
        values = self._call(loss.cost, "cost", z)
        rises = np.diff(values) / np.diff(z)
        # Rounding of the values, and of what they may have been computed from.
        size = np.max(np.abs(values[np.abs(z) <= loss.unit]))
        noise = 32.0 * np.finfo(float).eps * (np.abs(values[1:]) + np.abs(values[:-1]) + size)
        noise = noise / np.diff(z)
        falls = np.flatnonzero(rises[1:] < rises[:-1] - noise[1:] - noise[:-1])
        if len(falls):
            k = int(falls[0])
            raise ValueError(
                f"cost is not convex: around {name} = {z[k + 1]:.6g} it rises by {rises[k]:.6g} a "
                f"unit before and by {rises[k + 1]:.6g} after; no certificate exists for such a "
                "loss. Straighten it where it turns, as Huber's loss is"
            )
        if loss.slope is not None:
            self._slopes(z, self._call(loss.slope, "slope", z), rises, noise)
        if loss.bend is not None:
            bend = self._call(loss.bend, "bend", z)
            if np.any(bend < 0):
                k = int(np.argmin(bend))
                raise ValueError(
                    f"bend is negative, {bend[k]:.6g}, at {name} = {z[k]:.6g}; the second "
                    "derivative of a convex cost is not"
                )
            self._bends(z, bend)
        y, place = np.array([self.y]), np.array([0.0])
        with np.errstate(all="ignore"):
            low, high = (float(end[0]) for end in super(Custom, loss).slopes(y))
            first = loss.gradient(y, place - 2.0**40 * loss.unit)[0]
            last = loss.gradient(y, place + 2.0**40 * loss.unit)[0]
        if first > 1e-9 or last < -1e-9:
            raise ValueError(
                "the loss has no least value: it falls for ever on one side, so that no function "
                "is best; add something that rises"
            )
        if loss.bounds is not None:
            self._bounds(low, high)

    def _call(self, function: Function, what: str, z: Array) -> Array:
        arguments = (np.full_like(z, self.y), z) if self.loss.of == "both" else (z,)
        values = np.asarray(function(*arguments), dtype=np.float64)
        if values.shape != z.shape:
            raise ValueError(
                f"{what} returned an array of shape {values.shape} for arguments of shape "
                f"{z.shape}; it must work elementwise, with np.where in place of if"
            )
        if not np.all(np.isfinite(values)):
            k = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"{what} is {values[k]} at {ARGUMENTS[self.loss.of]} = {z[k]:.6g}; a loss is "
                "finite everywhere. Choose a smaller unit if errors are never so large"
            )
        return values

    def _slopes(self, z: Array, slope: Array, rises: Array, noise: Array) -> None:
        """Compare slopes with the rise of the cost to the left and to the right."""
        slack = MAX_RELATIVE_ERROR * (1e-3 + np.abs(slope))
        left = np.append(-np.inf, rises - noise)
        right = np.append(rises + noise, np.inf)
        wrong = np.flatnonzero((slope < left - slack) | (slope > right + slack))
        if len(wrong):
            k = int(wrong[0])
            ends = rises[max(k - 1, 0)], rises[min(k, len(rises) - 1)]
            raise ValueError(
                f"slope is not the derivative of cost: at {ARGUMENTS[self.loss.of]} = {z[k]:.6g} "
                f"it is {slope[k]:.6g}, but the cost rises there by {ends[0]:.6g} to "
                f"{ends[1]:.6g} a unit; give the derivative in {ARGUMENTS[self.loss.of]}"
            )

    def _bends(self, z: Array, bend: Array) -> None:
        """Compare curvatures with differences, where differences of two steps agree."""
        rest = (np.full_like(z, self.y),) if self.loss.of == "both" else ()
        fine, coarse = (
            self.loss._difference(self.loss._slope, step, *rest, z) for step in (3e-5, 3e-4)
        )
        size = 1e-6 + np.abs(fine)
        wrong = np.flatnonzero(
            (np.abs(fine - coarse) <= 1e-3 * size) & (np.abs(bend - fine) > 1e-2 * size + 1e-4)
        )
        if len(wrong):
            k = int(wrong[0])
            raise ValueError(
                f"bend is not the derivative of the slope: at {ARGUMENTS[self.loss.of]} = "
                f"{z[k]:.6g} it is {bend[k]:.6g}, but the slope changes by {fine[k]:.6g} a unit"
            )

    def _bounds(self, low: float, high: float) -> None:
        """Compare bounds with slopes far away, in f."""
        given = self.loss.slopes(np.array([self.y]))
        for said, seen in ((given[0][0], low), (given[1][0], high)):
            if np.isfinite(seen) and not np.isclose(said, seen, rtol=1e-3, atol=1e-9):
                raise ValueError(
                    f"a bound of the slopes in f is {said:.6g}, but far away they are {seen:.6g}; "
                    "give the smallest and the largest slope that occur"
                )

    def duals(self) -> None:
        """Compare the conjugate with the supremum over decision values."""
        loss, y = self.loss, np.full(9, self.y)
        low, high = (np.clip(end, -3.0, 3.0) for end in loss.slopes(y))
        v = low + (high - low) * np.linspace(0.05, 0.95, 9)
        given, found = loss.conjugate(y, v), NumericLoss.conjugate(loss, y, v)
        wrong = np.flatnonzero(np.abs(given - found) > MAX_RELATIVE_ERROR * (1.0 + np.abs(found)))
        if len(wrong):
            k = int(wrong[0])
            raise ValueError(
                f"dual is not the conjugate of cost: for the slope {v[k]:.6g} in f it gives "
                f"{given[k]:.6g}, but the supremum is {found[k]:.6g}"
            )


def _jumps(loss: Custom, y: float) -> tuple[Array, Array, Array]:
    """Return where the slope jumps, or rises steeper than any curvature would, from and to what."""
    target = (np.full_like(TESTED_ARGUMENTS, y),) if loss.of == "both" else ()
    z = TESTED_ARGUMENTS * loss.unit
    slope = loss._slope(*target, z)
    typical = (slope[-1] - slope[0]) / (z[-1] - z[0])
    # A slope like |r|^(1/2) would be 1e5 times steeper than usual in intervals of 1e-11 units; of
    # differences nothing is known in intervals shorter than their step.
    noise = 1e-7 * (np.abs(slope[-1]) + np.abs(slope[0]))
    low, high = z[:-1], z[1:]
    for halvings in (36, 70) if loss.slope is not None else (20,):
        rest = tuple(part[: len(low)] for part in target)
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            left, at, right = (loss._slope(*rest, x) for x in (low, middle, high))
            steeper = at - left > right - at
            low, high = np.where(steeper, low, middle), np.where(steeper, middle, high)
        before, after = loss._slope(*rest, low), loss._slope(*rest, high)
        jump = after - before > 1e4 * typical * (high - low) + noise
        low, high, before, after = low[jump], high[jump], before[jump], after[jump]
    return high, before, after
