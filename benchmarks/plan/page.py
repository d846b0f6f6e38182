"""The page of the plan, made of what was measured, foretold and simulated."""

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "scale.md"

HEAD = """\
# A billion rows, and past it

What a fit over many rows costs in time, memory and money, on clusters that are not here: a model of
costs, its parameters fitted to passes measured on one machine, its troubles simulated. This page is
written by `make bench SUITE=plan`; do not edit it by hand. First, though:

## Who does not need any of this

Most. An error falls with rows until it meets the noise, here 0.3, and falls the more slowly the
more rows there are: ten times as many are worth having where the last ten times were. A few fits to
rows drawn at random tell.

```python
>>> import numpy as np
>>> from mercer import LSSVR
>>> from mercer.kernels import Gaussian
>>> rng = np.random.default_rng(0)
>>> X = rng.standard_normal((5000, 2))
>>> y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.standard_normal(5000)
>>> test, truth = X[-1000:], y[-1000:]
>>> for n in (250, 500, 1000, 2000, 4000):
...     machine = LSSVR(Gaussian(1.0), C=1.0).fit(X[:n], y[:n])
...     print(n, round(float(np.sqrt(np.mean((machine.predict(test) - truth) ** 2))), 3))
250 0.324
500 0.317
1000 0.312
2000 0.306
4000 0.305

```

- **Up to about 20,000 rows** the exact machine takes seconds and needs no approximation settings
  ({{doc}}`least-squares`, {{doc}}`benchmark`).
- **Up to about 10^6 rows** one computer and `approximation="auto"` take minutes: at {rate:.0f}
  million kernel values a second and core, 10^6 rows against 1,000 centres are {million:.0f} seconds
  of one core, all passes of a squared loss together.
- **Trees are the better choice** where features are columns of different kinds with jumps,
  thresholds and missing entries: gradient boosting (LightGBM, XGBoost) then reaches a lower error
  in less time, and a row costs it the depth of its trees, not m kernel values. A kernel machine is
  worth them where the function is smooth, where the model must be convex, certified and the same
  each time, where predictions have to be continuous or have derivatives, or where the loss, the
  free terms or the intervals are the point. {{doc}}`scale-quality` times both to equal errors.
- **A cluster is needed** where rows do not fit on one computer's disk, or where they arrive there
  already; for time alone, compare the columns below with one node.

## What a pass costs

A fit is a number of passes, each of which evaluates m kernel values for each of n rows with d
features, multiplies by k columns (classes, outputs, settings) and back, and adds up m k numbers:

    pass       =  n (m (d multiply + entry + k product) + (d + k) row + block / {block:,}) / cores
    fit        =  value passes in float64, curvature passes in float32, one that draws centres
    stragglers =  expected longest of the workers' sums of log-normal times, less their mean
    reading    =  4 n d / storage, once if rows fit in half the memory, else in every pass
    tree       =  passes * log_{arity}(workers) * (latency + {arity} * (call + 8 m k / link))
    scheduler  =  passes * (order + workers * member) + 3 workers * seconds of a task
    broadcast  =  (passes * log_{arity}(workers) * {arity} * 8 m k + workers * 8 m d) / link
    sample     =  {arity} * 8 (d + 1) * {curved} m / link a level
    client     =  ((1 + factors) m^3/3 + factors * {twice} m^3) / flops + passes * 32 m^2 / memory
    memory     =  of a worker: its rows or a partition, a block of values, 8 m d bytes
                  of the client: 24 m^2 bytes

A pass is one task of Dask's scheduler: every worker holds a shard of the partitions, and workers
call each other in a tree of eights, down which states go and up which sums come. Passes over few
rows with 1,000 numbers down and up, scheduler and workers in processes of their own on one core
(`benchmarks/cluster/passes.py`), before workers called each other and after:

{told}

By a line through these, less what the same time without passes takes, a pass costs client and
scheduler {order:.0f} ms and at most {member:.0f} µs for each worker (two standard errors above the
line: eight workers say little of a thousand); a call costs workers {call:.1f} ms, a task of the
scheduler {message:.2f} ms. For a thousand workers with one partition each that would be
{thousand:.2f} s of client and scheduler a pass instead of {thousand_before:.2f}.

Time grows with n to the power one, and no memory with n unless rows are kept; both grow with m,
and the client's with its square and cube. Nothing that is m by m travels.

Seconds for each term on one core ({processor}; {date}, load {load:.1f}: processor's time, which
neighbours stretch), by non-negative least squares of relative errors over {fitted} passes of
{rows:,} rows with 5 to 784 features, 256 to 2,048 centres, 1 and 8 columns:

| term | times | float64, ns | float32, ns |
| --- | --- | ---: | ---: |
{paces}

Relative errors of the fit: {within}. Passes it had not seen:

| precision | rows | d | m | k | measured, s | foretold, s | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{foretold}

A core factorizes with {flops:.0f} Gflop/s (`dpotrf`, 4,000 rows), sums curvature with {curving:.0f}
(2,000 centres), and turns Parquet into rows with {reading:.0f} MB/s of float32.

Passes of whole fits with default tolerance (10 features, an intercept, one target), and what the
model says of their time, the client's included:

| loss | rows | m | C | value | curvature | processor, s | foretold, s | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{fits}
{elsewhere}
The number of passes does not grow with n: curvature of a sample of some rows for each centre
preconditions the rest, and how well it does depends on rows a centre, not on how many there are.
It grows with C, for a hinge most. Up to {few} centres curvature is summed over all rows and there
are no conjugate gradients; for a hinge that sum is foretold too dear, because few rows are curved.
Below, a squared loss is counted with {squared}, a logistic loss with {logistic} and a hinge with
{hinge} passes: where compute is most of the time, multiply by {logistic_ratio:.1f} and
{hinge_ratio:.1f}.

## What clusters would take

Assumed, and to be replaced by your own: cores as the one measured, seven eighths of which are left
where 32 or 64 share a node; 4 GB a core, 25 Gbit/s a node, 1 GB/s of storage a node (2 for one with
GPUs); ${core:.2f} an hour for a core, ${a100:.2f} for an A100 with 80 GB, ${h100:.2f} for an H100:
round figures of November 2026, no quotation. GPUs by their roof: half of the published peaks (A100:
19.5 Tflop/s in float32, 9.7 in float64, 2.0 TB/s; H100: 67, 34, 3.35), values written and read
five times because product, exponential and sums are separate steps. No GPU was measured. One client
of 64 cores and 256 GB factorizes. Rows are float32. A squared loss, one column.

{clusters}

A dash stands where memory does not suffice. The client's 24 m^2 bytes are {client4:.1f} GB for
10^4 centres and {client5:.0f} GB for 10^5; a worker holds its rows if half its memory allows.
{{doc}}`/auto_examples/large/plot_scale` draws time against rows.

Where the time goes, for 10^9 rows and d = 50:

| rows | m | cluster | total | {parts} |
| ---: | ---: | --- | ---: | {line} |
{shares}

A check from outside: Falkon's authors report 10^9 rows, 9 features and 10^5 centres in 3,628 s
on two GPUs, by kernels whose values are never written to memory. The model gives {taxi} for two
A100s, {taxi_passes:.0f} passes in steps that are not fused.

{local}## A thousand workers

Simulated by events (`benchmarks/plan/simulate.py`):
10^10 rows, 50 features, 10^4 centres on 1,000 nodes
of 32 cores, four partitions each, {passes} curvature passes. A partition takes {work:.1f} s with a
log-normal spread of {spread}, and workers call each other; in the first line there is a task for
every partition, {message:.2f} ms of client and scheduler as measured here with two workers. A node
lives for {mtbf:.0f} hours, as those do that are let for less, is missed {detect:.0f} s after it
froze (one whose connection breaks, at once) and replaced {join:.0f} s later; a partition takes
{reload:.1f} s to read again, {move:.1f} s to move.

| case | all passes, s | slowest pass, s | nodes lost | tasks again | copies | taken over |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{troubles}

Before workers called each other, partitions on each node were tasks of the scheduler; with that
scheduler and with one ten times as fast:

| partitions a node | tasks a pass | pass, s | of it without stragglers, s | fast scheduler, s |
| ---: | ---: | ---: | ---: | ---: |
{partitions}

Results added by a task of the tree, for one column and 10^4 centres ({small:.0f} KB) and for ten
columns and 10^5 centres ({large:.0f} MB):

| arity | depth | small results: tree, s | large results: tree, s |
| ---: | ---: | ---: | ---: |
{arities}

The client, lost every {client_mtbf:.0f} hours and restarted within {restart:.0f} s, makes
{long:.0f} passes of {seconds:.0f} s in {with_log} if each is kept in the checkpoint, and in
{without} without one; on paper {paper_log} and {paper_without}. A pass takes 8 m k bytes to keep.

The simulation itself is held to closed forms (the tests): depth times latency; the expected largest
of log-normal times; tasks lost with their workers; Daly's formula for restarts; and to a real
cluster of two workers here, {real_parts} tasks asleep for {real_work:.0f} ms each and a tree of
arity 4: {real:.2f} s a pass measured over {runs} passes, {sim:.2f} s simulated.

## What breaks first, and what we would do

1. **Stragglers**: a pass waits for the slowest of 1,000 nodes. With four partitions each, of a
   spread of {spread}, that costs {late:.0%}. While partitions were tasks, the idle could take over
   what waited ({stolen:.0%} instead of {straggle:.0%}, with late tasks begun twice {both:.0%}); a
   worker that goes through its shard in one call cannot be helped. What would help: shards in
   proportion to what workers have done in earlier passes; bits do not depend on who holds what.
2. **The scheduler**, at about {limit:,.0f} tasks a second, no longer takes part in a pass but for
   one task. It still has rows read and centres bound to them, three tasks for each worker and fit,
   and a task for every partition and pass where rows are not held (`hold=False`).
3. **The client's m^3**: for 10^5 centres its share is {cube:.1f} hours on 64 cores, and
   {client5:.0f} GB. Then on a GPU, {cube_gpu:.1f} hours by the roof of an H100, or spread over
   nodes, or with a preconditioner from as many rows as centres, Falkon's: a tenth of it.
4. **States and sums** in the tree: {out1:.2f} s a pass and direction for 1,000 nodes, 10^5 centres
   and one column, {out10:.1f} s for ten.
5. **Centres past 10^5**: m^2 fits nowhere. The passes would not mind; the preconditioner would have
   to be that of some of the centres, as in EigenPro, or go block by block.
6. **Losses** cost the time to notice them, and that what the lost node had added up is added up
   again, by one other node for its whole shard, which takes longer than four partitions that four
   nodes take over did; with nodes that live for a day,
   a pass in several is disturbed. A checkpoint of every
   pass is cheap and makes the client's own loss a matter of one pass.
7. **Rows that are read in every pass** cost little beside 10^4 centres and much beside 10^3: enough
   nodes to hold them, or fewer passes; up to {few} centres there are two.

Rounding is not on the list: a tree of float64 sums of 10^10 terms keeps about 13 digits, and
float32 is used only inside conjugate gradients, whose errors cost steps and not digits.
"""

