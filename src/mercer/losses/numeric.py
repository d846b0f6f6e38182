r"""Losses known by value and slope only: their conjugates by inverting the slope.

.. math:: l^*(y, v) = v f - l(y, f) \quad\text{where}\quad \partial_f l(y, f) \ni v

The slope rises with f, so that bisection finds the place, and an error in the place enters the
conjugate with its square only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import BOX_SLACK, Loss
from mercer.losses.conjugate import keep_nan, shortfall

__all__ = ["NumericLoss"]

Mask = NDArray[np.bool_]

# Decision values so many units away stand for infinity: slopes that still change there by more than
# this share when the distance is halved are taken to grow without bound.
INFINITE_DISTANCE, MAX_SLOPE_CHANGE = 2.0**40, 1e-6
# Steps, every other of which halves at least, after which nothing is left of any interval.
MAX_STEPS, EPS = 300, 2.0 * float(np.finfo(float).eps)


class NumericLoss(Loss):
    """A loss that writes ``value``, ``gradient`` and ``curvature``; the rest is found by search."""

    def _centre(self, y: Array) -> Array:
        """Return the middle of what is looked at."""
        return np.zeros(np.shape(y))

    def _start(self, y: Array, v: Array) -> Array:
        """Return where to start looking for the slope ``v``."""
        return self._centre(y)

    def _unit(self) -> float:
        """Return a typical difference of decision values."""
        return 1.0

    def slopes(self, y: Array) -> tuple[Array, Array]:
        """Measure the slopes far out: bounds where they no longer change, else infinity."""
        centre, far = self._centre(y), INFINITE_DISTANCE * self._unit()
        return self._end(y, centre, -far), self._end(y, centre, far)

    def _end(self, y: Array, centre: Array, far: float) -> Array:
        with np.errstate(all="ignore"):
            half, whole = self.gradient(y, centre + 0.5 * far), self.gradient(y, centre + far)
            still = np.isfinite(whole) & (np.abs(whole - half) <= MAX_SLOPE_CHANGE * np.abs(whole))
        end = np.where(still, whole, np.sign(far) * np.inf)
        return np.asarray(np.minimum(end, 0.0) if far < 0 else np.maximum(end, 0.0))

    def conjugate(self, y: Array, v: Array) -> Array:
        inside, v = self._inside(y, v)
        f = self._touch(y, v)
        with np.errstate(all="ignore"):
            return np.where(inside, v * f - self.value(y, f), np.inf)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return keep_nan(self._touch(y, self._inside(y, v)[1]), v)

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        """Evaluate one over the curvature where the slope is ``v``; zero where a kink has it."""
        f = self._touch(y, self._inside(y, v)[1])
        step = 1e-9 * (self._unit() + np.abs(f))
        with np.errstate(all="ignore"):
            bend = self.curvature(y, f)
            jump = self.gradient(y, f + step) - self.gradient(y, f - step)
            smooth = (bend > 0) & (jump <= 2e3 * step * bend + 1e-9)
            return keep_nan(np.where(smooth, 1.0 / bend, 0.0), v)

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        r"""Measure how far ``(f, v)`` is from :math:`v \in \partial l(y, f)`.

        In units of the slope for smooth losses; for others it is the distance of ``f`` from where
        the slope is ``v``, because at a kink the slope says nothing.
        """
        if self.smooth:
            return super().violation(y, f, v)
        inside, v = self._inside(y, v)
        low, high = self.slopes(y)
        slack = BOX_SLACK * (1.0 + np.abs(v))
        first = np.where(v <= low + slack, -np.inf, self._edge(y, v - slack, strict=False))
        last = np.where(v >= high - slack, np.inf, self._edge(y, v + slack, strict=True))
        distance = np.abs(shortfall(f, first, last))
        return keep_nan(np.where(inside, distance, np.inf), v)

    def _inside(self, y: Array, v: Array) -> tuple[Mask, Array]:
        """Answer which slopes the loss has, and return them freed from rounding beyond its ends."""
        low, high = self.slopes(y)
        v = np.asarray(v, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            slack = BOX_SLACK * np.abs(v)
            inside = ~(np.isinf(v) | (v < low - slack) | (v > high + slack))
        return inside, np.clip(np.where(inside, v, 0.0), low, high)

    def _touch(self, y: Array, v: Array) -> Array:
        """Return the decision value nearest to the least loss at which the slope is ``v``."""
        place = self._edge(y, v, strict=v <= 0)
        middle = v == 0
        if not np.any(middle):
            return place
        # Where nothing is lost: the middle of a tube, or its only end.
        first, centre = self._edge(y, v, strict=False), self._centre(y)
        far = INFINITE_DISTANCE * self._unit()
        open_low, open_high = first <= centre - far, place >= centre + far
        rest = np.where(open_low, place, np.where(open_high, first, 0.5 * (first + place)))
        return np.where(middle, rest, place)

    def _edge(self, y: Array, v: Array, *, strict: bool | Mask) -> Array:
        """Return the first decision value at which the slope reaches, or exceeds, ``v``."""

        def excess(f: Array) -> tuple[Array, Mask]:
            with np.errstate(all="ignore"):
                slope = self.gradient(y, f) - v
            return slope, (slope > 0) | ((slope == 0) & ~np.asarray(strict))

        y, v = np.broadcast_arrays(np.asarray(y, dtype=np.float64), v)
        centre, unit, far = self._start(y, v), self._unit(), INFINITE_DISTANCE * self._unit()
        here, above = excess(centre)
        # Double the distance until the slope has passed v, then close in on the place.
        near, out = np.zeros(v.shape), np.where(above, -unit, unit)
        at_near, (at_out, over) = here, excess(centre + out)
        while not np.all(passed := (over != above) | (np.abs(out) >= far)):
            near, at_near = np.where(passed, near, out), np.where(passed, at_near, at_out)
            out = np.where(passed, out, 2.0 * out)
            at_out, over = excess(centre + out)
        low, high = centre + np.where(above, out, near), centre + np.where(above, near, out)
        g_low, g_high = np.where(above, at_out, at_near), np.where(above, at_near, at_out)
        trust = np.ones(v.shape, dtype=bool)
        for _ in range(MAX_STEPS):
            width = high - low
            if np.all(width <= 3.0 * EPS * (unit + np.abs(low))):
                break
            middle = 0.5 * (low + high)
            # Follow the chord while that does better than halving, and go a little beyond it so
            # that both ends move.
            with np.errstate(all="ignore"):
                chord = (low * g_high - high * g_low) / (g_high - g_low)
            step = np.maximum(width * np.minimum(0.1, width / unit), EPS * (unit + np.abs(low)))
            chord += np.sign(middle - chord) * step
            x = np.where(trust & (chord > low) & (chord < high), chord, middle)
            g, over = excess(x)
            low, g_low = np.where(over, low, x), np.where(over, g_low, g)
            high, g_high = np.where(over, x, high), np.where(over, g, g_high)
            trust = ~trust | (high - low <= 0.5 * width)
        return np.asarray(high)
