"""Principal components as values: eigenvalues, and the functions whose values are scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.component_count import Rule
from mercer.manifold.eigen import EPS, Eigenpairs, Spectrum, leading

__all__ = ["NOTHING", "ZERO", "Principal", "by_rule", "signs_of"]

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


def by_rule(
    spectrum: Spectrum, rank: int, rule: Rule, solver: str = "auto", **how: Any
) -> Eigenpairs:
    """Return as many leading eigenpairs as a rule keeps, none whose eigenvalue is rounding.

    Parameters
    ----------
    spectrum : Spectrum
        The matrix.
    rank : int
        Number of eigenvalues that can differ from zero.
    rule : Rule
        How the number is decided; more eigenvalues are computed until it knows enough.
    solver, **how :
        As in :func:`mercer.manifold.eigen.leading`.
    """
    k = rule.first(rank)
    while True:
        pairs = leading(spectrum, k, solver, **how)
        floor = max(ZERO, spectrum.n * EPS) * np.max(np.abs(pairs.values), initial=0.0)
        size = pairs.values if spectrum.definite else np.abs(pairs.values)
        nonzero = int(np.sum(size > max(floor, spectrum.noise)))
        if not nonzero:
            raise ValueError(NOTHING)
        every = k is None or nonzero < len(pairs.values)
        kept = rule.keep(pairs.values[:nonzero], spectrum.trace, nonzero if every else rank)
        if kept is not None or k is None:
            return pairs.first(nonzero if kept is None else min(kept, nonzero))
        k = None if 4 * k > spectrum.n else 2 * k


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
