r"""Linear systems with a shifted kernel matrix, dense or low-rank, and with a border.

Solvers meet one matrix again and again, :math:`K + \operatorname{diag}(e)` with :math:`e \ge 0`,
alone or bordered by a few unpenalized columns. How it is factorized depends on how K is held, so
each Gram answers :func:`shifted` itself with one of the two factorizations here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dsyrk, ssyrk, strsm
from scipy.linalg.lapack import spotrf

from mercer._lapack import dlauum, dpotrf, dpotrs, dtrmm, dtrsm, dtrtri
from mercer._typing import Array

__all__ = [
    "MAX_BYTES",
    "CholeskySolve",
    "Indefinite",
    "Solve",
    "bordered",
    "by_cholesky",
    "by_woodbury",
    "cholesky",
    "jittered_cholesky",
    "lacking",
    "mirrored",
    "orthonormal",
    "refined",
    "schur",
    "shifted",
    "squared",
    "triangular_inverse",
]

Solve = Callable[[Array], Array]

# Memory that one dense factorization may take unless the caller says otherwise.
MAX_BYTES = 4e9
# Side of the blocks of a large factorization: the longest uninterruptible piece is about a second,
# and a block, 32 MB, is still memory that the next one finds warm.
PANEL_ROWS = 2000
# Side of triangles that LAPACK inverts at once, and of blocks that are written as columns.
CORNER_ROWS, BLOCK_ROWS = 64, 128
# A jitter of a few times the rounding error of the matrix itself changes nothing that was known.
JITTERS = (0.0, 1.0, 10.0, 100.0)
EPS = float(np.finfo(np.float64).eps)
ROOT_EPS = float(np.sqrt(EPS))
# Residual, relative to its terms, with which a solution is exact for a matrix nearby.
BACKWARD_ERROR = 100 * EPS
INDEFINITE = (
    "the kernel matrix is not positive definite where B'a = 0; use a positive definite kernel, or "
    "add the null space that makes a conditionally positive definite kernel so"
)


class Indefinite(np.linalg.LinAlgError):
    """A matrix that should be positive definite has a negative eigenvalue beyond rounding."""


@dataclass(frozen=True, eq=False)
class CholeskySolve:
    """Solve with a matrix whose Cholesky factor is known.

    Parameters
    ----------
    solve : callable
        Maps right sides to solutions.
    factor : (m, m) array
        Lower Cholesky factor of the rows and columns that are not left out.
    live : (m,) array of int
        Which of all n rows these are.
    n : int
        Number of rows.
    """

    solve: Solve
    factor: Array
    live: NDArray[np.intp]
    n: int

    def __call__(self, r: Array) -> Array:
        return self.solve(r)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of the inverse, zero where a row is left out, (n,)."""
        root, out = triangular_inverse(self.factor), np.zeros(self.n)
        out[self.live] = np.einsum("ij,ij->j", root, root)
        return out


