"""Covering numbers of composed operators, and of functions known on a cover of their domain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import Covering

__all__ = ["Composition", "LipschitzClass", "evaluation_rate", "mixed_norm_factor"]

SPLITS = 129
"""Radii of the first operator that are tried."""


class Composition(Covering):
    r"""The image of a ball under two operators, the radii split between them at best.

    .. math:: \varepsilon_{nt}(RS) \le \varepsilon_n(R)\, \varepsilon_t(S), \qquad
              \ln N(\varepsilon) \le \min_{r} \ln N_S(r) + \ln N_R(\varepsilon / r)

    The ends are :math:`\varepsilon_n(RS) \le \varepsilon_n(R)\|S\|` and
    :math:`\varepsilon_n(RS) \le \|R\|\,\varepsilon_n(S)`.

    Parameters
    ----------
    inner : Covering
        Of the class under the operator S that is applied first.
    outer : Covering
        Of the unit ball under the operator R.
    radii : callable, optional
        Returns radii of the outer class worth a try, given the smallest: where its count steps.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.24) to (8.26).

    Examples
    --------
    >>> from mercer_research.covering import DiagonalOperator
    >>> first = DiagonalOperator(np.log([1.0, 0.1]))
    >>> both = Composition(first, DiagonalOperator(np.log([0.5, 0.5])))
    >>> both.norm, bool(both.log_covering(0.1) <= first.scaled(0.5).log_covering(0.1))
    (0.5, True)
    """

    def __init__(
        self, inner: Covering, outer: Covering, *, radii: Callable[[float], Array] | None = None
    ) -> None:
        self.inner, self.outer, self.radii = inner, outer, radii
        self.name = f"{inner.name} then {outer.name}"
        self.assumptions = tuple(dict.fromkeys(inner.assumptions + outer.assumptions))
        self.data_dependent = inner.data_dependent or outer.data_dependent

    @property
    def norm(self) -> float:
        return self.inner.norm * self.outer.norm

    def _split(self, radius: float) -> tuple[float, float]:
        """Return the least sum and the outer radius that gives it."""
        smallest = radius / self.inner.norm

        def total(r: float) -> float:
            return self.inner.log_covering(radius / r) + self.outer.log_covering(r)

        if self.radii is None:
            tried = np.geomspace(smallest, self.outer.norm, SPLITS)
        else:
            tried = self.radii(smallest)
            tried = tried[(tried > smallest) & (tried < self.outer.norm)]
        # At the ends one ball covers one of the two.
        tried = np.concatenate([[self.outer.norm, smallest], tried])
        sums = [total(r) for r in tried]
        best = int(np.argmin(sums))
        found, at = sums[best], float(tried[best])
        if self.radii is None:
            # Every split is a bound, so that a search which misses the minimum is loose, not wrong.
            ratio = (self.outer.norm / smallest) ** (1 / (SPLITS - 1))
            for r in np.geomspace(at / ratio, at * ratio, 33):
                if smallest <= r <= self.outer.norm and total(r) < found:
                    found, at = total(r), float(r)
        return found, at

    def _log_covering(self, radius: float) -> float:
        return self._split(radius)[0]


class LipschitzClass(Covering):
    r"""Lipschitz functions on a domain, covered by their values at finitely many points of it.

    .. math:: \varepsilon_n(F) \le c\, \varepsilon_a(Z) + \varepsilon_n(F, \ell_\infty^a)

    for every number a of points, the best of which is searched for: few points leave much of the
    radius to the slope, many make a large class on the points. A centre is extended from the points
    by the value at the nearest of them, so that it need not be of the class itself.

    Parameters
    ----------
    slope : float
        Lipschitz constant c of all functions of the class, :math:`\Lambda c_k` for combinations of
        kernel functions with slopes up to :math:`c_k`.
    domain : Covering
        Of the set Z of inputs, such as :class:`Box`.
    on_points : callable
        Returns the class on a given number of points as a covering.
    largest : float, optional
        Largest value of any function, where it is known.

    References
    ----------
    A. Smola, S. Mika, B. Schölkopf and R. Williamson (2001), Regularized principal manifolds,
    Journal of Machine Learning Research 1, eq. (88), (89).

    Examples
    --------
    >>> from mercer_research.covering import Box, HilbertBall
    >>> cover = LipschitzClass(0.6, Box(6.0), HilbertBall)
    >>> round(cover.log_covering(0.5), 1), cover.points(0.5)
    (14.0, 20)
    """

    name = "values on a grid"

    def __init__(
        self,
        slope: float,
        domain: Covering,
        on_points: Callable[[int], Covering],
        *,
        largest: float | None = None,
    ) -> None:
        check_nonnegative(slope=slope, **({} if largest is None else {"largest": largest}))
        self.slope, self.domain, self.on_points = slope, domain, on_points
        first = on_points(1)
        known = first.norm + slope * domain.norm
        self.largest = known if largest is None else min(largest, known)
        self.assumptions = (
            Assumption("every function of the class has at most this slope", "given"),
            *first.assumptions,
            *domain.assumptions,
        )
        self.data_dependent = first.data_dependent or domain.data_dependent

    @property
    def norm(self) -> float:
        return self.largest

    def _best(self, radius: float) -> tuple[float, int]:
        found, number = np.inf, 0
        for share in np.linspace(0.0, 1.0, 101)[1:-1]:
            log_a = self.domain.log_covering(share * radius / self.slope) if self.slope else 0.0
            if log_a > 40:
                continue
            a = round(float(np.exp(log_a)))
            value = self.on_points(a).log_covering((1 - share) * radius)
            if value < found:
                found, number = value, a
        return found, number

    def _log_covering(self, radius: float) -> float:
        return self._best(radius)[0]

    def points(self, radius: float) -> int:
        """Return the number of points of the domain that the best bound uses."""
        return self._best(radius)[1]


def mixed_norm_factor(outputs: int, power: float) -> float:
    r"""Return the largest Euclidean norm of D functions whose norms have a p-norm of one.

    .. math:: \Bigl(\sum_i \|w_i\|^p\Bigr)^{1/p} \le 1 \;\Rightarrow\;
              \Bigl(\sum_i \|w_i\|^2\Bigr)^{1/2} \le \max(1, D^{1/2 - 1/p})

    Multiply the norm of a class with outputs by it, where the bound is on another mixture of the
    norms of its outputs.

    Parameters
    ----------
    outputs : int
    power : float
        At least 1; infinity bounds every output by itself.

    References
    ----------
    A. Smola, S. Mika, B. Schölkopf and R. Williamson (2001), Regularized principal manifolds,
    Journal of Machine Learning Research 1, eq. (71) to (73).

    Examples
    --------
    >>> mixed_norm_factor(4, 1), mixed_norm_factor(4, 2), mixed_norm_factor(4, np.inf)
    (1.0, 1.0, 2.0)
    """
    check_integer("outputs", outputs, 1)
    if not power >= 1:
        raise ValueError(f"power must be at least 1, got {power!r}: below, there is no norm")
    return float(max(1.0, outputs ** (0.5 - 1.0 / power)))


def evaluation_rate(exponent: float, decay: str = "polynomial") -> float:
    r"""Return the rate of a class on m points from the rate of its scaled features.

    .. math:: \varepsilon_n(A) = O(\ln^{-\alpha} n) \;\Rightarrow\;
              \varepsilon_n = O(\ln^{-\alpha-1/2} n), \qquad
              \varepsilon_n(A) \le e^{-c \ln^\beta n} \;\Rightarrow\;
              \varepsilon_n \le e^{-c' \ln^\beta n}

    up to a factor :math:`\sqrt{\ln m}`: evaluation on points gains half a power of a slow decay and
    nothing on a fast one.

    Parameters
    ----------
    exponent : float
        The exponent :math:`\alpha` or :math:`\beta`.
    decay : {"polynomial", "exponential"}, default="polynomial"
        In the logarithm of n.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.33) to (8.37), with the exponents
    that the print lost.

    Examples
    --------
    >>> evaluation_rate(0.5), evaluation_rate(0.5, "exponential")
    (1.0, 0.5)
    """
    check_positive(exponent=exponent)
    if decay == "polynomial":
        return exponent + 0.5
    if decay == "exponential":
        return exponent
    raise ValueError(f"decay={decay!r} is not known; give 'polynomial' or 'exponential'")
