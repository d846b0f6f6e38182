"""Bounds on the error of a machine at points it has not seen, as diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer._typing import PointsLike, TargetsLike
from mercer.kernels.points import Array
from mercer.machines.base import KernelMachine

__all__ = ["RiskBound", "TubeRisk", "risk_bound", "tube_risk_bound"]


@dataclass(frozen=True)
class Terms:
    """The terms of a bound on an expectation."""

    empirical: float
    """The mean over the sample."""

    complexity: float
    """What the richness of the class of functions adds."""

    confidence: float
    """What the chance of an unlucky sample adds."""

    @property
    def value(self) -> float:
        """The bound."""
        return self.empirical + self.complexity + self.confidence


@dataclass(frozen=True)
class RiskBound(Terms):
    """The terms of a bound on the mean squared error; the empirical term is the sample's."""

    norm: float
    """The norm B of the function."""

    radius: float
    """The largest norm R of a point in feature space."""

    delta: float
    """The probability with which the bound may fail."""

    valid: bool
    r"""Whether targets lie within :math:`\pm BR`, as the theorem assumes."""

    vacuous: bool
    """Whether the bound is invalid, or at least what bounds on targets and functions give."""


def risk_bound(
    machine: KernelMachine, X: PointsLike, y: TargetsLike, *, delta: float = 0.05
) -> RiskBound:
    r"""Bound the expected squared error of a function in a ball of the kernel's space.

    With probability at least :math:`1 - \delta` over samples of size n, for all functions with
    :math:`\|f\| \le B`, points with :math:`k(x, x) \le R^2` and targets with :math:`|y| \le BR`,

    .. math:: E (y - f(x))^2 \le \frac1n \sum_i (y_i - f(x_i))^2
              + \frac{16 RB}{n} \bigl(B \sqrt{\operatorname{tr} K} + \|y\|\bigr)
              + 12 (RB)^2 \sqrt{\frac{\ln (2/\delta)}{2n}}

    B and R are read off the machine, although the theorem wants them before the sample: this is a
    diagnostic for comparing machines, and for samples of ordinary size it is vacuous, that is, more
    than :math:`4 (BR)^2`, which holds anyway. Nothing here chooses anything by it.

    Parameters
    ----------
    machine : fitted regressor
        A machine of one output without unpenalized functions (``null_space=Empty()``).
    X, y
        The sample it was fitted to.
    delta : float, default=0.05
        Probability with which the bound may fail.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, theorem 3.2, eq. (3.33) to (3.35),
    where the ball is that of the norm, not of its square.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer_research.diagnostics import risk_bound
    >>> from mercer.regularizers import Empty
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> y = np.sinc(X[:, 0])
    >>> bound = risk_bound(LSSVR(null_space=Empty()).fit(X, y), X, y)
    >>> bound.vacuous
    True
    """
    check_bounded(machine, delta)
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError("the bound is defined for one output; take the columns of y in turn.")
    n, f = len(y), machine.predict(X)
    norm = norm_of(machine, f)
    diagonal = machine.kernel_.diag(X)
    radius = float(np.sqrt(np.max(diagonal)))
    reach = radius * norm
    spread = norm * float(np.sqrt(np.sum(diagonal))) + float(np.linalg.norm(y))
    bound = RiskBound(
        empirical=float(np.mean((y - f) ** 2)),
        complexity=16.0 * reach / n * spread,
        confidence=12.0 * reach**2 * float(np.sqrt(np.log(2.0 / delta) / (2.0 * n))),
        norm=norm,
        radius=radius,
        delta=delta,
        valid=bool(np.all(np.abs(y) <= reach)),
        vacuous=False,
    )
    return replace(bound, vacuous=not (bound.valid and bound.value < 4.0 * reach**2))


def check_bounded(machine: KernelMachine, delta: float) -> None:
    """Refuse a machine, or a probability of failure, that a bound does not speak of."""
    check_is_fitted(machine)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}.")
    if machine.null_space_names_:
        raise ValueError(
            "the bound is for functions of the kernel alone; fit with null_space=Empty()."
        )


def norm_of(machine: KernelMachine, f: Array) -> float:
    """Return the norm of a machine whose values on its sample are `f`."""
    a = np.ravel(machine.dual_coef_)
    # The values at the support are K a there, so that a'Ka needs no matrix.
    return float(np.sqrt(max(float(a @ f[machine.support_]), 0.0)))


@dataclass(frozen=True)
class TubeRisk(Terms):
    r"""The terms of a bound on :math:`P(|y - f(x)| > \tau)`.

    The empirical term is what lies outside the tube of the sample.
    """

    halfwidth: float
    """Half-width t of the tube."""

    tau: float
    """The larger half-width that the bound is for."""

    delta: float
    """The probability with which the bound may fail."""

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which every probability satisfies."""
        return self.value >= 1.0


def tube_risk_bound(
    machine: KernelMachine, X: PointsLike, y: ArrayLike, tau: float, *, delta: float = 0.05
) -> TubeRisk:
    r"""Bound the probability that a new observation lies farther than tau from a function.

    With probability at least :math:`1 - \delta` over samples, for all functions of norm up to B and
    :math:`\tau > t`,

    .. math:: P(|y - f(x)| > \tau) \le \frac{1}{n(\tau - t)} \sum_i (|y_i - f(x_i)| - t)_+
              + \frac{4 B \sqrt{\operatorname{tr} K}}{n(\tau - t)}
              + 3 \sqrt{\frac{\ln(2/\delta)}{2n}}

    As of :func:`risk_bound`, the norm B is read off the machine although the theorem wants it
    beforehand: a diagnostic, and vacuous for most samples. For a statement to act on calibrate on
    data held out, :meth:`mercer.estimators.SupportVectorTube.calibrate`.

    Parameters
    ----------
    machine : fitted SupportVectorTube or NuSVR
        Without unpenalized functions (``null_space=Empty()``).
    X, y
        The sample it was fitted to.
    tau : float
        A half-width larger than that of the tube.
    delta : float, default=0.05
        Probability with which the bound may fail.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, theorem 3.3, eq. (3.71).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SupportVectorTube
    >>> from mercer_research.diagnostics import tube_risk_bound
    >>> from mercer.regularizers import Empty
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> tube = SupportVectorTube(mu=1.0, null_space=Empty()).fit(X, np.sinc(X[:, 0]))
    >>> bound = tube_risk_bound(tube, X, np.sinc(X[:, 0]), tau=2.0)
    >>> bound.vacuous, bound.empirical < 1e-6
    (False, True)
    """
    check_bounded(machine, delta)
    t = float(machine.tube_halfwidth_ if hasattr(machine, "tube_halfwidth_") else machine.epsilon_)
    if not tau > t:
        raise ValueError(f"tau={tau!r} must exceed the half-width of the tube, {t:.6g}.")
    y = np.asarray(y, dtype=np.float64)
    n, f = len(y), machine.predict(X)
    norm = norm_of(machine, f)
    outside = np.maximum(np.abs(y - f) - t, 0.0)
    trace = float(np.sum(machine.kernel_.diag(X)))
    return TubeRisk(
        empirical=float(np.sum(outside)) / (n * (tau - t)),
        complexity=4.0 * norm * float(np.sqrt(trace)) / (n * (tau - t)),
        confidence=3.0 * float(np.sqrt(np.log(2.0 / delta) / (2.0 * n))),
        halfwidth=t,
        tau=float(tau),
        delta=delta,
    )