LOCAL = """## Local machines instead

`approximation=Local(...)` has no passes: rows are read twice and sorted to leaves, each of which is
an exact machine ({{doc}}`/how-to/fit-local-machines`, {{doc}}`large-tables`).

    local      =  n row(leaf) / cores + stragglers
    reading    =  2 * 4 n d / storage
    sort       =  8 (d + 3) n / links; on one node twice through its disk
    scheduler  =  (workers * bundles) * seconds of a task; bundles of an eighth of the
                  memory of a worker, more where that makes few tasks
    client     =  8 (d + 3) n / link: leaves of least squares hold all rows

Measured here (`make bench SUITE=local`, 10 features, least squares, Gaussian kernel, one core):
{measured}

| rows | leaf | {names} | first |
| ---: | ---: | {line} | --- |
{rows}

The last column is what takes most of the time on the largest cluster. **What breaks first**: a
piece of every bundle from every worker is a task, {tasks9:,.0f} tasks in all for 10^9 rows and
{tasks10:,.0f} for 10^10 on 1,000 nodes; with a bundle for each of them it would be a million. So
bundles are few, and only nodes that have one fit leaves. Pieces would have to go from worker to
worker without the scheduler, as sums do. Then the client's disk: {kept9:,.0f} GB of leaves for
10^9 rows; a loss with
few support vectors keeps fewer, and beyond that leaves should stay where they were fitted, and
points be sent to them.

"""

