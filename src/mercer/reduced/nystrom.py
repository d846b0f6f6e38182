r"""The span of the kernel at landmarks, :math:`f = \sum_j \alpha_j k(z_j, \cdot)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm, strmm
from scipy.linalg.lapack import dpotrf, dpstrf, dtrtri, slauum, spotrf, spotrs

from mercer._params import is_integer
from mercer._typing import Array, PointsLike
from mercer.data.memory import parse
from mercer.data.sampling import FingerprintSample
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.base import Kernel, into
from mercer.kernels.points import Data, as_points, as_single, count, is_sparse, pieces, take
from mercer.kernels.tiles import TiledEvaluator, Tiles
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.centres import Centres, choose
from mercer.regularizers.null_space import Monomials

# A centre counts as a combination of others where all that it adds to the diagonal of the matrix is
# below this part of it: beyond, coefficients grow so large that kernel values in double precision
# do not determine the function to six digits.
MIN_DIAGONAL_SHARE = 1e-12

CENTRES = {"uniform", "leverage", "rpcholesky", "kmeans"}

# Steps of an iteration whose result needs no digits.
POWER_STEPS = 12

# Rows that are looked at for every centre where the choice depends on more than chance.
POOL_ROWS_PER_CENTRE = 10


class CentredMap(FeatureMap):
    """Raw functions that are a kernel at centres."""

    panel: Panel
    """Their values, and sums over rows."""

    def raw(self, X: PointsLike, single: bool = False) -> Array:
        return self.panel.values(X, single=single)

    def sweep(
        self,
        X: PointsLike,
        A: Array,
        slopes: Slopes,
        single: bool = False,
        rows: int | None = None,
    ) -> Array:
        return self.panel.sweep(X, A, slopes, single, rows)


class NystromMap(CentredMap):
    r"""Features of the functions spanned by a kernel at centres.

    With :math:`K_{ZZ} = R'R` the features are :math:`\phi(x) = R^{-T} k(Z, x)`, so that the norm of
    a function is the length of its coefficients. Centres that depend on others are left out. For a
    conditionally positive definite kernel, coefficients of k are orthogonal to its polynomials on
    the centres.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        Candidates for centres.
    index : (m,) array of int, optional
        Which rows of a sample they are.
    low_memory : bool, default=False
        Hold one matrix of m by m numbers and not two while it is made, and one and not two later:
        features are computed by solving with the factor, instead of a product with its inverse.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Z = np.array([[0.0], [1.0], [1.0]])
    >>> phi = NystromMap(Gaussian(1.0), Z)
    >>> phi.r, np.allclose(phi.features(phi.raw(Z)) @ phi.features(phi.raw(Z)).T, Gaussian(1.0)(Z))
    (2, True)
    """

    left_behind = ("R", "N")

    def __init__(
        self, kernel: Kernel, Z: PointsLike, index: Any = None, low_memory: bool = False
    ) -> None:
        self.kernel, self.low_memory = kernel, low_memory
        if low_memory:
            self._factorize_in_place(Z, index)
            return
        K = np.asarray(kernel(as_double(Z) if kernel.numeric else Z), dtype=np.float64)
        self.top = float(np.abs(K).max(initial=0.0))
        monomials = kernel.unpenalized(Z.shape[1]) if kernel.numeric else []
        self.N: Array | None = None
        if monomials:
            P = Monomials(monomials)(Z)
            N = np.asarray(la.qr(P)[0][:, P.shape[1] :], dtype=np.float64)
            self.N, K = N, N.T @ K @ N
        L, kept = pivoted_cholesky(K, tol=MIN_DIAGONAL_SHARE)
        if not len(kept):
            raise ValueError("the kernel vanishes on all centres; choose others.")
        self.R = np.ascontiguousarray(L[kept].T)
        if self.N is None:
            self.Z = take(Z, kept)
            self.index = None if index is None else np.asarray(index)[kept]
        else:
            self.Z, self.index, self.N = Z, index, self.N[:, kept]
        self.m, self.r = count(self.Z), len(kept)
        self.panel = Panel(kernel, self.Z)

    def _factorize_in_place(self, Z: PointsLike, index: Any) -> None:
        """Factorize the kernel matrix where it is, with pivots only if it is singular."""
        panel = Panel(self.kernel, Z)
        K = panel.values(Z)
        self.top = max(float(K.max()), -float(K.min()))
        least = MIN_DIAGONAL_SHARE * float(np.max(np.diagonal(K)))
        self.N, kept = None, np.arange(len(K))
        R, info = dpotrf(K.T, overwrite_a=1)
        if info or float(np.min(np.diagonal(R))) ** 2 <= least:
            panel.values(Z, out=K)
            R, order, rank, _ = dpstrf(K.T, tol=max(least, 1e-300), overwrite_a=1)
            if not rank:
                raise ValueError("the kernel vanishes on all centres; choose others.")
            kept, R = (order[:rank] - 1).astype(np.intp), R[:rank, :rank]
            for j in range(rank):
                R[j + 1 :, j] = 0.0
        self.R, self.Z = R, take(Z, kept)
        self.index = None if index is None else np.asarray(index)[kept]
        self.m = self.r = len(kept)
        self.panel = Panel(self.kernel, self.Z)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in ("_T", "_T_single"):  # made again from the factor, which is as large
            state.pop(name, None)
        return state

    def lift(self, W: Array) -> Array:
        alpha: Array = la.solve_triangular(self.R, W, check_finite=False)
        return alpha if self.N is None else self.N @ alpha

    def lower(self, G: Array) -> Array:
        G = G if self.N is None else self.N.T @ G
        return np.asarray(la.solve_triangular(self.R, G, trans="T", check_finite=False))

    @cached_property
    def steepness(self) -> float:
        # The largest singular value of the inverse factor, by inverse iteration from any vector.
        v, size = np.random.default_rng(0).normal(size=self.r), 1.0
        for _ in range(POWER_STEPS):
            v = la.solve_triangular(self.R, v / la.norm(v), trans="T", check_finite=False)
            size = float(la.norm(v))
            v = la.solve_triangular(self.R, v, check_finite=False)
        return max(1.0, self.top * size)

    @cached_property
    def _T(self) -> Array:
        """The inverse of the factor: a product with it is up to three times faster."""
        return np.asarray(dtrtri(self.R)[0], order="F")

    @cached_property
    def _T_single(self) -> Any:
        return np.asarray(self._T, dtype=np.float32, order="F")

    def features(self, R: Array, single: bool = False) -> Array:
        if self.low_memory:
            return self.lower(np.asarray(R, dtype=np.float64).T).T
        if single and self.N is None:
            found: Any = strmm(1.0, self._T_single, np.asarray(R, dtype=np.float32).T, trans_a=1)
            return np.asarray(found.T)
        R = np.asarray(R, dtype=np.float64)
        R = R if self.N is None else R @ self.N
        return np.asarray(dtrmm(1.0, self._T, R.T, trans_a=1)).T

    @property
    def nbytes(self) -> int:
        return 8 * (self.R.size + (0 if self.N is None else self.N.size) + self.m * 32)


@dataclass(eq=False)
class Nystrom(Approximation):
    r"""Nystrom approximation: combinations of the kernel at m landmarks, among which to minimize.

    The norm stays that of the kernel, so the machine is the best of its kind: it minimizes the same
    functional over a smaller space. A fit costs passes over the rows, each of which evaluates m
    kernel values a row, and one factorization of an m by m matrix.

    Parameters
    ----------
    m : int or "auto", default="auto"
        Number of centres, unless they are given; "auto" doubles it from 256 until the error of rows
        held out falls by less than a hundredth, at most to `max_m`.
    centres : str or array-like of shape (m, n_features), default="uniform"
        How they are chosen from the rows: "uniform", by "leverage", by randomly pivoted Cholesky
        ("rpcholesky"), as means of clusters ("kmeans"); or the centres themselves.
    max_m : int, default=4096
        Largest number of centres that "auto" may come to.
    random_state, memory_limit, checkpoint, n_jobs :
        As in :class:`Approximation`.

    References
    ----------
    C. Williams and M. Seeger, *Using the Nystrom method to speed up kernel machines*, NIPS 2001; A.
    Rudi, L. Carratino and L. Rosasco, *FALKON*, NIPS 2017; K. Pelckmans, *Primal-Dual Kernel
    Machines*, KU Leuven 2005, sec. 1.3.5 (fixed-size least-squares machines).

    Examples
    --------
    >>> from mercer import LSSVR
    >>> from mercer.reduced import Nystrom
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> machine = LSSVR(gamma=1.0, approximation=Nystrom(50)).fit(X, y)
    >>> machine.support_vectors_.shape[0] <= 50
    True
    """

    m: int | str = "auto"
    centres: Any = "uniform"
    _: KW_ONLY
    max_m: int = 4096
    random_state: int = 0
    memory_limit: str | int | float = "2GB"
    checkpoint: Any = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not (self.m == "auto" or (is_integer(self.m) and int(self.m) >= 1)):
            raise ValueError(f"m must be a positive number of centres or 'auto', got {self.m!r}.")
        if isinstance(self.centres, str) and self.centres not in CENTRES:
            raise ValueError(
                f"centres must be one of {sorted(CENTRES)} or an array of points, got "
                f"{self.centres!r}."
            )

    @property
    def pool_size(self) -> int:
        if not isinstance(self.centres, str):
            return 1
        m = self.max_m if self.m == "auto" else int(self.m)
        return m if self.centres == "uniform" else POOL_ROWS_PER_CENTRE * m

    @property
    def number(self) -> int | str:
        return self.m if isinstance(self.centres, str) else count(self.centres)

    def settle(self, kernel: Kernel, pool: FingerprintSample, C: float) -> NystromMap:
        chosen = self.choose(kernel, pool, C)
        return NystromMap(kernel, chosen.Z, chosen.index)

    def settle_in_low_memory(self, kernel: Kernel, pool: FingerprintSample, C: float) -> NystromMap:
        chosen = self.choose(kernel, pool, C)
        return NystromMap(kernel, chosen.Z, chosen.index, low_memory=True)

    def choose(self, kernel: Kernel, pool: FingerprintSample, C: float) -> Centres:
        """Return the centres alone; parameters as in :meth:`settle`."""
        m, limit = int(self.number), 0.5 * parse(self.memory_limit)
        return choose(self.centres, kernel, pool, m, C=C, seed=self.random_state, max_bytes=limit)


Slopes = Callable[[NDArray[np.float64], slice, Any], Array]
"""From values F (n, k) of some rows, which rows they are, and kernel values (n, m), to G (n, j)."""

CACHE_BYTES = 3 * 2**18
"""Bytes of kernel values that are computed and used at once: they stay in a second cache."""

CHUNK_BYTES = 2**20
"""Bytes of points that are prepared at once."""

DENSE_BYTES = 2.0**28
"""Largest size of sparse centres that are made dense for float32."""


class Panel:
    r"""The function :math:`X \mapsto k(X, Z)` and the products with it that a pass needs.

    .. math:: F = K A, \qquad G = G(F), \qquad R = K' G

    for the matrix :math:`K = k(X, Z)` of a block of rows, m centres Z and k columns: rows are taken
    a few at a time, so that their kernel values are read twice before they leave the cache.

    May be shared by threads, and travels as kernel and centres only.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        The centres.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> panel = Panel(Linear(), X[:2])
    >>> panel.values(X)
    array([[1., 2.],
           [2., 4.],
           [3., 6.]])

    Half the sum of squares of F = K A has the derivative K'F:

    >>> panel.sweep(X, np.array([[1.0], [1.0]]), lambda F, rows, K: F)
    array([[42.],
           [84.]])
    """

    def __init__(self, kernel: Kernel, Z: Data) -> None:
        self.kernel = kernel
        self.Z = as_points(Z) if kernel.numeric else Z
        self.m = count(self.Z)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "Z": self.Z, "m": self.m}

    @cached_property
    def _double(self) -> _Values:
        return _Values(self.kernel, as_double(self.Z) if self.kernel.numeric else self.Z)

    @cached_property
    def _single(self) -> _Values:
        origin = self.kernel.origin(self.Z)
        return _Values(self.kernel, as_single(self.Z, DENSE_BYTES, origin), origin)

    def _strips(
        self, X: Data, single: bool, rows: int | None
    ) -> Iterator[tuple[slice, Callable[[Array], object]]]:
        """Cut the points into strips, each with the function that writes its kernel values."""
        numbers = self.kernel.numeric
        X = as_points(X) if numbers else X
        values = self._single if single and numbers else self._double
        p = X.shape[1] if numbers else 1
        if rows is None:
            rows = max(16, CACHE_BYTES // ((4 if single else 8) * max(1, self.m)))
            # More features make it dearer to lay the centres out for each product.
            rows = max(rows, 512) if p >= 128 else rows
        # What concerns points alone is done for many of them, because each call costs microseconds.
        for chunk in pieces(0, count(X), rows * max(1, CHUNK_BYTES // (8 * rows * max(1, p)))):
            write = values.of(take(X, chunk))
            for part in pieces(chunk.start, chunk.stop, rows):
                yield part, partial(write, part.start - chunk.start, part.stop - chunk.start)

    def values(self, X: Data, out: Array | None = None, single: bool = False) -> Array:
        """Return the kernel values, ``(n, m)``.

        Parameters
        ----------
        X : (n, p) points
        out : (n, m) array, optional
            Where they are written.
        single : bool, default=False
            Compute in float32 instead of float64, around the mean of the centres where the
            kernel allows: several times faster, with errors of about 5e-6 of the largest value.
        """
        dtype = np.float32 if single else np.float64
        if out is None:
            out = np.empty((count(X), self.m), dtype=dtype)
        for part, write in self._strips(X, single, None):
            write(out[part])
        return out

    def sweep(
        self,
        X: Data,
        A: Array,
        slopes: Slopes,
        single: bool = False,
        rows: int | None = None,
    ) -> NDArray[np.float64]:
        """Return ``K' G(K A)``, with kernel values that live in the cache only.

        Parameters
        ----------
        X : (n, p) points
        A : (m, k) array
        slopes : callable
            From F = K A of some rows (n_part, k), the slice of the rows and their kernel values, to
            G (n_part, j); it may keep what else it learns, but no view of the kernel values, whose
            memory is used again. Called once for each part, in order.
        single : bool, default=False
            Kernel values and products within a part in float32; what is added over parts is
            float64.
        rows : int, optional
            Rows of a part.

        Returns
        -------
        (m, j) array
        """
        dtype = np.float32 if single else np.float64
        A = np.ascontiguousarray(A, dtype=dtype)
        R: NDArray[np.float64] | None = None
        memory = np.empty((0, self.m), dtype=dtype)
        for part, write in self._strips(X, single, rows):
            n = part.stop - part.start
            if n > len(memory):
                memory = np.empty((n, self.m), dtype=dtype)
            K = memory[:n]
            write(K)
            G = slopes(_times(K, A).astype(np.float64, copy=False), part, K)
            if R is None:
                R = np.zeros((self.m, G.shape[1]))
            R += _times(K.T, np.ascontiguousarray(G, dtype=dtype))
        return np.zeros(A.shape) if R is None else R


def _times(K: Array, A: Array) -> Array:
    """Return a product, by the faster routine for a matrix and a vector where A is a column."""
    product: Array = (K @ A[:, 0])[:, None] if A.shape[1] == 1 else K @ A
    return product


class _Values:
    """A writer of kernel values against the centres, in tiles where all points are dense.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        In the precision of the values.
    origin : (p,) array, optional
        What was subtracted from Z, and must be from other points.
    """

    def __init__(self, kernel: Kernel, Z: Data, origin: Array | None = None) -> None:
        self.Z, self.origin = Z, origin
        self.evaluate = evaluate = kernel.against(Z)
        self.numeric = kernel.numeric
        self.tiles: Tiles | None = None
        if isinstance(evaluate, TiledEvaluator) and count(Z) and not is_sparse(Z):
            self.tiles = evaluate.tiles or evaluate.prepare(Z)

    def of(self, X: Data) -> Callable[[int, int, Array], object]:
        """Return the function that writes the kernel values of a range of few points."""
        if is_sparse(X) and not is_sparse(self.Z) and self.Z.dtype == np.float32:
            X = X.toarray()
        tiles = self.tiles
        if tiles is None or is_sparse(X):
            X = self._alike(X)
            return lambda start, stop, out: into(self.evaluate, X[start:stop], out)
        rows = tiles.left(X, self.origin)

        def write(start: int, stop: int, out: Array) -> None:
            fits = out.dtype == tiles.dtype and out.flags.c_contiguous
            K = out if fits else np.empty(out.shape, dtype=tiles.dtype)
            tiles.strip(rows.part(start, stop), K)
            if not fits:
                out[...] = K

        return write

    def _alike(self, X: Data) -> Data:
        """Return points in the precision of the centres."""
        if not self.numeric:
            return X
        if self.Z.dtype == np.float32:
            return as_single(X, 0.0, self.origin)
        return as_double(X)


def as_double(X: Data) -> Data:
    """Return points in float64."""
    return as_points(X).astype(np.float64, copy=False)


# Part of the diagonal that is added where rounding has made a matrix indefinite, and how much more
# each time that this was not enough.
SINGLE_SLACK, SLACK_FACTOR = 2.0**-22, 8.0


class LandmarkFactor:
    r"""The curvature of landmarks, factorized in float32, for conjugate gradients.

    With :math:`K_{ZZ} = R'R` the features of the landmarks are the columns of R. Landmarks stand
    for the rows, whose weights add up to s, so that

    .. math:: I + C \sum_i s_i \phi_i \phi_i' \approx I + \frac{C s}{m} R R' = A

    of which only the factor is kept: m^2 numbers in float32, written over a copy of R. No row is
    read for it. Unpenalized columns are a border, eliminated in double precision.

    Parameters
    ----------
    R : (m, m) array
        Upper triangular, of the kernel matrix R'R of the landmarks.
    P : (m, q) array
        Unpenalized columns at the landmarks.
    weight : float
        C times the sum of the weights of all rows.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco, *FALKON: an optimal large scale kernel method*, NIPS 2017,
    sec. 3 (the preconditioner of eq. 13).

    Examples
    --------
    >>> R = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> factor = LandmarkFactor(R, np.zeros((2, 0)), weight=2.0)
    >>> (np.eye(2) + R @ R.T) @ factor.solve(np.array([7.0, 3.0])).round(6)
    array([7., 3.])
    """

    def __init__(self, R: Array, P: Array, weight: float) -> None:
        self.r, share, slack = R.shape[1], weight / len(P), 0.0
        while True:
            A, _ = slauum(np.asarray(R, dtype=np.float32, order="F"), overwrite_c=1)
            A *= np.float32(share)
            diagonal = np.einsum("ii->i", A)
            diagonal += np.float32(1.0 + slack * float(diagonal.max()))
            self.U, info = spotrf(A, clean=0, overwrite_a=1)
            if info == 0:
                break
            if not np.isfinite(share):
                raise la.LinAlgError("weights of the rows are not finite")
            slack = max(SINGLE_SLACK, SLACK_FACTOR * slack)
        B = share * (R @ P)
        self.across = np.stack([self._inner(b) for b in B.T], axis=1) if B.size else B
        self.B = B
        border = share * P.T @ P - B.T @ self.across
        # Columns that landmarks do not tell from functions of the kernel have nothing left of them.
        least = SINGLE_SLACK * np.einsum("ij,ij->j", P, P) * share
        values, vectors = la.eigh(0.5 * (border + border.T))
        values = np.maximum(values, max(float(np.max(least, initial=0.0)), 1e-300))
        self.border = (vectors / values) @ vectors.T

    def _inner(self, g: Array) -> Array:
        size = float(np.max(np.abs(g), initial=0.0))
        if not size:
            return np.zeros_like(g)
        found, _ = spotrs(self.U, np.asarray(g / size, dtype=np.float32))
        return size * np.asarray(found, dtype=np.float64).reshape(-1)

    def solve(self, g: Array) -> Array:
        """Return a vector of m + q numbers divided by the bordered matrix."""
        w, b = g[: self.r], g[self.r :]
        inner = self._inner(w)
        free = self.border @ (b - self.B.T @ inner)
        return np.concatenate([inner - self.across @ free, free])
