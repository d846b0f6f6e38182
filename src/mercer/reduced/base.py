r"""Low-rank approximations: spaces of few functions, and the protocol of their feature maps.

.. math:: f(x) = \phi(x)'w + p(x)'b, \qquad \phi(x) = T' r(x)

Blocks of rows only meet the raw functions r, by values and products; T, which makes the penalty
:math:`|w|^2`, is applied to their sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params
from mercer._typing import Array, PointsLike
from mercer.data.sampling import FingerprintSample
from mercer.kernels.base import Kernel

# Up to this many features their matrix of curvatures is summed where the rows are. Beyond, rows are
# sent that it can be made of: eight or ten for each feature, instead of one number for each pair.
MAX_DENSE_FEATURES = 600

# Bytes of raw values that are worked on at once: they stay in the cache between two products.
PIECE_BYTES = 2**20


class FeatureMap(ABC):
    """A map of points to the features in which a machine is linear, :math:`k(x, z) = φ(x)'φ(z)`."""

    m: int
    """Number of raw functions."""

    r: int
    """Number of features, at most m."""

    index: NDArray[np.intp] | None = None
    """Which rows of the pool are the centres, where they are rows."""

    Z: Any = None
    """The centres, where raw functions are the kernel at some."""

    left_behind: ClassVar[tuple[str, ...]] = ()
    """What makes features of raw values, and does not travel to rows where it is large."""

    def __getstate__(self) -> dict[str, Any]:
        large = self.left_behind if self.r > MAX_DENSE_FEATURES else ()
        return {name: None if name in large else value for name, value in vars(self).items()}

    low_memory: bool = False
    """Whether there is no room for a second matrix of m by m numbers in double precision."""

    natural: bool = True
    """Whether the penalty is the kernel's own, so that the space is one of the kernel's."""

    @abstractmethod
    def raw(self, X: PointsLike, single: bool = False) -> Any:
        """Return the values of the raw functions at points, (n, m), in float32 if `single`."""

    def sweep(
        self,
        X: PointsLike,
        A: Array,
        slopes: Callable[[Array, slice, Any], Array],
        single: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Return ``R' G`` with ``G = slopes(R A)`` for the raw values R of all rows, (m, j).

        Raw values of a few rows at a time are read twice while they are in the cache, and sums over
        them are in float64.

        Parameters
        ----------
        X : (n, p) points
        A : (m, k) array
        slopes : callable
            From R A of some rows, their slice, and R, to G (n_part, j).
        single : bool, default=False
            Raw values in float32.
        rows : int, optional
            Rows of a part.
        """
        total: Array | None = None
        A = A.astype(np.float32) if single else A
        rows = rows or max(16, PIECE_BYTES // (self.m * (4 if single else 8)))
        for start in range(0, X.shape[0], rows):
            part = slice(start, min(start + rows, X.shape[0]))
            R = self.raw(X[part], single)
            G = slopes(np.asarray(R @ A, dtype=np.float64), part, R)
            product = np.asarray(R.T @ G.astype(R.dtype, copy=False), dtype=np.float64)
            total = product if total is None else total + product
        return np.zeros(A.shape) if total is None else total

    def lift(self, W: Array) -> Array:
        """Return coefficients T W of the raw functions, (m, k), from the features' coefficients."""
        return W

    def lower(self, G: Array) -> Array:
        """Return sums T' G over features, (r, k), from those over raw functions."""
        return G

    def features(self, R: Array, single: bool = False) -> Array:
        """Return features R T, (n, r), from raw values; in float32 if `single`."""
        return R

    @property
    def steepness(self) -> float:
        """Largest factor by which features have larger errors than raw values, relative to both."""
        return 1.0

    @property
    def nbytes(self) -> int:
        """Memory of the map."""
        return 0


@dataclass(eq=False)
class Approximation(Params, ABC):
    """The low-rank approximation of a machine: its functions, its passes and its memory.

    Parameters
    ----------
    random_state : int, default=0
        Another number draws other centres or features, and other samples.
    memory_limit : str, int or float, default="2GB"
        Largest memory of the fit beside what was there before: bytes, a text, or a share of the
        machine's memory.
    checkpoint : str or path, optional
        A directory that keeps the result of every pass; a fit of the same machine to the same data
        reads them once to see that they are, and goes on from there, to the same bits. A directory
        of other data or settings raises CheckpointError. Its files hold arrays and nothing that
        could be executed, but the sums in them are believed: write where only you can.
    n_jobs : int, optional
        Number of threads; one for every core by default. Without meaning on a cluster.
    """

    random_state: int = 0
    memory_limit: str | int | float = "2GB"
    checkpoint: Any = None
    n_jobs: int | None = None

    @abstractmethod
    def settle(self, kernel: Kernel, pool: FingerprintSample, C: float) -> FeatureMap:
        """Return the map, chosen on a sample of the rows.

        Parameters
        ----------
        kernel : Kernel
        pool : Sample
            Rows that centres are chosen from.
        C : float
            Weight of a row's loss against the penalty.
        """

    def settle_in_low_memory(
        self, kernel: Kernel, pool: FingerprintSample, C: float
    ) -> FeatureMap | None:
        """Return the map with one matrix of m by m numbers, if there is such a way."""
        return None

    @property
    @abstractmethod
    def pool_size(self) -> int:
        """Number of rows that :meth:`settle` wants to see."""

    @property
    def number(self) -> int | str:
        """Number of functions, or "auto"."""
        m: int | str = getattr(self, "m", 0)
        return m

    def set_m(self, m: int) -> Approximation:
        """Return these settings with a number of functions."""
        return replace(self, m=m)  # type: ignore[call-arg]

    @property
    def largest(self) -> int:
        """Number of functions that "auto" may come to."""
        return int(getattr(self, "max_m", 0) or getattr(self, "m", 0))