LARGER = """
Fits from Parquet files (`make bench SUITE=scale`), the largest foretold from the smaller ones by a
line:

| machine | m | rows | processor, s | foretold, s | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
{rows}
"""
BYTES = """
Before workers called each other, two of them sent
{measured:.0f} KB in a pass over {parts} partitions (`make bench SUITE=cluster`); paper said at most
{most:.0f} KB.
"""

UNITS = {
    "multiply": "n m d",
    "entry": "n m",
    "product": "n m k",
    "row": "n (d + k)",
    "block": "n / ",
}


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.0f} days"


def money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars < 10 else f"${dollars:,.0f}"


def nano(seconds: float) -> str:
    return f"{1e9 * seconds:,.0f}" if seconds > 1e-6 else f"{1e9 * seconds:.3g}"


def power(n: float) -> str:
    return f"10^{len(str(int(n))) - 1}"


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def cluster_tables(predicted: list[dict[str, Any]]) -> str:
    """Return a table for each number of rows."""
    names = list(dict.fromkeys(r["cluster"] for r in predicted))
    text = []
    for n in dict.fromkeys(r["n"] for r in predicted):
        lines = [f"### {power(n)} rows", "", row(["d", "m", *names])]
        lines.append(row(["---:"] * (2 + len(names))))
        for d, m in dict.fromkeys((r["d"], r["m"]) for r in predicted):
            cells = {
                r["cluster"]: f"{duration(r['seconds'])}, {money(r['money'])}" if r["fits"] else "–"
                for r in predicted
                if (r["n"], r["d"], r["m"]) == (n, d, m)
            }
            lines.append(row([str(d), power(m), *(cells[name] for name in names)]))
        text.append("\n".join(lines))
    return "\n\n".join(text)


