"""Leading eigenvalues of a symmetric matrix, each with a bound on its error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from mercer.gram.base import EVERYTHING, Gram
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices

__all__ = ["SOLVERS", "Eigenpairs", "Spectrum", "frobenius", "leading"]

EPS = float(np.finfo(np.float64).eps)

ROUNDED = 4.0
"""Rounded products and sums behind an entry of a residual, in units of n epsilon."""

EXTRA = 8
"""Columns of a random block beyond the eigenvectors wanted: they let the last of these converge."""

SMALL = 1000
"""Rows up to which LAPACK has all eigenvalues before a product with the matrix pays."""


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix with known facts about its eigenvalues.

    Parameters
    ----------
    gram : Gram
        The matrix M, known by its products.
    trace : float
        The sum of its eigenvalues.
    size : float
        A bound on the Frobenius norm of the matrices whose sum is M, in which products round.
    definite : bool
        Whether no eigenvalue is negative, but for rounding.
    """

    gram: Gram
    trace: float
    size: float
    definite: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.gram.shape[0]

    @property
    def noise(self) -> float:
        """A bound on the rounding error of M v for a vector of length one."""
        return ROUNDED * self.n * EPS * self.size

    def remainder(self, values: Array) -> float:
        """Return a bound on the size of the eigenvalues beyond some, which are Ritz values."""
        if self.definite:
            return max(0.0, self.trace - float(np.sum(values))) + self.noise
        left = frobenius(self.gram) ** 2 - float(np.sum(values**2))
        return float(np.sqrt(max(0.0, left))) + self.noise


@dataclass(frozen=True)
class Eigenpairs:
    """Leading eigenvalues and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    values : (k,) array
        Eigenvalues, descending; by size if the matrix is indefinite.
    vectors : (n, k) array
        Orthonormal eigenvectors.
    errors : (k,) array
        Bounds: the matrix has k eigenvalues, counted as often as they occur, each within the error
        of one of the values.
    remainder : float
        A bound on the size of all other eigenvalues. Values above it are the leading eigenvalues.
    n_iter : int
        Products of the matrix with a vector or a block of vectors; zero for LAPACK.
    converged : bool
        Whether the errors are within the tolerance.
    """

    values: Array
    vectors: Array
    errors: Array
    remainder: float
    n_iter: int = 0
    converged: bool = True

    def first(self, k: int) -> Eigenpairs:
        """Return the first k pairs; the others of these are then among the rest."""
        rest = self.remainder
        if k < len(self.values):
            rest = max(rest, float(np.max(np.abs(self.values[k:]) + self.errors[k:])))
        return replace(
            self,
            values=self.values[:k],
            vectors=self.vectors[:, :k],
            errors=self.errors[:k],
            remainder=rest,
        )


def frobenius(gram: Gram) -> float:
    """Return the Frobenius norm of a matrix, read a few rows at a time."""
    n = gram.shape[0]
    total = 0.0
    for rows in row_slices(n, 8 * n, BLOCK_BYTES):
        total += float(np.sum(np.asarray(gram.block(rows, EVERYTHING), dtype=np.float64) ** 2))
    return float(np.sqrt(total))


def leading(
    spectrum: Spectrum,
    k: int | None,
    solver: str = "auto",
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    seed: Any = 0,
) -> Eigenpairs:
    r"""Return the leading eigenvalues of a symmetric matrix with bounds on their errors.

    With orthonormal V and :math:`MV - V\Theta = R`, eigenvalues of M lie within the lengths of the
    columns of R of the Ritz values :math:`\theta_j`; where two intervals overlap, both are widened
    to the norm of their columns together, so that each has an eigenvalue of its own. For a positive
    semidefinite matrix :math:`\theta_j \le \lambda_j \le \theta_j + \operatorname{tr} M -
    \sum_i \theta_i`, up to rounding, for the j-th largest eigenvalue itself.

    Parameters
    ----------
    spectrum : Spectrum
        The matrix.
    k : int, optional
        Number of eigenvalues; all by default.
    solver : {"auto", "dense", "iterative", "randomized"}, default="auto"
        LAPACK, Lanczos iterations with one vector (ARPACK), or a block Krylov iteration from a
        random block, which asks for few passes over the matrix. Auto: LAPACK for a small matrix or
        most of its eigenvalues, Lanczos for a matrix in memory, and blocks otherwise.
    tol : float, default=1e-8
        Largest error, relative to the largest eigenvalue.
    max_iter : int, default=200
        Most restarts of Lanczos, or products with a block.
    seed : int or Generator, default=0
        Of the start.

    References
    ----------
    B. N. Parlett, *The Symmetric Eigenvalue Problem*, SIAM 1998, theorem 11.5.1 (clusters of Ritz
    values) and 10.1.1 (interlacing); C. Musco and C. Musco, *Randomized block Krylov methods for
    stronger and faster approximate singular value decomposition*, NIPS 2015.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> M = Spectrum(Dense(np.diag([3.0, 1.0, 2.0])), trace=6.0, size=6.0, definite=True)
    >>> leading(M, 2).values
    array([3., 2.])
    """
    n = spectrum.n
    if k is None or solver == "dense" or 4 * (k + EXTRA) >= n:
        return _dense(spectrum, n if k is None else min(k, n))
    if solver == "auto":
        if n <= SMALL or 4 * k > n:
            return _dense(spectrum, k)
        solver = "iterative" if spectrum.gram.in_memory else "randomized"
    return SOLVERS[solver](spectrum, k, tol, max_iter, np.random.default_rng(seed))


