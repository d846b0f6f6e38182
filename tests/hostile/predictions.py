r"""The law of what predicts: the function that a fit returns costs what its certificate allows.

A certificate is an interval, from the dual value to the dual value plus the gap. The optimum lies
in it, because a dual value is below every primal one. So must the cost of the function that
predicts,

.. math:: \tfrac12 a'Ka + \sum_i c_i l(y_i, f(x_i)),

with the values f of ``predict`` at the training rows. Both are computed here from the kernel's
formula, the coefficients and the losses in extended precision (64 bits of digits), for each
estimator by its entry in :mod:`hostile.objectives`. And a row predicted alone is the row of its
batch, up to the rounding that :func:`mercer.kernels.products` documents.

``python -m hostile.predictions FIRST COUNT [STREAM]`` draws fits by number, prints those that break
the law, and how many there were of every kind. The stream ``first`` has nine machines of one
function, ``every`` all estimators with a certificate.
"""

import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from hostile.judge import Outcome, TimedOut, limited, refused
from hostile.machines import EVERY
from hostile.objectives import OBJECTIVES, ZERO, Data, L, columns, dense, gram, is_random
from mercer import Nystrom, RandomFeatures
from mercer.data import Arrays, Parts
from mercer.kernels.algebra import Sum
from mercer.regularizers import Columns, Constant, Empty
from mercer.regularizers import Polynomial as Polynomials
from mercer.regularizers.shape import Bounded, Convex, Increasing
from mercer.solvers import SOLVERS

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
    source: Any = None
    """The rows in blocks, if that is what is fitted."""

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
    source = None
    if kind != "exact" and rng.random() < 0.3:
        source = Arrays(X, y, weights)
        words.append("blocks")
    return Fit(number, machine, X, y, weights, [f"{n} x {p}", kind, *words], source)


# Every estimator with a certificate -------------------------------------------------------------

FEW = np.arange(2, 5)
"""Numbers of classes and of outputs."""


def pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def settings_of(name: str, rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Return parameters of an estimator that others do not have."""
    losses = ("squared", "absolute", "epsilon_insensitive", "huber", "pinball", "expectile")
    more = (*losses, "squared_epsilon_insensitive", "log_cosh")
    margins = ("hinge", "squared_hinge", "logistic")
    share = float(rng.uniform(0.05, 0.95))
    return {
        "AdditiveClassifier": {"loss": pick(rng, *margins)},
        "AdditiveRegressor": {"loss": pick(rng, *more)},
        "AdaptiveMarginSVC": {
            "decision_function_shape": "ovo",
            "lam": pick(rng, 0.0, 0.5, 1.0, 3.0),
        },
        "CensoredRegressor": {"loss": pick(rng, *losses[:4]), "ranking": pick(rng, 0.0, 0.0, 0.5)},
        "HeteroscedasticNuSVR": {
            "nu": share,
            "symmetric": pick(rng, True, False),
            "tube": pick(rng, None, Constant()),
        },
        "HeteroscedasticSVR": {
            "upper": float(10.0 ** rng.uniform(-3, 1)),
            "lower": pick(rng, None, 0.5),
            "loss": pick(rng, "absolute", "squared"),
        },
        "KernelClassifier": {"loss": pick(rng, *margins)},
        "KernelLogisticRegression": {"multi_class": pick(rng, "ovr", "multinomial")},
        "KernelRegressor": {"loss": pick(rng, *more)},
        "LSSVC": {"codes": pick(rng, "one-vs-rest", "one-vs-one", "minimal", "ecoc")},
        "NuSVC": {"nu": share / 3.0, "decision_function_shape": "ovo"},
        "NuSVR": {"nu": share},
        "NuSparseRegressor": {"nu": share},
        "OneClassSVM": {"nu": share},
        "PartiallyLinearRegressor": {
            "loss": pick(rng, *more),
            "null_space_penalty": float(10.0 ** rng.uniform(-3, 3)),
        },
        "QuantileBand": {
            "quantiles": pick(rng, (0.05, 0.5, 0.95), (0.4, 0.5, 0.6, 0.9)),
            "kind": pick(rng, "quantile", "expectile"),
        },
        "RobustLSSVR": {"method": pick(rng, "huber", "logistic"), "exact": pick(rng, True, False)},
        "SVC": {"decision_function_shape": "ovo"},
        "LeaveOneOutSVC": {"decision_function_shape": "ovo", "cap": pick(rng, 1e3, 1e4, 1e5)},
        "ShapeConstrainedClassifier": {"loss": pick(rng, *margins), **shape_of(rng)},
        "ShapeConstrainedRegressor": {"loss": pick(rng, *losses, "chebychev"), **shape_of(rng)},
        "SmoothingSpline": {"lam": float(10.0 ** rng.uniform(-6, 6))},
        "SparseClassifier": {"loss": pick(rng, "hinge", "squared_hinge")},
        "SparseRegressor": {"loss": pick(rng, *losses[:4])},
        "SupportVectorTube": {
            "mu": float(10.0 ** rng.uniform(-4, 6)),
            "exceptions": pick(rng, 0, n / 4.0, (1.0, 2.0)),
        },
        "ThinPlateSpline": {"lam": float(10.0 ** rng.uniform(-6, 6))},
    }.get(name, {})


def shape_of(rng: np.random.Generator) -> dict[str, Any]:
    known = pick(rng, [Increasing(0)], [Convex(0)], [Increasing(0), Bounded(at_most=1.0)])
    return {"constraints": known, "lines": 4, "grid": 8}


def draw_every(number: int) -> Fit:
    """Return the fit of a number among all estimators that have a certificate."""
    rng = np.random.default_rng([46, 2, number])
    name = str(rng.choice(sorted(OBJECTIVES)))
    machine = EVERY[name]()
    n, p = int(rng.integers(6, 41)), int(np.rint(10.0 ** rng.uniform(0, np.log10(400))))
    if name.endswith("Spline"):
        p = 1 if name == "SmoothingSpline" else 1 + p % 2
    if name.startswith(("Shape", "Additive")):
        p = 1 + p % 5
    X, words = points(rng, n, p)
    t = X @ rng.normal(size=p)
    t = np.sin(2.0 * (t - t.mean()) / (t.std() or 1.0)) + 0.3 * rng.normal(size=n)
    y: Any
    few = int(rng.choice(FEW))
    if is_classifier(machine):
        few = 2 if name == "ShapeConstrainedClassifier" else few
        y = np.argsort(np.argsort(t)) * few // n
        words.append(f"{few} classes")
    else:
        y, more = targets(rng, t)
        words += more
        if name == "CensoredRegressor":
            size = np.ptp(y)
            y = np.column_stack([y, y + pick(rng, 0.0, size) * rng.exponential(size=n)])
            y[rng.random(n) < 0.3, 1] = np.inf
        elif name == "MultiOutputSVR" or (several_outputs(machine) and rng.random() < 0.4):
            y = np.column_stack([y, *(np.roll(y, k) for k in range(1, few))])
            words.append(f"{few} outputs")
    own = machine.get_params(deep=False)
    settings: dict[str, Any] = {"C": float(10.0 ** rng.uniform(-10, 13))}
    if rng.random() < 0.5:
        settings["C"] = float(10.0 ** rng.uniform(-2, 4))
    settings["kernel"] = str(rng.choice(KERNELS)) if rng.random() < 0.6 else "rbf"
    if name.startswith("Additive"):
        settings["kernel"] = "rbf"
    if rng.random() < 0.4:
        settings["gamma"] = float(rng.choice([1e-6, 1.0 / p, 1.0, 1e3, 1e300]))
    settings |= settings_of(name, rng, n)
    kind = "exact"
    if rng.random() < 0.35 and "approximation" in own:
        kind = str(rng.choice(["Nystrom", "RandomFeatures"]))
        if name.startswith("Shape") or name.endswith("Spline"):
            kind = "Nystrom"
        settings["approximation"] = APPROXIMATIONS[kind](n)
        if kind == "RandomFeatures" or settings["kernel"] in ("sigmoid", "multiquadric"):
            settings["kernel"] = "rbf"
        settings |= {"multi_class": "ovr"} if "multi_class" in own else {}
        settings |= {"exceptions": n / 4.0} if "exceptions" in own else {}
    elif "solver" in own and rng.random() < 0.4:
        settings["solver"] = str(rng.choice(sorted(SOLVERS)))
    if rng.random() < 0.3:
        line = Constant() + Columns([0])
        settings["null_space"] = pick(rng, Empty(), line, Polynomials(1) if p < 6 else line)
    if "tol" in own and rng.random() < 0.3:
        settings["tol"] = float(10.0 ** rng.uniform(-10, -2))
    if rng.random() < 0.15:
        settings["standardize"] = True
    machine.set_params(**{key: value for key, value in settings.items() if key in own})
    weights = None
    if rng.random() < 0.3:
        low, high = [(-20, 20), (-3, 3)][int(rng.integers(2))]
        weights = 10.0 ** rng.uniform(low, high, n)
        words.append(f"weights from 1e{low} to 1e{high}")
    if rng.random() < 0.2:
        X = X.astype(np.float32)
        words.append("float32")
    if rng.random() < 0.2 and not name.startswith("Shape"):
        X = sp.csr_array(X)
        words.append("sparse")
    source = None
    if kind != "exact" and not name.startswith("Shape") and rng.random() < 0.4:
        source = Arrays(X, y, weights)
        words.append("blocks")
        if rng.random() < 0.5:
            source = in_parts(X, y, weights)
            words[-1] = "parts"
    return Fit(number, machine, X, y, weights, [f"{n} x {p}", kind, *words], source)


def several_outputs(machine: Any) -> bool:
    return bool(get_tags(machine).target_tags.multi_output)


def in_parts(X: Any, y: Any, weights: Any) -> Parts:
    """Return rows in three parts, of which an engine keeps nothing between passes."""
    ends = np.linspace(0, X.shape[0], 4).astype(int)
    cuts = [slice(*cut) for cut in pairwise(ends)]
    of = [Arrays(X[cut], y[cut], None if weights is None else weights[cut]) for cut in cuts]
    return Parts(of, map)


DRAWS = {"first": draw, "every": draw_every}
"""Streams of numbers: the nine machines of one function, and every estimator."""


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
                if fit.source is not None:
                    fit.machine.fit(fit.source)
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


def batch(fit: Fit) -> str:
    """Return how a row alone differs from that of its batch, beyond rounding."""
    machine, X = fit.machine, fit.X
    values = OBJECTIVES[type(machine).__name__].values
    together = columns(np.asarray(values(machine, X)))
    some = [*range(0, X.shape[0], max(1, X.shape[0] // 8))]
    alone = np.concatenate([columns(np.asarray(values(machine, X[i : i + 1]))) for i in some])
    excess = np.abs(alone - together[some])
    allowed = stated_rounding(machine, X, np.abs(together).max(axis=1))[some, None]
    row, k = np.unravel_index(np.argmax(excess - allowed), excess.shape)
    if not excess[row, k] <= allowed[row]:
        return (
            f"row {some[row]} alone is {alone[row, k]:.6e}, in its batch "
            f"{together[some[row], k]:.6e}, allowed {allowed[row, 0]:.1e}"
        )
    return ""


def stated_rounding(machine: Any, X: Any, f: Any) -> Any:
    r"""Return the rounding of a prediction that is documented, for each row.

    1e-12 of :math:`\sum_j |a_j| \sqrt{k(x, x) k(z_j, z_j)}`, and some roundings of the sum.
    """
    X = X.astype(np.float64)
    part = max(1e-12, 8.0 * (X.shape[1] + 8) * 2.0**-53)
    sums = 16.0 * np.finfo(float).eps
    a = np.abs(dense(machine.dual_coef_)).sum(axis=0).astype(float)
    kernel, Z = machine.kernel_, machine.support_vectors_
    with np.errstate(all="ignore"):
        if is_random(machine):
            # Features are cosines of inner products with frequencies, whose rounding is that of
            # the product: ten length scales are more than nearly all frequencies.
            square = X.power(2) if sp.issparse(X) else np.square(X)
            radius = np.sqrt(np.asarray(square.sum(axis=1), dtype=float).ravel())
            phase = 10.0 * radius / shortest(kernel)
            product = np.maximum(1.0, phase) * a.sum()
        else:
            K = np.abs(np.asarray(kernel(X, Z), dtype=float))
            root, roots = (np.sqrt(np.abs(kernel.diag(A).astype(float))) for A in (X, Z))
            product = np.nan_to_num(K, posinf=0.0) @ a + root * (roots @ a)
    free = np.abs(np.atleast_2d(machine.null_space_coef_)).sum(axis=0)
    offset = np.abs(np.asarray(machine.null_space_(X))) @ free
    return part * product + sums * (np.abs(f) + offset) + np.finfo(float).tiny


def shortest(kernel: Any) -> float:
    """Return the least length scale of a kernel, or of the kernels that it is made of."""
    if isinstance(kernel, Sum):
        return min(shortest(kernel.left), shortest(kernel.right))
    if hasattr(kernel, "kernel"):
        return shortest(kernel.kernel)
    return float(np.min(kernel.length_scale))


def cost(fit: Fit) -> str:
    """Return what is wrong with the certified interval."""
    machine, X = fit.machine, fit.X
    solution = machine.solution_
    if not np.isfinite(solution.gap):
        return "" if not solution.converged else f"converged with a gap of {solution.gap}"
    random = is_random(machine)
    K = None if random else gram(machine.kernel_, machine.support_vectors_)
    if K is None and not random:
        return ""
    n, objective = X.shape[0], OBJECTIVES[type(machine).__name__]
    s = np.ones(n, dtype=L) if fit.weights is None else np.asarray(fit.weights).astype(L)
    f = np.asarray(objective.values(machine, X)).astype(L)
    B = np.asarray(machine.null_space_(X)).astype(L)
    total = dual = rounding = ZERO
    allowed = L(SUM) * max(abs(L(solution.objective)), abs(L(solution.dual)))
    allowed += L(np.finfo(float).tiny) * n
    bounded = getattr(machine.kernel_, "positive_definite", True) and not machine.kernel_.order
    with np.errstate(all="ignore"):
        for one in objective.problems(machine, Data(X, fit.y, s, f)):
            if random:
                quadratic = one.coef @ one.coef / 2
            else:
                Q = K if one.rows is None else K[np.ix_(one.rows, one.rows)]
                quadratic = one.coef @ (Q @ one.coef) / 2
            penalty = quadratic if one.penalty is None else one.penalty(quadratic)
            total += one.cost + penalty
            bounded = bounded and one.conjugates is not None
            if one.conjugates is None:
                continue
            dual -= penalty + one.conjugates.sum()
            rounding += np.abs(one.conjugates).sum() + penalty
            # What coefficients leave of the equations of the columns is no part of either side.
            allowed += 2 * abs(one.free @ (B.T @ one.a - one.prices))
        rounding *= 64 * np.finfo(float).eps
    if bounded and not dual >= L(solution.dual) - allowed - rounding:
        return f"dual value {solution.dual!r} is recomputed as {float(dual)!r}"
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


def main(first: int, count: int, stream: str = "first") -> int:
    counts: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    longest = 0.0
    for number in range(first, first + count):
        fit = DRAWS[stream](number)
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
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:]))
