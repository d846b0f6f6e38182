"""The certificate of the default path: a thousand random fits judged in float64, and its cost.

``certificate.py full`` fits machines of 600 to 5,000 rows with C up to 1e4 as they come (kernel
values in float32), computes objective, dual value and gap of each answer again in plain NumPy, and
counts the bounds that do not hold; then it takes the problems of the exact benchmark and tells what
part of a fit's time the certificate takes. The page of the documentation is written from both.
``short`` is a test of half a minute.
"""

import argparse
import json
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

# What the benchmark of exact machines shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer
from benchmarks.common.environment import environment, share_threads
from benchmarks.svm.certificate_page import publish
from benchmarks.svm.problems import EXACT, MISSING, SHORT, Problem
from mercer import SVC, SVR, QuantileSVR
from mercer.estimators import HuberSVR
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, Polynomial, RationalQuadratic
from mercer.solvers import smo

TABLE = Path(__file__).resolve().parent / "certificate.json"
EPS = float(np.finfo(np.float64).eps)
# Stopped after so many seconds, an answer has a bound like any other.
SECONDS = 10.0


def kernel(rng: np.random.Generator, p: int) -> Kernel:
    """Draw a kernel; widths are relative to the distances of p standard normal features."""
    width = float(10.0 ** rng.uniform(-1.0, 0.5)) * p**0.5
    choices = [Gaussian(width)] * 6 + [
        Laplacian(width),
        Matern(width, 1.5),
        RationalQuadratic(width, 1.0),
        Polynomial(int(rng.integers(2, 4)), 1.0 / p, 1.0),
    ]
    return choices[rng.integers(len(choices))]


