r"""Sums of losses at one sample: more kinks than two, or a price inside the tube.

.. math:: l(y, f) = \sum_k w_k\, l_k(y, f), \qquad
          l^*(y, v) = \min_{\sum_k v_k = v}\; \sum_k w_k\, l_k^*(y, v_k / w_k)

The minimum on the right is taken by the solver: a sample with k losses is k samples with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import Loss, numbers
from mercer.losses.numeric import NumericLoss

__all__ = ["Several"]


@dataclass(eq=False)
class Several(NumericLoss):
    r"""A weighted sum of losses.

    Two tubes make a loss with four kinks, a tube and a parabola one that is not zero inside. Kinks
    are taken apart: every loss gets a copy of the sample, with a coefficient of its own, and these
    add up, so that a sum of losses with quadratic duals has one too and every solver takes it.

    Parameters
    ----------
    losses : sequence of Loss
        The losses :math:`l_k`.
    weights : sequence of float or of ndarray of shape (n,), optional
        Their weights :math:`w_k`, positive; one by default.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 2.1: "extra slack variables" for
    losses with more kinks, which are the copies here.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive, Several
    >>> loss = Several([EpsilonInsensitive(0.5), EpsilonInsensitive(2.0)], [1.0, 3.0])
    >>> loss.value(np.array([0.3, 1.0, 3.0]), np.zeros(3))
    array([0. , 0.5, 5.5])
    """

    losses: Sequence[Loss]
    weights: Sequence[float | Array] | None = None

    def __post_init__(self) -> None:
        if not len(self.losses) or not all(isinstance(loss, Loss) for loss in self.losses):
            raise ValueError(f"losses must be a list of losses, got {self.losses!r}")
        if self.weights is None:
            return
        if len(self.weights) != len(self.losses):
            raise ValueError(
                f"{len(self.losses)} losses need as many weights, got {len(self.weights)}"
            )
        if not all(np.all((numbers(w, "weights") > 0) & np.isfinite(w)) for w in self.weights):
            raise ValueError(f"weights must be positive and finite, got {self.weights}")

    @property
    def smooth(self) -> bool:
        return all(loss.smooth for loss in self.losses)

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(sum(w * loss.value(y, f) for loss, w in self._pairs()))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(sum(w * loss.gradient(y, f) for loss, w in self._pairs()))

    def curvature(self, y: Array, f: Array) -> Array:
        return np.asarray(sum(w * loss.curvature(y, f) for loss, w in self._pairs()))

    def slopes(self, y: Array) -> tuple[Array, Array]:
        ends = [np.multiply(w, loss.slopes(y)) for loss, w in self._pairs()]
        low, high = np.sum(ends, axis=0)
        return low, high

    def parts(self) -> list[tuple[Loss, float | Array]]:
        """Return the members of a sum with kinks; a smooth one is left whole."""
        if self.smooth:
            return super().parts()
        return [(part, u * w) for loss, w in self._pairs() for part, u in loss.parts()]

    def mirrored(self) -> Self:
        return replace(self, losses=[loss.mirrored() for loss in self.losses])

    def per_sample(self) -> dict[str, Array]:
        found = {
            f"losses[{k}].{name}": value
            for k, loss in enumerate(self.losses)
            for name, value in loss.per_sample().items()
        }
        weights = enumerate(self.weights or ())
        return found | {f"weights[{k}]": np.asarray(w) for k, w in weights if np.ndim(w)}

    def take(self, index: NDArray[np.intp]) -> Self:
        weights = self.weights
        if weights is not None:
            weights = [np.asarray(w)[index] if np.ndim(w) else w for w in weights]
        return type(self)([loss.take(index) for loss in self.losses], weights)

    def _pairs(self) -> list[tuple[Loss, float | Array]]:
        weights = [1.0] * len(self.losses) if self.weights is None else self.weights
        return list(zip(self.losses, weights, strict=True))

    def _centre(self, y: Array) -> Array:
        # Somewhere between the least losses of the members.
        zero = np.zeros(np.shape(y))
        return np.asarray(self.losses[0].conjugate_gradient(y, zero))
