"""Hostile samples, each of them made again from its number alone.

A case is an estimator, a sample of up to sixty rows, and a few traits of hostility: degenerate
data, scales from 1e-300 to 1e300, types, containers, weights, classes, settings at the ends of
what is allowed. Cases go round the estimators, so that any stretch of numbers meets them alike.
A second stream, :func:`weighted`, has weights from 1e-20 to 1e20 for its only subject.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from hostile.machines import DRAWN, EVERY, MACHINES, SEARCHES, UNIVARIATE, kind, make

SCALES = [1e-300, 1e-200, 1e-160, 1e-140, 1e-80, 1e-12, 1e-4, 1e4, 1e12, 1e80, 1e140, 1e160, 1e200]
SCALES = [*SCALES, 1e300, 1e307]


@dataclass
class Case:
    """One hostile fit."""

    number: int
    name: str
    machine: Any
    settings: dict[str, Any]
    X: Any
    y: Any
    weights: Any = None
    traits: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.settings.items())
        return f"case {self.number}: {self.name}({settings}) on {', '.join(self.traits)}"


def good(name: str, seed: int = 0, n: int = 30, p: int = 3) -> tuple[Any, Any]:
    """Return a sample that every estimator learns from."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1 if name in UNIVARIATE else p))
    return X, _targets(kind(make(name)), X, rng)


@np.errstate(all="ignore")
def case(number: int) -> Case:
    """Return the case of a number."""
    rng = np.random.default_rng([14, number])
    names = [*MACHINES]
    name = names[number % len(names)]
    machine = make(name)
    sort = kind(machine)
    n, p = int(rng.integers(4, 61)), int(rng.integers(1, 6))
    p = 1 if name in UNIVARIATE and rng.random() < 0.8 else p
    X = rng.normal(size=(n, p))
    y = _targets(sort, X, rng)
    found = Case(number, name, machine, _settings(machine, rng), X, y, None, [f"{n} x {p}"])
    choices = [*TRAITS]
    for which in rng.choice(len(choices), size=int(rng.integers(1, 4)), replace=False):
        found.traits.append(choices[which])
        TRAITS[choices[which]](found, rng)
    if rng.random() < 0.3:
        container = [*CONTAINERS][int(rng.integers(len(CONTAINERS)))]
        found.traits.append(container)
        CONTAINERS[container](found, rng)
    return found


@np.errstate(all="ignore")
def weighted(number: int) -> Case:
    """Return the case of a number in the stream of weights from 1e-20 to 1e20.

    Weights of samples, of classes and C, alone and multiplied, on samples without other hostility
    or with one trait of it.
    """
    rng = np.random.default_rng([16, number])
    name = [*EVERY][number % len(EVERY)]
    machine = make(name)
    n, p = int(rng.integers(6, 61)), 1 if name in UNIVARIATE else int(rng.integers(1, 5))
    X = rng.normal(size=(n, p))
    found = Case(number, name, machine, {}, X, _targets(kind(machine), X, rng), None, [])
    found.traits.append(f"{n} x {p}")
    if rng.random() < 0.3:
        trait = [*MILD][int(rng.integers(len(MILD)))]
        found.traits.append(trait)
        MILD[trait](found, rng)
    own, n = machine.get_params(deep=False), len(found.X)
    if "C" in own and rng.random() < 0.5:
        found.settings["C"] = float(10.0 ** rng.uniform(-20, 20))
    if "class_weight" in own and rng.random() < 0.5:
        found.settings["class_weight"] = {int(rng.integers(2)): float(10.0 ** rng.uniform(-20, 20))}
    if "kernel" in own and rng.random() < 0.3:
        found.settings["kernel"] = ["linear", "poly", "laplacian"][int(rng.integers(3))]
    if "epsilon" in own and rng.random() < 0.2:
        found.settings["epsilon"] = float(rng.choice([0.0, 1e-6]))
    kinds = [*WEIGHTS]
    which = kinds[int(rng.integers(len(kinds)))]
    found.traits.append(f"weights {which}")
    found.weights = WEIGHTS[which](n, rng)
    return found


