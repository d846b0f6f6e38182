"""The plan to a billion rows and past it: measure here, fit the costs, foretell clusters.

``plan.py measure [passes|factors|reading|fits|engine ...]`` measures all or some of what the plan
rests on, one thread, a few minutes, and keeps it in ``plan.json``. ``plan.py report`` fits the
model to it, simulates a thousand workers and writes the page of the documentation.
"""

import argparse
import json
import math
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

# What the benchmark of exact machines shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from scipy.optimize import nnls

from benchmarks.common.environment import environment, share_threads
from benchmarks.plan import measurements
from benchmarks.plan.local import estimate_local, seconds_of_rows
from benchmarks.plan.model import (
    ARITY,
    BLOCK,
    CURVED,
    FEW,
    PARTS,
    SPREAD,
    Cluster,
    Job,
    Machine,
    Pace,
    client_work,
    cpu,
    estimate,
    fit,
    gpu,
)
from benchmarks.plan.page import duration, publish
from benchmarks.plan.simulate import Fleet, Simulation, client, depth, survived, troubles
from benchmarks.plan.simulate import fit as simulate

TABLE = Path(__file__).resolve().parent / "plan.json"
CORE, A100, H100 = 0.05, 3.0, 4.0  # dollars an hour
ROWS, SHAPES = (1e8, 1e9, 1e10), [(d, m) for d in (10, 50, 784) for m in (10**3, 10**4, 10**5)]
HOUR = 3600.0


def measure(sections: list[str]) -> dict[str, Any]:
    """Return measurements by section."""
    ways = {
        "passes": lambda: list(measurements.passes()),
        "factors": lambda: list(measurements.factors()),
        "reading": measurements.reading,
        "fits": lambda: list(measurements.fits()),
        "engine": measurements.engine,
    }
    found = {}
    for name in sections or list(ways):
        found[name] = ways[name]()
        print(name, "is measured", flush=True)
    return found


def paces(passes: list[dict[str, Any]]) -> dict[str, Pace]:
    """Return the fitted pace of each precision."""
    return {
        precision: fit([r for r in passes if r["precision"] == precision and not r["foretold"]])
        for precision in measurements.PRECISIONS
    }


