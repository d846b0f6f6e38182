"""Covering numbers from combinatorial dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mercer._params import check_integer, check_positive
from mercer_research.covering.base import SLACK, Covering

__all__ = ["FatCovering", "PseudoCovering", "log_covering_from_below"]


@dataclass(frozen=True)
class PseudoCovering(Covering):
    r"""Covering numbers of a class of some pseudo-dimension, in the mean absolute difference.

    For functions in [0, B] and a pseudo-dimension h of at least 2,

    .. math:: \ln N(\varepsilon, L_1) \le
        \ln 2 + h \ln\Bigl(\frac{2 e B}{\varepsilon} \ln \frac{2 e B}{\varepsilon}\Bigr).

    Parameters
    ----------
    dimension : int
        h. A class of dimension 1 has dimension 2 all the more.
    largest : float, default=1.0
        B.

    Examples
    --------
    >>> round(PseudoCovering(3).log_covering(0.1), 3)
    16.836
    """

    dimension: int
    largest: float = 1.0
    name: str = "pseudo-dimension"

    def __post_init__(self) -> None:
        check_integer("dimension", self.dimension, 0)
        check_positive(largest=self.largest)

    @property
    def norm(self) -> float:
        return self.largest / 2  # around the constant in the middle

    def _log_covering(self, radius: float) -> float:
        ratio = 2 * np.e * self.largest / radius
        return float(np.log(2.0) + max(self.dimension, 2) * np.log(ratio * np.log(ratio)))


@dataclass(frozen=True)
class FatCovering(Covering):
    r"""Covering numbers on m points, in the largest difference, from a fat-shattering dimension.

    For functions whose values span an interval of length B, with
    :math:`d = \operatorname{fat}(\varepsilon / 4)` and :math:`\varepsilon` in units of B,

    .. math:: \ln N(\varepsilon, \ell_\infty^m) \le
        \ln 2 + d \log_2\Bigl(\frac{2 e m}{d\,\varepsilon}\Bigr) \ln \frac{4 m}{\varepsilon^2}.

    Where that exceeds the number of cells of a grid, :math:`\lceil 1 / (2 \varepsilon) \rceil^m`,
    the grid is taken, as it must be where d exceeds m.

    Parameters
    ----------
    dimension : callable
        Returns an upper bound on the fat-shattering dimension at a margin, such as
        ``lambda margin: fat_dimension_bound(margin, norm, size).value``.
    n_points : int
        m: twice the number of rows inside inequalities of uniform convergence.
    largest : float, default=1.0
        B; twice the largest value for a class that contains -f with f.
    form : {"alon", "squared"}, default="alon"
        ``"squared"`` takes the simpler and weaker :math:`\log_2 N \le 3 d \log_2^2(4 e B m /
        \varepsilon)`.

    Examples
    --------
    >>> from mercer_research.covering import fat_dimension_bound
    >>> ball = FatCovering(lambda margin: fat_dimension_bound(margin).value, 10**6, largest=2.0)
    >>> round(ball.log_covering(0.5), 1)
    21137.7
    """

    dimension: Callable[[float], float]
    n_points: int
    largest: float = 1.0
    form: Literal["alon", "squared"] = "alon"
    name: str = "fat-shattering dimension"

    def __post_init__(self) -> None:
        check_integer("n_points", self.n_points, 1)
        check_positive(largest=self.largest)
        if self.form not in ("alon", "squared"):
            raise ValueError(f"form={self.form!r} is not known; give 'alon' or 'squared'")

    @property
    def norm(self) -> float:
        return self.largest / 2

    def _both(self, radius: float) -> tuple[float, float]:
        m, ratio = self.n_points, radius / self.largest
        grid = m * float(np.log(np.ceil((1 - SLACK) / (2 * ratio))))
        d = self.dimension(radius / 4)
        if d >= m:
            return np.inf, grid
        if d == 0:
            return 0.0, grid
        if self.form == "squared":
            return float(3 * d * np.log2(4 * np.e * m / ratio) ** 2 * np.log(2.0)), grid
        exponent = d * np.log2(2 * np.e * m / (d * ratio))
        return float(np.log(2.0) + exponent * np.log(4 * m / ratio**2)), grid

    def _log_covering(self, radius: float) -> float:
        return min(self._both(radius))

    def active(self, radius: float) -> str:
        if radius >= self.norm * (1 - SLACK):
            return self.name
        by_dimension, grid = self._both(radius)
        return self.name if by_dimension <= grid else "grid of values"


def log_covering_from_below(dimension: Callable[[float], float], radius: float) -> float:
    r"""Return a lower bound on :math:`\ln N` from a fat-shattering dimension.

    For some distribution of the points, and functions in [0, 1],

    .. math:: \ln N(\varepsilon) \ge \max\Bigl(\frac{\operatorname{fat}(16 \varepsilon)}{8},\
        \frac{\ln 2}{32} \operatorname{fat}(4 \varepsilon)\Bigr)

    in the mean absolute difference, hence in the largest one as well. The first holds on samples of
    at least :math:`\operatorname{fat}(16 \varepsilon)` points. What is known in the other direction
    has constants that nobody has named.

    Parameters
    ----------
    dimension : callable
        Returns the fat-shattering dimension at a margin, or a lower bound on it.
    radius : float

    Examples
    --------
    >>> round(log_covering_from_below(lambda margin: 1.0 / margin**2, 0.01), 3)
    13.538
    """
    check_positive(radius=radius)
    return max(dimension(16 * radius) / 8, float(np.log(2.0)) * dimension(4 * radius) / 32)
