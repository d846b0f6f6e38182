"""What a fit of many rows costs: time, memory and money, as formulas.

A pass evaluates m kernel values for each of n rows with d features, multiplies them by k columns
and back, and adds up m k numbers over a tree. Seconds of one core for this are linear in five
numbers, which `plan.py` fits to measurements; everything else is counted on paper.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.plan.simulate import depth, largest

TERMS = ("multiply", "entry", "product", "row", "block")
BLOCK = 16_384  # rows of a block
ARITY = 8  # results that a task of the tree adds
SPREAD = 0.2  # of the logarithm of a task's time: one in a hundred takes 1.6 times the median
CURVED = 10  # rows for a centre that curvature is summed over
COSTED = 4000  # rows that the cost of the approximation is estimated from
FEW = 600  # centres, up to which curvature is summed over all rows
PART = 2e9  # bytes of rows in a partition, at most
EACH = 4  # partitions of a worker, which it goes through one after the other
ONCE = 3  # tasks of a worker before the first pass: rows are read, and centres bound to them
GB = 1e9


@dataclass(frozen=True)
class Job:
    """A fit: rows, features, centres, columns, and the loss, which decides about passes."""

    n: float
    d: int
    m: int
    k: int = 1
    loss: str = "squared"


def counts(n: float, d: float, m: float, k: float) -> list[float]:
    """Return how often each term of a pass occurs."""
    return [n * m * d, n * m, n * m * k, n * (d + k), n / BLOCK]


@dataclass(frozen=True)
class Pace:
    """Seconds for each term: of a feature of an entry, of its exponential, of its two products."""

    multiply: float
    entry: float
    product: float
    row: float
    block: float

    def seconds(self, n: float, d: float, m: float, k: float) -> float:
        """Return the time of a pass, on one core."""
        return float(np.dot(list(asdict(self).values()), counts(n, d, m, k)))


def client_work(m: float, factors: float, rows: float) -> tuple[float, float]:
    """Return flops of factorizations, and of products and triangular solves of rows.

    K_ZZ is factorized. Features of some rows are made of their values and their curvature is
    summed and factorized, as often as the solver asks. At the end features of other rows are
    multiplied with each other, for what the approximation costs.
    """
    return (1 + factors) * m**3 / 3, 2 * factors * rows * m**2 + COSTED * m * (m + 2 * COSTED)


def fit(measured: Sequence[dict[str, Any]]) -> Pace:
    """Fit the pace by non-negative least squares of relative errors."""
    A = np.array([counts(r["n"], r["d"], r["m"], r["k"]) for r in measured])
    t = np.array([r["cpu"] for r in measured])
    A = A / t[:, None]
    size = np.linalg.norm(A, axis=0)  # the columns differ by ten orders of magnitude
    return Pace(*(nnls(A / size, np.ones(len(t)))[0] / size).tolist())


@dataclass(frozen=True)
class Machine:
    """A worker: how fast it computes, reads and sends, what it holds and what it costs."""

    name: str
    double: Pace  # of the whole machine
    single: Pace
    flops: float  # a second, of a factorization in double precision
    curving: float  # the same, of sums of curvature
    memory: float  # bytes
    stream: float  # bytes a second, of its memory
    link: float  # bytes a second, of its network
    read: float  # bytes a second, of its storage
    price: float  # an hour


def cpu(
    cores: int, double: Pace, single: Pace, flops: float, curving: float, price: float
) -> Machine:
    """Return a machine of cores as measured here, an eighth of their time lost to each other."""

    def shared(pace: Pace) -> Pace:
        return Pace(*(value / (0.875 * cores) for value in asdict(pace).values()))

    return Machine(
        name=f"{cores} cores",
        double=shared(double),
        single=shared(single),
        flops=0.875 * cores * flops,
        curving=0.875 * cores * curving,
        memory=4 * GB * cores,
        stream=100 * GB if cores <= 32 else 200 * GB,
        link=25e9 / 8,
        read=1 * GB,
        price=price * cores,
    )


def gpu(
    name: str, single: float, double: float, stream: float, memory: float, price: float
) -> Machine:
    """Return a machine by its roof: peak flops and bytes a second, of which half is reached.

    Kernel values are written by the product, read and written by the exponential, and read by the
    two products: five times their size, without fusion of these steps.
    """

    def roof(flops: float, width: int) -> Pace:
        return Pace(
            multiply=2 / (0.5 * flops),
            entry=5 * width / (0.5 * stream),
            product=4 / (0.5 * flops),
            row=width / (0.5 * stream),
            block=1e-4,  # ten launches of a kernel
        )

    return Machine(
        name=name,
        double=roof(double, 8),
        single=roof(single, 4),
        flops=0.5 * double,
        curving=0.5 * double,
        memory=memory,
        stream=0.5 * stream,
        link=25e9 / 8,
        read=2 * GB,
        price=price,
    )


@dataclass(frozen=True)
class Cluster:
    """Some machines of a kind, and the computer in the middle."""

    name: str
    machine: Machine
    count: int
    client: Machine  # holds and factorizes what is m by m
    latency: float = 1e-3  # of a transfer, with the scheduler's consent
    message: float = 2e-4  # of client and scheduler, for a task
    order: float = 2e-3  # of client and scheduler, for a pass
    member: float = 0.0  # the same, for every worker of a pass
    call: float = 1e-3  # of a worker, for a call to another and its answer

    def price(self) -> float:
        """Return what an hour costs."""
        return self.count * self.machine.price + self.client.price


@dataclass(frozen=True)
class Estimate:
    """Seconds by what they go into, bytes, and money."""

    passes: float
    compute: float
    stragglers: float
    read: float
    tree: float
    scheduler: float
    broadcast: float
    client: float
    worker_bytes: float
    client_bytes: float
    parts: int
    shipped: float  # bytes that a pass sends down and up the tree
    money: float
    fits: bool

    @property
    def seconds(self) -> float:
        """Time of the whole fit."""
        return sum(getattr(self, name) for name in PARTS)

    def first(self) -> str:
        """Return what takes most of the time."""
        return max(PARTS, key=lambda name: float(getattr(self, name)))


PARTS = ("compute", "stragglers", "read", "tree", "scheduler", "broadcast", "client")


def estimate(job: Job, cluster: Cluster, passes: dict[str, dict[str, float]]) -> Estimate:
    """Return what a fit costs on a cluster.

    Parameters
    ----------
    passes : dict
        For each loss, passes in double precision ("value"), in single precision ("curvature"),
        and factorizations ("factor").
    """
    machine, client, count = cluster.machine, cluster.client, cluster.count
    p = passes[job.loss]
    n, d, m, k = job.n / count, job.d, job.m, job.k
    value, curvature = p["value"], p["curvature"]
    total = value + curvature + 1  # one draws the centres and reads the rows for the first time
    compute = value * machine.double.seconds(n, d, m, k)
    compute += curvature * machine.single.seconds(n, d, m, k)
    alone = count == 1

    parts = max(EACH * count, math.ceil(job.n * d * 4 / PART))
    each = math.ceil(parts / count)
    late = 0.0 if alone else compute * (largest(count, each, SPREAD) / each - 1)
    asked = total * (cluster.order + count * cluster.member) + ONCE * count * cluster.message
    asked = 0.0 if alone else asked
    rows = n * d * 4  # float32, as they lie in files
    held = rows <= machine.memory / 2
    reading = rows / machine.read * (1 if held else total)
    summand = 8.0 * m * k
    # A worker calls eight others, sends them the state and gets their sums, one after the other.
    hop = cluster.latency + ARITY * (cluster.call + summand / machine.link)
    # Rows for centres and curvature travel up as well: once, or with every value where the loss has
    # kinks and rows that are curved come and go. No partition sends more rows than it has.
    drawn = 8.0 * (d + 1) * min(CURVED * m, job.n / parts)
    hauls = 1 + (value if p.get("kinked") else 0)
    tree = total * hop + hauls * ARITY * drawn / machine.link
    tree = 0.0 if alone else tree * depth(count, ARITY)
    # States go down the tree that sums come up; the centres, once, out through one link.
    down = total * depth(count, ARITY) * ARITY * summand
    sent = 0.0 if alone else (down + count * 8.0 * m * d) / machine.link
    factored, summed = client_work(m, p["factor"], CURVED * m)
    cube = factored / client.flops + summed / client.curving
    # Every pass solves with both factors.
    solves = (value + curvature) * 4 * 8.0 * m * m / client.stream
    working = 2 * 8.0 * BLOCK * m if m < 4096 else 2 * 8.0 * 2**24
    worker_bytes = (rows if held else PART) + working + summand * ARITY + 8.0 * m * d
    client_bytes = 3 * 8.0 * m * m
    found = Estimate(
        passes=total,
        compute=compute,
        stragglers=late,
        read=reading,
        tree=tree,
        scheduler=asked,
        broadcast=sent,
        client=cube + solves,
        worker_bytes=worker_bytes,
        client_bytes=client_bytes,
        parts=parts,
        shipped=0.0 if alone else 2 * (count - 1) * summand,
        money=0.0,
        fits=worker_bytes <= machine.memory and client_bytes <= client.memory,
    )
    money = found.seconds / 3600 * cluster.price()
    return Estimate(**asdict(found) | {"money": money})