def passes_of(fits: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return passes of each loss: the most that a fit with many rows and centres has taken."""
    n, m = (max(r[key] for r in fits) for key in ("n", "m"))
    found = {}
    for loss in dict.fromkeys(r["loss"] for r in fits):
        names = [r["passes"] for r in fits if (r["loss"], r["n"], r["m"]) == (loss, n, m)]
        value = max(sum(values(one).values()) for one in names)
        found[loss] = {
            "value": value,
            "curvature": max(one.get("curvature", 0) for one in names),
            "factor": 1
            if loss == "squared"
            else max(one["value"] + one.get("round", 0) for one in names),
            "kinked": loss == "hinge",
        }
    return found


def values(names: dict[str, int]) -> dict[str, int]:
    """Return the passes in double precision among those of a fit."""
    return {name: count for name, count in names.items() if name not in ("count", "curvature")}


def rate(factors: list[dict[str, Any]], what: str, m: int) -> float:
    """Return a core's flops, as measured with so many centres or, if fewer were, most of them."""
    known = [r for r in factors if r["what"] == what]
    return float(min(known, key=lambda r: abs(r["m"] - m))["flops"])


def clusters(kept: dict[str, Any], pace: dict[str, Pace]) -> list[Cluster]:
    """Return the clusters of the page."""
    flops, curving = (rate(kept["factors"], what, 10**5) for what in ("factor", "curvature"))
    node, big = (
        cpu(cores, pace["double"], pace["single"], flops, curving, CORE) for cores in (32, 64)
    )
    free = replace(node, price=0.0)
    a100 = gpu("A100", 19.5e12, 9.7e12, 2.0e12, 80e9, A100)
    h100 = gpu("H100", 67e12, 34e12, 3.35e12, 80e9, H100)
    found = [
        ("1 × 32 cores", node, 1, free),
        ("16 × 32 cores", node, 16, big),
        ("100 × 64 cores", big, 100, big),
        ("1,000 × 32 cores", node, 1000, big),
        ("8 A100", a100, 8, big),
        ("64 H100", h100, 64, big),
    ]
    costs = {"message": kept["engine"]["message"]} | kept["calls"]
    return [Cluster(*one, **costs) for one in found]


def calls(told: dict[str, Any]) -> dict[str, float]:
    """Return what a pass costs client and scheduler, by a line in the workers, and a call.

    Parameters
    ----------
    told : dict
        What ``cluster/passes.py`` measured of passes by calls.
    """
    names = ("scheduler", "client", "in workers")
    # What the same time without a pass takes is no cost of a pass.
    cases = [
        {"workers": case["workers"]} | {k: case[k] - case["idle"][k] for k in names}
        for case in told["passes"]
    ]
    A = np.array([[1.0, case["workers"]] for case in cases])
    t = np.array([case["scheduler"] + case["client"] for case in cases])
    line, squares = np.linalg.lstsq(A, t)[:2]
    spread = math.sqrt(float(squares[0]) / (len(t) - 2) * np.linalg.inv(A.T @ A)[1, 1])
    # Eight workers say little of a thousand: two standard errors more than the line.
    order, member = max(0.0, float(line[0])), max(0.0, float(line[1])) + 2.0 * spread
    # A worker but the root is called once: what all of them take beyond one alone is of calls.
    alone = np.mean([case["in workers"] for case in cases if case["workers"] == 1])
    most = max(case["workers"] for case in cases)
    many = np.mean([case["in workers"] for case in cases if case["workers"] == most])
    call = float(many - alone) / (most - 1)
    return {"order": order, "member": member, "call": call}


def predict(jobs: list[Job], where: list[Cluster], passes: Any) -> list[dict[str, Any]]:
    found = []
    for job in jobs:
        for cluster in where:
            e = estimate(job, cluster, passes)
            found.append(asdict(job) | {"cluster": cluster.name, "seconds": e.seconds} | asdict(e))
    return found


def model(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted model, its errors, and what is said of it on the page."""
    pace, passes = paces(kept["passes"]), passes_of(kept["fits"])
    flops, curving = (rate(kept["factors"], what, 10**5) for what in ("factor", "curvature"))

    def foretell(r: dict[str, Any]) -> float:
        return pace[r["precision"]].seconds(r["n"], r["d"], r["m"], r["k"])

    seen = [r for r in kept["passes"] if not r["foretold"]]
    errors = {
        p: [abs(foretell(r) / r["cpu"] - 1) for r in seen if r["precision"] == p]
        for p in measurements.PRECISIONS
    }
    within = " and ".join(
        f"median {median(errors[p]):.0%}, largest {max(errors[p]):.0%} in {name}"
        for p, name in (("double", "float64"), ("single", "float32"))
    )
    whole = []
    for r in kept["fits"]:
        count, n, m = r["passes"], r["n"], r["m"]
        value = sum(values(count).values())
        curvature = count.get("curvature", 0)
        time = value * pace["double"].seconds(n, 10, m, 1)
        time += curvature * pace["single"].seconds(n, 10, m, 1)
        # Of a hinge only some rows are curved: where all of them are summed, this is too much.
        curved = 1 if r["loss"] == "squared" else count["value"] + count.get("round", 0)
        factored, summed = client_work(m, curved, n if m <= FEW else CURVED * m)
        time += factored / rate(kept["factors"], "factor", m)
        time += summed / rate(kept["factors"], "curvature", m)
        whole.append(r | {"value": value, "curvature": curvature, "foretold": time})
    job = Job(1e6, 10, 1000)
    million = passes["squared"]["value"] * pace["double"].seconds(job.n, job.d, job.m, 1)
    million += passes["squared"]["curvature"] * pace["single"].seconds(job.n, job.d, job.m, 1)
    where = clusters(kept, pace)
    two = replace(where[4], count=2)
    taxi = estimate(Job(1e9, 9, 10**5), two, passes)
    nodes, wide = where[3], Job(1e10, 50, 10**5)
    far = estimate(wide, nodes, passes)
    speed = {
        loss: p["value"] * pace["double"].seconds(1e6, 50, 10**4, 1)
        + p["curvature"] * pace["single"].seconds(1e6, 50, 10**4, 1)
        for loss, p in passes.items()
    }
    worded = {loss: f"{p['value']:.0f} + {p['curvature']:.0f}" for loss, p in passes.items()}
    facts = worded | {
        "logistic_ratio": speed["logistic"] / speed["squared"],
        "hinge_ratio": speed["hinge"] / speed["squared"],
        "rate": 1e-6 * 1e6 * 1000 / pace["single"].seconds(1e6, 10, 1000, 1),
        "million": million,
        "block": BLOCK,
        "others": ARITY - 1,
        "arity": ARITY,
        "curved": CURVED,
        "twice": 2 * CURVED,
        "few": FEW,
        "fitted": len(seen),
        "rows": seen[0]["n"],
        "within": within,
        "flops": flops / 1e9,
        "curving": curving / 1e9,
        "reading": kept["reading"]["bytes"] / 1e6,
        "core": CORE,
        "a100": A100,
        "h100": H100,
        "client4": 24e8 / 1e9,
        "client5": 24e10 / 1e9,
        "taxi": duration(taxi.seconds),
        "taxi_passes": taxi.passes,
        "cube": far.client / HOUR,
        "cube_gpu": estimate(wide, replace(nodes, client=where[5].machine), passes).client / HOUR,
        "out1": depth(1000, ARITY) * ARITY * 8 * 1e5 / nodes.machine.link,
        "out10": depth(1000, ARITY) * ARITY * 8 * 1e6 / nodes.machine.link,
        "limit": 1 / kept["engine"]["message"],
        "order": 1e3 * kept["calls"]["order"],
        "member": 1e6 * kept["calls"]["member"],
        "call": 1e3 * kept["calls"]["call"],
        "thousand": kept["calls"]["order"] + 1000 * kept["calls"]["member"],
        "thousand_before": 1000 * ARITY / (ARITY - 1) * kept["engine"]["message"],
    }
    return {
        **{p: asdict(pace[p]) for p in pace},
        "block": BLOCK,
        "passes": passes,
        "foretold": [r | {"foretold": foretell(r)} for r in kept["passes"] if r["foretold"]],
        "fits": whole,
        "facts": facts,
    }


def larger(slope: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Foretell the largest fit of each machine from the smaller ones, by a line in the rows."""
    found = []
    for machine, m in dict.fromkeys((r["key"][1], r["key"][3]) for r in slope):
        rows = [(r["key"][2], r["cpu"]) for r in slope if r["key"][1::2] == [machine, m]]
        *small, (n, cpu) = sorted(rows)
        if len(small) < 2:
            continue
        A = np.array([[1.0, size] for size, _ in small]) / np.array([[t] for _, t in small])
        line = nnls(A, np.ones(len(small)))[0]
        found.append(
            {"machine": machine, "m": m, "n": n, "cpu": cpu, "foretold": float(line @ [1.0, n])}
        )
    return found


def elsewhere(folder: Path) -> dict[str, Any]:
    """Return what other benchmarks say that the model can be held to, as far as they were run."""
    speed, cluster = folder / "reduced" / "speed.json", folder / "cluster" / "cluster.json"
    local = folder / "large" / "local.jsonl"
    found: dict[str, Any] = {"larger": [], "bytes": {}, "local": []}
    if local.exists():
        found["local"] = [json.loads(line) for line in local.read_text().splitlines()]
    if speed.exists():
        found["larger"] = larger(json.loads(speed.read_text()).get("slope", []))
    if cluster.exists():
        told = json.loads(cluster.read_text())
        sent = told["bytes of a pass"]
        found["bytes"] = {
            "partitions": told["partitions"],
            "measured": sent["summands, measured"],
            "at most": sent["summands, at most"],
        }
    return found


def by_calls(fleet: Fleet, costs: dict[str, float]) -> Fleet:
    """Return a fleet whose workers call each other: to the scheduler a pass is one task.

    A worker goes through its partitions in one call. Its time is their sum, whose spread is that of
    a log-normal with the same mean and variance.
    """
    each = fleet.parts // fleet.workers
    tasks = sum(-(-fleet.workers // ARITY**k) for k in range(depth(fleet.workers, ARITY) + 1))
    return replace(
        fleet,
        parts=fleet.workers,
        work=each * fleet.work,
        spread=math.sqrt(math.log1p(math.expm1(fleet.spread**2) / each)),
        latency=fleet.latency + ARITY * costs["call"],
        submit=(costs["order"] + fleet.workers * costs["member"]) / tasks,
        message=0.0,
        reload=each * fleet.reload,
        move=each * fleet.move,
    )


def thousand(node: Machine, message: float, workers: int = 1000) -> Fleet:
    """Return the fleet of the page; `node` is one of its machines.

    A task for every partition, as it was before workers called each other.
    """
    each, n, d, m = 4, 1e10, 50, 10**4
    part = 4 * n * d / (workers * each)
    return Fleet(
        workers=workers,
        parts=workers * each,
        work=node.single.seconds(n / (workers * each), d, m, 1),
        spread=SPREAD,
        arity=ARITY,
        latency=1e-3,
        transfer=8.0 * m / node.link,
        submit=message / 2,
        message=message / 2,
        mtbf=24 * HOUR,
        detect=60.0,
        reload=part / node.read,
        move=part / node.link,
        join=120.0,
    )


def simulated(kept: dict[str, Any], passes: int = 12) -> dict[str, Any]:
    """Return what the simulation says."""
    engine = kept["engine"]
    pace = {p: Pace(**kept["model"][p]) for p in measurements.PRECISIONS}
    nodes = clusters(kept, pace)[3]
    fleet = thousand(nodes.machine, engine["message"])
    called = by_calls(fleet, kept["calls"])
    cases = {"a task for every partition": fleet} | {
        name: one for name, one in troubles(called).items() if not one.steal
    }
    cases |= {
        "losses missed at once": replace(called, detect=0.0),
        "nodes that live for a month": replace(called, mtbf=720 * HOUR),
    }
    partitions = []
    for each in (1, 2, 4, 16, 32):
        one = replace(
            fleet,
            parts=1000 * each,
            work=fleet.work * 4 / each,
            mtbf=math.inf,
            steal=each > 1,
            move=fleet.move * 4 / each,
        )
        calm = replace(one, spread=0.0)
        quick = replace(one, submit=one.submit / 10, message=one.message / 10)
        count = 3 if each < 16 else 1
        times = [simulate(f, count)["median"] for f in (one, calm, quick)]
        names = ["pass", "calm", "quick"]
        tasks = sum(-(-1000 * each // ARITY**k) for k in range(depth(1000 * each, ARITY) + 1))
        partitions.append(
            {"each": each, "tasks": tasks, "columns": names} | dict(zip(names, times, strict=True))
        )
    arities, small, large = [], 8e4, 8e6
    for arity in (2, 4, 8, 32, 1000):
        found = {}
        for name, size in (("small", small), ("large", large)):
            bare = Fleet(
                1000,
                1000,
                0.0,
                arity=arity,
                latency=1e-3,
                transfer=size / nodes.machine.link,
                add=size / 5e9,
                message=fleet.message,
            )
            found[name] = Simulation(bare).run(1)[0].seconds
        arities.append({"arity": arity, "depth": depth(1000, arity)} | found)
    case = {"mtbf": 24 * HOUR, "restart": 300.0}
    long, seconds = 100, 600.0
    many = 400

    def mean(every: int) -> float:
        return float(
            np.mean([client(long, seconds, every=every, seed=s, **case) for s in range(many)])
        )

    quiet = replace(fleet, mtbf=math.inf, submit=0.0, message=0.0)
    even = simulate(replace(quiet, spread=0.0), 1)["seconds"]

    def late(**how: Any) -> float:
        """Return what stragglers cost, relative to a pass without them."""
        return simulate(replace(quiet, **how), passes)["median"] / even - 1

    results = {name: simulate(f, passes) for name, f in cases.items()}
    return {
        "troubles": results,
        "partitions": partitions,
        "arities": arities,
        "facts": {
            "passes": passes,
            "work": fleet.work,
            "spread": SPREAD,
            "message": 1e3 * engine["message"],
            "late": simulate(replace(called, mtbf=math.inf), passes)["median"]
            / simulate(replace(called, mtbf=math.inf, spread=0.0), 1)["seconds"]
            - 1,
            "mtbf": fleet.mtbf / HOUR,
            "detect": fleet.detect,
            "join": fleet.join,
            "reload": fleet.reload,
            "move": fleet.move,
            "straggle": late(),
            "stolen": late(steal=True),
            "both": late(steal=True, speculate=0.75),
            "small": small / 1e3,
            "large": large / 1e6,
            "client_mtbf": case["mtbf"] / HOUR,
            "restart": case["restart"],
            "long": long,
            "seconds": seconds,
            "with_log": duration(mean(1)),
            "without": duration(mean(long)),
            "paper_log": duration(survived(long, seconds, every=1, **case)),
            "paper_without": duration(survived(long, seconds, every=long, **case)),
            "real": float(np.mean(engine["real"])),
            "runs": len(engine["real"]),
            "sim": engine["simulated"]["mean"],
            "real_parts": engine["parts"],
            "real_work": 1e3 * engine["work"],
        },
    }


def local(lines: list[dict[str, Any]], where: list[Cluster]) -> list[dict[str, Any]]:
    """Foretell local machines on clusters of processors, from what was measured of them."""
    cores = {"1 × 32 cores": 32, "16 × 32 cores": 32, "100 × 64 cores": 64, "1,000 × 32 cores": 32}
    found = []
    for n in ROWS:
        for leaf, row in seconds_of_rows(lines).items():
            for cluster in where:
                if cluster.name in cores:
                    e = estimate_local(n, 10, row, cluster, cores[cluster.name], leaf)
                    named = {"n": n, "leaf": leaf, "cluster": cluster.name, "first": e.first()}
                    found.append(named | {"seconds": e.seconds} | asdict(e))
    return found


def report(kept: dict[str, Any]) -> dict[str, Any]:
    """Return measurements with all that follows from them."""
    told = json.loads((TABLE.parents[1] / "cluster" / "passes.json").read_text())
    kept = kept | {"calls": calls(told["after"]), "told": told}
    kept = kept | {
        "model": model(kept),
        "parts": list(PARTS),
        "others": elsewhere(TABLE.parents[1]),
    }
    passes = kept["model"]["passes"]
    pace = {p: Pace(**kept["model"][p]) for p in measurements.PRECISIONS}
    where = clusters(kept, pace)
    jobs = [Job(n, d, m) for n in ROWS for d, m in SHAPES]
    grid = [Job(10.0**e, 50, m) for m in (10**3, 10**4) for e in np.arange(6, 10.1, 0.5).tolist()]
    kept |= {"predicted": predict(jobs, where, passes), "curves": predict(grid, where, passes)}
    kept["local"] = local(kept["others"]["local"], where)
    return kept | {"simulated": simulated(kept)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "report"])
    parser.add_argument("sections", nargs="*")
    options = parser.parse_args()
    share_threads(1)
    found: dict[str, Any] = {}
    if options.what == "measure":
        found = {"about": environment({"threads": 1}) | {"load": os.getloadavg()[2]}}
        found |= measure(options.sections)
    kept = (json.loads(TABLE.read_text()) if TABLE.exists() else {}) | found
    if options.what == "report":
        kept = report(kept)
        publish(kept)
    TABLE.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
