"""Covering numbers of a ball of functions on a sample, from its extent in feature space."""

from __future__ import annotations

import numpy as np

from mercer._params import check_nonnegative
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import SLACK, Covering
from mercer_research.covering.frames import MeasuredFrame

# Radii of balls that cover the leading directions, in units of what these leave.
FACTORS = (1.05, 1.2, 1.5, 2.0, 3.0, 5.0)


class _OnFrame(Covering):
    r"""Functions :math:`\langle w, \Phi(x)\rangle`, with a largest norm of w, on a sample."""

    def __init__(self, frame: MeasuredFrame, norm: float) -> None:
        check_nonnegative(norm=norm)
        self.frame, self.largest = frame, float(norm)
        self.data_dependent = frame.data_dependent
        where = "on these rows" if frame.data_dependent else "on the whole box"
        self.assumptions = (
            *frame.assumptions,
            Assumption(f"the largest values of the features were measured {where}", "checked"),
        )

    @property
    def norm(self) -> float:
        return self.largest * self.frame.size


class PrincipalCovering(_OnFrame):
    r"""Covering numbers of a ball of functions, from principal directions of a sample.

    The coordinates of w in k directions, in units of the axes :math:`c_i` of a
    :class:`MeasuredFrame`, fill an ellipsoid; a function is off by at most :math:`\rho_k` times the
    distance in these units and :math:`\Lambda\tau_k` for all other directions:

    .. math:: \ln N(\varepsilon) \le \min_k \sum_{i \le k} \ln(\Lambda c_i)
              + k \ln\Bigl(\frac2r + \frac{1}{\Lambda \min_{i \le k} c_i}\Bigr), \qquad
              r = \frac{\varepsilon - \Lambda\tau_k}{\rho_k} > 0

    It holds for the largest error on the rows that were measured: training rows and those to be
    predicted, or all points of a box (:meth:`MeasuredFrame.on_domain`).

    Parameters
    ----------
    frame : MeasuredFrame
    norm : float, default=1.0
        The largest norm :math:`\Lambda` of a function.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [0.7], [2.0]])
    >>> cover = PrincipalCovering(MeasuredFrame.from_gram(Gaussian()(X)))
    >>> round(cover.log_covering(0.1), 3), cover.head(0.1)
    (8.903, 3)
    """

    name = "principal directions of the sample"

    def __init__(self, frame: MeasuredFrame, norm: float = 1.0) -> None:
        super().__init__(frame, norm)
        with np.errstate(divide="ignore"):
            logs = np.log(frame.axes)
        # Directions in which nothing lies are of no use, nor are those after them.
        self.k = len(logs) if np.isfinite(logs).all() else int(np.argmax(~np.isfinite(logs)))
        self.log_volume = np.cumsum(logs[: self.k])
        self.shortest = np.minimum.accumulate(frame.axes[: self.k])

    def _by_head(self, radius: float) -> Array:
        """Return the bound for each number of directions, from 1 on."""
        count, size = np.arange(1, self.k + 1), self.largest
        left = radius - size * self.frame.rest[1 : self.k + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = left / self.frame.spread[1 : self.k + 1]
            bound = self.log_volume + count * np.log(2.0 * size / distance + 1.0 / self.shortest)
        return np.where(left > 0, bound, np.inf)

    def _log_covering(self, radius: float) -> float:
        return float(self._by_head(radius).min(initial=np.inf))

    def head(self, radius: float) -> int:
        """Return the number of directions that the bound resolves at a radius."""
        if radius >= self.norm * (1 - SLACK) or not self.k:
            return 0
        return int(np.argmin(self._by_head(radius))) + 1


class RadiiCovering(_OnFrame):
    r"""Covering numbers of a ball of functions, from several radii of a sample.

    The operator B that stretches the first j - 1 directions by radii :math:`r_t` and all others by
    :math:`r_j`, which is at least what they leave of any row, turns the rows into points of norm
    :math:`\rho` at most. Balls of radius :math:`R_j` that cover the image of the unit ball under B,
    :math:`n_j` of them, leave a ball of functions on points of norm 1,

    .. math:: \ln N(\varepsilon) \le \min_j\; \ln n_j
              + \ln N_1\bigl(\varepsilon / (\Lambda \rho R_j)\bigr) .

    With the inequality for diagonal operators, :math:`R_j = 6 r_j` and
    :math:`n_j = \lceil \prod_{t \le j} r_t/r_j \rceil`. By volumes, :math:`R_j = f r_j` with any
    f > 1 and :math:`\ln n_j = \sum_{t<j} \ln r_t + (j-1)\ln(2/(r_j\sqrt{f^2-1}) + 1/r_{j-1})`; the
    least of both and of a few f is returned.

    Parameters
    ----------
    frame : MeasuredFrame
    ball : Covering
        Covering numbers :math:`N_1` of the functions :math:`\langle w, z_s\rangle` with
        :math:`\|w\| \le 1` on as many points with :math:`\|z_s\| \le 1` as rows were measured.
    norm : float, default=1.0
        The largest norm :math:`\Lambda` of a function.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.41)-(8.45), corrected: the
    remainder is orthogonal to the first directions, the radii of a box need :math:`\rho`, n is
    rounded up, and the first factor does not fall below :math:`r_j`.
    """

    name = "several radii of the sample"

    def __init__(self, frame: MeasuredFrame, ball: Covering, norm: float = 1.0) -> None:
        super().__init__(frame, norm)
        self.ball = ball
        self.assumptions += ball.assumptions
        # (directions, ln n, radius) for each way to cover the leading directions.
        ways = [(0, 0.0, frame.size)]
        for t in range(1, len(frame.axes) + 1):
            rest = float(frame.rest[t])
            if rest <= 0:
                break
            radii = np.sort(np.maximum(frame.axes[:t], rest))[::-1]
            outer = rest * float(frame.outer_spread[t])
            product = float(np.log(radii / rest).sum())
            # Rounded up: n + 1 is enough, and exact where n is small.
            rounded = np.log(np.ceil(np.exp(product) * (1 - SLACK))) if product < 30 else product
            ways.append((t, float(max(rounded, product)), 6.0 * outer))
            volume = float(np.log(radii).sum())
            for f in FACTORS:
                scale = 2.0 / (rest * np.sqrt(f * f - 1)) + 1.0 / radii[-1]
                ways.append((t, volume + t * float(np.log(scale)), f * outer))
        self.ways = tuple(ways)

    def _best(self, radius: float) -> tuple[float, int]:
        found = (np.inf, 0)
        for directions, log_n, size in self.ways:
            # What covers the leading directions alone may cost more than all the best so far.
            if log_n < found[0]:
                total = log_n + self.ball.log_covering(radius / (self.largest * size))
                found = min(found, (total, directions))
        return found

    def _log_covering(self, radius: float) -> float:
        return self._best(radius)[0]

    def head(self, radius: float) -> int:
        """Return the number of directions that the bound resolves at a radius."""
        return 0 if radius >= self.norm * (1 - SLACK) else self._best(radius)[1]
