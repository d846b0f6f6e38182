r"""The law of what predicts: the function that a fit returns costs what its certificate allows.

A certificate is an interval, from the dual value to the dual value plus the gap. The optimum lies
in it, because a dual value is below every primal one. So must the cost of the function that
predicts,

.. math:: \tfrac12 a'Ka + \sum_i c_i l(y_i, f(x_i)),

with the values f of ``predict`` at the training rows. Both are computed here from the kernel's
formula, the coefficients and the losses in extended precision (64 bits of digits). And a row
predicted alone is the row of its batch, up to the rounding that :func:`mercer.kernels.products`
documents.

``python -m hostile.predictions FIRST COUNT`` draws fits by number, prints those that break the law,
and how many there were of every kind.
"""

import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hostile import certificate
from hostile.judge import Outcome, TimedOut, limited, refused
from hostile.machines import EVERY
from mercer import Nystrom, RandomFeatures
from mercer.data import Arrays
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polynomial,
    Sigmoid,
)
from mercer.solvers import SOLVERS

L = np.longdouble
LIMIT = 30.0
"""Seconds of processor time that a fit and its predictions may take."""

SUM = 1e-12
"""Part of an objective that sums of terms in double precision are free to lose."""

REGRESSORS = ("SVR", "LSSVR", "HuberSVR", "QuantileSVR", "KernelRegressor")
CLASSIFIERS = ("SVC", "LSSVC", "KernelClassifier", "KernelLogisticRegression")
KERNELS = ("rbf", "linear", "poly", "laplacian", "matern", "sigmoid", "multiquadric")
APPROXIMATIONS = {
    "exact": lambda n: None,
    "Nystrom": lambda n: Nystrom(max(2, n // 2), random_state=0),
    "RandomFeatures": lambda n: RandomFeatures(10, random_state=0),
}


@dataclass
class Fit:
    """An estimator, a sample, and the words that describe them."""

    number: int
    machine: Any
    X: Any
    y: Any
    weights: Any
    words: list[str]

    def __str__(self) -> str:
        return f"fit {self.number}: {self.machine!r} on {', '.join(self.words)}"


def draw(number: int) -> Fit:
    """Return the fit of a number."""
    rng = np.random.default_rng([46, number])
    name = str(rng.choice(REGRESSORS + CLASSIFIERS))
    n, p = int(rng.integers(4, 41)), int(np.rint(10.0 ** rng.uniform(0, np.log10(400))))
    X, words = points(rng, n, p)
    t = X @ rng.normal(size=p)
    t = np.sin(2.0 * (t - t.mean()) / (t.std() or 1.0)) + 0.3 * rng.normal(size=n)
    if name in CLASSIFIERS:
        y = np.where(t > np.median(t), 1, 0)
    else:
        y, more = targets(rng, t)
        words += more
    machine = EVERY[name]()
    own = machine.get_params(deep=False)
    settings: dict[str, Any] = {"C": float(10.0 ** rng.uniform(-10, 13))}
    if rng.random() < 0.5:
        settings["C"] = float(10.0 ** rng.uniform(-2, 4))
    settings["kernel"] = str(rng.choice(KERNELS)) if rng.random() < 0.6 else "rbf"
    if rng.random() < 0.4:
        settings["gamma"] = float(rng.choice([1e-6, 1.0 / p, 1.0, 1e3, 1e300]))
    kind = str(rng.choice([*APPROXIMATIONS], p=[0.7, 0.15, 0.15]))
    if "approximation" in own and kind != "exact":
        settings["approximation"] = APPROXIMATIONS[kind](n)
        if kind == "RandomFeatures" or settings["kernel"] in ("sigmoid", "multiquadric"):
            settings["kernel"] = "rbf"
    else:
        kind = "exact"
    if kind == "exact" and "solver" in own and rng.random() < 0.4:
        settings["solver"] = str(rng.choice(sorted(SOLVERS)))
    if "tol" in own and rng.random() < 0.3:
        settings["tol"] = float(10.0 ** rng.uniform(-10, -2))
    machine.set_params(**{key: value for key, value in settings.items() if key in own})
    weights = None
    if rng.random() < 0.3:
        low, high = [(-20, 20), (-3, 3)][int(rng.integers(2))]
        weights = 10.0 ** rng.uniform(low, high, n)
        words.append(f"weights from 1e{low} to 1e{high}")
    if rng.random() < 0.2:
        X = X.astype(np.float32)
        words.append("float32")
    if rng.random() < 0.2:
        X = sp.csr_array(X)
        words.append("sparse")
    if kind != "exact" and rng.random() < 0.3:
        X, y, weights = Arrays(X, y, weights), None, None
        words.append("blocks")
    return Fit(number, machine, X, y, weights, [f"{n} x {p}", kind, *words])


def points(rng: np.random.Generator, n: int, p: int) -> tuple[Any, list[str]]:
    """Return rows whose columns may have very different sizes and origins."""
    X, words = rng.normal(size=(n, p)), []
    shape = str(
        rng.choice(["plain", "columns", "a column", "a value", "shift", "sparse", "copies"])
    )
    if shape == "columns":
        X = X * 10.0 ** rng.uniform(-8, 8, p)
    elif shape == "a column":
        X[:, 0] *= 10.0 ** rng.uniform(0, 8)
    elif shape == "a value":
        some = int(rng.integers(1, n))
        X[:some, 0] = 10.0 ** rng.uniform(0, 8) * (1.0 + rng.random(some))
    elif shape == "shift":
        X = X + 10.0 ** rng.uniform(0, 8)
    elif shape == "sparse":
        X = np.where(rng.random((n, p)) < 0.2, X, 0.0)
    elif shape == "copies":
        X = X[rng.integers(0, max(1, n // 2), n)]
    words.append(shape)
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.uniform(-8, 8)
        words.append("scaled")
    return X, words


def targets(rng: np.random.Generator, t: Any) -> tuple[Any, list[str]]:
    """Return targets of any size."""
    shape = rng.random()
    if shape < 0.5:
        return t, []
    if shape < 0.75:
        size = 10.0 ** rng.uniform(-6, 6)
        return size * t, [f"targets of {size:.0e}"]
    if shape < 0.9:
        size = 10.0 ** rng.uniform(-300, 300)
        return size * t, [f"targets of {size:.0e}"]
    size = 10.0 ** rng.uniform(0, 10)
    return t + size, [f"targets about {size:.0e}"]


# The judgement --------------------------------------------------------------------------------


def judge(fit: Fit, limit: float = LIMIT) -> Outcome:
    """Fit, and return whether the law holds."""
    try:
        with limited(limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if fit.y is None:
                    fit.machine.fit(fit.X)
                elif fit.weights is None:
                    fit.machine.fit(fit.X, fit.y)
                else:
                    fit.machine.fit(fit.X, fit.y, sample_weight=fit.weights)
            except Exception as error:
                return refused(error)
            broken = batch(fit) or cost(fit)
    except TimedOut:
        return Outcome("timeout", f"more than {limit:g} s")
    if broken:
        return Outcome("false", broken)
    solution = fit.machine.solution_
    if not np.isfinite(solution.gap):
        return Outcome("answer", "without a bound")
    return Outcome("answer", "converged" if solution.converged else "not converged")


def rows_of(X: Any) -> Any:
    return X.X if isinstance(X, Arrays) else X


def values(machine: Any, X: Any) -> Any:
    """Return what a machine predicts, of a classifier the decision values."""
    if type(machine).__name__ in REGRESSORS:
        return np.asarray(machine.predict(X))
    return np.asarray(machine.decision_function(X))


def batch(fit: Fit) -> str:
    """Return how a row alone differs from that of its batch, beyond rounding."""
    machine, X = fit.machine, rows_of(fit.X)
    together = values(machine, X)
    some = range(0, X.shape[0], max(1, X.shape[0] // 8))
    alone = np.concatenate([values(machine, X[i : i + 1]) for i in some])
    apart = np.abs(alone - together[[*some]])
    allowed = stated_rounding(machine, X, together)[[*some]]
    worst = int(np.argmax(apart - allowed))
    if not apart[worst] <= allowed[worst]:
        return (
            f"row {[*some][worst]} alone is {alone[worst]:.6e}, in its batch "
            f"{together[[*some]][worst]:.6e}, allowed {allowed[worst]:.1e}"
        )
    return ""


def stated_rounding(machine: Any, X: Any, f: Any) -> Any:
    r"""Return the rounding of a prediction that is documented, for each row.

    1e-12 of :math:`\sum_j |a_j| \sqrt{k(x, x) k(z_j, z_j)}`, and some roundings of the sum.
    """
    X = X.astype(np.float64)
    part = max(1e-12, 8.0 * (X.shape[1] + 8) * 2.0**-53)
    sums = 16.0 * np.finfo(float).eps
    a = machine.dual_coef_
    a = np.abs(a.toarray() if sp.issparse(a) else a).sum(axis=0)
    kernel, Z = machine.kernel_, machine.support_vectors_
    with np.errstate(all="ignore"):
        if isinstance(getattr(machine, "approximation", None), RandomFeatures):
            # Features are cosines of inner products with frequencies, whose rounding is that of
            # the product: ten length scales are more than nearly all frequencies.
            square = X.power(2) if sp.issparse(X) else np.square(X)
            radius = np.sqrt(np.asarray(square.sum(axis=1), dtype=float).ravel())
            phase = 10.0 * radius / np.min(kernel.length_scale)
            product = np.maximum(1.0, phase) * a.sum()
        else:
            K = np.abs(np.asarray(kernel(X, Z), dtype=float))
            root, roots = (np.sqrt(np.abs(kernel.diag(A).astype(float))) for A in (X, Z))
            product = np.nan_to_num(K, posinf=0.0) @ a + root * (roots @ a)
    offset = np.sum(np.abs(np.asarray(getattr(machine, "intercept_", 0.0))))
    return part * product + sums * (np.abs(f) + offset) + np.finfo(float).tiny


def cost(fit: Fit) -> str:
    """Return what is wrong with the certified interval."""
    machine, X = fit.machine, rows_of(fit.X)
    solution = machine.solution_
    if not np.isfinite(solution.gap) or solution.terms is None:
        return "" if not solution.converged else f"converged with a gap of {solution.gap}"
    exact = getattr(machine, "approximation", None) is None
    y, weights = (fit.X.y, fit.X.s) if fit.y is None else (np.asarray(fit.y), fit.weights)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    f = values(machine, X).astype(L)
    allowed = L(SUM) * max(abs(L(solution.objective)), abs(L(solution.dual)))
    allowed += L(np.finfo(float).tiny) * len(y)
    with np.errstate(all="ignore"):
        if exact:
            rows, a, b, c, value, conjugate = next(certificate.problems(machine, y, weights))
            a, c = a.astype(L), c.astype(L)
            K = gram(machine.kernel_, X)
            if K is None:
                return ""
            quadratic = a @ (K @ a) / 2
            conjugates = np.where(c > 0, c * conjugate(np.where(c > 0, a / c, 0), rows), 0)
            dual = -quadratic - conjugates.sum()
            # Half an unbalanced row times the intercept is no part of either side.
            allowed += 2 * abs(L(b) * a.sum())
            rounding = 64 * np.finfo(float).eps * (np.abs(conjugates).sum() + quadratic)
            if (
                not dual >= L(solution.dual) - allowed - rounding
                and machine.kernel_.positive_definite
            ):
                return f"dual value {solution.dual!r} is recomputed as {float(dual)!r}"
        else:
            rows, _, _, c, value, _ = next(problems_of_reduced(machine, y, weights))
            quadratic = L(np.sum(solution.terms.penalties))
            c = c.astype(L)
        total = quadratic + np.where(c > 0, c * value(f, rows), 0).sum()
    highest = L(solution.dual) + L(solution.gap)
    if not total <= highest + allowed:
        excess = total - highest
        return (
            f"predictions cost {float(total):.10e}, certified {solution.objective:.10e} with a gap "
            f"of {solution.gap:.2e}: {float(excess / max(L(solution.gap), allowed)):.2g} gaps too "
            f"much, {float(excess / max(abs(highest), allowed)):.1e} relative, "
            f"by {solution.solver}, {solution.status.value}"
        )
    return ""


def problems_of_reduced(machine: Any, y: Any, s: Any) -> Any:
    """Yield the problem of a machine without coefficients of its samples."""
    name, C = type(machine).__name__, machine.C_
    if name in certificate.RESIDUAL:
        value, _ = certificate.RESIDUAL[name](machine)
        yield None, None, None, C * s, lambda f, rows: value(y - f), None
        return
    value, _ = certificate.MARGIN[name]
    sign = np.where(y == machine.classes_[1], 1.0, -1.0)
    s = s * machine.class_weight_[np.searchsorted(machine.classes_, y)]
    yield None, None, None, C * s, lambda f, rows: value(sign * f), None


def gram(kernel: Any, X: Any) -> Any:
    """Return the kernel matrix in extended precision, None for kernels without a formula here."""
    X = (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(L)
    if isinstance(kernel, Linear):
        return X @ X.T
    if isinstance(kernel, Polynomial):
        return (L(kernel.gamma) * (X @ X.T) + L(kernel.coef0)) ** int(kernel.degree)
    if isinstance(kernel, Sigmoid):
        return np.tanh(L(kernel.gamma) * (X @ X.T) + L(kernel.coef0))
    if not isinstance(kernel, Gaussian | Laplacian | Matern | Multiquadric):
        return None
    Z = X / np.asarray(kernel.length_scale, dtype=L)
    difference = Z[:, None, :] - Z[None, :, :]
    if isinstance(kernel, Laplacian):
        return np.exp(-np.abs(difference).sum(axis=2))
    s = np.square(difference).sum(axis=2)
    if isinstance(kernel, Multiquadric):
        return -np.sqrt(1 + s) if kernel.exponent == 0.5 else None
    if isinstance(kernel, Gaussian):
        return np.exp(-s / 2)
    if isinstance(kernel, Matern):
        if kernel.nu not in (0.5, 1.5, 2.5):
            return None
        r = np.sqrt(2 * L(kernel.nu) * s)
        return {0.5: 1 + 0 * r, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[kernel.nu] * np.exp(-r)
    return None


def main(first: int, count: int) -> int:
    counts: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    longest = 0.0
    for number in range(first, first + count):
        fit = draw(number)
        began = time.process_time()
        outcome = judge(fit)
        longest = max(longest, time.process_time() - began)
        counts[f"{outcome.kind} {outcome.detail}" if not outcome.failed else outcome.kind] += 1
        drawn.update([type(fit.machine).__name__, *fit.words[1:3]])
        if outcome.failed:
            print(f"{outcome.kind}: {fit}\n    {outcome.detail}", flush=True)
    print(f"{count} fits from {first}; the longest took {longest:.1f} s of processor time")
    for title, kinds in (("outcomes", counts), ("drawn", drawn)):
        print(title)
        for kind, times in kinds.most_common():
            print(f"{times:8d} {kind}")
    return int(counts["false"] + counts["timeout"] > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