class Factorable(Protocol):
    """The methods of a Gram that a factorization needs."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def resident(self) -> bool: ...

    @property
    def factor_bytes(self) -> float: ...

    def shifted(self, e: Array, max_bytes: float = ...) -> Solve:
        """Factorize ``K + diag(e)``."""


def shifted(K: Factorable, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
    r"""Factorize :math:`K + \operatorname{diag}(e)` and return the function that solves with it.

    .. math:: x = (K + \operatorname{diag}(e))^{-1} r

    Dense matrices are factorized by Cholesky, :math:`K = GG' + \operatorname{diag}(s)` by
    Woodbury's identity at a cost of :math:`n m^2`. The answer is refined until its residual is at
    rounding level; a matrix that is singular to working precision is shifted by its own rounding
    error.

    Parameters
    ----------
    K : Gram
        Kernel matrix.
    e : ndarray of shape (n,)
        The shift, not negative. Where it is infinite the entry of the answer is zero, as if row and
        column were deleted.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.

    Returns
    -------
    callable
        Maps ``r`` of shape (n,) or (n, k) to ``x`` of the same shape.

    Raises
    ------
    Indefinite
        If the matrix has a negative eigenvalue beyond rounding.
    ValueError
        If the factorization needs more than ``max_bytes``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.gram.factor import shifted
    >>> solve = shifted(Dense(np.ones((2, 2))), np.array([1.0, 1.0]))
    >>> solve(np.array([1.0, 2.0])).round(12) + 0.0
    array([0., 1.])
    """
    return K.shifted(np.asarray(e, dtype=np.float64), max_bytes)


def lacking(K: Factorable, max_bytes: float = MAX_BYTES) -> str:
    """Return a message if a factorization of K does not fit in memory; empty if it does.

    Parameters
    ----------
    K : Gram
        Kernel matrix without repeated points.
    max_bytes : float, default=4e9
        Memory that the factorization may take.
    """
    n = K.shape[0]
    need = K.factor_bytes + (0.0 if K.resident else 8.0 * n**2)
    if need <= max_bytes:
        return ""
    return (
        f"factorizing the kernel matrix of {n} samples takes {need:.1e} bytes, more than "
        f"max_bytes={max_bytes:.1e}; use a low-rank Gram or a solver that decomposes the problem, "
        "or raise max_bytes"
    )


def by_cholesky(
    fill: Callable[[NDArray[np.intp]], Array],
    matvec: Solve,
    diagonal: Array,
    e: Array,
    eps: float = EPS,
    max_bytes: float = MAX_BYTES,
) -> CholeskySolve:
    """Solve with ``K + diag(e)`` by Cholesky of its rows and columns with finite ``e``.

    Parameters
    ----------
    fill : callable
        Maps an index to a fresh array with those rows and columns of K.
    matvec : callable
        Product with K, for the residual.
    diagonal, e : ndarray of shape (n,)
        Diagonal of K, and the shift.
    eps : float
        Relative rounding error of the entries of K.
    max_bytes : float
        Memory that the factor may take.
    """
    live = np.flatnonzero(np.isfinite(e))
    if 8 * live.size**2 > max_bytes:
        raise ValueError(
            f"the Cholesky factor of {live.size} samples takes more than max_bytes={max_bytes:.1e};"
            " use a low-rank Gram or a solver that decomposes the problem, or raise max_bytes"
        )
    factor = jittered_cholesky(
        lambda: fill(live), diagonal[live] + e[live], max(live.size, 1) * eps
    )

    def approximate(r: Array) -> Array:
        x = np.zeros_like(r)
        x[live] = dpotrs(factor, r[live], lower=1)[0]
        return x

    return CholeskySolve(refined([lambda: approximate], matvec, diagonal, e), factor, live, len(e))


def by_woodbury(G: Array, e: Array) -> Solve:
    r"""Solve with :math:`GG' + \operatorname{diag}(e)` at the cost of ``n m^2``.

    With :math:`X = \operatorname{diag}(e)^{-1/2} G`,

    .. math:: (GG' + E)^{-1} = E^{-1/2} \bigl(1 - X (1 + X'X)^{-1} X'\bigr) E^{-1/2}.

    Parameters
    ----------
    G : ndarray of shape (n, m)
        Factor of the kernel matrix.
    e : ndarray of shape (n,)
        The shift.
    """
    diagonal = np.einsum("ij,ij->i", G, G)

    def inverse(shift: Array) -> Solve:
        root = 1.0 / np.sqrt(np.where(shift > 0, shift, 1.0))
        X = G * root[:, None]
        small = X.T @ X
        matrix = small + np.eye(len(small))
        factor = jittered_cholesky(lambda: matrix, np.diag(matrix), len(small) * EPS)

        def approximate(r: Array) -> Array:
            scaled = (r.T * root).T
            inner = cho_solve((factor, True), X.T @ scaled, check_finite=False)
            return np.asarray(((scaled - X @ inner).T * root).T)

        return approximate

    # Where the shift vanishes beside the diagonal the difference above cancels. An entry is shifted
    # by its rounding error at least; if that is not enough, by what leaves half of the digits.
    least = max(len(G), 1) * EPS * diagonal
    return refined(
        [
            lambda: inverse(np.maximum(e, least)),
            lambda: inverse(np.maximum(e, ROOT_EPS * diagonal)),
        ],
        lambda x: G @ (G.T @ x),
        diagonal,
        e,
    )


def bordered(solve: Solve, B: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    r"""Solve with a border of ``q`` columns through the Schur complement.

    .. math:: \begin{pmatrix} M & B \\ B' & 0 \end{pmatrix} \binom{x}{b} = \binom{r}{d}

    Parameters
    ----------
    solve : callable
        Solves with the positive definite matrix ``M``.
    B : ndarray of shape (n, q)
        The border; see :func:`orthonormal` for dependent columns.

    Returns
    -------
    callable
        Maps ``(r, d)`` to ``(x, b)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.factor import bordered
    >>> both = bordered(lambda r: r, np.ones((2, 1)))
    >>> both(np.array([1.0, 3.0]), np.array([0.0]))
    (array([-1.,  1.]), array([2.]))
    """
    correct = schur(B, solve(B) if B.shape[1] else B)
    return lambda r, d: correct(solve(r), d)


def schur(B: Array, MB: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Move a solution without a border to the border's constraint.

    Parameters
    ----------
    B, MB : ndarray of shape (n, q)
        The border, and the solutions with its columns on the right.

    Returns
    -------
    callable
        Maps the solution ``x`` with r on the right, (n,) or (n, k), and ``d``, (q,) or (q, k), to
        ``(x, b)`` of the bordered system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.factor import schur
    >>> schur(np.ones((2, 1)), np.ones((2, 1)))(np.array([1.0, 3.0]), np.array([0.0]))
    (array([-1.,  1.]), array([2.]))
    """
    if not B.shape[1]:
        return lambda x, d: (x, np.zeros_like(d))
    inverse = _pseudo_inverse(B.T @ MB)

    def correct(x: Array, d: Array) -> tuple[Array, Array]:
        b = np.zeros_like(d)
        for _ in range(2):  # the second pass removes the rounding of the first from B'x = d
            step = inverse @ (B.T @ x - d)
            x, b = x - MB @ step, b + step
        return x, b

    return correct


