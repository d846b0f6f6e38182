"""Two kernels compared as filters, and the width that makes them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from mercer.inspect.bands import along, band_edge, widen
from mercer.inspect.printing import PrintedReport
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(PrintedReport):
    """How far two filters differ, from :func:`compare`."""

    kernel: Kernel
    other: Kernel
    precision: float

    edge: float
    """The band: frequencies up to here are compared."""

    worst_log_ratio: float
    """The largest absolute logarithm of the ratio of attenuations; infinite across a zero."""

    at: float
    """The frequency where that happens."""

    omega: Array
    attenuation: Array
    other_attenuation: Array

    @property
    def worst_factor(self) -> float:
        """The ratio of the larger to the smaller attenuation, where they differ most."""
        return float(np.exp(self.worst_log_ratio))

    def _title(self) -> str:
        return f"{self.kernel!r} against {self.other!r}"

    def _lines(self) -> list[tuple[str, object]]:
        return [
            ("band at precision " + f"{self.precision:g}", (0.0, self.edge)),
            ("worst factor", self.worst_factor),
            ("at frequency", self.at),
        ]


def compare(
    kernel: Kernel, other: Kernel, precision: float = 0.01, dim: int = 1, n_points: int = 2001
) -> Comparison:
    r"""Compare the attenuations of two kernels on the passband of the first kernel.

    .. math:: \max_{\omega : A_1(\omega) > \eta} |\ln A_1(\omega) - \ln A_2(\omega)|, \qquad
              A = P / P(0)

    Parameters
    ----------
    kernel, other : Kernel
        Stationary with a spectrum.
    precision : float, default=0.01
        The share :math:`\eta`: what the first kernel damps further is not compared.
    dim : int, default=1
    n_points : int, default=2001
        Frequencies of the comparison.

    Returns
    -------
    Comparison

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5 and figure 3.6.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> compare(Gaussian(), Matern(nu=2.5), precision=0.1)
    Gaussian(length_scale=1.0) against Matern(length_scale=1.0, nu=2.5)
      band at precision 0.1  0 to 2.146
      worst factor           1.411
      at frequency           2.146
    """
    edge = _edge(kernel, precision, dim)
    omega = np.linspace(0.0, edge, n_points)
    first, second = _attenuation(kernel, omega, dim), _attenuation(other, omega, dim)
    distance = _distance(first, second, precision)
    worst = int(distance.argmax())
    return Comparison(
        kernel=kernel,
        other=other,
        precision=precision,
        edge=edge,
        worst_log_ratio=float(distance[worst]),
        at=float(omega[worst]),
        omega=omega,
        attenuation=first,
        other_attenuation=second,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence(PrintedReport):
    """The width that makes two kernels alike, from :func:`equivalent_width`."""

    kernel: Kernel
    """The second kernel with its new width."""

    scale: float
    """The factor by which its length scales were multiplied."""

    moment_scale: float
    """The factor that gives both filters the same curvature at frequency zero."""

    comparison: Comparison

    @property
    def worst_log_ratio(self) -> float:
        """How far the two still differ."""
        return self.comparison.worst_log_ratio

    @property
    def edge(self) -> float:
        """The band on which they were matched."""
        return self.comparison.edge

    def _title(self) -> str:
        return f"{self.comparison.kernel!r} is most like {self.kernel!r}"

    def _lines(self) -> list[tuple[str, object]]:
        return self.comparison._lines()


def equivalent_width(
    kernel: Kernel,
    other: Kernel,
    precision: float = 0.01,
    dim: int = 1,
    method: str = "minimax",
) -> Equivalence:
    r"""Return the second kernel with the width that makes it act like the first.

    Widening k by s turns its attenuation A(ω) into A(sω), so only one number is searched:

    .. math:: \min_s \max_{\omega : A_1(\omega) > \eta} |\ln A_1(\omega) - \ln A_2(s \omega)|

    It starts from the s that matches the second moments, the curvatures at frequency zero. A
    B-spline of degree q and scale s has that of a Gaussian of width
    :math:`s \sqrt{(q + 1)/12}`.

    Parameters
    ----------
    kernel : Kernel
        Stationary with a spectrum, the one to be imitated.
    other : Kernel
        Stationary with a spectrum, and with length scales: the one that imitates.
    precision : float, default=0.01
        Attenuations below this share are of no interest.
    dim : int, default=1
    method : {"minimax", "moments"}, default="minimax"
        Whether to search, or to keep the width of the second moments.

    Returns
    -------
    Equivalence

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5 and figure 3.6.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> match = equivalent_width(Gaussian(), Matern(nu=2.5), precision=0.1)
    >>> round(match.scale, 3), round(match.comparison.worst_factor, 3)
    (1.071, 1.149)
    """
    if method not in ("minimax", "moments"):
        raise ValueError(f"method must be 'minimax' or 'moments', got {method!r}.")
    edge = _edge(kernel, precision, dim)
    start = _moment_scale(kernel, other, dim)
    scale = start
    if method == "minimax":
        omega = np.linspace(0.0, edge, 1001)
        wanted = _attenuation(kernel, omega, dim)

        def worst(log_scale: float) -> float:
            values = _attenuation(other, float(np.exp(log_scale)) * omega, dim)
            distance = float(_distance(wanted, values, precision).max())
            return min(distance, 1e3)  # finite across a zero, so that the search can go on

        # Near the start the worst distance falls to its one minimum; far from it it may be cut off.
        grid = np.log(start) + np.linspace(-1.5, 1.5, 61)
        i = int(np.argmin([worst(s) for s in grid]))
        bounds = (grid[max(i - 1, 0)], grid[min(i + 1, 60)])
        found = optimize.minimize_scalar(
            worst, bounds=bounds, method="bounded", options={"xatol": 1e-10}
        )
        scale = float(np.exp(found.x))
    matched = widen(other, scale)
    return Equivalence(matched, scale, start, compare(kernel, matched, precision, dim))


def _edge(kernel: Kernel, precision: float, dim: int) -> float:
    if kernel.period is not None:
        raise ValueError("Filters are compared on the real line; a periodic kernel is not there.")
    edge = band_edge(kernel, precision, dim)
    if not 0.0 < edge < np.inf:
        raise ValueError(
            f"The spectrum of {kernel!r} has no band at precision {precision:g}: it has a pole at "
            "frequency zero, or does not fall."
        )
    return edge


def _attenuation(kernel: Kernel, omega: Array, dim: int) -> Array:
    values = along(kernel, np.append(0.0, omega), dim)
    return np.asarray(values[1:] / values[0])


def _distance(first: Array, second: Array, precision: float) -> Array:
    """Return the log ratio where the first passes; infinite where the second has nothing."""
    passes = first > precision * (1.0 - 1e-9)  # with the edge itself, where it is attained
    both = passes & (second > 0.0)
    distance = np.where(passes, np.inf, 0.0)
    distance[both] = np.abs(np.log(first[both]) - np.log(second[both]))
    return distance


def _moment_scale(kernel: Kernel, other: Kernel, dim: int) -> float:
    """Return the ratio of widths with equal curvature at zero, or of half-power frequencies."""
    first, second = _curvature(kernel, dim), _curvature(other, dim)
    if first > 0.0 and second > 0.0:
        return float(np.sqrt(first / second))
    return band_edge(other, 0.5, dim) / band_edge(kernel, 0.5, dim)


def _curvature(kernel: Kernel, dim: int) -> float:
    """Return minus the second derivative of the attenuation at zero, by extrapolated differences.

    The scale of differences is a hundredth of the half-power frequency: the two differences of
    A = 1 - c w^2 / 2 + O(w^4), at h and 2h, leave an error of O(h^4) relative to c.
    """
    h = 0.02 * band_edge(kernel, 0.5, dim)
    one, two = (1.0 - _attenuation(kernel, np.array([t * h]), dim)[0] for t in (1.0, 2.0))
    single, double = 2.0 * one / h**2, 2.0 * two / (4.0 * h**2)
    if not np.isfinite(single) or abs(single - double) > 0.1 * abs(single):
        return np.nan  # a cusp at zero: no second moment
    return float((4.0 * single - double) / 3.0)
