"""What a low-rank fit of 10^8 to 10^10 rows costs, foretold from passes on one core; some minutes.

A pass evaluates m kernel values for each of n rows with d features, multiplies by k columns and
back, and adds up. Seconds of one core for this are linear in five numbers, which are fitted to
measured passes; what clusters add is counted on paper, with what calls of a pass cost as measured
with 1 to 8 workers. ``--short`` measures two passes and holds them to what is foretold.
"""

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.special import log_ndtr

from benchmarks.store import Record, in_turn, stored

FRESH = True
PASSES = [(d, m, k) for d in (5, 20, 100, 784) for m in (256, 1024, 2048) for k in (1, 8)]
FORETOLD = [(10, 512, 1), (50, 1536, 4), (300, 1024, 2)]
PRECISIONS, ROWS = ("double", "single"), 16_384
# How far a short run may be from what is foretold: another machine, and other work on it.
APART = 4.0

ARITY = 8  # workers that a worker calls in the tree of sums
SPREAD = 0.2  # of the logarithm of a task's time: one in a hundred takes 1.6 times the median
CURVED, COSTED = 10, 4000  # rows a landmark for curvature, rows for the cost of the approximation
PART, EACH, ONCE = 2e9, 4, 3  # bytes of a partition, partitions and first tasks of a worker
# Of a core: its share where many share a node, bytes, and dollars an hour.
SHARE, BYTES, PRICE = 0.875, 4e9, 0.05
LINK, READ, LATENCY = 25e9 / 8, 1e9, 1e-3  # bytes a second and node, seconds of a transfer
CLUSTERS = {"1 × 32": (1, 32), "16 × 32": (16, 32), "100 × 64": (100, 64), "1,000 × 32": (1000, 32)}


def cases(short: bool) -> list[dict[str, Any]]:
    shapes = FORETOLD[:1] if short else PASSES + FORETOLD
    passes = [
        {"part": "pass", "precision": p, "d": d, "m": m, "k": k}
        for p in PRECISIONS
        for d, m, k in shapes
    ]
    factors = [("factor", 4000), ("curvature", 2000)]
    return passes + [{"part": p, "m": m} for p, m in factors if not short]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    m = case["m"]
    if case["part"] == "pass":
        return {"seconds": one_pass(case["precision"], case["d"], m, case["k"])}
    if case["part"] == "factor":
        from scipy.linalg import cho_factor

        K = np.eye(m) + np.random.default_rng(0).uniform(size=(m, m)) / m
        times = in_turn({"factor": lambda: cho_factor(K, check_finite=False)}, 3)
        return {"flops": m**3 / 3 / min(times["factor"])}
    F = np.random.default_rng(0).normal(size=(CURVED * m, m))
    times = in_turn({"curvature": lambda: F.T @ F}, 2)
    return {"flops": 2 * CURVED * m**3 / min(times["curvature"])}


def one_pass(precision: str, d: int, m: int, k: int) -> float:
    """Return the least processor seconds of a pass over landmarks on one core."""
    from mercer.kernels import Gaussian
    from mercer.reduced.nystrom import Panel

    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((ROWS, d)), rng.standard_normal((m, k))
    y = rng.standard_normal((ROWS, k))
    panel = Panel(Gaussian(np.sqrt(d)), X[:m].copy())

    def slopes(F: np.ndarray, part: slice, K: np.ndarray) -> np.ndarray:
        return F - y[part]

    call = lambda: panel.sweep(X, A, slopes, single=precision == "single")  # noqa: E731
    return min(in_turn({"pass": call}, 3)["pass"])


def line(values: dict[str, Any]) -> str:
    return str(values)


# What is foretold ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pace:
    """Seconds for each term: of a feature of an entry, of its exponential, of its two products."""

    multiply: float
    entry: float
    product: float
    row: float
    block: float

    def seconds(self, n: float, d: float, m: float, k: float = 1) -> float:
        """Return the time of a pass, on one core."""
        return float(np.dot(astuple(self), counts(n, d, m, k)))


def counts(n: float, d: float, m: float, k: float) -> list[float]:
    """Return how often each term of a pass occurs."""
    return [n * m * d, n * m, n * m * k, n * (d + k), n / ROWS]