def local(kept: dict[str, Any]) -> str:
    """Return the section of local machines, if they were measured."""
    found = kept.get("local", [])
    if not found:
        return ""
    names = list(dict.fromkeys(r["cluster"] for r in found))
    lines = []
    for n, leaf in dict.fromkeys((r["n"], r["leaf"]) for r in found):
        cells = [r for r in found if (r["n"], r["leaf"]) == (n, leaf)]
        times = [f"{duration(r['seconds'])}, {money(r['money'])}" for r in cells]
        lines.append(row([power(n), f"{leaf:,}", *times, cells[-1]["first"]]))
    fits = [line for line in kept["others"]["local"] if line["name"] == "fit"]
    measured = "; ".join(
        f"{r['rows']:,} rows in leaves of {r.get('leaf', 1000):,}: {r['cpu']:,.0f} s, peak "
        f"{r['peak_mib']:,.0f} MiB"
        for r in fits
    )
    by_rows = {r["n"]: r for r in found if r["cluster"] == names[-1]}
    return LOCAL.format(
        measured=f"{measured}.",
        names=" | ".join(names),
        line=" | ".join(["---:"] * len(names)),
        rows="\n".join(lines),
        tasks9=by_rows[1e9]["tasks"],
        tasks10=by_rows[1e10]["tasks"],
        kept9=by_rows[1e9]["kept_bytes"] / 1e9,
    )


def others(found: dict[str, Any]) -> str:
    """Return what other benchmarks say, if they were run."""
    text = ""
    if found["larger"]:
        lines = [
            row(
                [
                    r["machine"],
                    f"{r['m']:,}",
                    f"{r['n']:,}",
                    f"{r['cpu']:.0f}",
                    f"{r['foretold']:.0f}",
                    f"{r['foretold'] / r['cpu']:.2f}",
                ]
            )
            for r in found["larger"]
        ]
        text += LARGER.format(rows="\n".join(lines))
    if found["bytes"]:
        known = found["bytes"]
        text += BYTES.format(
            parts=known["partitions"], measured=known["measured"] / 1e3, most=known["at most"] / 1e3
        )
    return text


