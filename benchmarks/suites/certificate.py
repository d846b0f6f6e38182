"""A thousand default fits judged again in float64, and what the certificate costs; half an hour.

Machines of 600 to 5,000 rows with C up to 1e4 are fitted as they come (kernel values in float32);
objective, lower bound and gap of each answer are computed again in plain NumPy, and bounds that do
not hold are counted. The problems of the exact suite tell which part of a fit the certificate
takes.
"""

import time
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

import mercer
from benchmarks.contenders.machines import problem_of
from benchmarks.store import Record
from benchmarks.suites.exact import EXACT, SHORT
from data import MISSING
from mercer import SVC, SVR, QuantileSVR
from mercer.estimators import HuberSVR
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, Polynomial, RationalQuadratic
from mercer.solvers import smo

EPS = float(np.finfo(np.float64).eps)
# Stopped after so many seconds, an answer has a bound like any other.
SECONDS, COUNT, FEW = 10.0, 1000, 25
MACHINES, WEIGHTS = ("SVC", "SVR", "HuberSVR", "QuantileSVR"), (0.0, 1.0, 100.0, 1e4)
# Three times what is met.
SHARE = 0.4


def cases(short: bool) -> list[dict[str, Any]]:
    """Return ranges of C by machine, and problems; the largest takes minutes and is left out."""
    fits = [
        {"machine": machine, "C": [low, high], "count": FEW if short else COUNT}
        for machine in MACHINES
        for low, high in pairwise(WEIGHTS)
    ]
    problems = SHORT[:2] if short else [] if MISSING else EXACT
    return fits + [{"problem": p.case()} for p in problems if p.n != 100_000 or p.machine != "SVC"]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


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
        "objective": found.objective,
        "gap": found.gap,
        "true_gap": float(primal - dual),
        "rounding": rounding,
        "converged": found.converged,
        "rough": rough[0] if rough else None,
        "false": bool(
            found.objective < primal - rounding
            or found.dual > dual + rounding
            or found.gap < primal - dual - 2.0 * rounding
        ),
    }


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    if "problem" in case:
        return {"mercer": cost(problem_of(case["problem"]))}
    low, high = case["C"]
    numbers = []
    for number in range(case["count"]):
        machine = drawn(number)[0]
        if type(machine).__name__ == case["machine"] and low <= machine.C < high:
            numbers.append(number)
    return {"mercer": summary([judged(number) for number in numbers])}


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts, the median gap, its largest ratio to the true one, and float32's median."""
    if not found:
        return {"fits": 0, "converged": 0, "false": 0}
    rough = [r["rough"] / r["gap"] for r in found if r["rough"] and r["gap"] > 0]
    return {
        "fits": len(found),
        "converged": sum(r["converged"] for r in found),
        "false": sum(r["false"] for r in found),
        "gap": float(np.median([r["gap"] / abs(r["objective"]) for r in found])),
        "slack": max(r["gap"] / max(r["true_gap"], r["rounding"]) for r in found),
        "rough": float(np.median(rough)) if rough else None,
    }


def cost(problem: Any) -> dict[str, Any]:
    """Fit a problem of the exact suite, again if that is quick, and say what was certified."""
    sample = problem.sample()
    best: dict[str, Any] = {}
    for _ in range(3):
        if best and best["fit"] > 2.0:
            break
        machine = getattr(mercer, problem.machine)(**problem.parameters())
        begin, cpu = time.perf_counter(), time.process_time()
        machine.fit(sample.X, *(() if problem.machine == "OneClassSVM" else (sample.y,)))
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        if not best or cpu < best["fit"]:
            share = machine.solution_.times["certify"] / wall
            best = {"fit": cpu, "share": share, "support": len(machine.support_)}
    return best


def line(values: dict[str, Any]) -> str:
    if "share" in values:
        return f"fit {values['fit']:.2f} s, certificate {values['share']:.0%}"
    return f"{values['fits']} fits, {values['false']} false"


def claims(records: list[Record], short: bool) -> list[str]:
    """Name false bounds, and problems of which the certificate takes too much."""
    return [f"{r.case}: {r['false']} false bounds" for r in records if r.get("false")] + [
        f"{r.case}: the certificate takes {r['share']:.0%}"
        for r in records
        if r.get("share", 0.0) > SHARE
    ]
