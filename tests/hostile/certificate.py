r"""The certificate of a fitted machine computed again, in plain NumPy and double precision.

From the kernel, the coefficients and the intercepts that a machine shows: the primal value
:math:`\tfrac12 a'Ka + \sum_i c_i l(y_i, f_i)`, the dual value
:math:`-\tfrac12 a'Ka - \sum_i c_i l^*(y_i, -a_i/c_i)`, and their difference, summed sample by
sample. The losses are written out here, so that nothing is shared with the library but the kernel.

Two ways to add up the same numbers differ by their rounding: the allowance is :data:`ROUNDING` per
sample times the sum of the magnitudes of all terms, 45 times the unit roundoff of a product.
"""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.regularizers import Constant
from mercer.solvers import Solution

ROUNDING = 1e-14

# A relative gap above which nothing is said to have converged, and the part of the targets by which
# a function may still be off where the optimum is nothing but rounding.
USELESS, NEGLIGIBLE = 0.01, 0.01
# By what part of itself the objective may be lower than predictions cost: a rounding that would
# change more of it has to be part of it.
APART = 1e-4

# Loss and conjugate of r = y - f, or of f with labels plus and minus one; the conjugates, of the
# slope u = a / c, are those on their domains.
RESIDUAL = {
    "SVR": lambda m: (
        lambda r: np.maximum(np.abs(r) - m.epsilon_, 0.0),
        lambda u: m.epsilon_ * np.abs(u),
    ),
    "LSSVR": lambda m: (lambda r: 0.5 * r**2, lambda u: 0.5 * u**2),
    "HuberSVR": lambda m: (
        lambda r: np.minimum(np.abs(r), m.delta) * (np.abs(r) - np.minimum(np.abs(r), m.delta) / 2),
        lambda u: 0.5 * u**2,
    ),
    "QuantileSVR": lambda m: (
        lambda r: np.maximum(m.quantile * r, (m.quantile - 1.0) * r),
        lambda u: np.zeros_like(u),
    ),
}


def _entropy(u: Any) -> Any:
    """Return u log u + (1 - u) log(1 - u), in the precision of u; both ends are zero."""
    inside = (u > 0) & (u < 1)
    p = np.where(inside, u, 0.5)
    return np.where(
        inside, p * np.log(p) + (1 - p) * np.log1p(-p), np.where((u == 0) | (u == 1), 0, np.nan)
    )


# Of the margin t = y f; the conjugate of the slope -u, u = y a / c in [0, 1] or above zero.
MARGIN = {
    "SVC": (lambda t: np.maximum(1.0 - t, 0.0), lambda u: -u),
    "LSSVC": (lambda t: 0.5 * (1.0 - t) ** 2, lambda u: 0.5 * u**2 - u),
    "KernelClassifier": (
        lambda t: 0.5 * np.maximum(1.0 - t, 0.0) ** 2,
        lambda u: 0.5 * u**2 - u,
    ),
    "KernelLogisticRegression": (
        lambda t: np.logaddexp(0.0, -t),
        _entropy,
    ),
}
RESIDUAL["KernelRegressor"] = RESIDUAL["LSSVR"]
CERTIFIED = {*RESIDUAL, *MARGIN}


def recompute(machine: Any, case: Any) -> str:
    """Return what is wrong with the certificate of a machine, nothing if it holds."""
    solution = getattr(machine, "solution_", None)
    if not isinstance(solution, Solution):
        return ""
    if solution.converged and not np.isfinite([solution.objective, solution.gap]).all():
        return f"converged with objective {solution.objective} and gap {solution.gap}"
    if useless(machine, case, solution):
        return (
            f"converged at a gap of {solution.gap:.2e} beside an objective of "
            f"{solution.objective:.2e}, by {solution.solver}"
        )
    if not applies(machine, case):
        return ""
    # In the container that it was given in: far from zero the same distances of sparse rows have
    # other rounding errors.
    X = check_array(case.X, dtype=np.float64, accept_sparse="csr", accept_large_sparse=False)
    K = machine.kernel_(X)
    y = np.asarray(case.y)
    s = np.ones(len(y)) if case.weights is None else np.maximum(np.asarray(case.weights, float), 0)
    with np.errstate(all="ignore"):
        every = [*problems(machine, y, s)]
        parts = [certify(K, *problem) for problem in every]
        told = "" if len(every) > 1 else by_predictions(machine, case, K, *every[0])
    if told:
        return told
    primal, dual, gap, magnitude = np.sum(parts, axis=0)
    allowed = len(y) * (ROUNDING * magnitude + np.finfo(float).tiny)
    if not np.isfinite(allowed):
        return "" if not solution.converged else f"converged, but terms sum to {magnitude}"
    claims = {
        "objective": (solution.objective, primal, np.inf),
        "gap": (-solution.gap, -gap, np.inf),
        "dual": (solution.dual, dual, 0.0),
    }
    for name, (claimed, found, _) in claims.items():
        # An objective may be claimed too large, a bound too small: that only weakens the promise.
        wrong = found - claimed if name == "objective" else claimed - found
        if not wrong <= allowed:
            return (
                f"{name} {abs(claimed) if name == 'gap' else claimed!r} is recomputed as "
                f"{abs(found) if name == 'gap' else found!r}, rounding {allowed:.1e}"
            )
    return ""


