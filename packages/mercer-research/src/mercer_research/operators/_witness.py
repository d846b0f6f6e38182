"""Points and coefficients with a negative quadratic form, which refute a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.inspect.projection import complement
from mercer.kernels.points import Array
from mercer.regularizers.null_space import Polynomial

ROUNDING = 1e-9
"""Negative eigenvalues below this share of the largest may come from the kernel's own rounding."""


HUGE = 1e100
"""Values beyond this overflow in products: such points are passed over."""

CLEAR = 1e-3
"""A negative eigenvalue of this share of the largest leaves no doubt: the search ends."""


@dataclass(frozen=True, eq=False)
class Witness:
    r"""Why a function is no kernel: :math:`c'Kc < 0` for these points and coefficients.

    The coefficients are orthogonal to the polynomials of degree below `order`, of length 1.
    """

    points: Any
    coefficients: Array
    value: float
    """The quadratic form :math:`\\sum_{ij} c_i c_j k(x_i, x_j)`."""

    order: int

    def __repr__(self) -> str:
        return f"c'Kc = {self.value:.3g} for {len(self.coefficients)} points"


def refute(
    gram: Callable[[Any], Array], clouds: Iterable[Any], order: int = 0, tol: float = ROUNDING
) -> Witness | None:
    r"""Look for a negative quadratic form on coefficients orthogonal to polynomials.

    .. math:: \lambda_{\min}(Z'KZ) < -\tau, \qquad Z \perp \text{polynomials of degree} < q

    Parameters
    ----------
    gram : callable
        Maps points to their matrix of values, of which the symmetric part is used.
    clouds : iterable of points
    order : int, default=0
        The degree q.
    tol : float
        Share of the largest eigenvalue that a negative one must exceed.

    Returns
    -------
    Witness or None
        The first that leaves no doubt, or the one with the most negative eigenvalue relative to the
        largest one of its cloud.
    """
    found, worst = None, -tol
    for X in clouds:
        K = np.asarray(gram(X), dtype=float)
        K = 0.5 * (K + K.T)
        if not np.abs(K).max() < HUGE:
            continue
        Z = complement(Polynomial(order - 1)(_unit(X))) if order else np.eye(len(K))
        if not Z.shape[1]:
            continue
        S = Z.T @ K @ Z
        values = np.linalg.eigvalsh(S)
        scale = float(np.abs(values).max())
        # Products of K with the orthogonal Z round relative to K itself, which may be far larger.
        noise = 8.0 * len(K) * float(np.finfo(float).eps * np.linalg.norm(K))
        if values[0] < min(worst * scale, -noise):
            worst = float(values[0]) / scale
            c = Z @ np.linalg.eigh(S)[1][:, 0]
            found = Witness(X, c, float(c @ K @ c), order)
            if worst < -CLEAR:
                break
    return found


def clouds(dim: int, scales: Iterable[float], random_state: int = 0) -> Iterator[Array]:
    """Yield sets of points: lattices, along a line and in space, and clusters at random.

    A lattice sees a negative part of the spectrum up to its Nyquist frequency; random points see
    what has no translation invariance.
    """
    rng = np.random.default_rng(random_state)
    for scale in scales:
        for spacing in (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 2.0):
            line = np.zeros((32, dim))
            line[:, 0] = scale * spacing * (np.arange(32) - 15.5)
            yield line
            if dim in (2, 3):
                side = np.arange(7 if dim == 2 else 4) * scale * spacing
                yield np.stack(np.meshgrid(*[side] * dim), axis=-1).reshape(-1, dim)
        for width in (0.3, 1.0, 3.0):
            yield scale * width * rng.standard_normal((32, dim))
        yield scale * rng.standard_normal((dim + 2, dim))


def _unit(X: Array) -> Array:
    """Shift and scale points to [-1, 1], which keeps monomials independent; spans stay the same."""
    centre = 0.5 * (X.max(axis=0) + X.min(axis=0))
    return np.asarray((X - centre) / max(float(np.abs(X - centre).max()), np.finfo(float).tiny))
