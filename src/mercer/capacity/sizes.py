r"""How rich the class of a fitted machine is on its sample: numbers to compare kernels by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.capacity.ball import KernelBall
from mercer.capacity.covering import Best, Covering
from mercer.capacity.frames import MeasuredFrame
from mercer.capacity.hilbert import Cube, HilbertBall
from mercer.capacity.sample import PrincipalCovering
from mercer.capacity.shattering import fat_dimension_bound
from mercer.capacity.widths import NoWidthError, equal_capacity
from mercer.gram import make
from mercer.inspect.bands import widen, widths
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.smoothing.pairs import some_rows

__all__ = ["ClassSize", "Matched", "class_covering", "class_size", "matched_kernel"]

# Rows up to which the kernel matrix is decomposed whole, and up to which its frame is held.
WHOLE, HELD = 1000, 20_000

# Directions of feature space beyond, and rows that two kernels are compared on.
DIRECTIONS, COMPARED = 256, 150

# Kernel values kept in memory.
CACHE = 64 * 2**20


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

    radii: Array
    """Radii at which the class is covered, descending."""

    log_covering: Array
    """Upper bounds on the logarithm of the number of balls of these radii."""

    log_lower: Array
    """Lower bounds; 0 where none is known."""

    active: tuple[str, ...]
    """Which argument gives the upper bound at each radius."""

    covering: Covering

    @property
    def log_covering_at_precision(self) -> float:
        """Logarithm of how many functions of the class differ by what matters, at most."""
        return self.covering.log_covering(self.precision)

    @property
    def fat_dimension(self) -> float:
        r"""Bound :math:`(R\Lambda/\gamma)^2` on the points that can be labelled as one pleases."""
        return fat_dimension_bound(self.precision, self.norm, self.size).value


def class_covering(kernel: Kernel, X: Any, norm: float) -> Covering:
    r"""Return covering numbers of a kernel's ball on a sample, by bounds that memory allows.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
    norm : float
        The largest norm :math:`\Lambda` of a function.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> covering = class_covering(Gaussian(2.0), X, 3.0)
    >>> round(covering.log_covering(1.0), 1), covering.active(1.0)
    (36.5, 'truncation, measured')
    """
    n = X.shape[0]
    if n <= WHOLE:
        return KernelBall.from_gram(np.asarray(kernel(X), dtype=float), norm=norm)
    if n <= HELD:
        K = make(kernel, X, kind="tiled", cache_bytes=CACHE)
        return KernelBall.from_gram(K, norm=norm, rank=DIRECTIONS)
    frame = MeasuredFrame.from_data(kernel, X, DIRECTIONS)
    largest = norm * frame.size
    return Best([PrincipalCovering(frame, norm), HilbertBall(n, largest), Cube(n, largest)])


def class_size(
    kernel: Kernel,
    X: Any,
    norm: float,
    *,
    precision: float,
    C: float | None = None,
    n_radii: int = 60,
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
    n_radii : int, default=60
        Radii of the curve, from the largest value of a function to a hundredth of the precision.

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
    n = X.shape[0]
    covering = class_covering(kernel, X, norm)
    if n <= WHOLE:
        frame = MeasuredFrame.from_gram(np.asarray(kernel(X), dtype=float))
    else:
        frame = MeasuredFrame.from_data(kernel, X, DIRECTIONS)
    values = np.asarray(frame.mean_squares)
    top = norm * frame.size
    radii = np.geomspace(top, min(precision / 100, top / 100), n_radii)
    lower = getattr(covering, "log_lower", lambda radius: 0.0)
    return ClassSize(
        kernel=kernel,
        n_samples=n,
        norm=norm,
        size=frame.size,
        precision=precision,
        eigenvalues=values,
        trace=frame.mean_norm,
        effective_rank=frame.mean_norm**2 / _mean_square(kernel, X),
        effective_dimension=None if C is None else _dimension(values, frame.mean_norm, n, C),
        radii=radii,
        log_covering=np.array([covering.log_covering(radius) for radius in radii]),
        log_lower=np.array([lower(radius) for radius in radii]),
        active=tuple(covering.active(radius) for radius in radii),
        covering=covering,
    )


def _mean_square(kernel: Kernel, X: Any) -> float:
    r"""Return :math:`\sum_i\lambda_i^2 = \frac1{n^2}\sum_{ij} k(x_i, x_j)^2`, from 1,000 rows."""
    n = X.shape[0]
    K = np.asarray(kernel(X[some_rows(n, WHOLE)]), dtype=float) ** 2
    m, own = len(K), float(np.trace(K))
    # Pairs of different rows are drawn without bias, and a row meets itself once in n times.
    others = (float(K.sum()) - own) / max(m * (m - 1), 1)
    return float(others * (1 - 1 / n) + own / m / n)


def _dimension(values: Array, trace: float, n: int, C: float) -> tuple[float, float]:
    """Return bounds on the effective dimension from the first eigenvalues and the sum of all."""
    first = float(np.sum(values / (values + 1 / (C * n))))
    rest = max(trace - float(values.sum()), 0.0) * C * n
    return first, first + min(rest, float(n - len(values)))


@dataclass(frozen=True)
class Matched:
    """Another kernel that is as rich as the machine's on the sample."""

    kernel: Kernel
    """The other kernel, widened."""

    factor: float
    """By how much it was widened."""

    radius: float
    """The radius at which both balls have the same covering number."""


def matched_kernel(
    kernel: Kernel, other: Kernel, X: Any, *, norm: float, precision: float
) -> Matched | None:
    r"""Return another kernel with the width at which it is as rich as the first on a sample.

    The width for which :math:`\ln N(\varepsilon)` of both balls is the same, on at most 150 rows.
    Where the precision is so coarse that the bound on N does not depend on the width, the radius is
    halved until it does.

    Parameters
    ----------
    kernel, other : Kernel
    X : (n, p) points
    norm, precision : float
        As in :func:`class_size`.

    Returns
    -------
    Matched or None
        None if the kernels have no widths, or none is as rich.

    See Also
    --------
    equal_capacity : the same for any covering numbers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> match = matched_kernel(Gaussian(2.0), Matern(nu=1.5), X, norm=3.0, precision=1.0)
    >>> round(match.factor, 1), match.radius
    (3.7, 1.0)
    """
    rows = X[some_rows(X.shape[0], COMPARED)]

    def covering(k: Kernel) -> Covering:
        return class_covering(k, rows, norm)

    if not (widths(kernel) and widths(other)):
        return None
    narrower, own, wider = (covering(widen(kernel, factor)) for factor in (0.5, 1.0, 2.0))
    for radius in precision / 2.0 ** np.arange(12):
        # On a plateau of the bound many widths are equally rich.
        a, b, c = (one.log_covering(float(radius)) for one in (narrower, own, wider))
        if a > b > c:
            try:
                match = equal_capacity(other, kernel, float(radius), covering)
            except NoWidthError:
                return None
            return Matched(match.kernel, match.factor, float(radius))
    return None