def useless(machine: Any, case: Any, solution: Solution) -> bool:
    r"""Answer whether a machine is called converged next to a gap that says nothing of it.

    By strong convexity no function of a lower objective is more than :math:`\sqrt{2 gap\, k(x, x)}`
    from its own at x. That is known to be little, or the gap is little beside the objective.
    """
    if not solution.converged or solution.relative_gap <= USELESS:
        return False
    kernel, y = getattr(machine, "kernel_", None), np.asarray(case.y)
    if kernel is None or getattr(kernel, "order", 0) or y.dtype.kind not in "iufb":
        return False
    X = check_array(case.X, dtype=np.float64, accept_sparse="csr", accept_large_sparse=False)
    with np.errstate(all="ignore"):
        known = np.sqrt(2.0 * solution.gap * np.max(np.abs(kernel.diag(X))))
    size = 1.0 if type(machine).__name__ in MARGIN else np.max(np.abs(y[np.isfinite(y)]))
    return not known <= NEGLIGIBLE * max(size, np.max(np.abs(solution.f), initial=0.0))


def by_predictions(
    machine: Any, case: Any, K: Any, rows: Any, a: Any, b: float, c: Any, value: Any, _: Any
) -> str:
    """Return what is wrong with the objective beside the losses of the machine's predictions."""
    f = machine.predict(case.X) if type(machine).__name__ in RESIDUAL else None
    f = machine.decision_function(case.X) if f is None else f
    losses, Ka = float(np.sum(c * value(f, rows))), K @ a
    found, claimed = losses + 0.5 * float(a @ Ka), machine.solution_.objective
    rounding = ROUNDING * len(a) * float(np.abs(a) @ np.abs(K) @ np.abs(a))
    if np.isfinite(found) and not claimed >= (1.0 - APART) * found - rounding:
        return f"objective {claimed:.6e}, but predictions cost {losses:.6e} and all {found:.6e}"
    return ""


def applies(machine: Any, case: Any) -> bool:
    """Answer whether the losses above are those of the machine."""
    name = type(machine).__name__
    if name not in CERTIFIED or getattr(machine, "approximation", None) is not None:
        return False
    y = np.asarray(case.y)
    return (
        y.ndim == 1
        and machine.null_space_ == Constant()
        and getattr(machine, "errors", None) is None
        and (name in MARGIN or y.dtype.kind in "iufb")
        and (machine.solution_.a.size and np.isfinite(machine.solution_.a).all())
    )


def problems(machine: Any, y: Any, s: Any) -> Any:
    """Yield coefficients, intercept, loss, conjugate, linear part and weights of each problem."""
    name, C = type(machine).__name__, machine.C_
    given = machine.dual_coef_
    given = given.toarray() if hasattr(given, "toarray") else given
    coef = np.zeros((len(given), len(y)))
    coef[:, machine.support_] = given
    if name in RESIDUAL:
        y = y.astype(float)
        value, conjugate = RESIDUAL[name](machine)
        f_value = lambda f, rows: value(y[rows] - f)  # noqa: E731
        yield (
            np.arange(len(y)), coef[0], float(machine.intercept_[0]), C * s, f_value,
            lambda u, rows: conjugate(u) - u * y[rows],
        )  # fmt: skip
        return
    value, conjugate = MARGIN[name]
    classes = machine.classes_
    s = s * machine.class_weight_[np.searchsorted(classes, y)]

    def posed(rows: Any, sign: Any, a: Any, b: float) -> Any:
        return (
            rows, a, b, C * s[rows],
            lambda f, _: value(sign * f), lambda u, _: conjugate(sign * u),
        )  # fmt: skip

    every = np.arange(len(y))
    if len(classes) == 2:
        yield posed(every, np.where(y == classes[1], 1.0, -1.0), coef[0], machine.intercept_[0])
    elif name == "SVC":
        for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
            rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
            first = y[rows] == classes[i]
            a = np.where(first, coef[j - 1, rows], coef[i, rows])
            yield posed(rows, np.where(first, 1.0, -1.0), a, machine.intercept_[k])
    else:
        for k, label in enumerate(classes):
            yield posed(every, np.where(y == label, 1.0, -1.0), coef[k], machine.intercept_[k])


def certify(K: Any, rows: Any, a: Any, b: float, c: Any, value: Any, conjugate: Any) -> Any:
    """Return primal and dual value, gap, and the sum of the magnitudes of what was added."""
    Ka = K[np.ix_(rows, rows)] @ a
    f = Ka + b
    safe = np.where(c > 0, c, 1.0)
    loss, conj = c * value(f, rows), c * conjugate(np.where(c > 0, a / safe, 0.0), rows)
    size = np.abs(a) @ np.abs(K[np.ix_(rows, rows)]) @ np.abs(a) + np.abs(a).sum() * abs(b)
    quadratic = 0.5 * (a @ Ka)
    # A slope times a rounding of f is lost in each loss; slopes are at most c, or a itself.
    slopes = np.maximum(c, np.abs(a)) @ (np.abs(K[np.ix_(rows, rows)]) @ np.abs(a) + abs(b))
    return np.array(
        [
            quadratic + loss.sum(),
            -quadratic - conj.sum(),
            np.maximum(loss + conj + a * f, 0.0).sum(),
            size + slopes + np.abs(loss).sum() + np.abs(conj).sum(),
        ]
    )