def _dense(spectrum: Spectrum, k: int) -> Eigenpairs:
    """Return eigenpairs by LAPACK: all of an indefinite matrix, whose two ends are wanted."""
    n = spectrum.n
    M = np.array(spectrum.gram.dense(), dtype=np.float64)
    whole = not spectrum.definite or 3 * k > n
    # One eigenvalue more bounds the rest.
    part = None if whole else [max(0, n - k - 1), n - 1]
    values, vectors = la.eigh(M, subset_by_index=part, check_finite=True)
    order = _order(values, spectrum.definite)
    values, V = values[order], vectors[:, order]
    rest = float(np.abs(values[k])) if k < len(values) else 0.0
    values, V = values[:k], V[:, :k]
    errors = _errors(values, M @ V - V * values, spectrum.noise)
    rest = rest + spectrum.noise if k < n else 0.0
    return Eigenpairs(values, V, errors, rest)


def _iterative(
    spectrum: Spectrum, k: int, tol: float, max_iter: int, rng: np.random.Generator
) -> Eigenpairs:
    """Return eigenpairs by ARPACK."""
    n, calls = spectrum.n, 0

    def product(v: Array) -> Array:
        nonlocal calls
        calls += 1
        return spectrum.gram.matvec(v)

    M = LinearOperator((n, n), matvec=product, dtype=np.float64)
    how: dict[str, Any] = {"which": "LA" if spectrum.definite else "LM", "maxiter": max_iter}
    how["ncv"] = min(n, max(2 * k + 1, 20))
    try:
        # ARPACK stops at a residual of tol times each eigenvalue, the smaller ones included.
        _, V = eigsh(M, k, v0=rng.standard_normal(n), tol=0.1 * tol, **how)
        found = True
    except ArpackNoConvergence as stopped:
        V, found = stopped.eigenvectors, False
        if not V.shape[1]:
            return _randomized(spectrum, k, tol, max_iter, rng)
    V = la.qr(V, mode="economic")[0]
    pairs = _ritz(spectrum, V, spectrum.gram.matvec(V), V.shape[1], tol, calls + 1)
    return pairs if found else replace(pairs, converged=False)


def _randomized(
    spectrum: Spectrum, k: int, tol: float, max_iter: int, rng: np.random.Generator
) -> Eigenpairs:
    """Return eigenpairs by a block Krylov iteration with thick restarts.

    The space grows by the residuals of its leading Ritz vectors, so a restart from these loses
    nothing that the next block would not bring back.
    """
    n, b = spectrum.n, k + EXTRA
    most = min(n, 4 * b)
    B = la.qr(rng.standard_normal((n, b)), mode="economic")[0]
    MB = spectrum.gram.matvec(B)
    for step in range(1, max_iter + 1):
        T = B.T @ MB
        values, S = la.eigh(0.5 * (T + T.T))
        order = _order(values, spectrum.definite)
        values, S = values[order], S[:, order]
        if B.shape[1] + b > most:
            B, MB, values = B @ S[:, : 2 * b], MB @ S[:, : 2 * b], values[: 2 * b]
            S = np.eye(B.shape[1])
        some = S[:, :b]
        R = MB @ some - (B @ some) * values[:b]
        lengths = np.sqrt(np.sum(R**2, axis=0))
        if np.max(lengths[:k]) <= tol * abs(values[0]) + spectrum.noise:
            break
        # Twice, because the first projection leaves what rounding made of a small residual.
        R /= np.maximum(lengths, np.finfo(float).tiny)
        for _ in range(2):
            R -= B @ (B.T @ R)
        Q, C, _ = la.qr(R, mode="economic", pivoting=True)
        Q = Q[:, np.abs(np.diag(C)) > n * EPS]
        if not Q.shape[1] or step == max_iter:
            break
        B, MB = np.hstack([B, Q]), np.hstack([MB, spectrum.gram.matvec(Q)])
    return _ritz(spectrum, B, MB, k, tol, step)


SOLVERS = {"iterative": _iterative, "randomized": _randomized}


def _ritz(spectrum: Spectrum, B: Array, MB: Array, k: int, tol: float, calls: int) -> Eigenpairs:
    """Return the leading Ritz pairs of an orthonormal basis, of which the products are known."""
    T = B.T @ MB
    values, S = la.eigh(0.5 * (T + T.T))
    order = _order(values, spectrum.definite)[:k]
    values, S = values[order], S[:, order]
    V = B @ S
    errors = _errors(values, MB @ S - V * values, spectrum.noise)
    good = bool(np.all(errors <= tol * abs(values[0]) + 2.0 * spectrum.noise))
    return Eigenpairs(values, V, errors, spectrum.remainder(values), calls, good)


def _order(values: Array, definite: bool) -> Any:
    """Return the order of descending eigenvalues, or of descending size."""
    return np.argsort(-(values if definite else np.abs(values)), kind="stable")


def _errors(values: Array, R: Array, noise: float) -> Array:
    """Return radii of intervals around Ritz values, each with an eigenvalue of its own.

    Intervals that overlap are joined to one cluster, whose radius is the norm of its residuals
    together, until none overlap.
    """
    squares = np.sum(R**2, axis=0)
    label, order = np.arange(len(values)), np.argsort(values)
    while True:
        radii = np.sqrt(np.bincount(label, squares, minlength=len(values)))[label] + noise
        ends = values[order] + radii[order]
        # A wide interval may reach over a narrow neighbour to the next.
        reach = np.maximum.accumulate(ends)[:-1]
        touching = values[order][1:] - radii[order][1:] <= reach
        joined = np.empty_like(label)
        joined[order] = np.concatenate([[0], np.cumsum(~touching)])
        if len(np.unique(joined)) == len(np.unique(label)):
            return np.asarray(radii)
        label = joined
