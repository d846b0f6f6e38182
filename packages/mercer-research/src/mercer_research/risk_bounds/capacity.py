"""How rich the class of a fitted machine is on its sample: numbers to compare kernels by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._params import check_nonnegative, check_positive
from mercer._typing import PointsLike, TargetsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices
from mercer.machines.protocol import KernelFunction
from mercer.smoothing.pairs import some_rows
from mercer_research.risk_bounds.weight_vector import weights_of

__all__ = ["ClassSize", "class_size", "machine_size"]

# Rows up to which the kernel matrix is decomposed whole, and directions of feature space beyond.
MAX_ROWS_DECOMPOSED, MAX_DIRECTIONS = 1000, 256


@dataclass(frozen=True, eq=False)
class ClassSize:
    r"""Numbers that compare classes of functions on one sample; see :func:`class_size`.

    They compare kernel with kernel and width with width. None of them is a risk.
    """

    kernel: Kernel
    n_samples: int

    norm: float
    r"""Norm :math:`\Lambda` of the fitted function, without its offset."""

    size: float
    r"""Largest :math:`\sqrt{k(x, x)}` of the sample."""

    precision: float
    """The difference between two functions that matters: the margin, or the noise."""

    eigenvalues: Array
    """Of the kernel matrix over the number of rows, descending."""

    trace: float
    """Sum of all eigenvalues, of which these may be the first."""

    effective_rank: float
    r"""How many equal eigenvalues are as spread, :math:`(\sum\lambda)^2/\sum\lambda^2`."""

    effective_dimension: tuple[float, float] | None
    r"""Lower and upper bound on :math:`\sum_i \lambda_i/(\lambda_i + 1/(Cn))`, given a C."""

    @property
    def fat_dimension(self) -> float:
        r"""Bound :math:`(R\Lambda/\gamma)^2` on the points that can be labelled as one pleases."""
        return (self.size * self.norm / self.precision) ** 2


def class_size(
    kernel: Kernel, X: PointsLike, norm: float, *, precision: float, C: float | None = None
) -> ClassSize:
    r"""Measure the class of functions with bounded norm on a sample.

    .. math:: \{f : \|f\|_k \le \Lambda\}

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
    norm : float
        :math:`\Lambda`.
    precision : float
        The difference between two functions that matters.
    C : float, optional
        Weight of the summed loss, for the effective dimension.

    Returns
    -------
    ClassSize

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> wide, narrow = (class_size(Gaussian(s), X, 3.0, precision=1.0) for s in (4.0, 1.0))
    >>> round(wide.effective_rank, 1), round(narrow.effective_rank, 1)
    (1.2, 4.8)
    """
    check_nonnegative(norm=norm)
    check_positive(precision=precision, **({} if C is None else {"C": C}))
    n, diagonal = X.shape[0], np.asarray(kernel.diag(X), dtype=float)
    trace = float(diagonal.mean())
    values = _eigenvalues(kernel, X)
    return ClassSize(
        kernel=kernel,
        n_samples=n,
        norm=norm,
        size=float(np.sqrt(diagonal.max())),
        precision=precision,
        eigenvalues=values,
        trace=trace,
        effective_rank=trace**2 / _mean_square(kernel, X),
        effective_dimension=None if C is None else _dimension(values, trace, n, C),
    )


def machine_size(
    machine: KernelFunction, X: PointsLike, y: TargetsLike, *, classifies: bool
) -> ClassSize | None:
    """Return the size of a machine's class, None if it is no single function of a kernel."""
    try:
        weights = weights_of(machine, constant=0.0)
        Z = np.asarray(X, dtype=float)
    except (AttributeError, ValueError, TypeError):
        return None
    norm = weights.norm
    if not norm > 0:
        return None
    C = getattr(machine, "C", None)
    C = float(C) if isinstance(C, int | float) and np.isfinite(C) else None
    error = 1.0 if classifies else float(np.sqrt(np.mean((y - weights(Z)) ** 2)))
    precision = min(error, norm * float(np.max(weights.sizes(Z)))) or 1e-12
    return class_size(weights.kernel, Z, norm, precision=precision, C=C)


def _eigenvalues(kernel: Kernel, X: PointsLike) -> Array:
    """Return eigenvalues of K/n, of many rows those of K projected upon the span of some."""
    n = X.shape[0]
    if n <= MAX_ROWS_DECOMPOSED:
        values = np.linalg.eigvalsh(np.asarray(kernel(X), dtype=float))
    else:
        some = X[some_rows(n, MAX_DIRECTIONS)]
        spread, V = np.linalg.eigh(np.asarray(kernel(some), dtype=float))
        kept = spread > len(some) * np.finfo(float).eps * spread[-1]
        V = V[:, kept] / np.sqrt(spread[kept])
        features = (
            np.asarray(kernel(X[rows], some)) @ V
            for rows in row_slices(n, 8 * len(some), BLOCK_BYTES)
        )
        values = np.linalg.eigvalsh(sum(F.T @ F for F in features))
    return np.asarray(np.maximum(values[::-1], 0.0) / n)


def _mean_square(kernel: Kernel, X: PointsLike) -> float:
    r"""Return :math:`\sum_i\lambda_i^2 = \frac1{n^2}\sum_{ij} k(x_i, x_j)^2`, from 1,000 rows."""
    n = X.shape[0]
    K = np.asarray(kernel(X[some_rows(n, MAX_ROWS_DECOMPOSED)]), dtype=float) ** 2
    m, own = len(K), float(np.trace(K))
    # Pairs of different rows are drawn without bias, and a row meets itself once in n times.
    others = (float(K.sum()) - own) / max(m * (m - 1), 1)
    return float(others * (1 - 1 / n) + own / m / n)


def _dimension(values: Array, trace: float, n: int, C: float) -> tuple[float, float]:
    """Return bounds on the effective dimension from the first eigenvalues and the sum of all."""
    first = float(np.sum(values / (values + 1 / (C * n))))
    rest = max(trace - float(values.sum()), 0.0) * C * n
    return first, first + min(rest, float(n - len(values)))
