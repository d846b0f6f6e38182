"""What a compression changed, and what is proved about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Compression"]


@dataclass(frozen=True, eq=False)
class Compression:
    r"""How far a compressed machine is from the one it was made of.

    With :math:`\delta = f - f_m`, of coefficients d at all points of both,
    :math:`\|\delta\|^2 = d'Kd`, and :math:`|\delta(x)| \le \sqrt{k(x, x)} \, \|\delta\|` at
    every x.
    """

    method: str
    n_before: int
    n_after: int
    """Number of terms: support vectors."""

    norms: NDArray[np.float64]
    """Norms of the functions before, one a problem of the machine, (D,)."""

    distances: NDArray[np.float64]
    """Norms of the differences, (D,), computed from the two machines and not by the method."""

    rounding: float
    """The size below which distances are rounding: a difference of squares shows no less."""

    radius: float
    r"""The largest :math:`\sqrt{k(x, x)}`, of a stationary kernel everywhere, else at the points
    that were looked at."""

    sup_error: float
    """Largest change of a value at the points that were looked at."""

    n_points: int
    """How many these are: those given, or the support vectors."""

    everywhere: bool
    """Whether `sup_bound` holds at every point and not only at those that were looked at."""

    index: NDArray[np.intp]
    """Which of the support vectors before each of them was; -1 for a new point."""

    term_bound: int | None = None
    """A number of terms that the method cannot exceed, known in advance."""

    distance_bound: float | None = None
    """A bound on the root of the mean of squared distances over draws (before weights are fitted
    again), known in advance."""

    expected_distance: float | None = None
    """That root itself."""

    agreement: float | None = None
    """Share of the points whose predicted class is the same, for classifiers."""

    history: NDArray[np.float64] | None = None
    """Distance after every step of a method that takes steps, first that of no term at all."""

    passes: int = 0
    """How often a source of points was read."""

    @property
    def norm(self) -> float:
        """Norm of all functions together."""
        return float(np.linalg.norm(self.norms))

    @property
    def distance(self) -> float:
        """Norm of all differences together."""
        return float(np.linalg.norm(self.distances))

    @property
    def relative(self) -> float:
        """`distance` in units of `norm`."""
        return self.distance / self.norm if self.norm > 0.0 else 0.0

    @property
    def sup_bound(self) -> float:
        r"""The largest change of a value that `distances` allow, :math:`R \|f - f_m\|`."""
        return self.radius * float(np.max(self.distances, initial=0.0))

    def __repr__(self) -> str:
        where = "everywhere" if self.everywhere else f"at {self.n_points} points"
        lines = [
            f"{self.n_before} terms became {self.n_after} ({self.method})",
            f"  distance    {self.distance:.3g} of a norm of {self.norm:.3g}",
            f"  values      changed by {self.sup_error:.3g} at most at {self.n_points} points",
            f"  bound       {self.sup_bound:.3g} {where}",
        ]
        if self.term_bound is not None:
            lines.append(f"  terms       {self.term_bound} at most, known in advance")
        if self.distance_bound is not None and self.expected_distance is not None:
            lines.append(
                f"  draws       distance {self.expected_distance:.3g} on average, "
                f"{self.distance_bound:.3g} at most, known in advance"
            )
        if self.agreement is not None:
            lines.append(f"  classes     {100 * self.agreement:.4g}% are the same")
        return "\n".join(lines)
