r"""What covering numbers say of a fitted machine: how many functions of its class differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._params import check_integer, check_positive
from mercer._typing import PointsLike, TargetsLike
from mercer.gram.make import make
from mercer.inspect.bands import widen, widths
from mercer.kernels import Gaussian, Matern
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.risk_bounds import Bound
from mercer.smoothing.pairs import some_rows
from mercer_research.covering.ball import KernelBall
from mercer_research.covering.base import Best, Covering
from mercer_research.covering.frames import MeasuredFrame
from mercer_research.covering.hilbert import Cube, HilbertBall
from mercer_research.covering.margins import margin_bound, margin_errors
from mercer_research.covering.sample import PrincipalCovering
from mercer_research.covering.widths import NoWidthError, equal_capacity
from mercer_research.risk_bounds.all_bounds import STOPPED, known_without
from mercer_research.risk_bounds.assumptions import audit
from mercer_research.risk_bounds.capacity import MAX_ROWS_DECOMPOSED, ClassSize, machine_size
from mercer_research.risk_bounds.concentration import check_margins
from mercer_research.risk_bounds.fitted_parts import chosen, innermost
from mercer_research.risk_bounds.weight_vector import weights_of

__all__ = [
    "CoveringReport",
    "Matched",
    "class_covering",
    "covering_bound",
    "covering_report",
    "matched_kernel",
]

# Rows up to which the frame of a kernel matrix is held, directions of feature space beyond, rows
# that two kernels are compared on, and kernel values kept in memory.
HELD, DIRECTIONS, COMPARED, CACHE = 20_000, 256, 150, 64 * 2**20

# Margins of the bound, 2^(-j/2), the j-th with the part 1/((j + 1)(j + 2)) of delta.
MARGINS = 16


@dataclass(frozen=True, eq=False)
class CoveringReport:
    """Covering numbers of the class of a fitted machine; see :func:`covering_report`."""

    size: ClassSize
    """Eigenvalues, norm, effective rank and fat-shattering dimension."""

    covering: Covering

    radii: Array
    """Radii at which the class is covered, descending."""

    log_covering: Array
    """Upper bounds on the logarithm of the number of balls of these radii."""

    log_lower: Array
    """Lower bounds; 0 where none is known."""

    active: tuple[str, ...]
    """Which argument gives the upper bound at each radius."""

    matched: Matched | None
    """Another kernel that is as rich on the sample."""

    bound: Bound | None
    """On the error rate of new rows, judged by the audit; None for a regressor."""

    @property
    def log_covering_at_precision(self) -> float:
        """Logarithm of how many functions of the class differ by what matters, at most."""
        return self.covering.log_covering(self.size.precision)


def covering_report(
    model: Any,
    X: PointsLike,
    y: TargetsLike,
    *,
    delta: float = 0.05,
    against: Kernel | None = None,
    n_radii: int = 60,
) -> CoveringReport:
    r"""Count the functions of a fitted machine's class that differ on its sample.

    :math:`\ln N(\varepsilon)` of :math:`\{f : \|f\|_k \le \Lambda\}` against the radius, the
    kernel of another family that is as rich, and the bound on the error rate that follows, beside
    what :func:`mercer_research.risk_bounds.capacity_report` says of the same machine.

    Parameters
    ----------
    model : fitted machine
        Or a pipeline or search that ends in one; one function of a kernel.
    X, y : training rows and their targets
    delta : float, default=0.05
        Probability that the bound fails.
    against : Kernel, optional
        A kernel to compare with, at the width that makes it as rich; by default a Matérn kernel for
        a Gaussian one, and a Gaussian otherwise.
    n_radii : int, default=60
        Radii of the curve, from the largest value of a function to a hundredth of the precision.

    Returns
    -------
    CoveringReport
        :class:`mercer_research.plotting.CoveringDisplay` draws it.

    Examples
    --------
    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> report = covering_report(SVC(gamma=0.5).fit(X, X[:, 0] > 0), X, X[:, 0] > 0)
    >>> round(report.log_covering_at_precision, 1), report.bound.vacuous
    (92.6, True)
    """
    check_integer("n_radii", n_radii, 2)
    y, machine = np.asarray(y), innermost(model, X)
    classifies = bool(is_classifier(chosen(model)))
    size = machine_size(machine.fitted, machine.X, y, classifies=classifies)
    if size is None:
        raise ValueError(
            f"{type(machine.fitted).__name__} is no single function of a kernel, or is 0 everywhere"
        )
    Z = np.asarray(machine.X, dtype=float)
    covering = class_covering(size.kernel, Z, size.norm)
    top = size.norm * size.size
    radii = np.geomspace(top, min(size.precision / 100, top / 100), n_radii)
    lower = getattr(covering, "log_lower", lambda radius: 0.0)
    bound = None
    if classifies:
        signs = np.where(y == chosen(model).classes_[1], 1.0, -1.0)
        found = audit(model, X, y)
        margins = weights_of(machine.fitted).margins(Z, signs)
        # Settings that a search chose are paid for.
        paid = {"settings"} if np.isfinite(found.n_settings) else set()
        bound = covering_bound(margins, delta=delta / max(found.n_settings if paid else 1.0, 1.0))
        bound = replace(bound, trivial=known_without(y, None))
        bound = found.judge(bound, "training", free=STOPPED | paid)
    return CoveringReport(
        size=size,
        covering=covering,
        radii=radii,
        log_covering=np.array([covering.log_covering(radius) for radius in radii]),
        log_lower=np.array([lower(radius) for radius in radii]),
        active=tuple(covering.active(radius) for radius in radii),
        matched=_match(size, Z, against),
        bound=bound,
    )


def covering_bound(margins: Array, *, delta: float = 0.05) -> Bound:
    r"""Bound the error rate of a machine by covering numbers, at the best of 16 margins.

    Parameters
    ----------
    margins : (m,) array
        :math:`y f(x) / (\|f\| \|\phi(x)\|)` of the training rows.
    delta : float, default=0.05
        Probability that the bound fails; each margin has its part.

    Examples
    --------
    >>> round(covering_bound(np.full(100_000, 0.9)).value, 3)
    0.003
    """

    def unit(n_points: int) -> Best:
        # The class of all machines of norm 1 on points of length 1: nothing is measured.
        return Best([HilbertBall(n_points), Cube(n_points)])

    margins = check_margins(margins)
    bounds = [
        margin_bound(
            unit,
            rho,
            len(margins),
            delta / ((j + 1) * (j + 2)),
            empirical=margin_errors(np.ones(len(margins)), margins, rho),
        )
        for j, rho in enumerate(2.0 ** (-0.5 * np.arange(MARGINS)))
    ]
    return min(bounds, key=lambda bound: bound.value)


def class_covering(kernel: Kernel, X: PointsLike, norm: float) -> Covering:
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
    if n <= MAX_ROWS_DECOMPOSED:
        return KernelBall.from_gram(np.asarray(kernel(X), dtype=float), norm=norm)
    if n <= HELD:
        K = make(kernel, X, kind="tiled", cache_bytes=CACHE)
        return KernelBall.from_gram(K, norm=norm, rank=DIRECTIONS)
    frame = MeasuredFrame.from_data(kernel, X, DIRECTIONS)
    largest = norm * frame.size
    return Best([PrincipalCovering(frame, norm), HilbertBall(n, largest), Cube(n, largest)])


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
    kernel: Kernel, other: Kernel, X: PointsLike, *, norm: float, precision: float
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
        As in :func:`mercer_research.risk_bounds.capacity.class_size`.

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
    check_positive(norm=norm, precision=precision)
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


def _match(size: ClassSize, Z: Array, against: Kernel | None) -> Matched | None:
    if against is None:
        # Started at the typical distance of two rows, whatever the units.
        some = Z[some_rows(len(Z), 200)]
        scale = float(np.sqrt(2 * np.sum(some.var(axis=0)))) or 1.0
        against = Matern(scale, nu=1.5) if isinstance(size.kernel, Gaussian) else Gaussian(scale)
    return matched_kernel(size.kernel, against, Z, norm=size.norm, precision=size.precision)
