"""A kernel whose power spectrum is a mixture of bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    row_slices,
    squared_norms,
    take,
)


@dataclass(eq=False)
class SpectralMixture(Kernel):
    r"""A kernel whose spectrum is a mixture of Gaussian bands.

    .. math:: k(x, z) = \sum_q w_q \exp\bigl(-\tfrac12 \sum_j s_{qj}^2 u_j^2\bigr)
              \cos \langle m_q, u\rangle, \qquad u = x - z

    The spectrum is :math:`\sum_q w_q \prod_j s_{qj}^{-1} \cdot \tfrac12 (g_q(\omega - m_q) +
    g_q(\omega + m_q))` with :math:`g_q(\omega) = \exp(-\tfrac12 \sum_j \omega_j^2/s_{qj}^2)`:
    bands of width s around the frequencies m. Enough of them approximate every spectrum.

    Parameters
    ----------
    weights : (Q,) sequence of float
        The variance w of each component, at least 0.
    means : (Q,) or (Q, p) sequence of float
        Central (angular) frequencies m; one number each for points with one feature.
    scales : (Q,) or (Q, p) sequence of float
        Widths s of the bands, positive: a component is forgotten over a distance of about 1/s.

    References
    ----------
    A. G. Wilson and R. P. Adams, *Gaussian Process Kernels for Pattern Discovery and
    Extrapolation*, ICML 2013, eq. (12).

    Examples
    --------
    >>> kernel = SpectralMixture([1.0, 0.5], means=[0.0, 2 * np.pi], scales=[0.1, 0.01])
    >>> kernel([[0.0]], [[0.0], [0.5], [1.0]]).round(4)
    array([[1.5   , 0.4988, 1.495 ]])
    """

    weights: Sequence[float] | Array
    means: Sequence[float] | Array
    scales: Sequence[float] | Array
    stationary = True

    def __post_init__(self) -> None:
        w, m, s = self._mixture
        if w.ndim != 1 or not w.size or m.shape != s.shape or len(m) != len(w) or m.ndim != 2:
            raise ValueError(
                "A mixture needs as many means and scales as weights, each a number or one number "
                f"per feature, got shapes {w.shape}, {np.shape(self.means)} and "
                f"{np.shape(self.scales)}."
            )
        if not (w >= 0.0).all() or not (s > 0.0).all():
            raise ValueError("The weights of a mixture must be at least 0, its scales positive.")

    @property
    def _mixture(self) -> tuple[Array, Array, Array]:
        m, s = (np.asarray(part, dtype=float) for part in (self.means, self.scales))
        m, s = (part[:, None] if part.ndim == 1 else part for part in (m, s))
        return np.asarray(self.weights, dtype=float), m, s

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.full(X.shape[0], self._mixture[0].sum(), dtype=X.dtype)

    def _checked(self, X: Data) -> Data:
        X, p = as_points(X), self._mixture[1].shape[1]
        if X.shape[1] != p:
            raise ValueError(
                f"The mixture is one for {p} features but the points have {X.shape[1]}."
            )
        return X

    def _components(self, X: Data, Z: Data) -> list[tuple[Array, Array]]:
        """Return the damping and the phase of each component."""
        X, Z = as_pair(X, Z)
        # Phases cancel where the points are far away from zero; they do not need to be there.
        origin = 0.5 * (np.ravel(Z.mean(axis=0)) + np.ravel(X.mean(axis=0)))
        result = []
        for m, s in zip(*self._mixture[1:], strict=True):
            a, b = (np.asarray(A.astype(np.float64) @ m - origin @ m) for A in (X, Z))
            result.append((Gaussian(1.0 / s)(X, Z), np.subtract.outer(a, b)))
        return result

    def against(self, Z: Data) -> Evaluator:
        Z = self._checked(Z)
        w = self._mixture[0]

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, like = as_pair(X, Z)
            K = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype) if out is None else out
            for rows in row_slices(X.shape[0], 16 * Z.shape[0], BLOCK_BYTES // 2):
                K[rows] = 0.0
                for c, (damping, phase) in zip(
                    w, self._components(take(X, rows), like), strict=True
                ):
                    K[rows] += c * damping * np.cos(phase)
            return K

        return evaluate

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(self._checked(X), self._checked(X if Z is None else Z))
        w, _, s = self._mixture
        P, Q = (A.toarray() if hasattr(A, "toarray") else A for A in (X, Z))
        u = np.asarray(P[:, None, :] - Q[None, :, :], dtype=np.float64)
        by: dict[str, list[Array]] = {"weights": [], "means": [], "scales": []}
        for q, (damping, phase) in enumerate(self._components(X, Z)):
            wave = damping * np.cos(phase)
            by["weights"].append(wave)
            by["means"].append(-w[q] * u * (damping * np.sin(phase))[:, :, None])
            by["scales"].append(-w[q] * s[q] * u**2 * wave[:, :, None])
        stacked = {name: np.stack(parts, axis=2).astype(X.dtype) for name, parts in by.items()}
        for name in ("means", "scales"):
            if np.ndim(getattr(self, name)) == 1:
                stacked[name] = stacked[name][..., 0]
        return stacked

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        omega = np.asarray(omega, dtype=float)
        omega = omega[:, None] if omega.ndim == 1 else omega
        w, m, s = self._mixture
        if not omega.shape[1] == m.shape[1] == dim:
            raise ValueError(
                f"The mixture is one for {m.shape[1]} features: pass frequencies of as many and "
                f"dim={m.shape[1]}."
            )
        total = np.zeros(len(omega))
        for c, mean, scale in zip(w, m, s, strict=True):
            for side in (omega - mean, omega + mean):
                total += 0.5 * c / scale.prod() * np.exp(-0.5 * squared_norms(side / scale))
        return total
