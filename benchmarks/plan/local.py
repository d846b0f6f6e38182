"""What local machines of many rows cost on clusters: the part of the plan without passes.

Rows are read twice, sorted to leaves over the network, and every leaf is fitted once. Seconds of a
row were measured (``large/local.py``); bytes and tasks are counted on paper.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.plan.model import SPREAD, Cluster
from benchmarks.plan.simulate import largest
from mercer.distributed.bundles import bounds_of, tasks_of

EXTRA = 3  # numbers of a row beside its features: target, weight, place
KINDS = ("compute", "stragglers", "read", "sort", "scheduler", "client")


@dataclass(frozen=True)
class LocalEstimate:
    """Seconds by what they go into, tasks, bytes of all fitted leaves, and money."""

    compute: float
    stragglers: float
    read: float
    sort: float
    scheduler: float
    client: float
    tasks: float
    kept_bytes: float
    money: float

    @property
    def seconds(self) -> float:
        """Time of the whole fit."""
        return sum(getattr(self, name) for name in KINDS)

    def first(self) -> str:
        """Return what takes most of the time."""
        return max(KINDS, key=lambda name: float(getattr(self, name)))


def estimate_local(
    n: float, d: int, row: float, cluster: Cluster, cores: int, leaf: int = 1000
) -> LocalEstimate:
    """Return what a fit costs.

    Parameters
    ----------
    n : float
        Rows.
    d : int
        Features.
    row : float
        Seconds of one core for a row, reading and sorting included.
    cluster : Cluster
    cores : int
        Of a machine of the cluster, an eighth of whose time is lost to each other.
    leaf : int, default=1000
        Rows of a leaf.
    """
    machine, count = cluster.machine, cluster.count
    size = 8.0 * (d + EXTRA) * n
    leaves = math.ceil(n / leaf)
    bundles = len(bounds_of(leaves, count, size, count, machine.memory)) - 1
    fits = max(bundles, tasks_of(leaves, cores * count))
    # Leaves are fitted where their bundle is; where there are fewer, some have nothing to do.
    busy = min(count, bundles)
    compute = n * row / (0.875 * min(cores * busy, cores if count == 1 else fits))
    tasks = 0 if count == 1 else count + count * bundles + bundles + fits
    each = max(1, round(bundles / count))
    late = 0.0 if count == 1 else compute * (largest(busy, each, SPREAD) / each - 1)
    # Rows go to the worker of their leaf; alone, to the disk and back.
    moved = 2 * size / machine.read if count == 1 else size / count / machine.link
    # Leaves of least squares hold all rows, and go to the client as soon as they are fitted.
    home = size / (machine.read if count == 1 else machine.link)
    found = LocalEstimate(
        compute=compute,
        stragglers=late,
        read=2 * 4.0 * n * d / count / machine.read,
        sort=moved,
        scheduler=tasks * cluster.message,
        client=home,
        tasks=tasks,
        kept_bytes=size,
        money=0.0,
    )
    money = found.seconds / 3600 * cluster.price()
    return LocalEstimate(**asdict(found) | {"money": money})


def seconds_of_rows(lines: list[dict[str, Any]]) -> dict[int, float]:
    """Return processor seconds of a row by the rows of a leaf, of the largest fit of each."""
    fits = sorted((line for line in lines if line["name"] == "fit"), key=lambda line: line["rows"])
    return {int(line.get("leaf", 1000)): line["cpu"] / line["rows"] for line in fits}
