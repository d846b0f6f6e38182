"""Catalogue of the kernels: formula, domain, and the penalty that each of them stands for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.anova import ANOVA, Additive, Tensor
from mercer.kernels.base import Kernel
from mercer.kernels.callable import Callable, Pairwise
from mercer.kernels.categorical import Categorical
from mercer.kernels.compact import BSpline, RadialBSpline, Wendland
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.invariant import Breaks, Invariant, LocalityImproved, Symmetrized, Transformed
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import Cauchy, DampedOscillator, InverseMultiquadric, Multiquadric
from mercer.kernels.named import ALIASES, FREE, NAMES
from mercer.kernels.periodic import (
    Dirichlet,
    Periodic,
    PeriodicGaussian,
    PeriodicSpline,
    Periodized,
)
from mercer.kernels.polyharmonic import Polyharmonic, ThinPlate
from mercer.kernels.power_series import PowerSeries
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.spectral import BandLimited, FromSpectrum, SpectralMixture
from mercer.kernels.spline import Haar, Spline
from mercer.kernels.structured import SetKernel, StringSpectrum, Subsequence


def rows() -> list[tuple[Kernel, str, str]]:
    """Return an example of each kernel, its formula, and the penalty on a function.

    Formulas are in x and z, u = x - z, r = |u|, the length scale l and the dimension d.
    """
    return [
        (
            Gaussian(),
            "exp(-|u/l|^2 / 2)",
            "derivatives of all orders; frequencies by exp(l^2 w^2 / 2)",
        ),
        (Laplacian(), "exp(-sum_j |u_j| / l_j)", "first derivatives, mixed over the features"),
        (
            Matern(),
            "(a r)^nu K_nu(a r), a = sqrt(2 nu) / l",
            "derivatives up to the order nu + d/2",
        ),
        (RationalQuadratic(), "(1 + |u/l|^2 / (2 alpha))^-alpha", "frequencies exponentially"),
        (PoweredExponential(), "exp(-|u/l|^e)", "frequencies by |w|^(d + e), for 0 < e < 2"),
        (Cauchy(), "(1 + |u/l|^2)^-(d + 1)/2", "frequencies by exp(l |w|)"),
        (DampedOscillator(), "1 / (1 + |u/l|^2)", "frequencies exponentially, in every dimension"),
        (InverseMultiquadric(), "(1 + |u/l|^2)^-e", "frequencies exponentially"),
        (BSpline(), "prod_j B_q(u_j / l_j)", "frequencies by 1 / sinc^(q + 1)"),
        (RadialBSpline(), "common volume of two balls", "frequencies by |w|^(d + 1)"),
        (
            Wendland(),
            "(1 - r)^e polynomial(r), r < 1",
            "derivatives up to s + (d + 1)/2",
        ),
        (Multiquadric(), "-sqrt(1 + |u/l|^2)", "frequencies exponentially; constants are free"),
        (Polyharmonic(), "+-r^e, or r^e ln r for even e", "frequencies by |w|^(d + e)"),
        (
            ThinPlate(),
            "c r^(2m - d) [ln r]",
            "all derivatives of order m; polynomials below m are free",
        ),
        (BandLimited(), "sin(u/l) / (u/l)", "frequencies up to 1/l alike; there are no others"),
        (
            SpectralMixture([1.0], [1.0], [0.1]),
            "sum of cosines under Gaussians",
            "frequencies outside of given bands",
        ),
        (FromSpectrum(([0.0, 1.0], [1.0, 0.0])), "Fourier transform of P", "frequencies by 1 / P"),
        (
            PeriodicGaussian(),
            "sum_n exp(-n^2 s^2 / 2) cos n t",
            "the n-th harmonic by exp(n^2 s^2 / 2)",
        ),
        (Periodic(), "exp(-2 sin^2(pi u / p) / l^2)", "the n-th harmonic by 1 / I_n(1 / l^2)"),
        (
            Dirichlet(),
            "sin((2N + 1) t/2) / sin(t/2)",
            "harmonics up to N alike; there are no others",
        ),
        (
            PeriodicSpline(),
            "Bernoulli's polynomial of (u mod p) / p",
            "the n-th harmonic by n^2m: a derivative; constants are free",
        ),
        (Periodized(Gaussian()), "sum_j k(u + j p)", "harmonics as k penalizes frequencies"),
        (
            Spline(),
            "int (x - v)_+^(m-1) (z - v)_+^(m-1) dv",
            "|f^(m)|^2; polynomials below m are free",
        ),
        (Haar(), "by shared binary digits", "steps, the more the finer"),
        (
            Breaks([0.0]),
            "sum_q sign(x - t_q) sign(z - t_q)",
            "squared heights of jumps at given places",
        ),
        (Linear(), "<x, z>", "the squared slope"),
        (Polynomial(), "(gamma <x, z> + c)^q", "monomials, by reciprocal multinomials"),
        (PowerSeries(), "sum_i a_i k(x, z)^i", "the degree i by 1 / a_i"),
        (Sigmoid(), "tanh(gamma <x, z> + c)", "nothing well defined: it is not positive definite"),
        (Additive(Gaussian()), "sum_j k(x_j, z_j)", "interactions: there are none"),
        (Tensor(Matern()), "prod_j k(x_j, z_j)", "mixed derivatives"),
        (ANOVA(Gaussian()), "sum over few features of products", "interactions of more features"),
        (
            Symmetrized(Gaussian()),
            "average over x -> 2c - x",
            "functions that are not even, or odd",
        ),
        (Invariant(Gaussian(), [np.eye(2)]), "average over a group", "functions the group changes"),
        (Transformed(Gaussian(), np.log), "k(phi(x), phi(z))", "as k does, in other coordinates"),
        (
            LocalityImproved((3,)),
            "mean over windows of k^d, to a power",
            "products of distant pixels",
        ),
        (StringSpectrum(), "common pieces of n symbols", "weights of pieces"),
        (Subsequence(), "common pieces with gaps", "weights of pieces"),
        (SetKernel(Gaussian()), "mean over pairs of elements", "as k does, for means over sets"),
        (Categorical(), "1 if x = z, else 0", "squared values at categories"),
        (Precomputed(), "an entry of the given matrix", "what the matrix says"),
        (Callable(np.dot), "a function of two sets of points", "what the function says"),
        (Pairwise(np.dot), "a function of two points", "what the function says"),
    ]


class Entry(NamedTuple):
    """An entry of the catalogue: the properties of a kernel."""

    name: str
    """What to write for it where a kernel is given by name; empty if it needs parameters."""

    kernel: type[Kernel]
    formula: str
    domain: str
    order: int
    """0 if positive definite, q if conditionally of this order (with the default parameters)."""

    spectrum: str
    """``continuous``, ``discrete`` on a circle, or empty."""

    compact: bool
    penalizes: str


class Catalogue(list[Entry]):
    """Entries that print as a table."""

    def __str__(self) -> str:
        lines = []
        for entry in self:
            facts = [entry.domain, f"order {entry.order}"]
            facts += [f"{entry.spectrum} spectrum"] if entry.spectrum else []
            facts += ["compact support"] if entry.compact else []
            lines.append(f"{entry.kernel.__name__:<20} {entry.formula:<40} {entry.name}".rstrip())
            lines.append(f"    {', '.join(facts)}; penalizes {entry.penalizes}")
        return "\n".join(lines)


def catalogue() -> Catalogue:
    """Return a table of all kernels of the library.

    Returns
    -------
    list of Entry
        Which prints as a table of two lines for each: class, formula and name, then where it
        lives, what is known of it, and what it penalizes.

    Examples
    --------
    >>> print(catalogue()[0].kernel.__name__, catalogue()[0].formula)
    Gaussian exp(-|u/l|^2 / 2)
    >>> [entry.name for entry in catalogue() if entry.order > 0 and entry.name]
    ['multiquadric', 'polyharmonic', 'thin_plate']
    """
    names = {type(build()): name for name, build in FREE.items()}
    names |= {
        type(build(1.0, 3, 0.0)): name for name, build in NAMES.items() if name not in ALIASES
    }
    return Catalogue(
        Entry(
            names.get(type(kernel), ""),
            type(kernel),
            formula,
            kernel.domain,
            kernel.order,
            _spectrum(kernel),
            kernel.support is not None,
            penalizes,
        )
        for kernel, formula, penalizes in rows()
    )


def _spectrum(kernel: Kernel) -> str:
    if kernel.period is not None:
        return "discrete"
    dim = int(getattr(kernel, "dim", 1))
    try:
        kernel.spectrum(np.ones((1, dim)) if dim > 1 else np.ones(1), dim)
    except NotImplementedError:
        return ""
    return "continuous"
