r"""Training fused with model selection in a single problem.

.. math:: \min_{x, \theta} J_2(x, \theta) \qquad \text{subject to} \qquad
          x = \arg\min_x J_1(x; \theta)

The inner problem is replaced by its optimality conditions (K. Pelckmans, *Primal-Dual Kernel
Machines*, KU Leuven 2005, section 2.4.4). For one hyperparameter the solutions are a path, over
which the criterion is minimized piece by piece; for several, its gradient passes through the
conditions; for a few samples, branching on their alternatives certifies the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.machines.base import unfitted
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.subproblems import prepare
from mercer_research.fusion.complementarity import ComplementarityProgram
from mercer_research.selection.paths import SolutionPath, solution_path
from mercer_research.selection.validation import Validation

__all__ = ["Fused", "FusedPath", "fuse", "fuse_svm"]

# Where a path is rational a piece may hold several minima: it is looked at in so many places first.
LOOKS = 5


@dataclass(frozen=True, eq=False)
class Fused:
    """A machine trained and selected at once, whichever way."""

    value: float
    """The criterion."""

    hyperparameters: dict[str, Any]
    """Where it is attained."""

    coefficients: tuple[Array, Array]
    """The machine there, ``a`` and ``b`` (or the variables of a program, and nothing)."""

    lower_bound: float
    """What no choice can be better than; minus infinity where nothing is known."""

    certified: bool
    """Whether ``value`` is the global minimum up to rounding."""

    strategy: str
    """How it was found."""


@dataclass(frozen=True, eq=False)
class FusedPath(Fused):
    """The minimum of a criterion over a path."""

    interval: tuple[float, float]
    """Values of the hyperparameter at which the criterion is the smallest; one point if smooth."""

    at_boundary: bool
    """Whether an end of the domain attains it: then follow a longer path."""


def fuse(
    problem: SolutionPath | ComplementarityProgram | Callable[[Array], tuple[float, Array]],
    criterion: Validation | Callable[[Array, Array], float] | ArrayLike | None = None,
    *,
    strategy: str = "path",
) -> Fused:
    r"""Minimize a criterion over the solutions of a problem.

    ============  ====================================  ==========================================
    strategy      problem                               answer
    ============  ====================================  ==========================================
    ``path``      a :class:`SolutionPath`               global over the domain where pieces are
                                                        convex, which is certified
    ``bnb``       a :class:`ComplementarityProgram`     global, for a few pairs
    ``penalty``   a :class:`ComplementarityProgram`     a stationary point
    ``relax``     a :class:`ComplementarityProgram`     without the alternatives: a lower bound
    ``implicit``  a function of several hyper-          a stationary point, by its gradient
                  parameters, and where to start
    ============  ====================================  ==========================================

    Spectral and hull relaxations of least-squares machines are
    :func:`mercer_research.fusion.relax` and :func:`mercer_research.fusion.minimize_over_hull`;
    re-parametrization by one constant a sample is
    :class:`mercer_research.fusion.AdditiveRegularization`.

    Parameters
    ----------
    problem : SolutionPath, ComplementarityProgram or callable
        The inner problem, as its solutions or its conditions; for ``implicit`` a function that
        returns criterion and gradient, such as :func:`mercer_research.selection.hypergradient`
        makes.
    criterion : Validation or callable or array, optional
        For a path, the criterion: a :class:`Validation`, or a function of ``(a, b)``; for
        ``implicit``, the hyperparameters to start from.
    strategy : str, default="path"
        As above.

    Returns
    -------
    Fused
        Value, hyperparameters, coefficients, lower bound and whether it is certified.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (2.51)-(2.62), chapter 7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer_research.fusion import fuse
    >>> from mercer_research.selection.validation import Validation
    >>> from mercer_research.selection.paths import solution_path
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.sign(X[:, 0])
    >>> kernel, B = Gaussian(1.0), np.ones((40, 1))
    >>> risk = RegularizedRisk(Hinge(), Dense(kernel(X[:40])), y[:40], np.ones(40), B)
    >>> validation = Validation(kernel(X[40:], X[:40]), y[40:], loss="error")
    >>> found = fuse(solution_path(risk, (0.01, 100.0)), validation)
    >>> found.certified, found.value < 0.2
    (True, True)
    """
    if isinstance(problem, SolutionPath):
        if strategy != "path" or criterion is None or not callable(_criterion(criterion)):
            raise ValueError("a path is minimized by strategy='path', and needs a criterion")
        return _over_path(problem, criterion)
    if isinstance(problem, ComplementarityProgram):
        if strategy not in ("bnb", "penalty", "relax"):
            raise ValueError("a program with alternatives takes 'bnb', 'penalty' or 'relax'")
        found = problem.solve(strategy)
        return Fused(
            found.value, {}, (found.z, np.empty(0)), found.lower_bound, found.certified, strategy
        )
    if strategy != "implicit" or criterion is None:
        raise ValueError(
            "a function of hyperparameters is minimized by strategy='implicit', from a start; "
            "'reparam' and spectral relaxations are AdditiveRegularization and relax"
        )
    return _implicit(problem, np.atleast_1d(np.asarray(criterion, dtype=np.float64)))


def fuse_svm(
    estimator: Any,
    X: PointsLike,
    y: TargetsLike,
    X_val: PointsLike,
    y_val: TargetsLike,
    *,
    domain: tuple[float, float] = (1e-3, 1e3),
    loss: str = "error",
    sample_weight: WeightsLike = None,
) -> list[FusedPath]:
    r"""Choose C of a machine by a validation sample, over the whole path instead of a grid.

    Errors are constant between the values of C at which a validation sample changes sides: the
    whole interval of the best is known, and its most regularized end is used.

    Parameters
    ----------
    estimator : KernelMachine
        The machine, with a loss of quadratic dual; its own ``C`` plays no part.
    X, y, X_val, y_val : array-like
        Training and validation sample.
    domain : tuple of float
        Values of C to look at.
    loss : str, default="error"
        ``"error"``, or the name of a loss: ``"hinge"``, ``"logistic"``, ``"squared"``, ...
    sample_weight : array-like, optional
        Weights of the training samples.

    Returns
    -------
    list of FusedPath
        One for each problem of the machine: a C of its own for each class or pair of them.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 7.2.2, (7.26)-(7.28), with
    one half of C in (7.27).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer_research.fusion import fuse_svm
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> (found,) = fuse_svm(SVC(), X[:50], y[:50], X[50:], y[50:])
    >>> found.hyperparameters["C"] == found.interval[0], found.value < 0.1
    (True, True)
    """
    prepared = prepare(unfitted(estimator, C=1.0), X, y, sample_weight)
    machine, risks = prepared.machine, prepared.risks
    if is_function(machine.kernel) or is_precomputed(machine.kernel):
        raise ValueError("give a kernel of points: validation samples must be compared with others")
    new = machine._check_X(X_val, reset=False)
    K, columns = np.asarray(machine.kernel_(new, prepared.sample.X)), machine.null_space_(new)
    targets = [np.asarray(y_val)]
    if hasattr(machine, "classes_"):
        if len(risks) > 1 and not isinstance(machine, OneVsRest):
            raise ValueError(
                "pairs of classes vote, so that no pair can be validated alone: use "
                "KernelClassifier(loss='hinge'), one class against the rest."
            )
        positives = range(len(machine.classes_)) if len(risks) > 1 else [1]
        targets = [np.where(targets[0] == machine.classes_[p], 1.0, -1.0) for p in positives]
    return [
        _over_path(
            solution_path(risk, domain),
            Validation(K, target.astype(np.float64), columns, loss),
        )
        for risk, target in zip(risks, targets, strict=True)
    ]


def _criterion(criterion: Any) -> Any:
    return criterion.value if isinstance(criterion, Validation) else criterion


def _over_path(path: SolutionPath, criterion: Any) -> FusedPath:
    """Minimize over every piece, exactly where decision values are affine on it."""
    if isinstance(criterion, Validation):

        def at(t: float) -> Array:
            return criterion.predict(*path.coef(t))

        if criterion.counts:
            return _count_mistakes(path, criterion, at)
        straight = path.is_piecewise_linear

        def value(t: float) -> float:
            return criterion.value(at(t))
    else:
        straight = False

        def value(t: float) -> float:
            return float(criterion(*path.coef(t)))

    ends = path.pieces
    values = np.array([value(t) for t in ends])
    best, where = float(values.min()), float(ends[int(np.argmin(values))])
    for left, right in pairwise(ends):
        if straight:
            # Decision values are affine here, and the loss is convex: one minimum a piece.
            t, low = _convex_minimum(criterion, at, float(left), float(right))
        else:
            t, low = _brent(value, float(left), float(right))
        if low < best:
            best, where = low, t
    inner = np.isin(where, path.domain)
    return FusedPath(
        value=best,
        hyperparameters={path.parameter: where},
        coefficients=path.coef(where),
        lower_bound=best if straight else -np.inf,
        certified=bool(straight and not path.jumps),
        strategy="path",
        interval=(where, where),
        at_boundary=bool(inner),
    )


def _convex_minimum(
    criterion: Validation, at: Callable[[float], Array], left: float, right: float
) -> tuple[float, float]:
    """Minimize a convex loss of decision values that are affine between two values."""
    f, g = at(left), at(np.nextafter(right, left))
    slope = g - f
    loss = criterion.resolved()
    if loss.quadratic:
        square = float(slope @ slope)
        step = float(slope @ (criterion.y - f)) / square if square > 0 else 0.0
        s = min(max(step, 0.0), 1.0)
        return left + s * (right - left), criterion.value(f + s * slope)
    found = minimize_scalar(
        lambda s: criterion.value(f + s * slope),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return left + float(found.x) * (right - left), float(found.fun)


def _brent(value: Callable[[float], float], left: float, right: float) -> tuple[float, float]:
    """Minimize on a piece by Brent's method, around the best of a few places."""
    places = np.geomspace(left, right, LOOKS) if left > 0 else np.linspace(left, right, LOOKS)
    values = [value(float(t)) for t in places]
    k = int(np.argmin(values))
    low, high = places[max(k - 1, 0)], places[min(k + 1, LOOKS - 1)]
    found = minimize_scalar(
        value, bounds=(low, high), method="bounded", options={"xatol": 1e-9 * (high - low)}
    )
    if found.fun < values[k]:
        return float(found.x), float(found.fun)
    return float(places[k]), float(values[k])


