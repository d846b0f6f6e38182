"""How fast eigenvalues or a spectrum fall: like a power, an exponential, a Gaussian, or to zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels.points import Array

ROUNDING_SHARE = 1e-12
"""Values below this share of the largest are rounding."""

MAX_TAIL_SHARE = 1e-2
"""Values above this share of the largest belong to the head, which says nothing of the tail."""

TRIED_POWERS = np.round(np.arange(0.5, 4.01, 0.25), 2)


@dataclass(frozen=True)
class Decay:
    r"""A law of decay, :math:`c\,\omega^{-a}` or :math:`c\,e^{-b \omega^p}`.

    Attributes
    ----------
    kind : {"polynomial", "exponential", "gaussian", "stretched", "finite"}
        Exponential is p = 1, Gaussian p = 2, stretched any other p; finite means that nothing is
        left behind some frequency.
    exponent : float
        The a of a polynomial, otherwise the p; infinite if finite.
    rate : float
        The b of an exponential; 1 for a polynomial, and the last frequency if finite.
    confidence : float
        Between 0 and 1: one minus the residual of this law over that of the best law of the other
        kind.
    """

    kind: str
    exponent: float
    rate: float
    confidence: float

    @property
    def entropy_exponent(self) -> tuple[str, float]:
        r"""How the capacity of the unit ball grows: the rate of :math:`\ln N(\varepsilon)`.

        ``("power", 2/a)`` stands for :math:`\varepsilon^{-2/a}`, ``("log", 1 + 1/p)`` for
        :math:`\ln^{1 + 1/p}(1/\varepsilon)`; in one dimension.
        """
        if self.kind == "polynomial":
            return "power", 2.0 / self.exponent
        return "log", 1.0 + (0.0 if self.kind == "finite" else 1.0 / self.exponent)

    def stretched(self, factor: float) -> Decay:
        """Return the law after all frequencies are multiplied by a factor."""
        if self.kind == "polynomial":
            return self
        power = -1.0 if self.kind == "finite" else self.exponent
        return replace(self, rate=self.rate / factor**power)

    def __str__(self) -> str:
        if self.kind == "polynomial":
            return f"polynomial, omega^-{self.exponent:.3g}"
        if self.kind == "finite":
            return f"finite, nothing above {self.rate:.4g}"
        power = "" if self.exponent == 1.0 else f"^{self.exponent:.3g}"
        name = "Gaussian" if self.kind == "gaussian" else self.kind
        return f"{name}, exp(-{self.rate:.3g} omega{power})"


def classify_decay(values: Array, index: Array | None = None) -> Decay | None:
    r"""Return the law by which a sequence falls.

    :math:`\ln \lambda_j` is fitted by a straight line against :math:`\ln j` and against
    :math:`j^p` for p from 1/2 to 4, on the part of the tail that is above rounding; the
    smallest residual decides. What oscillates is replaced by its envelope, the maximum of all
    that follows.

    Parameters
    ----------
    values : (m,) array
        Eigenvalues, or a spectrum; at least 0.
    index : (m,) array, optional
        Their frequencies; 1, 2, ... if not given.

    Returns
    -------
    Decay or None
        None with fewer than six values in the tail.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.54) and (8.55).

    Examples
    --------
    >>> j = np.arange(1, 200)
    >>> print(classify_decay(1.0 / j**2.0))
    polynomial, omega^-2
    >>> print(classify_decay(np.exp(-0.05 * j**2)))
    Gaussian, exp(-0.05 omega^2)
    """
    values = np.asarray(values, dtype=float)
    index = np.arange(1.0, len(values) + 1.0) if index is None else np.asarray(index, dtype=float)
    top = float(values.max(initial=0.0))
    if top <= 0.0:
        return None
    seen = np.flatnonzero(values > ROUNDING_SHARE * top)
    if seen[-1] < len(values) - 1 and values[seen[-1]] > 1e-4 * top:
        return Decay("finite", np.inf, float(index[seen[-1]]), 1.0)
    envelope = np.maximum.accumulate(values[::-1])[::-1] / top
    # Where the maximum of what follows is attained: plateaus between would tilt the fit.
    tail = (envelope > ROUNDING_SHARE) & (values / top >= envelope) & (index > 0.0)
    far = tail & (envelope < MAX_TAIL_SHARE)
    tail = far if far.sum() >= 6 else tail
    if tail.sum() < 6:
        return None
    x, target = index[tail], np.log(envelope[tail])
    slope, polynomial = _fit(np.log(x), target)
    fits = {float(p): _fit(x**p, target) for p in TRIED_POWERS}
    best = min(residual for _, residual in fits.values())
    # A factor before the exponential bends the line a little: prefer the laws that have a name.
    named = [p for p in (1.0, 2.0) if fits[p][1] <= 1.5 * best]
    p = named[0] if named else min(fits, key=lambda q: fits[q][1])
    if polynomial <= best:
        return Decay("polynomial", -slope, 1.0, _confidence(polynomial, best))
    kind = {1.0: "exponential", 2.0: "gaussian"}.get(p, "stretched")
    return Decay(kind, p, -fits[p][0], _confidence(best, polynomial))


def _confidence(chosen: float, other: float) -> float:
    return 1.0 - chosen / other if other > 0.0 else 0.0


def _fit(x: Array, target: Array) -> tuple[float, float]:
    """Return the slope of a straight line by least squares, and its root mean square residual."""
    centred = x - x.mean()
    slope = float(centred @ target / (centred @ centred))
    residual = target - target.mean() - slope * centred
    return slope, float(np.sqrt(np.mean(residual**2)))
