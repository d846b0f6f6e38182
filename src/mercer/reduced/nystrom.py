r"""The span of the kernel at some centres, :math:`f = \sum_j \alpha_j k(z_j, \cdot)`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.linalg.blas import dtrmm, strmm
from scipy.linalg.lapack import dpotrf, dpstrf, dtrtri

from mercer._params import is_integer
from mercer._typing import Array, PointsLike
from mercer.data.memory import parse
from mercer.data.sampling import FingerprintSample
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.base import Kernel
from mercer.kernels.points import count, take
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.centres import Centres, choose
from mercer.reduced.panel import Panel, Slopes, as_double
from mercer.regularizers.null_space import Monomials

__all__ = ["Nystrom", "NystromMap"]

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
