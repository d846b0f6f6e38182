"""Kernels given by their power spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer._params import check_integer
from mercer.kernels.base import Evaluator
from mercer.kernels.points import Array, Data, squared_norms
from mercer.kernels.profiled import within_dimension
from mercer.kernels.stationary import LengthScale, Radial


@dataclass(eq=False)
class BandLimited(Radial):
    r"""The kernel of the functions without frequencies above :math:`1/l`, all equally penalized.

    .. math:: k(x, z) = \Gamma(\tfrac d2 + 1) (2/a)^{d/2} J_{d/2}(a), \qquad a = |x - z|/l

    In one dimension :math:`\sin(a)/a`. There is no smoothing inside the band: like the Dirichlet
    kernel it interpolates noise with waves of the highest frequency allowed.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        Reciprocal of the highest (angular) frequency.
    dim : int, default=1
        The dimension d of the ball of frequencies. The kernel remains positive definite for
        points with fewer features.

    Examples
    --------
    >>> BandLimited(1.0 / np.pi)([[0.0]], [[0.0], [0.5], [1.0]]).round(4) + 0.0
    array([[1.    , 0.6366, 0.    ]])
    """

    length_scale: LengthScale = 1.0
    dim: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("dim", self.dim, 1)

    def against(self, Z: Data) -> Evaluator:
        return super().against(within_dimension(Z, self.dim))

    def _profile(self, s: Array) -> None:
        s[...] = special.hyp0f1(0.5 * self.dim + 1.0, -0.25 * s.astype(np.float64))

    def _slope(self, s: Array) -> Array:
        half = 0.5 * self.dim
        slope = special.hyp0f1(half + 2.0, -0.25 * s.astype(np.float64)) / (2.0 * half + 2.0)
        return np.asarray(slope.astype(s.dtype))

    def _unit_spectrum(self, omega: Array) -> Array:
        # The projection of the uniform distribution on a ball.
        d, rest = omega.shape[1], 0.5 * (self.dim - omega.shape[1])
        if rest < 0.0:
            raise ValueError(f"This kernel is not positive definite in {d} dimensions: set dim.")
        constant = (
            2.0 ** (0.5 * d) * special.gamma(0.5 * self.dim + 1.0) / special.gamma(rest + 1.0)
        )
        inside = 1.0 - squared_norms(omega)
        return np.where(inside >= 0.0, constant * np.maximum(inside, 0.0) ** rest, 0.0)
