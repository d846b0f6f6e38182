"""Linear kernels beside LIBSVM and LIBLINEAR at equal objective: ``full`` writes the page."""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import make_classification

# What the benchmark shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environment import environment
from mercer import SVC
from mercer.gram import Tiled
from mercer.kernels import Linear
from mercer.losses import Hinge, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer.solvers import Auto, minimize

TABLE = Path(__file__).with_name("linear.json")
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "linear.md"
HEAD = """# Linear kernels

A linear kernel needs no kernel matrix: $K = XX'$, and solvers can work on the data. With few
columns an interior point takes some fifteen steps of $n d^2$ multiplications; over sparse
rows coefficients are moved one at a time. This page is written by `make bench SUITE=linear`; do not
edit it by hand. Both libraries are fitted in turns on one thread, compiling is left out, times are
medians of processor time. *Excess* is how far the objective is above the bound that our certificate
proves, relative to it. {processor}, {cores} cores, Python {python}; {date}, commit `{commit}`.

```{{image}} ../auto_examples/large/images/sphx_glr_plot_linear_001.png
:alt: Seconds of both libraries by the number of rows and by C, on 4,177 snails.
:width: 100%
:target: ../auto_examples/large/plot_linear.html
```

[Fits of 4,177 snails](../auto_examples/large/plot_linear.rst) reach the same objective; our time
hardly changes with C.
"""


def text(n: int, d: int, k: int = 75, seed: int = 0) -> tuple[Any, Any]:
    """Return unit rows of about k columns drawn by a power law, and labels of a noisy plane."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((20 * (d / 20 + 1) ** rng.random(n * k) - 20).astype(int), d - 1)
    values = (1 + rng.exponential(size=n * k)) * np.log(1 + d / (columns + 20.0))
    X = sp.csr_matrix((values, (np.repeat(np.arange(n), k), columns)), (n, d))
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags_array(1 / length) @ X)
    s = X @ rng.standard_normal(d)
    noise = 0.25 * s.std() * rng.standard_normal(n)
    return X, np.where(s - np.quantile(s, 0.53) + noise > 0, 1.0, -1.0)


def in_turns(fits: list[Any], repeats: int) -> list[tuple[float, Any]]:
    """Return median processor time and last result of each, run in turns."""
    times: list[list[float]] = [[] for _ in fits]
    results: list[Any] = [None] * len(fits)
    for _ in range(repeats):
        for k, fit in enumerate(fits):
            begin = time.process_time()
            results[k] = fit()
            times[k].append(time.process_time() - begin)
    return [(statistics.median(t), r) for t, r in zip(times, results, strict=True)]


def dense(sizes: list[tuple[int, int, float]], repeats: int) -> tuple[list[str], list[float]]:
    """Compare SVC with LIBSVM's on few columns; return lines, and ratios of times."""
    ratios: list[float] = []
    lines = ["| rows x columns | C | LIBSVM, s | ours, s | ratio | excess, theirs | ours |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for n, d, C in sizes:
        X, y = make_classification(
            n, d, n_informative=d // 3, flip_y=0.05, class_sep=0.8, random_state=0
        )
        fits = [
            lambda kind=kind, X=X, y=y, C=C: kind(kernel="linear", C=C).fit(X, y)
            for kind in (sklearn.svm.SVC, SVC)
        ]
        (theirs, a), (ours, b) = in_turns(fits, repeats)
        bound, excess = b.solution_.dual, []
        for machine in (a, b):
            w, f = machine.coef_.ravel(), machine.decision_function(X)
            value = 0.5 * w @ w + C * np.maximum(0, 1 - np.where(y == 1, 1, -1) * f).sum()
            excess.append(f"{max(value - bound, 0) / bound:.0e}")
        lines.append(
            f"| {n:,} x {d} | {C:g} | {theirs:.4f} | {ours:.4f} | {theirs / ours:.1f} | "
            f"{excess[0]} | {excess[1]} |"
        )
        ratios.append(theirs / ours)
        print(lines[-1], flush=True)
    return lines, ratios


def sparse(n: int, d: int, weights: tuple[float, ...], repeats: int) -> list[str]:
    """Compare with LIBLINEAR on text, without an intercept: there both solve the same problem."""
    X, y = text(n, d)
    lines = [
        "| loss | C | LIBLINEAR tol | LIBLINEAR, s | ours, s | ratio | excess, theirs | ours |"
    ]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, loss in (("hinge", Hinge()), ("squared_hinge", SquaredHinge())):
        half = 1.0 if name == "hinge" else 0.5  # our squared hinge has a half
        for C in weights:
            risk = RegularizedRisk(loss, Tiled(Linear(), X), y, C)
            for tol in (1e-3, 1e-4):

                def theirs(name: str = name, C: float = half * C, tol: float = tol) -> Any:
                    machine = sklearn.svm.LinearSVC(
                        loss=name, C=C, tol=tol, fit_intercept=False, max_iter=10_000
                    )
                    return machine.fit(X, y).coef_.ravel()

                (slow, w), (ours, found) = in_turns(
                    [theirs, lambda risk=risk: minimize(risk, Auto())], repeats
                )
                value = 0.5 * w @ w + risk.risk(X @ w)
                excess = [max(v - found.dual, 0) / found.dual for v in (value, found.objective)]
                lines.append(
                    f"| {name} | {C:g} | {tol:g} | {slow:.2f} | {ours:.2f} | {slow / ours:.2f} | "
                    f"{excess[0]:.0e} | {excess[1]:.0e} |"
                )
                print(lines[-1], flush=True)
    return lines


def publish(kept: dict[str, Any]) -> None:
    """Write the page from the committed results."""
    lines = [HEAD.format(**kept["about"]), "## Few columns, SVC", "", *kept["few"], ""]
    lines += ["## Text, 100,000 x 50,000 with about 73 entries a row, no intercept", ""]
    lines += [*kept["many"], ""]
    lines += ["LIBLINEAR penalizes its intercept; ours is not penalized, and exact.", ""]
    PAGE.write_text("\n".join(lines))


def main(form: str) -> int:
    """Run all, or ten seconds of it, which fail if LIBSVM is faster."""
    warnings.simplefilter("ignore")
    X, y = text(4000, 500)
    SVC(kernel="linear").fit(X, y)  # compiled
    if form == "short":
        _, ratios = dense([(500, 20, 1.0), (2000, 20, 1.0)], 3)
        sparse(20_000, 20_000, (1.0,), 1)
        return int(min(ratios) < 1.0)
    sizes = [(500, 20, 1.0), (500, 20, 100.0), (2000, 20, 1.0), (5000, 20, 1.0), (5000, 50, 1.0)]
    few, _ = dense(sizes, 3)
    many = sparse(100_000, 50_000, (0.1, 1.0), 3)
    kept = {"about": environment({"threads": 1}), "few": few, "many": many}
    TABLE.write_text(json.dumps(kept, indent=1) + "\n")
    publish(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "full"))
