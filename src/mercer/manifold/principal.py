"""Principal components as values: eigenvalues, and the functions whose values are scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.eigen import Eigenpairs

__all__ = ["NOTHING", "ZERO", "Principal", "signs_of"]

ZERO = 1e-12
"""Part of the largest eigenvalue below which rounding of kernel values decides, at least."""

NOTHING = (
    "All samples are the same point in feature space, or combinations of what is projected out: "
    "there is no component. Is n_samples = 1 or the kernel constant?"
)


@dataclass(frozen=True)
class Principal:
    r"""Principal components in feature space.

    Scores are :math:`A'r(x) + b\,z(x)` with kernel values or features r and the functions z that
    are projected out, and :math:`\tilde k(x, x) = k(x, x) - 2 z(x)'H'r(x) + z(x)'Q z(x)`.

    Parameters
    ----------
    pairs : Eigenpairs
        Eigenvalues with their bounds; vectors only of a sample.
    A : (m, k) array
        Coefficients of kernel values or features.
    b : (k, q) array
        Coefficients of the functions that are projected out.
    trace : float
        Sum of all eigenvalues, or a bound on it.
    weight : float
        Sum of the weights of the rows.
    H : (m, q) array
        Coefficients of kernel values in the projections of points on these functions.
    Q : (q, q) array
        Inner products of these projections.
    """

    pairs: Eigenpairs
    A: Array
    b: Array
    trace: float
    weight: float
    H: Array
    Q: Array

    def first(self, k: int) -> Principal:
        """Return the leading components."""
        return replace(self, pairs=self.pairs.first(k), A=self.A[:, :k], b=self.b[:k])

    def turned(self, signs: Array) -> Principal:
        """Return components with other signs."""
        pairs = replace(self.pairs, vectors=self.pairs.vectors * signs)
        return replace(self, pairs=pairs, A=self.A * signs, b=self.b * signs[:, None])


def signs_of(scores: Array) -> Array:
    """Return signs that make the largest score of every component positive.

    Of scores that are equally large up to rounding the first decides.

    Parameters
    ----------
    scores : (n, k) array

    Examples
    --------
    >>> signs_of(np.array([[1.0, 2.0], [-3.0, 1.0]]))
    array([-1.,  1.])
    """
    sizes = np.abs(scores)
    first = np.argmax(sizes > (1.0 - 1e-6) * np.max(sizes, axis=0), axis=0)
    return np.where(scores[first, np.arange(scores.shape[1])] < 0.0, -1.0, 1.0)