def orthonormal(B: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis ``U`` of the columns of B and the way back to coefficients on B.

    The columns are brought to one length before their rank is read, so that a monomial of large
    numbers does not hide the constant.

    Parameters
    ----------
    B : ndarray of shape (n, q)
        Columns, possibly dependent.

    Returns
    -------
    U : ndarray of shape (n, r)
        Orthonormal basis, ``r`` the rank of B.
    back : ndarray of shape (q, r)
        ``B @ back = U``; ``back @ t`` is the shortest vector ``b`` with ``B b = U t``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.factor import orthonormal
    >>> U, back = orthonormal(np.ones((4, 2)))
    >>> U.shape, np.allclose(back, back[0])
    ((4, 1), True)
    """
    # In units of the largest entry, whose square may be no number.
    unit = np.max(np.abs(B), axis=0, initial=0.0)
    # A column without a reciprocal has no coefficient either, and counts as zero.
    small = unit < 1e-300
    unit, B = np.where(small, 1.0, unit), np.where(small, 0.0, B)
    length = unit * np.sqrt(np.sum((B / unit) ** 2, axis=0))
    length = np.where(length > 0, length, 1.0)
    U = B / length
    if U.shape[1] == 1 and np.sum(U * U) > 0.5:
        return U, 1.0 / length[:, None]  # most machines have a constant and nothing else
    U, s, V = np.linalg.svd(U, full_matrices=False)
    keep = s > max(B.shape) * EPS * np.max(s, initial=0.0)
    U, inverse = U[:, keep], (V[keep].T / s[keep]) / length[:, None]
    # B = U R' with R of full column rank, whose pseudo-inverse needs no further decision on rank;
    # what lengths of very different size cost it is repaired with the inverse that knows them.
    Q, T = np.linalg.qr(B.T @ U)
    if not (np.all(np.isfinite(T)) and np.all(np.diag(T))):
        return U, np.asarray(inverse)  # lengths so different that the shortest vector has no digits
    shortest = solve_triangular(T, Q.T, check_finite=False).T
    return U, np.asarray(shortest + inverse @ (np.eye(U.shape[1]) - U.T @ (B @ shortest)))


def refined(inverses: list[Callable[[], Solve]], matvec: Solve, diagonal: Array, e: Array) -> Solve:
    """Refine an approximate inverse of ``K + diag(e)`` iteratively; fall back to the next inverse.

    Parameters
    ----------
    inverses : list of callables
        Each makes an approximate inverse, the next one only if those before do not do.
    matvec : callable
        Product with K, for the residual.
    diagonal, e : ndarray of shape (n,)
        Diagonal of K, and the shift, infinite where the answer is zero.
    """
    live = np.isfinite(e)
    e = np.where(live, e, 0.0)
    root = np.sqrt(np.maximum(diagonal, 0.0))
    weight = live / np.sqrt(np.where(diagonal + e > 0, diagonal + e, 1.0))
    built = [inverses[0]()]

    def norm(r: Array) -> Array:
        return np.asarray(np.sqrt(np.sum((r.T * weight) ** 2, axis=-1)))

    def residual(x: Array, r: Array) -> tuple[Array, Array]:
        left = r - matvec(x) - (x.T * e).T
        return left, norm(left)

    def terms(x: Array, r: Array) -> Array:
        # |K_ij| is at most the product of the roots of the diagonal entries.
        outer: Array = np.multiply.outer(root, root @ np.abs(x))
        return np.abs(r) + (e * np.abs(x).T).T + outer

    @np.errstate(over="ignore", invalid="ignore")
    def solve(r: Array) -> Array:
        x = built[0](r)
        left, size = residual(x, r)
        for k in range(len(inverses)):
            if k == len(built):
                built.append(inverses[k]())
            slow = False
            while not (
                slow or np.all(size <= np.maximum(4 * EPS * norm(r), EPS * norm(terms(x, r))))
            ):
                trial = x + built[k](left)
                new_left, new_size = residual(trial, r)
                better = new_size < size
                slow = not np.any(new_size < 0.5 * size)
                x, left = np.where(better, trial, x), np.where(better, new_left, left)
                size = np.where(better, new_size, size)
            if np.all(size <= BACKWARD_ERROR * norm(terms(x, r))):
                break
        if not np.all(np.isfinite(x)):
            raise np.linalg.LinAlgError("the solution of a linear system is not finite")
        return x

    return solve


def jittered_cholesky(fill: Callable[[], Array], diagonal: Array, eps: float) -> Array:
    """Return the lower Cholesky factor of a matrix whose diagonal is replaced by ``diagonal``."""
    for jitter in JITTERS:
        M = np.asfortranarray(fill())
        np.fill_diagonal(M, diagonal * (1.0 + jitter * eps))
        if cholesky(M):
            return M
    raise Indefinite("the shifted kernel matrix is not positive definite")


def cholesky(M: NDArray[np.floating]) -> bool:
    """Overwrite the lower triangle by its Cholesky factor; False if K is not positive definite.

    Large matrices are taken block column by block column, so that an interruption is heard.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        Contiguous by columns, in single or double precision.
    """
    n, step = len(M), PANEL_ROWS
    double = M.dtype == np.float64
    potrf, syrk, trsm = (dpotrf, dsyrk, dtrsm) if double else (spotrf, ssyrk, strsm)
    if 0 < n <= 2 * step:
        return not potrf(M, lower=1, clean=0, overwrite_a=1)[1]
    for j in range(0, n, step):
        k = min(j + step, n)
        if j:
            # Half of the corner is not needed: a product of matrices would compute all of it.
            M[j:k, j:k] += syrk(-1.0, M[j:k, :j], lower=1)
        block, info = potrf(M[j:k, j:k], lower=1, clean=0, overwrite_a=1)
        if info:
            return False
        M[j:k, j:k] = block
        for i in range(k, n, step):
            rows = M[i : i + step, j:k]
            if j:
                rows -= M[i : i + step, :j] @ M[j:k, :j].T
            rows[...] = trsm(1.0, block, rows, side=1, lower=1, trans_a=1)
    return True


def triangular_inverse(L: Array) -> Array:
    """Return the inverse of a lower triangular matrix, contiguous by columns and zero above.

    Halves are inverted and the block between them is two products, at twice the speed of LAPACK,
    whose inverse of a triangle goes through it column by column.

    Parameters
    ----------
    L : (n, n) array
        What is above the diagonal is not read.

    Examples
    --------
    >>> triangular_inverse(np.array([[2.0, 9.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    out = np.zeros(L.shape, order="F")
    _invert(L, out)
    return out


def _invert(L: Array, out: Array) -> None:
    n = len(L)
    if n <= CORNER_ROWS:
        if n:
            out[...] = np.tril(dtrtri(L, lower=1)[0])
        return
    half = n // 2
    _invert(L[:half, :half], out[:half, :half])
    _invert(L[half:, half:], out[half:, half:])
    # The inverse of [A 0; C D] has the block -D^-1 C A^-1 below.
    between = dtrmm(-1.0, out[half:, half:], L[half:, :half], lower=1)
    out[half:, :half] = dtrmm(1.0, out[:half, :half], between, side=1, lower=1, overwrite_b=1)


def squared(R: Array) -> Array:
    """Return the lower triangle of ``R'R`` in the place of a lower triangular R.

    Parameters
    ----------
    R : (n, n) array
        Contiguous by columns, such as the inverse of a Cholesky factor, whose square is that of
        the matrix.
    """
    return np.asarray(dlauum(R, lower=1, overwrite_c=1)[0])


def mirrored(lower: Array) -> Array:
    """Return the symmetric matrix of a lower triangle, in its place and by rows, block by block.

    Parameters
    ----------
    lower : (n, n) array
        Contiguous by columns; what is above the diagonal is overwritten.
    """
    n = len(lower)
    for first in range(0, n, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, n)
        corner = np.tril(lower[first:last, first:last])
        lower[first:last, first:last] = corner + np.tril(corner, -1).T
        lower[first:last, last:] = lower[last:, first:last].T
    return lower.T


def _pseudo_inverse(S: Array) -> Array:
    """Invert a symmetric semidefinite matrix on its range, read at the scale of its diagonal."""
    root = np.sqrt(np.where(np.diag(S) > 0, np.diag(S), 1.0))
    values, vectors = np.linalg.eigh(0.5 * (S + S.T) / np.outer(root, root))
    keep = values > 10 * S.shape[0] * EPS * np.max(values, initial=0.0)
    vectors = vectors[:, keep] / root[:, None]
    return np.asarray((vectors / values[keep]) @ vectors.T)
