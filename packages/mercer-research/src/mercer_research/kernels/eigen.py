"""Kernels from the eigenvalues and eigenfunctions of a penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.featurewise import Factor, FeatureColumns
from mercer.kernels.periodic import Circular, cosine_series
from mercer.kernels.points import Array, Data, as_pair, as_points, dense_double
from mercer_research.kernels.explicit import Explicit


@dataclass(eq=False)
class Eigensystem(Explicit):
    r"""A kernel from eigenfunctions of a penalty and from their eigenvalues.

    .. math:: k(x, z) = \sum_l \frac{d_l}{\Lambda_l} \psi_l(x) \psi_l(z), \qquad
              |P f|^2 = \sum_l \Lambda_l \langle f, \psi_l\rangle^2, \quad d_l \in \{0, 1\}

    The larger :math:`\Lambda_l`, the more :math:`\psi_l` costs. Any selection of the
    eigenfunctions is consistent with the penalty; to leave cheap ones out and to keep dear ones is
    hardly ever meant, and warned of.

    Parameters
    ----------
    functions : callable or sequence of callables
        Maps dense ``(n, p)`` points to the ``(n, q)`` values of all eigenfunctions, or one
        function for each, with ``(n,)`` values.
    eigenvalues : (q,) array
        The penalties :math:`\Lambda_l`, positive.
    mask : (q,) array of bool, optional
        Which of the eigenfunctions are used; all of them without it.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.21)-(3.22), prop. 3.3.

    Examples
    --------
    The Fourier sine series on [0, 1], with the penalty of the second derivative:

    >>> n = np.arange(1, 50)
    >>> sines = lambda X: np.sqrt(2) * np.sin(np.pi * X * n)
    >>> kernel = Eigensystem(sines, (np.pi * n) ** 4)
    >>> kernel([[0.5]]).round(4), np.round(1 / 48, 4)
    (array([[0.0208]]), np.float64(0.0208))
    """

    functions: Callable[[Array], Any] | Sequence[Callable[[Array], Any]]
    eigenvalues: Sequence[float] | Array
    mask: Sequence[bool] | Array | None = None

    def __post_init__(self) -> None:
        if not callable(self.functions) and not all(map(callable, self.functions)):
            raise ValueError(
                "functions must be a function of points or a list of such functions, got "
                f"{self.functions!r}."
            )
        values = np.asarray(self.eigenvalues, dtype=float)
        if values.ndim != 1 or not values.size or not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(
                "eigenvalues must be positive numbers: leave a function that costs nothing to the "
                f"null space of the machine; got {self.eigenvalues!r}."
            )
        if not callable(self.functions) and len(self.functions) != values.size:
            raise ValueError(
                f"There are {len(self.functions)} functions but {values.size} eigenvalues."
            )
        kept = self._kept
        if kept.shape != values.shape or not kept.any():
            raise ValueError("mask must have one truth value for each eigenvalue, not all False.")
        if not kept.all() and values[~kept].min() < values[kept].max():
            warnings.warn(
                f"An eigenfunction with the eigenvalue {values[~kept].min():.4g} is left out while "
                f"an eigenfunction with {values[kept].max():.4g} is kept: keep the eigenfunctions "
                "that are penalized least.",
                stacklevel=3,
            )

    @property
    def _kept(self) -> Array:
        if self.mask is None:
            return np.ones(np.size(self.eigenvalues), dtype=bool)
        return np.asarray(self.mask, dtype=bool)

    def _functions(self, X: Data) -> Array:
        """Return the values of the eigenfunctions that are used."""
        X = dense_double(X)
        if callable(self.functions):
            values = np.asarray(self.functions(X), dtype=float)
        else:
            values = np.column_stack([np.ravel(function(X)) for function in self.functions])
        expected = (len(X), np.size(self.eigenvalues))
        if values.shape != expected:
            raise ValueError(
                f"functions returned shape {values.shape}; for {expected[0]} points and "
                f"{expected[1]} eigenvalues it must be {expected}."
            )
        return values[:, self._kept]

    def features(self, X: Data) -> Array:
        roots = np.sqrt(np.asarray(self.eigenvalues, dtype=float)[self._kept])
        return np.asarray(self._functions(X) / roots)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        kept, values = self._kept, np.asarray(self.eigenvalues, dtype=float)
        slopes = np.zeros((X.shape[0], Z.shape[0], values.size))
        products = self._functions(X)[:, None, :] * self._functions(Z)[None, :, :]
        slopes[:, :, kept] = -products / values[kept] ** 2
        return {"eigenvalues": slopes.astype(X.dtype)}


@dataclass(eq=False)
class Fourier(Circular):
    r"""A finite trigonometric series, each frequency with its own penalty.

    .. math:: k(x, z) = \prod_j \Bigl(\frac{1}{2 g_0} + \sum_{n=1}^{N} \frac{\cos n t_j}{g_n}\Bigr),
              \qquad t = \frac{2\pi}{p}(x - z)

    It belongs to functions :math:`w_0/\sqrt2 + \sum_n (w_n \cos n t + v_n \sin n t)` of one
    feature with the penalty :math:`\sum_n g_n (w_n^2 + v_n^2)`.

    Parameters
    ----------
    penalties : (N + 1,) array
        The numbers :math:`g_n`, positive; an infinite one removes its frequency.
    period : float, default=2*pi
        The period p of every feature.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, ex. 3.2 and eq. (9.11)-(9.16),
    where penalty and spectrum are exchanged.

    Examples
    --------
    >>> kernel = Fourier([np.inf, 1.0, 4.0])
    >>> kernel([[0.0]], [[0.0], [np.pi]])
    array([[ 1.25, -0.75]])
    >>> kernel.features([[0.0]])
    array([[1. , 0. , 0.5, 0. ]])
    """

    penalties: Sequence[float] | Array
    period: float = 2.0 * np.pi

    def __post_init__(self) -> None:
        g = np.asarray(self.penalties, dtype=float)
        if g.ndim != 1 or not g.size or not (g > 0).all() or not np.isfinite(g).any():
            raise ValueError(
                "penalties must be positive numbers, one for each frequency from 0 on and not all "
                "infinite: leave a frequency that costs nothing to the null space of the machine "
                f"and make its penalty infinite; got {self.penalties!r}."
            )
        self._check_period()

    @property
    def _weights(self) -> Array:
        weights = 1.0 / np.asarray(self.penalties, dtype=float)
        weights[0] *= 0.5
        return weights

    def _factors(self) -> Factor:
        weights = self._weights
        return lambda x, z, j: cosine_series(self._angle(x, z), weights)

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        weights = self._weights
        n = np.arange(weights.size)
        slopes = -np.cos(self._angle(x, z)[:, :, None] * n)
        return {"penalties": slopes * (weights / np.asarray(self.penalties, dtype=float))}

    def coefficients(self, n: Array) -> Array:
        n, weights = np.abs(np.asarray(n)), self._weights
        weights[1:] *= 0.5
        return np.where(n < weights.size, weights[np.minimum(n, weights.size - 1)], 0.0)

    def features(self, X: Data) -> Array:
        r"""Return the features of every point, whose inner products are the kernel.

        For one feature :math:`1/\sqrt{2 g_0}` and then :math:`\cos(n t)/\sqrt{g_n}` and
        :math:`\sin(n t)/\sqrt{g_n}` for each n, without the frequencies that are removed; for
        several all products of those of each.

        Parameters
        ----------
        X : (n, p) points

        Returns
        -------
        (n, q ** p) array
        """
        X = as_points(X)
        columns, roots = FeatureColumns(X), np.sqrt(self._weights)
        result = np.ones((X.shape[0], 1))
        for j in range(X.shape[1]):
            t = self._angle(columns[j], np.zeros(1))
            waves = [np.full((len(t), 1), roots[0])] if roots[0] else []
            for n in np.flatnonzero(roots[1:]) + 1:
                waves.append(roots[n] * np.column_stack([np.cos(n * t), np.sin(n * t)]))
            block = np.hstack(waves)
            result = (result[:, :, None] * block[:, None, :]).reshape(len(t), -1)
        return result