def _settings(machine: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw up to two settings at the ends of what is allowed."""
    own = [key for key in machine.get_params(deep=False) if key in DRAWN]
    if not own or rng.random() < 0.4:
        return {}
    keys = rng.choice(own, size=min(len(own), int(rng.integers(1, 3))), replace=False)
    return {str(key): DRAWN[key][int(rng.integers(len(DRAWN[key])))] for key in keys}


def _targets(sort: str, X: Any, rng: np.random.Generator) -> Any:
    f = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=len(X))
    if sort == "labels":
        y = np.where(f > 0, 1, 0)
        y[: min(2, len(y))] = np.arange(min(2, len(y)))
        return y
    if sort == "censored" and rng.random() < 0.5:
        return np.column_stack([f, np.where(rng.random(len(X)) < 0.3, np.inf, f)])
    return f


# Traits ------------------------------------------------------------------------------------------


def _is_labels(case: Case) -> bool:
    return kind(case.machine) == "labels"


def _constant_column(case, rng):
    case.X[:, int(rng.integers(case.X.shape[1]))] = rng.choice([0.0, 1.0, 1e6])


def _all_constant(case, rng):
    case.X[:] = rng.choice([0.0, 1.0, -3.7])


def _duplicates(case, rng):
    few = int(rng.integers(1, 4))
    case.X = case.X[rng.integers(few, size=len(case.X)) % max(len(case.X), 1)]


def _all_duplicates(case, rng):
    case.X, case.y = np.repeat(case.X, 2, axis=0), np.repeat(case.y, 2, axis=0)


def _binary_inputs(case, rng):
    case.X = (case.X > 0).astype(float)


def _collinear(case, rng):
    case.X = np.outer(case.X[:, 0], rng.normal(size=case.X.shape[1]))


def _few_rows(case, rng):
    n = int(rng.integers(0, 4))
    case.X, case.y = case.X[:n], case.y[:n]


def _wide(case, rng):
    # Searches over subsets or components take as long as there are columns, which is no hostility.
    case.X = rng.normal(size=(len(case.X), 20 if case.name in SEARCHES else 200))


def _no_columns(case, rng):
    case.X = case.X[:, :0]


def _scale_X(case, rng):
    case.X = case.X * rng.choice(SCALES)


def _scale_columns(case, rng):
    case.X = case.X * rng.choice(SCALES, size=case.X.shape[1])


def _shift_X(case, rng):
    case.X = case.X + rng.choice([1e6, 1e10, 1e15, 1e200])


def _outlier_X(case, rng):
    if len(case.X):
        case.X[0] = rng.choice(SCALES)


def _scale_y(case, rng):
    if not _is_labels(case):
        case.y = case.y * rng.choice(SCALES)


def _shift_y(case, rng):
    if not _is_labels(case):
        case.y = case.y + rng.choice([1e6, 1e10, 1e15, 1e200])


def _outlier_y(case, rng):
    if len(case.y) and not _is_labels(case):
        case.y[0] = rng.choice(SCALES)


def _constant_y(case, rng):
    case.y = np.full_like(case.y, rng.choice([0.0, 1.0, 1e-200, 5.0]))


def _heavy_tails(case, rng):
    case.X = np.exp(10.0 * case.X)


def _subnormal(case, rng):
    case.X = np.sign(case.X) * 5e-324


def _not_finite(case, rng):
    if case.X.size:
        value = rng.choice([np.nan, np.inf, -np.inf])
        case.X[int(rng.integers(len(case.X))), int(rng.integers(case.X.shape[1]))] = value


def _not_finite_y(case, rng):
    if len(case.y):
        case.y = np.asarray(case.y, dtype=float)
        case.y[int(rng.integers(len(case.y)))] = rng.choice([np.nan, np.inf, -np.inf])


def _classes(case, rng):
    if not _is_labels(case) or case.y.dtype.kind != "i":
        return
    n = len(case.y)
    case.y = [
        lambda: np.array(["no", "yes"])[case.y],
        lambda: np.array(["no", "yes"], dtype=object)[case.y],
        lambda: np.arange(n) % min(max(n // 2, 1), 8),
        lambda: np.arange(n),
        lambda: (np.arange(n) == 0).astype(int),
        lambda: case.y.astype(bool),
        lambda: case.y * 2.0 - 1.0,
        lambda: case.y * 10**15,
        lambda: case.y + 0.5,
        lambda: case.y.astype(object),
    ][int(rng.integers(10))]()


def _types(case, rng):
    to = [int, bool, np.float32, np.float16, np.int8, np.uint8, object, str, complex, "O1"]
    to = to[int(rng.integers(len(to)))]
    case.traits[-1] += f" {to if isinstance(to, str) else to.__name__}"
    with np.errstate(all="ignore"):
        if to == "O1":
            case.X = case.X.astype(object)
            if case.X.size:
                case.X[0, 0] = [None, "a", 1 + 2j, [1.0], 10**400][int(rng.integers(5))]
        else:
            case.X = case.X.astype(to)


def _types_y(case, rng):
    to = [int, bool, np.float32, np.float16, object, str, complex][int(rng.integers(7))]
    case.traits[-1] += f" {to.__name__}"
    with np.errstate(all="ignore"):
        case.y = np.asarray(case.y).astype(to)


def _weights(case, rng):
    n = len(case.X)
    one = np.zeros(n)
    one[: min(n, 1)] = 1.0
    two = np.zeros(n)
    two[: min(n, 2)] = 1.0
    case.weights = [
        lambda: np.zeros(n),
        lambda: one,
        lambda: two,
        lambda: np.full(n, 1e300),
        lambda: np.full(n, 1e-300),
        lambda: 10.0 ** rng.uniform(-30, 30, n),
        lambda: rng.normal(size=n),
        lambda: np.full(n, np.nan),
        lambda: np.where(np.arange(n) == 0, np.inf, 1.0),
        lambda: np.ones(n + 1),
        lambda: np.ones(n, dtype=int),
        lambda: [1] * n,
        lambda: np.ones((n, 1)),
        lambda: np.full(n, "a"),
        lambda: rng.random(n).astype(np.float32),
    ][int(rng.integers(15))]()


def _shape_y(case, rng):
    case.y = [
        lambda: np.asarray(case.y)[:, None],
        lambda: np.column_stack([case.y, case.y]),
        lambda: case.y[:-1],
        lambda: None,
        lambda: 3.0,
        lambda: list(case.y),
    ][int(rng.integers(6))]()


def _shape_X(case, rng):
    case.X = [
        lambda: case.X[:, 0],
        lambda: case.X[None],
        lambda: None,
        lambda: 3.0,
        lambda: "X",
        lambda: [[1.0], [1.0, 2.0]],
    ][int(rng.integers(6))]()


def _nothing(case, rng):
    pass


# Applied in the order they are drawn; those that need the array as it was made come first by luck
# only, so each looks at what it is given.
def _of_array(trait):
    def applied(case, rng):
        if (
            isinstance(case.X, np.ndarray)
            and case.X.ndim == 2
            and case.X.shape[1]
            and case.X.dtype == float
            and isinstance(case.y, np.ndarray)
            and len(case.y) == len(case.X)
            and case.y.dtype.kind in "if"
        ):
            trait(case, rng)
        else:
            case.traits[-1] += " (does not apply)"

    return applied


TRAITS = {
    "as drawn": _nothing,
    "a constant column": _constant_column,
    "constant X": _all_constant,
    "few distinct rows": _duplicates,
    "every row twice": _all_duplicates,
    "binary X": _binary_inputs,
    "collinear X": _collinear,
    "at most three rows": _few_rows,
    "many columns": _wide,
    "no columns": _no_columns,
    "X scaled": _scale_X,
    "columns scaled": _scale_columns,
    "X shifted": _shift_X,
    "an outlier in X": _outlier_X,
    "y scaled": _scale_y,
    "y shifted": _shift_y,
    "an outlier in y": _outlier_y,
    "constant y": _constant_y,
    "heavy tails": _heavy_tails,
    "subnormal X": _subnormal,
    "X not finite": _not_finite,
    "y not finite": _not_finite_y,
    "classes": _classes,
    "type of X": _types,
    "type of y": _types_y,
    "weights": _weights,
    "shape of y": _shape_y,
    "shape of X": _shape_X,
}
TRAITS = {name: _of_array(trait) for name, trait in TRAITS.items()}


def _units_of_y(case, rng):
    if not _is_labels(case):
        case.y = case.y * 10.0 ** rng.uniform(-6, 6)


def _origin_of_y(case, rng):
    if not _is_labels(case):
        case.y = case.y + 10.0 ** rng.uniform(0, 8)


# Traits that leave an answer to be expected, whatever the weights.
MILD = {
    name: TRAITS[name]
    for name in (
        "a constant column",
        "few distinct rows",
        "every row twice",
        "binary X",
        "collinear X",
        "constant y",
    )
}
MILD |= {"y in other units": _units_of_y, "y of another origin": _origin_of_y}

WEIGHTS = {
    "of one magnitude": lambda n, rng: np.full(n, 10.0 ** rng.uniform(-20, 20)),
    "about one magnitude": lambda n, rng: 10.0 ** rng.uniform(-20, 20) * rng.uniform(0.1, 1.0, n),
    "of all magnitudes": lambda n, rng: 10.0 ** rng.uniform(-20, 20, n),
    "of two magnitudes": lambda n, rng: rng.choice(10.0 ** rng.uniform(-20, 20, 2), n),
    "of one large": lambda n, rng: np.r_[10.0 ** rng.uniform(0, 20), np.ones(n - 1)],
    "with zeros": lambda n, rng: np.where(rng.random(n) < 0.3, 0.0, 10.0 ** rng.uniform(-20, 20)),
}


# Containers --------------------------------------------------------------------------------------


def _of_matrix(container):
    def applied(case, rng):
        if isinstance(case.X, np.ndarray) and case.X.ndim == 2:
            case.X = container(case.X)

    return applied


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _sparse(kind):
    return lambda X: kind(X) if X.dtype.kind in "fiu" and X.dtype != np.float16 else X


CONTAINERS = {
    "lists": lambda X: X.tolist(),
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr": _sparse(sp.csr_array),
    "csc": _sparse(sp.csc_array),
    "coo": _sparse(sp.coo_array),
    "csr_matrix": _sparse(sp.csr_matrix),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(
        {f"x{k}": column.tolist() for k, column in enumerate(X.T)}, strict=False
    ),
    "masked": lambda X: np.ma.masked_array(X),
}
CONTAINERS = {name: _of_matrix(container) for name, container in CONTAINERS.items()}
