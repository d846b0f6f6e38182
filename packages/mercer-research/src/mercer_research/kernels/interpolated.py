"""Radial kernels that are dear to compute, read from a table that grows with the distances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property

import numpy as np

from mercer._params import check_integer
from mercer.kernels.base import Evaluator
from mercer.kernels.points import Array, Data, as_points, squared_norms
from mercer.kernels.stationary import Radial
from mercer_research.kernels.piecewise_polynomial import approximate
from mercer_research.kernels.radial_spectrum import (
    Density,
    DensityRange,
    Line,
    checked,
    on_a_line,
    project,
    spread,
)

TABLE = 1e-14
"""Error of a table, relative to the value at zero."""

PROMISE = 1e-10
"""Largest error of a kernel from its spectrum, relative to its value at zero."""

WAVES = 2**20
"""Panels that an octave may take: far out it holds many waves of a kernel that oscillates."""


class Profile:
    """A function of the distance as a table, octave by octave as far as it has been asked.

    Octaves are fitted independently of each other, so that values do not depend on what was asked
    before; a table is replaced, never changed, so that threads may share it.

    Parameters
    ----------
    exact : callable
        The function itself, of distances from 0 on.
    unit : float
        Where the first octave ends: the scale of the function.
    settled : float, default=0.0
        A distance beyond which the function, once it is negligible over an octave, remains so.
    """

    def __init__(self, exact: Callable[[Array], Array], unit: float, settled: float = 0.0) -> None:
        self.exact, self.settled = exact, settled
        self.top = float(exact(np.zeros(1))[0])
        self.table, self.error = approximate(exact, np.array([0.0, unit]), TABLE * self.top)
        self.slopes = self.table.derivative()
        self.done = False

    def __call__(self, r: Array) -> Array:
        """Return the kernel values at distances, 0 at infinite distances."""
        self._reach(r)
        return self.table(r)

    def derivative(self, r: Array) -> Array:
        """Return the derivative by the distance."""
        self._reach(r)
        return self.slopes(r)

    def _reach(self, r: Array) -> None:
        farthest = float(np.max(r, initial=0.0, where=np.isfinite(r)))
        while farthest > self.table.end and not self.done:
            table = self.table
            ends = table.end * np.array([1.0, 2.0])
            octave, error = approximate(self.exact, ends, TABLE * self.top, crowd=WAVES)
            self.error = max(self.error, error)
            small = bool(np.abs(octave.coefficients).sum(axis=0).max() <= TABLE * self.top)
            longer = table.joined(octave)
            self.slopes = longer.derivative()
            self.table = longer
            self.done = small and longer.end >= self.settled


class Profiled(Radial):
    """A radial kernel in up to `dim` dimensions whose values come from a table."""

    dim: int
    _smooth = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("dim", self.dim, 1)
        self.__dict__ = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def _values(self) -> Profile:
        """Return the function of the distance, for length scale 1."""

    @cached_property
    def _function(self) -> Profile:
        return self._values()

    @property
    def error(self) -> float:
        """Estimated error of kernel values so far, relative to the value at zero."""
        return self._function.error / self._function.top

    def _profile(self, s: Array) -> None:
        s[...] = self._function(np.sqrt(s, dtype=np.float64))

    def _slope(self, s: Array) -> Array:
        r = np.sqrt(s, dtype=np.float64)
        slope = np.zeros_like(r)
        np.divide(-self._function.derivative(r), r, out=slope, where=r > 0.0)
        return slope.astype(s.dtype)

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.full(X.shape[0], self._function.top, dtype=X.dtype)

    def against(self, Z: Data) -> Evaluator:
        return super().against(within_dimension(Z, self.dim))


class Spectral(Profiled):
    """A radial kernel in up to `dim` dimensions that is given by its power spectrum."""

    @abstractmethod
    def _unchecked(self, omega: Array) -> Array:
        """Return the spectrum in `dim` dimensions at lengths of frequencies, for length scale 1."""

    @property
    def _knots(self) -> Sequence[float]:
        """Where the spectrum is not smooth."""
        return ()

    def _check(self) -> None:
        """See positivity and integrability now, not at the first prediction."""
        self._spread  # noqa: B018

    @property
    def _density(self) -> Density:
        return checked(self._unchecked)

    @cached_property
    def _spread(self) -> DensityRange:
        return spread(self._density, self.dim, self._knots)

    @cached_property
    def _line(self) -> Line:
        line = on_a_line(self._density, self.dim, self._spread)
        if not line.error <= PROMISE:
            raise ValueError(
                "The density is too rough to be integrated: the kernel would be wrong by "
                f"{line.error:.1e} of its value at zero. Give its breaks."
            )
        return line

    def _values(self) -> Profile:
        line = self._line
        return Profile(line.kernel, line.unit, line.smooth_beyond)

    @property
    def error(self) -> float:
        """Bound on the error of kernel values, relative to the value at zero."""
        return super().error + self._line.error

    def _unit_spectrum(self, omega: Array) -> Array:
        length, d = np.sqrt(squared_norms(omega)), omega.shape[1]
        if d > self.dim:
            raise ValueError(
                f"This kernel is given by its spectrum in {self.dim} dimensions and need not be "
                f"positive definite in {d}."
            )
        if d == self.dim:
            return self._density(length)
        return project(self._density, self._spread.breaks, self.dim - d)(length)


def within_dimension(X: Data, dim: int) -> Data:
    """Return points; refuse more features than dimensions with a positive definite kernel."""
    X = as_points(X)
    if X.shape[1] > dim:
        raise ValueError(
            f"This kernel is positive definite in up to {dim} dimensions, but the points "
            f"have {X.shape[1]} features: set dim={X.shape[1]}, or choose features with "
            ".on([...])."
        )
    return X