def drawn(number: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return an unfitted machine and its sample."""
    rng = np.random.default_rng([14, number])
    n, p = int(np.exp(rng.uniform(np.log(600), np.log(5000)))), int(rng.integers(1, 21))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-0.5, 0.5, p)
    f = np.sin(2.0 * X[:, 0]) + X[:, -1] * X[:, p // 2] + 0.3 * rng.normal(size=n)
    settings = {"C": float(10.0 ** rng.uniform(-2, 4)), "kernel": kernel(rng, p)}
    make = (SVC, SVC, SVR, SVR, HuberSVR, QuantileSVR)[rng.integers(6)]
    y = np.where(f > np.median(f), 1.0, -1.0) if make is SVC else f
    return make(**settings, max_time=SECONDS), X, y


def losses(machine: Any, y: np.ndarray, f: np.ndarray, u: np.ndarray) -> Any:
    """Return losses at f, and their conjugates where a coefficient is u times its weight."""
    r = y - f
    if isinstance(machine, SVC):
        return np.maximum(0.0, 1.0 - y * f), -y * u
    if isinstance(machine, SVR):
        e = machine.epsilon
        return np.maximum(0.0, np.abs(r) - e), e * np.abs(u) - u * y
    if isinstance(machine, HuberSVR):
        d = machine.delta
        return np.where(np.abs(r) <= d, 0.5 * r**2, d * np.abs(r) - 0.5 * d**2), 0.5 * u**2 - u * y
    q = machine.quantile
    return np.maximum(q * r, (q - 1.0) * r), -u * y


def judged(number: int) -> dict[str, Any]:
    """Fit one machine, and compare what it says of itself with float64."""
    machine, X, y = drawn(number)
    rough: list[float] = []
    plain = smo._State.correct

    def watch(state: Any, everywhere: bool = False) -> None:
        # What the float32 sums would be worth with the proved bound on their error alone.
        error = state.error()[state.back]
        if not rough and np.any(error) and np.all(np.isfinite(error)):
            rough.append(state.risk.certificate(state.a, state.b(), state.Ka, error).gap)
        plain(state, everywhere)

    smo._State.correct = watch  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(X, y)
    finally:
        smo._State.correct = plain  # type: ignore[method-assign]
    found, C = machine.solution_, machine.C
    K, a, b = machine.kernel(X), found.a, float(found.b[0])
    f = K @ a + b
    loss, conjugate = losses(machine, y, f, a / C)
    primal = 0.5 * a @ K @ a + C * loss.sum()
    dual = -0.5 * a @ K @ a - C * conjugate.sum()
    # A decision value is rounded by a part of the sum of its terms, and a loss has a slope up to C
    # or a; sums of n numbers, in another order than the library's.
    terms = np.abs(K) @ np.abs(a) + abs(b) + np.abs(y)
    rounding = 16 * EPS * float((np.abs(a) + C) @ terms)
    return {
        "machine": type(machine).__name__,
        "kernel": type(machine.kernel).__name__,
        "n": len(y),
        "C": C,
        "objective": found.objective,
        "gap": found.gap,
        "true_gap": float(primal - dual),
        "rounding": rounding,
        "converged": found.converged,
        "single": bool(rough) or found.solver == "SMO",
        "rough_gap": rough[0] if rough else None,
        "false": bool(
            found.objective < primal - rounding
            or found.dual > dual + rounding
            or found.gap < primal - dual - 2.0 * rounding
        ),
    }


def cost(problem: Problem) -> dict[str, Any]:
    """Fit a problem of the exact benchmark, again if that is quick, and say what was certified."""
    sample = problem.sample()
    best: dict[str, Any] = {}
    for _ in range(3):
        if best and best["fit"] > 2.0:
            break
        machine = getattr(mercer, problem.machine)(**problem.parameters())
        begin, cpu = time.perf_counter(), time.process_time()
        machine.fit(sample.X, *(() if problem.machine == "OneClassSVM" else (sample.y,)))
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        found = machine.solution_
        if not best or cpu < best["fit"]:
            best = {
                "name": problem.name,
                "n": len(sample.X),
                "support": len(machine.support_),
                "fit": cpu,
                "share": found.times["certify"] / wall,
                "gap": found.gap / abs(found.objective),
            }
    return best


def fits(count: int) -> list[dict[str, Any]]:
    """Judge fits on both cores: their time does not matter."""
    results = []
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for number, r in enumerate(pool.map(judged, range(count))):
            results.append(r)
            if r["false"] or number % 50 == 49:
                print(
                    f"{number + 1}: {sum(r['false'] for r in results)} false; last "
                    f"{r['machine']}, {r['n']} rows, C = {r['C']:.3g}, gap {r['gap']:.3g} (true "
                    f"{r['true_gap']:.3g})",
                    flush=True,
                )
    return results


def summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count by machine and size of C, and by kernel."""
    rows = []
    for machine in ("SVC", "SVR", "HuberSVR", "QuantileSVR"):
        for low, high in ((0.0, 1.0), (1.0, 100.0), (100.0, np.inf)):
            some = [r for r in results if r["machine"] == machine and low <= r["C"] < high]
            if not some:
                continue
            rough = [r["rough_gap"] / r["gap"] for r in some if r["rough_gap"] and r["gap"] > 0]
            rows.append(
                {
                    "machine": machine,
                    "C": [low, min(high, 1e4)],
                    "fits": len(some),
                    "single": sum(r["single"] for r in some),
                    "converged": sum(r["converged"] for r in some),
                    "false": sum(r["false"] for r in some),
                    "gap": float(np.median([r["gap"] / abs(r["objective"]) for r in some])),
                    "slack": float(
                        np.max([r["gap"] / max(r["true_gap"], r["rounding"]) for r in some])
                    ),
                    "rough": float(np.median(rough)) if rough else None,
                }
            )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["full", "fits", "cost", "short", "report"])
    parser.add_argument("--count", type=int, default=1000)
    what, count = vars(parser.parse_args()).values()
    share_threads(1)
    kept = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if what == "short":
        results = fits(25)
        shares = [cost(problem) for problem in SHORT[:2]]
        print("\n".join(f"{s['name']}: certificate {100 * s['share']:.0f} %" for s in shares))
        # A quarter of a fit would be three times what is met.
        return int(any(r["false"] for r in results) or any(s["share"] > 0.4 for s in shares))
    if what in ("full", "fits"):
        kept["fits"] = summary(fits(count))
    if what in ("full", "cost") and not MISSING:
        kept["cost"] = []
        for problem in (p for p in EXACT if p.name != "SVC-covtype_binary-100000"):
            kept["cost"].append(cost(problem))
            print(kept["cost"][-1], flush=True)
    if what != "report":
        kept["about"] = environment({"threads": 1}) | {"load": os.getloadavg()[2]}
        TABLE.write_text(json.dumps(kept, indent=1) + "\n")
    publish(kept)
    return int(sum(row["false"] for row in kept["fits"]) > 0)


if __name__ == "__main__":
    sys.exit(main())
