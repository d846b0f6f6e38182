"""Different losses for different samples, as one loss.

What is known of a function beside its sample is often one more sample with a loss of its own: a
wall that it must not cross, a second tube, a price on one of its coefficients. Stacked, they are a
loss like any other, and problems, solvers and certificates need not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import DualTerms, Loss, QuadraticDualLoss

__all__ = ["Stacked", "StackedQuadratic", "stack"]


@dataclass(eq=False)
class Stacked(Loss):
    """A loss for each group of samples.

    Parameters
    ----------
    losses : sequence of Loss
        One loss a group; parameters given per sample have an entry for each sample of the group.
    group : ndarray of shape (n,)
        To which group a sample belongs.
    """

    losses: tuple[Loss, ...]
    group: NDArray[np.intp]

    @property
    def smooth(self) -> bool:
        return all(loss.smooth for loss in self.losses)

    @property
    def quadratic(self) -> bool:
        return all(loss.quadratic for loss in self.losses)

    def value(self, y: Array, f: Array) -> Array:
        return self._each("value", y, f)

    def gradient(self, y: Array, f: Array) -> Array:
        return self._each("gradient", y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        return self._each("curvature", y, f)

    def conjugate(self, y: Array, v: Array) -> Array:
        return self._each("conjugate", y, v)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return self._each("conjugate_gradient", y, v)

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        return self._each("conjugate_curvature", y, v)

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        return self._each("violation", y, f, v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        lower, upper = np.empty_like(y), np.empty_like(y)
        for loss, at in self._groups():
            lower[at], upper[at] = loss.slopes(y[at])
        return lower, upper

    def mirrored(self) -> Self:
        return replace(self, losses=tuple(loss.mirrored() for loss in self.losses))

    def take(self, index: NDArray[np.intp]) -> Self:
        rank = np.empty(len(self.group), dtype=np.intp)
        for _, at in self._groups():
            rank[at] = np.arange(len(at))
        group = self.group[index]
        parts = [loss.take(rank[index[group == k]]) for k, loss in enumerate(self.losses)]
        return type(self)(tuple(parts), group)

    def _groups(self) -> Iterator[tuple[Loss, NDArray[np.intp]]]:
        for k, loss in enumerate(self.losses):
            yield loss, np.flatnonzero(self.group == k)

    def _each(self, what: str, *arrays: Array) -> Array:
        """Call a method of every loss on the samples of its group."""
        values = np.empty(len(self.group))
        for loss, at in self._groups():
            values[at] = getattr(loss, what)(*(array[at] for array in arrays))
        return values


@dataclass(eq=False)
class StackedQuadratic(Stacked, QuadraticDualLoss):
    """Stacked losses whose conjugates are two parabolas each."""

    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        terms = {field.name: np.empty(len(y)) for field in fields(DualTerms)}
        for loss, at in self._groups():
            assert isinstance(loss, QuadraticDualLoss)
            part = loss.dual_terms(y[at], c[at])
            for name, values in terms.items():
                values[at] = getattr(part, name)
        return DualTerms(**terms)


def stack(losses: Sequence[Loss], sizes: Sequence[int]) -> Loss:
    """Return one loss for consecutive groups of samples that have different ones.

    Parameters
    ----------
    losses : sequence of Loss
        The losses; parameters given per sample have one entry for each sample of the group.
    sizes : sequence of int
        How many samples each group has.

    Returns
    -------
    Loss
        Quadratic programs solve it if they solve every member.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute, Squared
    >>> from mercer.losses.stacked import stack
    >>> loss = stack([Squared(), Absolute()], [2, 1])
    >>> loss.value(np.zeros(3), np.array([2.0, -3.0, 4.0]))
    array([2. , 4.5, 4. ])
    """
    if len(losses) != len(sizes):
        raise ValueError(f"{len(losses)} losses need as many sizes, got {len(sizes)}")
    kind = StackedQuadratic if all(isinstance(x, QuadraticDualLoss) for x in losses) else Stacked
    return kind(tuple(losses), np.repeat(np.arange(len(losses)), sizes))