def pace(records: list[Record], precision: str) -> Pace:
    """Fit the pace by non-negative least squares of relative errors."""
    found = [
        (r.case, r["seconds"])
        for r in records
        if r.case.get("precision") == precision
        and (r.case["d"], r.case["m"], r.case["k"]) not in FORETOLD
        and r.case.get("rows", ROWS) == ROWS
    ]
    A = np.array([counts(ROWS, c["d"], c["m"], c["k"]) for c, _ in found])
    A = A / np.array([seconds for _, seconds in found])[:, None]
    size = np.linalg.norm(A, axis=0)  # the columns differ by ten orders of magnitude
    return Pace(*(nnls(A / size, np.ones(len(A)))[0] / size).tolist())


@dataclass(frozen=True)
class Costs:
    """What was measured: paces, flops, passes of a squared loss, calls of client and scheduler."""

    double: Pace
    single: Pace
    factor: float
    curvature: float
    value: float
    curved: float
    message: float
    order: float
    member: float
    call: float


def measured(records: list[Record]) -> Costs:
    by = {r.case["part"]: r for r in records}
    calls = {k: by["calls"][k] for k in ("message", "order", "member", "call")}
    flops = {k: by[k]["flops"] for k in ("factor", "curvature")}
    passes = {"value": by["passes"]["value"], "curved": by["passes"]["curvature"]}
    return Costs(pace(records, "double"), pace(records, "single"), **flops, **passes, **calls)


def depth(parts: int) -> int:
    """Return the levels of a tree of sums."""
    levels = 0
    while parts > 1:
        parts, levels = -(-parts // ARITY), levels + 1
    return levels


def longest(workers: int, each: int) -> float:
    """Return the expected longest sum of log-normal times of mean one, over the workers.

    The sum is taken for a log-normal of the same mean and variance, which it is for one time.
    """
    s = math.sqrt(math.log1p(math.expm1(SPREAD**2) / each))

    def beyond(x: float) -> float:
        return -math.expm1(workers * float(log_ndtr((math.log(x) + s * s / 2) / s)))

    middle = math.exp(s * math.sqrt(2 * math.log(workers + 1)))
    ends = ((0.0, middle), (middle, math.exp(s * 9.0)))
    return each * sum(quad(beyond, low, high, limit=200)[0] for low, high in ends)


def estimate(n: float, d: int, m: int, count: int, cores: int, costs: Costs) -> tuple[float, float]:
    """Return seconds and dollars of a fit with a squared loss on nodes of some cores.

    A client of 64 cores factorizes, on a single node the node itself; workers hold their rows in
    float32 where half their memory allows, and read them in every pass where it does not.
    """
    alone, each = count == 1, n / count
    total = costs.value + costs.curved + 1  # one draws the landmarks
    compute = costs.value * costs.double.seconds(each, d, m)
    compute = (compute + costs.curved * costs.single.seconds(each, d, m)) / (SHARE * cores)
    parts = max(EACH * count, math.ceil(n * d * 4 / PART))
    shard = math.ceil(parts / count)
    late = 0.0 if alone else compute * (longest(count, shard) / shard - 1)
    rows, summand = each * d * 4, 8.0 * m
    read = rows / READ * (1 if rows <= BYTES * cores / 2 else total)
    factored = 2 * m**3 / 3
    summed = 2 * CURVED * m**3 + COSTED * m * (m + 2 * COSTED)
    node = SHARE * (cores if alone else 64)
    stream = 100e9 if alone else 200e9
    client = factored / (node * costs.factor) + summed / (node * costs.curvature)
    client += (costs.value + costs.curved) * 32.0 * m * m / stream
    seconds, price = compute + late + read + client, PRICE * cores * count
    if not alone:
        hop = LATENCY + ARITY * (costs.call + summand / LINK)
        drawn = 8.0 * (d + 1) * min(CURVED * m, n / parts)
        seconds += (total * hop + ARITY * drawn / LINK) * depth(count)
        seconds += total * (costs.order + count * costs.member) + ONCE * count * costs.message
        seconds += (total * depth(count) * ARITY * summand + count * 8.0 * m * d) / LINK
        price += PRICE * 64
    return seconds, seconds / 3600 * price


def claims(records: list[Record], short: bool) -> list[str]:
    """Name passes that were not among the fitted ones, and are far from what is foretold."""
    known = stored("scale") if short else records
    wrong = []
    for r in records:
        c = r.case
        if c["part"] == "pass" and (c["d"], c["m"], c["k"]) in FORETOLD:
            told = pace(known, c["precision"]).seconds(c.get("rows", ROWS), c["d"], c["m"], c["k"])
            if not 1 / APART < r["seconds"] / told < APART:
                wrong.append(f"{c}: {r['seconds']:.3f} s, foretold {told:.3f} s")
    return wrong
