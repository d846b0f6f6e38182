r"""Balls of a Hilbert space on m points, in the sup norm: counts without a spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import SLACK, Covering
from mercer_research.covering.diagonal import whole

__all__ = ["CarlBound", "ConvexHull", "Cube", "HilbertBall"]


EXACT = 1e7
"""Beyond, differences of logarithms of factorials lose the digits that count."""


def log_multisets(kinds: float, terms: float) -> float:
    """Return ln of the number of ways to take so many terms, or fewer, of so many kinds."""
    if kinds + terms < EXACT:
        return float(gammaln(kinds + terms + 1) - gammaln(kinds + 1) - gammaln(terms + 1))
    # The entropy of two shares bounds a binomial from above, and nothing cancels in it.
    return float(kinds * np.log1p(terms / kinds) + terms * np.log1p(kinds / terms))


@dataclass(frozen=True)
class HilbertBall(Covering):
    r"""A ball of a Hilbert space of functions on m points, by counting greedy approximations.

    .. math:: \ln N(\varepsilon) \le \ln \binom{2m + T}{T}, \qquad
              T = \lfloor (\Lambda R / \varepsilon)^2 \rfloor

    For any function f of the ball: as long as its residual at some point exceeds
    :math:`\varepsilon`, add :math:`\pm(\varepsilon/R^2) k(x_i, \cdot)`. Every step lowers the
    squared norm of the residual by more than :math:`\varepsilon^2/R^2`, so that there are T steps
    at most, each of 2m kinds. No hidden constant.

    Parameters
    ----------
    n_points : int
        The number m.
    radius_of_ball : float, default=1
        The product :math:`\Lambda R` of the bound on the norm and the largest
        :math:`\sqrt{k(x, x)}`: the largest value.
    outputs : int, default=1
        Number D of functions that share the bound on the norm, with Euclidean distances between
        their values: the same count with mD values and radius :math:`\varepsilon/\sqrt D`.

    References
    ----------
    B. Carl (1985), Inequalities of Bernstein-Jackson-type and the degree of compactness of
    operators in Banach spaces, Annales de l'institut Fourier 35, for the order; A. J. Smola,
    *Learning with Kernels*, TU Berlin 1998, eq. (8.22).

    Examples
    --------
    >>> ball = HilbertBall(1000)
    >>> round(ball.log_covering(0.1), 2), ball.terms(0.1)
    (398.83, 100)
    """

    n_points: int
    radius_of_ball: float = 1.0
    outputs: int = 1
    name: str = "greedy terms"

    def __post_init__(self) -> None:
        check_integer("n_points", self.n_points, 1)
        check_integer("outputs", self.outputs, 1)
        check_nonnegative(radius_of_ball=self.radius_of_ball)

    @property
    def norm(self) -> float:
        return self.radius_of_ball

    def terms(self, radius: float) -> int:
        """Return the largest number T of steps."""
        return int(self._terms(radius))

    def _terms(self, radius: float) -> float:
        ratio = self.radius_of_ball / radius
        return float(np.floor(self.outputs * ratio * ratio * (1 + SLACK)))

    def _log_covering(self, radius: float) -> float:
        return log_multisets(2 * self.n_points * self.outputs, self._terms(radius))

    def steps(self, smallest: float) -> Array:
        """Return radii, from a smallest on, just above those where a term more is needed."""
        # No more than a double can tell apart; every radius is worth a try, none is needed.
        most = min(self.outputs * (self.radius_of_ball / smallest) ** 2, 1e15)
        T = np.unique(np.round(np.geomspace(1, max(most, 1.0), 200)))
        T = np.union1d(T, np.arange(1, min(most, 64) + 1))
        return np.asarray(self.radius_of_ball * np.sqrt(self.outputs / (T + 1)) * (1 + 1e-9))


@dataclass(frozen=True)
class Cube(Covering):
    r"""Functions on m points with bounded values: a grid, the best bound for very few points.

    .. math:: \ln N(\varepsilon) \le m \ln \lceil B / \varepsilon \rceil

    Parameters
    ----------
    n_points : int
    largest : float, default=1
        Largest absolute value B.
    outputs : int, default=1
        As in :class:`HilbertBall`.

    Examples
    --------
    >>> round(Cube(3).log_covering(0.5), 3)
    2.079
    """

    n_points: int
    largest: float = 1.0
    outputs: int = 1
    name: str = "cube"

    def __post_init__(self) -> None:
        check_integer("n_points", self.n_points, 1)
        check_integer("outputs", self.outputs, 1)
        check_nonnegative(largest=self.largest)

    @property
    def norm(self) -> float:
        return self.largest

    def _log_covering(self, radius: float) -> float:
        cells = np.ceil(self.largest * np.sqrt(self.outputs) / radius * (1 - SLACK))
        return float(self.n_points * self.outputs * np.log(cells))


@dataclass(frozen=True)
class CarlBound(Covering):
    r"""The bound of Carl with a numerical constant, for comparison with :class:`HilbertBall`.

    .. math:: \varepsilon_n \le c \Lambda R \sqrt{\frac{\log_2(1 + m / \log_2 n)}{\log_2 n}},
              \qquad n \ge 2

    Parameters
    ----------
    n_points : int
    radius_of_ball : float, default=1
    constant : float, default=103
        103 is proved, 1.86 conjectured: then the bound rests on an assumption, which it lists.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.27), for every n; eq. (8.23) holds
    at powers of 2 only.

    Examples
    --------
    >>> round(CarlBound(1000).log_covering(0.1), 1)
    26945.5
    >>> round(CarlBound(1000, constant=1.86).log_covering(0.1), 2)
    367.0
    """

    n_points: int
    radius_of_ball: float = 1.0
    constant: float = 103.0
    name: str = "Carl's bound"

    def __post_init__(self) -> None:
        check_integer("n_points", self.n_points, 1)
        check_nonnegative(radius_of_ball=self.radius_of_ball)
        check_positive(constant=self.constant)
        if self.constant < 103:
            guess = Assumption(f"the constant {self.constant:g} is conjectured, 103 is proved")
            object.__setattr__(self, "assumptions", (guess,))

    @property
    def norm(self) -> float:
        return self.radius_of_ball

    def log_entropy(self, log_n: float) -> float:
        bits = log_n / np.log(2)
        if bits < 1:
            return float(np.log(self.norm))
        root = 0.5 * np.log(np.log2(1 + self.n_points / bits) / bits)
        return float(np.log(self.norm) + min(np.log(self.constant) + root, 0.0))

    def _log_covering(self, radius: float) -> float:
        target = 2 * np.log(radius / self.norm / self.constant)

        def excess(log_bits: float) -> float:
            bits = np.exp(log_bits)
            return float(np.log(np.log2(1 + self.n_points / bits) / bits) - target)

        # One bit is always needed, and more bits than this exceed the grid of a cube many times.
        if excess(0.0) <= 0:
            return float(np.log(2))
        high = 1.0
        while excess(high) > 0:
            high *= 2
        return whole(float(np.log(2) * np.exp(brentq(excess, 0.0, high, xtol=1e-14))))


@dataclass(frozen=True)
class ConvexHull(Covering):
    r"""Convex combinations of finitely many bounded functions on m points, by drawing terms.

    .. math:: \ln N(\varepsilon) \le \ln \binom{2a + T}{T}, \qquad
              T = \lfloor 2 \ln(2m) (\Lambda\kappa/\varepsilon)^2 \rfloor + 1

    The mean of T functions drawn by their weights is within :math:`\varepsilon` of the combination
    at all points with positive probability (Hoeffding's inequality, once for each point), so that
    some mean of T is. Holds for any dictionary, as of an indefinite kernel.

    Parameters
    ----------
    n_points : int
        The number m.
    n_atoms : int
        The number a of functions; each may occur with either sign.
    largest : float, default=1
        The product :math:`\Lambda\kappa` of the sum of absolute coefficients and the largest value
        of a function.
    outputs : int, default=1
        Number of functions that share the sum of absolute coefficients; an atom feeds one of them.

    Examples
    --------
    >>> round(ConvexHull(100, 100).log_covering(0.5), 1)
    110.7
    """

    n_points: int
    n_atoms: int
    largest: float = 1.0
    outputs: int = 1
    name: str = "drawn terms"

    def __post_init__(self) -> None:
        check_integer("n_points", self.n_points, 1)
        check_integer("n_atoms", self.n_atoms, 1)
        check_integer("outputs", self.outputs, 1)
        check_nonnegative(largest=self.largest)

    @property
    def norm(self) -> float:
        return self.largest

    def _log_covering(self, radius: float) -> float:
        D = self.outputs
        ratio = self.largest * np.sqrt(D) / radius
        T = np.floor(2 * np.log(2 * self.n_points * D) * ratio * ratio * (1 + SLACK)) + 1
        return log_multisets(2 * self.n_atoms * D, T)
