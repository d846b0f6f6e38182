r"""Solution paths: exact where they are piecewise linear or rational, warm starts elsewhere.

A *solution path* is the map from a hyperparameter to the coefficients that training gives
(K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 7.1). It is rational in C
for the squared loss, piecewise linear for hinge, tube and quantiles, piecewise rational for the
squared hinge and Huber's losses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.losses.base import DualTerms, QuadraticDualLoss
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.subproblems import prepare
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.smoothing.eigendecomposition import Spectral
from mercer.solvers import Auto, Solution, Solver, Status, minimize
from mercer.solvers.certify import snap_to_box
from mercer_research.selection.parametric_qp import Affine, ParametricQP, Piece
from mercer_research.selection.rational_path import RationalPath, Segment, kinds_at

__all__ = ["SVMPath", "SolutionPath", "solution_path", "svm_path"]

# Tolerance of the solution from which a path starts; its active set is then made exact.
START = 1e-7
# Values of the parameter by which lines are drawn, and the one at which they are checked.
LINES = {"quantile": (0.25, 0.75, 0.4)}


class SolutionPath(ABC):
    """The coefficients of a machine for every value of one hyperparameter.

    Attributes
    ----------
    parameter : str
        The hyperparameter: ``"C"``, ``"epsilon"``, ``"quantile"``.
    domain : tuple of float
        Its smallest and largest value.
    breakpoints : (m,) array
        Where the active set changes, inside the domain; none for the squared loss.
    is_piecewise_linear, is_piecewise_rational : bool
        How coefficients depend on the hyperparameter between breakpoints.
    perturbation : float
        By how much, relative to their size, linear costs were moved apart to break ties; zero where
        the path is exact in floating point.
    jumps : list of tuple
        Intervals on which no exact step could be taken and the piece before goes on.
    """

    parameter: str
    domain: tuple[float, float]
    breakpoints: Array
    is_piecewise_linear: bool
    is_piecewise_rational: bool
    perturbation: float = 0.0
    jumps: Sequence[tuple[float, float]] = ()

    def __init__(self, risk_at: Callable[[float], RegularizedRisk]) -> None:
        self.risk_at = risk_at

    def coef(self, t: float) -> tuple[Array, Array]:
        """Return the expansion and the unpenalized coefficients at ``t``, (n,) and (q,)."""
        return self._coef(self._inside(t))

    def dcoef(self, t: float) -> tuple[Array, Array]:
        """Return their derivatives in the hyperparameter; from the right at a breakpoint."""
        return self._dcoef(self._inside(t))

    def certificate(self, t: float) -> Certificate:
        """Measure objective, duality gap and violations at ``t``, from scratch."""
        return self.risk_at(t).certificate(*self.coef(t))

    @property
    def pieces(self) -> Array:
        """Ends of the pieces: the domain and the breakpoints between, (m + 2,)."""
        return np.concatenate([[self.domain[0]], self.breakpoints, [self.domain[1]]])

    def _inside(self, t: float) -> float:
        low, high = self.domain
        if not low <= t <= high:
            raise ValueError(
                f"{self.parameter} = {t!r} is outside the path, which was followed from {low:g} to "
                f"{high:g}; follow it over a larger domain."
            )
        return float(t)

    @abstractmethod
    def _coef(self, t: float) -> tuple[Array, Array]: ...

    @abstractmethod
    def _dcoef(self, t: float) -> tuple[Array, Array]: ...


class _Rational(SolutionPath):
    """The rational path of the squared loss, from an eigendecomposition, without breakpoints."""

    is_piecewise_linear, is_piecewise_rational = False, True

    def __init__(
        self, risk_at: Callable[[float], RegularizedRisk], domain: tuple[float, float]
    ) -> None:
        super().__init__(risk_at)
        risk = risk_at(1.0)
        self.parameter, self.domain, self.breakpoints = "C", domain, np.empty(0)
        self._y, self._spectral = risk.y, Spectral(risk.K.dense(), risk.B, risk.c)

    def _coef(self, t: float) -> tuple[Array, Array]:
        return self._spectral.coefficients(self._y, t)

    def _dcoef(self, t: float) -> tuple[Array, Array]:
        # With Q = (K + S/C)^-1 off B, a = Q y and dQ/dC = Q S Q / C^2 where S holds 1/weights: the
        # derivative is the machine of the residuals S a / C, divided by C.
        a, _ = self._coef(t)
        weights = self._spectral.weights
        residuals = np.divide(a, t * weights, out=np.zeros_like(a), where=weights > 0)
        da, db = self._spectral.coefficients(residuals, t)
        return da / t, db / t


class _PiecewiseLinear(SolutionPath):
    """Losses without curvature: active sets between which all is affine."""

    is_piecewise_linear, is_piecewise_rational = True, True

    def __init__(
        self,
        risk_at: Callable[[float], RegularizedRisk],
        parameter: str,
        domain: tuple[float, float],
        program: ParametricQP,
        followed: tuple[list[Piece], float, list[tuple[float, float]]],
    ) -> None:
        super().__init__(risk_at)
        self.parameter, self.domain, self._program = parameter, domain, program
        pieces, self.perturbation, self.jumps = followed
        self._backwards = pieces[0].start > pieces[-1].end
        self._pieces = pieces[::-1] if self._backwards else pieces
        self._starts = np.array([min(p.start, p.end) for p in self._pieces])
        self.breakpoints = np.unique(self._starts[1:])

    def _piece(self, t: float) -> Piece:
        return self._pieces[max(int(np.searchsorted(self._starts, t, side="right")) - 1, 0)]

    def _coef(self, t: float) -> tuple[Array, Array]:
        a, b = self._program.coefficients(self._piece(t), t)
        return snap_to_box(self.risk_at(t), a), b

    def _dcoef(self, t: float) -> tuple[Array, Array]:
        return self._program.slopes(self._piece(t))


class _PiecewiseRational(SolutionPath):
    """Losses with curvature: active sets, and a linear system at each value."""

    is_piecewise_linear, is_piecewise_rational = False, True

    def __init__(
        self,
        risk_at: Callable[[float], RegularizedRisk],
        domain: tuple[float, float],
        curved: RationalPath,
        segments: list[Segment],
    ) -> None:
        super().__init__(risk_at)
        self.parameter, self.domain = "C", domain
        self._curved, self._segments = curved, segments
        self.breakpoints = np.array([s.start for s in segments[1:]])

    def _found(self, t: float) -> tuple[Array, Array, Array, Array]:
        return self._curved.correct(kinds_at(self._segments, t), t)[1]

    def _coef(self, t: float) -> tuple[Array, Array]:
        a, b, _, _ = self._found(t)
        terms = self._curved.terms
        return np.clip(a, t * terms.lower, t * terms.upper), b

    def _dcoef(self, t: float) -> tuple[Array, Array]:
        _, _, da, db = self._found(t)
        return da / t, db / t


def solution_path(
    risk: RegularizedRisk,
    domain: tuple[float, float] = (1e-3, 1e3),
    *,
    parameter: str = "C",
) -> SolutionPath:
    r"""Return the solutions of a problem for all values of one hyperparameter, exactly.

    For ``"C"`` the weights of the problem are multiplied by C, so they should be those of C = 1.
    The tube's width ``"epsilon"`` and the ``"quantile"`` are parameters of the loss.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem, its loss with quadratic dual (all but the logistic loss and powers).
    domain : tuple of float
        From where to where; both ends positive, for ``"epsilon"`` the first may be zero.
    parameter : str, default="C"
        The hyperparameter, ``"C"`` or one of the loss in which its dual is affine.

    Returns
    -------
    SolutionPath
        Coefficients, derivatives and breakpoints.

    References
    ----------
    T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, The entire regularization path for the support
    vector machine, JMLR 5 (2004); K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005,
    definition 7.1 and section 7.2.2 (where the squared hinge is called piecewise linear: it is
    piecewise rational).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer_research.selection.paths import solution_path
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> risk = RegularizedRisk(
    ...     Hinge(), Dense(np.outer(x, x)), np.sign(x), np.ones(4), np.ones((4, 1))
    ... )
    >>> path = solution_path(risk, (0.01, 100.0))
    >>> path.is_piecewise_linear, path.coef(10.0)[0].round(6)
    (True, array([ 0. , -0.5,  0.5,  0. ]))
    """
    low, high = map(float, domain)
    least = 0.0 if parameter != "C" else np.nextafter(0.0, 1.0)
    if not (least <= low < high < np.inf):
        raise ValueError(
            f"domain must be two numbers 0 < low < high (low = 0 only for a tube), got {domain!r}"
        )
    loss, c, K = risk.loss, risk.c, risk.K

    def risk_at(t: float) -> RegularizedRisk:
        if parameter == "C":
            return RegularizedRisk(loss, K, risk.y, t * c, risk.B, risk.d)
        return RegularizedRisk(_with(loss, parameter, t), K, risk.y, c, risk.B, risk.d)

    middle = risk_at(float(np.sqrt(low * high)) if low else 0.5 * high)
    if not isinstance(middle.terms, DualTerms):
        raise ValueError(
            f"the dual of {type(loss).__name__} is not quadratic, so its path has no pieces; use "
            "svm_path, which solves at the values given"
        )
    terms = middle.terms
    if np.any(terms.q_pos > 0) or np.any(terms.q_neg > 0):
        if parameter != "C":
            raise ValueError(
                f"{type(loss).__name__} is curved: only its path in C is known; solve at the "
                f"values of {parameter} that you need"
            )
        unbounded = np.all(np.isinf(terms.lower[c > 0]) & np.isinf(terms.upper[c > 0]))
        if unbounded and _is_quadratic(terms) and not np.any(risk.d):
            return _Rational(risk_at, (low, high))
        start = minimize(risk_at(low), Auto(tol=START))
        curved = RationalPath(K.dense(), risk.B, risk.d, risk_at(1.0).terms)  # type: ignore[arg-type]
        kinds = curved.kinds_of(start.a, low)
        return _PiecewiseRational(risk_at, (low, high), curved, curved.trace(kinds, low, high))
    program = _program(risk_at, parameter, risk)
    # Few coefficients are free where C is small or the tube wide: that is where to begin.
    begin, end = (low, high) if parameter == "C" else (high, low)
    start = minimize(risk_at(begin), Auto(tol=START * program.scale))
    followed = program.follow(start.a, start.b, begin, end)
    return _PiecewiseLinear(risk_at, parameter, (low, high), program, followed)


def _is_quadratic(terms: DualTerms) -> bool:
    """Return whether every loss is a single parabola."""
    same = np.array_equal(terms.q_pos, terms.q_neg)
    return same and bool(np.array_equal(terms.p_pos, terms.p_neg))


def _with(loss: Any, parameter: str, t: float) -> QuadraticDualLoss:
    """Return the loss with one of its parameters changed."""
    if parameter not in loss.get_params():
        raise ValueError(
            f"{type(loss).__name__} has no parameter {parameter!r}; it has "
            f"{sorted(loss.get_params())}, and there is 'C'."
        )
    return replace(loss, **{parameter: t})  # type: ignore[no-any-return]


def _program(
    risk_at: Callable[[float], RegularizedRisk], parameter: str, risk: RegularizedRisk
) -> ParametricQP:
    """Read the lines of the dual off two values of the parameter, and check them at a third."""
    s, t, between = LINES.get(parameter, (1.0, 2.0, 1.25))
    first, second, third = (risk_at(value).terms for value in (s, t, between))
    lines = {}
    for name in ("p_pos", "p_neg", "lower", "upper"):
        line = Affine.through(s, getattr(first, name), t, getattr(second, name))
        expected = getattr(third, name)
        if not np.allclose(line(between), expected, rtol=1e-12, atol=1e-12):
            raise ValueError(f"the dual is not affine in {parameter!r}; use svm_path or a grid")
        lines[name] = line
    # A coefficient that cannot leave zero on a side has no line on that side.
    for side, bound, far in (("p_pos", "upper", np.inf), ("p_neg", "lower", -np.inf)):
        none = (lines[bound].at == 0) & (lines[bound].slope == 0)
        line = lines[side]
        lines[side] = Affine(np.where(none, far, line.at), np.where(none, 0.0, line.slope))
    d = Affine(risk.d, np.zeros(risk.q))
    return ParametricQP(K=risk.K.dense().astype(np.float64, copy=False), B=risk.B, d=d, **lines)


@dataclass(frozen=True, eq=False)
class SVMPath:
    """The machines along a path of C, from :func:`svm_path`; a row for each value, ascending.

    Problems of a machine of several classes follow each other in the columns.
    """

    Cs: Array
    """Values of C, ascending, (k,)."""

    coefs: Array
    """Expansion coefficients, (k, n) or the samples of all problems one after the other."""

    intercepts: Array
    """Unpenalized coefficients, (k, q)."""

    objectives: Array
    """Values of the regularized risk, (k,)."""

    gaps: Array
    """Duality gaps, (k,)."""

    n_support: NDArray[np.intp]
    """Non-zero coefficients, (k,)."""

    statuses: list[Status]
    """How the solver ended at each value."""

    exact: bool
    """Whether coefficients are those of exact paths."""

    paths: list[SolutionPath]
    """The exact paths, one a problem; empty if there are none."""


def svm_path(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    Cs: ArrayLike | None = None,
    *,
    sample_weight: WeightsLike = None,
    exact: bool | str = "auto",
) -> SVMPath:
    r"""Solve a machine along a path of C with warm starts.

    Machines with hinge, tube or quantile loss are followed exactly, from breakpoint to breakpoint,
    while that costs less than solving at all values; others are solved at the values given, warm.

    Parameters
    ----------
    estimator : KernelMachine
        The machine; its own ``C`` plays no part.
    X, y : array-like
        The sample.
    Cs : (k,) array-like, optional
        Values of C; by default 25 from 1e-3 to 1e3.
    sample_weight : (n,) array-like, optional
        Weights of the samples.
    exact : bool or "auto", default="auto"
        Whether to follow exact paths; "auto" does so up to 1500 samples for losses that are
        piecewise linear.

    Returns
    -------
    SVMPath
        Coefficients, objective and duality gap at each value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer_research.selection import svm_path
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> path = svm_path(SVC(), X, X[:, 0] > 0, Cs=[0.1, 1.0, 10.0])
    >>> path.coefs.shape, path.exact, bool(path.gaps.max() < 1e-6)
    ((3, 40), True, True)
    """
    values = np.logspace(-3, 3, 25) if Cs is None else np.unique(np.asarray(Cs, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"Cs must be positive numbers, got {Cs!r}")
    prepared = prepare(unfitted(estimator, C=1.0), X, y, sample_weight)
    risks = prepared.risks
    wanted = exact if isinstance(exact, bool) else all(_exact_by_default(risk) for risk in risks)
    paths: list[SolutionPath] = []
    if wanted:
        ends = (float(values[0]), float(max(values[-1], values[0] * (1 + 1e-9))))
        paths = [solution_path(risk, ends) for risk in risks]
    solver: Solver = prepared.machine._make_solver()
    rows: list[list[Solution | tuple[Array, Array, Certificate]]] = []
    starts: list[Solution | None] = [None] * len(risks)
    for k, C in enumerate(values):
        row: list[Solution | tuple[Array, Array, Certificate]] = []
        for j, risk in enumerate(risks):
            if paths:
                a, b = paths[j].coef(C)
                row.append((a, b, paths[j].risk_at(C).certificate(a, b)))
                continue
            here = RegularizedRisk(risk.loss, risk.K, risk.y, C * risk.c, risk.B, risk.d)
            start = starts[j]
            if start is not None:
                # In proportion, so that what is on its bound stays there.
                ratio = C / values[k - 1]
                start = replace(start, a=ratio * start.a, b=ratio * start.b, f=ratio * start.f)
            solution = minimize(here, solver, start)
            starts[j] = solution
            row.append(solution)
        rows.append(row)
    found = [[(s.a, s.b) if isinstance(s, Solution) else s[:2] for s in row] for row in rows]
    notes = [[s if isinstance(s, Solution) else s[2] for s in row] for row in rows]
    coefs = np.array([np.concatenate([a for a, _ in row]) for row in found])
    return SVMPath(
        Cs=values,
        coefs=coefs,
        intercepts=np.array([np.concatenate([b for _, b in row]) for row in found]),
        objectives=np.array(
            [sum(s.objective if isinstance(s, Solution) else s.primal for s in r) for r in notes]
        ),
        gaps=np.array([sum(s.gap for s in row) for row in notes]),
        n_support=np.count_nonzero(coefs, axis=1),
        statuses=[
            next(
                (s.status for s in row if isinstance(s, Solution) and not s.converged),
                Status.CONVERGED,
            )
            for row in notes
        ],
        exact=bool(paths),
        paths=paths,
    )


# Samples up to which an exact path costs no more than a few dozen warm fits.
EXACT = 1500


def _exact_by_default(risk: RegularizedRisk) -> bool:
    """Return whether a path is piecewise linear and short enough to be followed exactly."""
    terms = risk.terms
    straight = isinstance(terms, DualTerms) and not (np.any(terms.q_pos) or np.any(terms.q_neg))
    return straight and risk.n <= EXACT
