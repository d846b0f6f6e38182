"""Linear kernels beside LIBSVM and LIBLINEAR at equal objectives; two minutes.

Both take turns in one process. The excess of an objective is its distance from the bound that our
certificate proves. ``--short`` takes fifteen seconds and fails if LIBSVM is faster.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import make_classification

from benchmarks.store import Record, in_turn, middle
from mercer import SVC
from mercer.gram import Tiled
from mercer.kernels import Linear
from mercer.losses import Hinge, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer.solvers import Auto, minimize

FEW = ((500, 20, 1.0), (500, 20, 100.0), (2000, 20, 1.0), (5000, 20, 1.0), (5000, 50, 1.0))
TEXT, SHORT_TEXT = (100_000, 50_000), (20_000, 20_000)
# Relative distance from the proved bound that the default tolerance leaves.
EXCESS = 1e-3


def cases(short: bool) -> list[dict[str, Any]]:
    few = [{"rows": n, "columns": d, "C": C} for n, d, C in (FEW[0], FEW[2])]
    n, d = SHORT_TEXT if short else TEXT
    if not short:
        few = [{"rows": n, "columns": d, "C": C} for n, d, C in FEW]
    return few + [
        {"rows": n, "columns": d, "C": C, "loss": loss, "tol": tol}
        for loss in ("hinge", "squared_hinge")
        for C in ((1.0,) if short else (0.1, 1.0))
        for tol in (1e-3, 1e-4)
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer", "LIBLINEAR" if "loss" in case else "LIBSVM"]


def text(n: int, d: int, k: int = 75) -> tuple[Any, Any]:
    """Return unit rows of about k columns drawn by a power law, and labels of a noisy plane."""
    rng = np.random.default_rng(0)
    columns = np.minimum((20 * (d / 20 + 1) ** rng.random(n * k) - 20).astype(int), d - 1)
    values = (1 + rng.exponential(size=n * k)) * np.log(1 + d / (columns + 20.0))
    X = sp.csr_matrix((values, (np.repeat(np.arange(n), k), columns)), (n, d))
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags_array(1 / length) @ X)
    s = X @ rng.standard_normal(d)
    noise = 0.25 * s.std() * rng.standard_normal(n)
    return X, np.where(s - np.quantile(s, 0.53) + noise > 0, 1.0, -1.0)


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    rounds = 1 if short and "loss" in case else 3
    return (sparse if "loss" in case else dense)(case, rounds)


def dense(case: dict[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Compare SVC with LIBSVM's on few columns."""
    n, d, C = case["rows"], case["columns"], case["C"]
    how = {"n_informative": d // 3, "flip_y": 0.05, "class_sep": 0.8}
    X, y = make_classification(n, d, random_state=0, **how)
    made = {"LIBSVM": sklearn.svm.SVC(kernel="linear", C=C), "mercer": SVC(kernel="linear", C=C)}
    seconds = middle(in_turn({k: lambda k=k: made[k].fit(X, y) for k in made}, rounds))
    bound, found = made["mercer"].solution_.dual, {}
    for name, machine in made.items():
        w, f = machine.coef_.ravel(), machine.decision_function(X)
        value = 0.5 * w @ w + C * np.maximum(0, 1 - np.where(y == 1, 1, -1) * f).sum()
        found[name] = {"seconds": seconds[name], "excess": max(value - bound, 0.0) / bound}
    return found


def sparse(case: dict[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Compare with LIBLINEAR on text, without an intercept: there both solve the same problem."""
    X, y = text(case["rows"], case["columns"])
    hinge, C = case["loss"] == "hinge", case["C"]
    risk = RegularizedRisk(Hinge() if hinge else SquaredHinge(), Tiled(Linear(), X), y, C)
    # Our squared hinge has a half.
    settings = {"loss": case["loss"], "C": C if hinge else 0.5 * C, "tol": case["tol"]}
    theirs = sklearn.svm.LinearSVC(**settings, fit_intercept=False, max_iter=10_000)
    last: dict[str, Any] = {}

    def ours() -> None:
        last["mercer"] = minimize(risk, Auto())

    seconds = middle(in_turn({"LIBLINEAR": lambda: theirs.fit(X, y), "mercer": ours}, rounds))
    solution, w = last["mercer"], theirs.coef_.ravel()
    values = {"LIBLINEAR": 0.5 * w @ w + risk.risk(X @ w), "mercer": solution.objective}
    return {
        name: {
            "seconds": seconds[name],
            "excess": max(float(value) - solution.dual, 0.0) / solution.dual,
        }
        for name, value in values.items()
    }


def line(values: dict[str, Any]) -> str:
    return f"{values['seconds']:.4f} s, {values['excess']:.0e} above the bound"


def claims(records: list[Record], short: bool) -> list[str]:
    """Name problems of few columns on which LIBSVM is faster, and answers that are not solved."""
    by = {(str(r.case), r.contender): r["seconds"] for r in records}
    slow = [
        f"{case}: LIBSVM is faster"
        for case, name in by
        if name == "LIBSVM" and by[case, name] < by[case, "mercer"]
    ]
    loose = [
        f"{r.case}: {r['excess']:.0e} above the bound"
        for r in records
        if r.contender == "mercer" and r["excess"] > EXCESS
    ]
    return slow + loose
