"""Eigenvalues of a kernel on a box, in logarithms: how many of each size, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp, zeta

from mercer._params import check_integer, check_positive
from mercer.inspect.decay import Decay, classify_decay
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.ball import KernelBall

# Logarithms of eigenvalues that differ by less are one eigenvalue, several times.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Spectrum:
    r"""Eigenvalues of an integral operator, each with its multiplicity, in logarithms.

    Parameters
    ----------
    log_values : (t,) array
        :math:`\ln \lambda` of the different eigenvalues.
    log_counts : (t,) array, optional
        Logarithms of their multiplicities; 0 if not given.
    log_tail : float, optional
        Logarithm of an upper bound on the sum of all eigenvalues left out.
    eigenfunction_bound : float, optional
        A number C with :math:`\sum_j \psi_j(x)^2 w_j \le C^2 \sum_j w_j` for all x, where the
        weights w are equal for equal eigenvalues and :math:`\psi_j` are the eigenfunctions.
    frequencies : (t,) array, optional
        Lengths of the frequencies that belong to the eigenvalues.
    assumptions : tuple of Assumption

    Attributes
    ----------
    log_values, log_counts, frequencies :
        In falling order of the eigenvalues, equal ones together with their largest frequency.

    Examples
    --------
    >>> flat = Spectrum(np.log([1.0, 4.0, 1.0]))
    >>> np.exp(flat.log_values).round(12), flat.counts
    (array([4., 1.]), array([1., 2.]))
    >>> round(flat.trace, 12)
    6.0
    """

    log_values: Array
    log_counts: Array | None = None
    log_tail: float = -np.inf
    eigenfunction_bound: float = 1.0
    frequencies: Array | None = None
    assumptions: tuple[Assumption, ...] = ()

    def __post_init__(self) -> None:
        values = np.asarray(self.log_values, dtype=float)
        counts = np.zeros_like(values) if self.log_counts is None else np.asarray(self.log_counts)
        check_positive(eigenfunction_bound=self.eigenfunction_bound)
        if not self.log_tail < np.inf:
            raise ValueError(f"log_tail must be a number below infinity, got {self.log_tail!r}")
        if values.ndim != 1 or counts.shape != values.shape or np.isnan(values).any():
            raise ValueError("log_values and log_counts must be rows of equal length without NaN.")
        kept = np.isfinite(values) & np.isfinite(counts)
        if not kept.any():
            raise ValueError("a spectrum needs an eigenvalue above 0.")
        omega = None if self.frequencies is None else np.asarray(self.frequencies, dtype=float)
        order = np.flatnonzero(kept)[np.argsort(-values[kept], kind="stable")]
        values, counts = values[order], counts[order].astype(float)
        starts = np.flatnonzero(np.r_[True, np.diff(values) < -TIE])
        if len(starts) < len(values):
            counts = np.logaddexp.reduceat(counts, starts)
        if omega is not None:
            omega = np.maximum.reduceat(omega[order], starts)
        object.__setattr__(self, "log_values", values[starts])
        object.__setattr__(self, "log_counts", counts)
        object.__setattr__(self, "frequencies", omega)

    @property
    def counts(self) -> Array:
        """Multiplicities, whole floating-point numbers."""
        assert self.log_counts is not None
        return np.rint(np.exp(self.log_counts))

    @property
    def log_trace(self) -> float:
        """Logarithm of the sum of all eigenvalues, with the bound on those left out."""
        assert self.log_counts is not None
        return float(np.logaddexp(logsumexp(self.log_values + self.log_counts), self.log_tail))

    @property
    def trace(self) -> float:
        """The sum of all eigenvalues, with the bound on those left out."""
        return float(np.exp(self.log_trace))

    def log_eigenvalues(self, most: int = 1_000_000) -> Array:
        """Return logarithms of eigenvalues one by one, at most so many, no multiplicity divided."""
        ends = np.cumsum(self.counts)
        groups = max(1, int(np.searchsorted(ends, most, side="right")))
        if ends[0] > most:
            raise ValueError(f"the first eigenvalue alone occurs {ends[0]:.3g} times.")
        return np.repeat(self.log_values[:groups], np.rint(self.counts[:groups]).astype(int))

    def first(self, most: int) -> Spectrum:
        """Return the largest eigenvalues alone, the rest moved to the tail; none is divided."""
        assert self.log_counts is not None
        groups = max(1, int(np.searchsorted(np.cumsum(self.counts), most * (1 + 1e-12), "right")))
        if groups >= len(self.log_values):
            return self
        rest = logsumexp((self.log_values + self.log_counts)[groups:])
        return Spectrum(
            self.log_values[:groups],
            self.log_counts[:groups],
            float(np.logaddexp(rest, self.log_tail)),
            self.eigenfunction_bound,
            None if self.frequencies is None else self.frequencies[:groups],
            self.assumptions,
        )

    def cutoff(self, head: int) -> float:
        r"""Return the largest frequency among the first so many eigenvalues.

        On a box of side v that is :math:`(2\pi/v)` times the radius of the shell of the lattice.
        """
        if self.frequencies is None:
            raise ValueError("these eigenvalues came without frequencies.")
        if head < 1:
            return 0.0
        groups = int(np.searchsorted(np.cumsum(self.counts), head * (1 - 1e-12))) + 1
        if groups > len(self.frequencies):
            raise ValueError(f"only {self.counts.sum():.0f} eigenvalues are held.")
        return float(self.frequencies[:groups].max())

    def decay(self) -> Decay | None:
        """Return the law by which the eigenvalues fall (`classify_decay`)."""
        logs = self.log_eigenvalues(min(100_000, max(1, int(self.counts.sum()))))
        return classify_decay(np.exp(logs - logs[0]))

    def ball(self, norm: float = 1.0, n_points: int | None = None) -> KernelBall:
        """Return covering numbers of the functions with at most this norm, on the whole domain.

        Parameters
        ----------
        norm : float, default=1.0
        n_points : int, optional
            Number of points, if functions are compared on so many only.

        Examples
        --------
        >>> ball = power_law(2.0).ball(norm=3.0)
        >>> round(ball.log_covering(0.5), 2), ball.active(0.5)
        (17.04, 'truncation')
        """
        ball = KernelBall.from_spectrum(
            self.log_values,
            norm=norm,
            multiplicity=self.counts,
            log_tail=self.log_tail,
            eigenfunction_bound=self.eigenfunction_bound,
            n_points=n_points,
        )
        ball.assumptions += self.assumptions
        return ball

    def __mul__(self, other: Spectrum) -> Spectrum:
        return tensor_product(self, other)


def tensor_product(first: Spectrum, second: Spectrum, most: int = 100_000) -> Spectrum:
    r"""Return the spectrum of a product of kernels of different features, :math:`\lambda_i\mu_j`.

    The largest `most` different products are kept: if (i, j) is among them, so are all pairs with
    smaller indices, so that :math:`(i+1)(j+1)` is at most that many and only those pairs are looked
    at. What is left out is summed, not obtained as a difference, and so keeps its digits.

    Parameters
    ----------
    first, second : Spectrum
    most : int, default=100_000

    Examples
    --------
    >>> both = tensor_product(Spectrum(np.log([2.0, 1.0])), Spectrum(np.log([3.0, 1.0])))
    >>> np.exp(both.log_values).round(12)
    array([6., 3., 2., 1.])
    """
    check_integer("most", most, 1)
    assert first.log_counts is not None
    assert second.log_counts is not None
    n, m = len(first.log_values), len(second.log_values)
    widths = np.minimum(m, most // np.arange(1, min(n, most) + 1))
    i = np.repeat(np.arange(len(widths)), widths)
    j = np.arange(len(i)) - np.repeat(np.cumsum(widths) - widths, widths)
    values = first.log_values[i] + second.log_values[j]
    counts = first.log_counts[i] + second.log_counts[j]
    order = np.argsort(-values, kind="stable")
    kept, cut = order[:most], order[most:]
    masses = second.log_values + second.log_counts
    # Logarithms of the sums of the second spectrum from its j-th eigenvalue on.
    rests = np.logaddexp.accumulate(np.r_[second.log_tail, masses[::-1]])[::-1]
    lead = first.log_values + first.log_counts
    missed = lead[: len(widths)] + rests[widths]
    unseen = lead[len(widths) :] + rests[0]
    left = np.r_[missed, unseen, first.log_tail + rests[0], values[cut] + counts[cut]]
    omega = None
    if first.frequencies is not None and second.frequencies is not None:
        omega = np.hypot(first.frequencies[i], second.frequencies[j])[kept]
    return Spectrum(
        values[kept],
        counts[kept],
        float(logsumexp(left)),
        first.eigenfunction_bound * second.eigenfunction_bound,
        omega,
        tuple(dict.fromkeys(first.assumptions + second.assumptions)),
    )


def power_law(exponent: float, scale: float = 1.0, n: int = 10_000) -> Spectrum:
    r"""Return the spectrum :math:`\lambda_j = \beta^2 j^{-\alpha-1}`, its tail by Hurwitz's zeta.

    Parameters
    ----------
    exponent : float
        The :math:`\alpha`, above 0.
    scale : float, default=1.0
        The :math:`\beta`.
    n : int, default=10_000
        How many eigenvalues are held.

    Examples
    --------
    >>> round(power_law(1.0).trace, 12), round(np.pi**2 / 6, 12)
    (1.644934066848, 1.644934066848)
    """
    check_positive(exponent=exponent, scale=scale)
    check_integer("n", n, 1)
    j = np.arange(1.0, n + 1.0)
    tail = np.log(zeta(exponent + 1.0, n + 1.0))
    return Spectrum(
        2 * np.log(scale) - (exponent + 1.0) * np.log(j), None, float(2 * np.log(scale) + tail)
    )


def exponential_law(rate: float, power: float = 1.0, scale: float = 1.0) -> Spectrum:
    r"""Return the spectrum :math:`\lambda_j = \beta^2 e^{-\alpha j^p}` down to :math:`e^{-3000}`.

    The tail is at most its integral, an incomplete gamma function.

    Parameters
    ----------
    rate, power : float
        The :math:`\alpha` and p, above 0.
    scale : float, default=1.0
        The :math:`\beta`.

    Examples
    --------
    >>> law = exponential_law(1.0)
    >>> round(law.trace, 12), round(1 / (np.e - 1), 12)
    (0.581976706869, 0.581976706869)
    """
    check_positive(rate=rate, power=power, scale=scale)
    n = int(min(np.ceil((3000.0 / rate) ** (1.0 / power)), 1_000_000))
    j = np.arange(1.0, n + 1.0)
    upper = gammaincc(1.0 / power, rate * n**power)
    # Below the smallest number: x^(a-1) e^(-x) max(1, x/(x-a+1)) bounds the integral.
    x, a = rate * float(n) ** power, 1.0 / power
    log_upper = (
        np.log(upper) + gammaln(a)
        if upper > 1e-290
        else (a - 1) * np.log(x) - x + max(0.0, np.log(x / (x - a + 1)))
    )
    tail = log_upper - np.log(power) - np.log(rate) / power
    return Spectrum(2 * np.log(scale) - rate * j**power, None, float(2 * np.log(scale) + tail))


def product_of(spectra: Sequence[Spectrum], most: int = 100_000) -> Spectrum:
    """Return the spectrum of a product over many features, :func:`tensor_product` by turns."""
    result = spectra[0]
    for other in spectra[1:]:
        result = tensor_product(result, other, most)
    return result