def _count_mistakes(
    path: SolutionPath, criterion: Validation, at: Callable[[float], Array]
) -> FusedPath:
    """Find where validation samples change sides, count between, and take the best interval."""
    crossings: list[float] = list(path.pieces)
    for left, right in pairwise(path.pieces):
        f, g = at(float(left)), at(float(np.nextafter(right, left)))
        if path.is_piecewise_linear:
            for j in np.flatnonzero(f * g < 0):
                crossings.append(float(left + (right - left) * f[j] / (f[j] - g[j])))
        else:
            crossings += _sign_changes(at, float(left), float(right))
    marks = np.unique(crossings)
    middles = 0.5 * (marks[:-1] + marks[1:])
    counts = np.array([criterion.value(at(float(t))) for t in middles])
    best = float(counts.min())
    # Of all intervals of the best, the first: C grows, so that it is the most regularized.
    first = int(np.argmin(counts))
    last = first
    while last + 1 < len(counts) and counts[last + 1] == best:
        last += 1
    low, high = float(marks[first]), float(marks[last + 1])
    return FusedPath(
        value=best,
        hyperparameters={path.parameter: low},
        coefficients=path.coef(float(np.nextafter(low, high)) if first else low),
        lower_bound=best if path.is_piecewise_linear else -np.inf,
        certified=bool(path.is_piecewise_linear and not path.jumps),
        strategy="path",
        interval=(low, high),
        at_boundary=first == 0 or last == len(counts) - 1,
    )