def told(found: dict[str, Any]) -> str:
    """Return the table of passes before and after workers called each other."""
    cases = {
        (name, case["workers"], case["partitions"]): case
        for name in ("before", "after")
        for case in found[name]["passes"]
    }
    both = [key[1:] for key in cases if key[0] == "after" and ("before", *key[1:]) in cases]
    lines = [
        row(
            [
                "workers",
                "partitions",
                *["tasks"] * 2,
                *["KB"] * 2,
                *["scheduler, ms"] * 2,
                *["client, ms"] * 2,
            ]
        ),
        row(["---:"] * 10),
    ]
    for workers, partitions in both:
        pair = [cases[name, workers, partitions] for name in ("before", "after")]
        cells = [f"{case['tasks']:.0f}" for case in pair]
        cells += [f"{case['bytes'] / 1e3:,.0f}" for case in pair]
        cells += [f"{1e3 * case[who]:.0f}" for who in ("scheduler", "client") for case in pair]
        lines.append(row([str(workers), str(partitions), *cells]))
    return "\n".join(lines)


def page(kept: dict[str, Any]) -> str:
    """Return the page."""
    model, sim, about = kept["model"], kept["simulated"], kept["about"]
    paces = [
        row(
            [
                name,
                UNITS[name] + (f"{model['block']:,}" if name == "block" else ""),
                *(nano(model[p][name]) for p in ("double", "single")),
            ]
        )
        for name in UNITS
    ]
    foretold = [
        row(
            [
                {"double": "float64", "single": "float32"}[r["precision"]],
                f"{r['n']:,}",
                *(str(r[key]) for key in ("d", "m", "k")),
                f"{r['cpu']:.3f}",
                f"{r['foretold']:.3f}",
                f"{r['foretold'] / r['cpu']:.2f}",
            ]
        )
        for r in model["foretold"]
    ]
    fits = [
        row(
            [
                r["loss"],
                f"{r['n']:,}",
                str(r["m"]),
                f"{r['C']:g}",
                str(r["value"]),
                str(r["curvature"]),
                f"{r['cpu']:.1f}",
                f"{r['foretold']:.1f}",
                f"{r['foretold'] / r['cpu']:.2f}",
            ]
        )
        for r in model["fits"]
        if r["n"] == max(other["n"] for other in model["fits"])
    ]
    shares = [
        row(
            [
                power(r["n"]),
                power(r["m"]),
                r["cluster"],
                duration(r["seconds"]),
                *(f"{r[part] / r['seconds']:.0%}" for part in kept["parts"]),
            ]
        )
        for r in kept["predicted"]
        if r["d"] == 50 and r["fits"] and r["n"] == 1e9
    ]
    troubles = [
        row(
            [
                name,
                f"{r['seconds']:,.0f}",
                f"{r['slowest']:.1f}",
                *(f"{r[key]:,.0f}" for key in ("lost", "again", "copies", "stolen")),
            ]
        )
        for name, r in sim["troubles"].items()
    ]
    partitions = [
        row([str(r["each"]), f"{r['tasks']:,.0f}", *(f"{r[key]:.1f}" for key in r["columns"])])
        for r in sim["partitions"]
    ]
    arities = [
        row([str(r["arity"]), str(r["depth"]), f"{r['small']:.3f}", f"{r['large']:.2f}"])
        for r in sim["arities"]
    ]
    return HEAD.format(
        **model["facts"],
        **sim["facts"],
        processor=about["processor"],
        date=about["date"],
        load=about["load"],
        paces="\n".join(paces),
        foretold="\n".join(foretold),
        fits="\n".join(fits),
        elsewhere=others(kept["others"]),
        told=told(kept["told"]),
        clusters=cluster_tables(kept["predicted"]),
        local=local(kept),
        parts=" | ".join(kept["parts"]),
        line=" | ".join(["---:"] * len(kept["parts"])),
        shares="\n".join(shares),
        troubles="\n".join(troubles),
        partitions="\n".join(partitions),
        arities="\n".join(arities),
    )


def publish(kept: dict[str, Any]) -> None:
    PAGE.write_text(page(kept))