def _sign_changes(at: Callable[[float], Array], left: float, right: float) -> list[float]:
    """Return where decision values change sign on a piece that is not affine, by bisection."""
    places = np.geomspace(left, right, LOOKS)
    signs = [np.sign(at(float(t))) for t in places]
    found: list[float] = []
    for k in range(LOOKS - 1):
        if np.array_equal(signs[k], signs[k + 1]):
            continue
        for j in np.flatnonzero(signs[k] != signs[k + 1]):
            low, high, side = float(places[k]), float(places[k + 1]), signs[k][j]
            while high - low > 1e-10 * high:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if np.sign(at(middle)[j]) == side else (low, middle)
            found.append(high)
    return found


def _implicit(problem: Callable[[Array], tuple[float, Array]], start: Array) -> Fused:
    """Minimize by a quasi-Newton method with gradients through the inner conditions."""
    theta, (value, gradient) = start.copy(), problem(start)
    H = np.eye(len(start))
    for _ in range(100):
        direction = -H @ gradient
        slope = float(gradient @ direction)
        if float(np.max(np.abs(gradient))) <= 1e-7 * (1.0 + abs(value)):
            break
        direction *= min(1.0, 2.0 / max(float(np.max(np.abs(direction))), 1e-300))
        step, better = 1.0, False
        while step > 1e-6:
            trial, slopes = problem(theta + step * direction)
            if trial <= value + 1e-4 * step * slope:
                better = True
                break
            step *= 0.5
        if not better:
            break
        s, u = step * direction, slopes - gradient
        theta, value, gradient = theta + s, trial, slopes
        if float(s @ u) > 1e-12:
            rho = 1.0 / float(s @ u)
            V = np.eye(len(s)) - rho * np.outer(s, u)
            H = V @ H @ V.T + rho * np.outer(s, s)
    names = getattr(problem, "names", [f"theta{k}" for k in range(len(theta))])
    coefficients = getattr(problem, "coefficients", lambda t: (np.empty(0), np.empty(0)))(theta)
    return Fused(
        value=float(value),
        hyperparameters=dict(zip(names, np.exp(theta).tolist(), strict=True)),
        coefficients=coefficients,
        lower_bound=-np.inf,
        certified=False,
        strategy="implicit",
    )
