"""Write the tables of the documentation from the committed results of all suites.

A page has each table between ``<!-- benchmark NAME -->`` and ``<!-- end -->``; the words around
them are written by hand. ``run.py page`` fills the tables in and draws the figures again.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import figures
from benchmarks.ranking import duel, geometric
from benchmarks.store import Record, stored
from benchmarks.suites import exact, kernels, landmarks, large, small, tables, tuning
from benchmarks.suites.tables import BASE, JUDGED, SIZES, UNSEEN_SIZE, Field

DOCS = Path(__file__).resolve().parents[1] / "docs"
BENCHMARK = DOCS / "explanation" / "benchmark.md"
PAGES = (
    BENCHMARK,
    DOCS / "install.md",
    DOCS / "how-to" / "fit-on-a-cluster.md",
    DOCS / "how-to" / "use-the-studio.md",
)
MARKED = re.compile(r"(<!-- benchmark ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BLOCKS: dict[str, Callable[[list[Record]], str]] = {}
SUITE_OF: dict[str, str] = {}
MIB = 2**20
UNNAMED = ("mercer", "numpy", "scipy", "pandas", "numba", "thundersvm-cpu")


def block(name: str, suite: str) -> Callable[[Any], Any]:
    """Register what writes a block of a page from the results of a suite."""

    def register(write: Callable[[list[Record]], str]) -> Callable[[list[Record]], str]:
        BLOCKS[name], SUITE_OF[name] = write, suite
        return write

    return register


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table whose first column is words and whose others are numbers."""
    heads = list(heads)
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1.0 else f"{value:.1f}" if value < 10.0 else f"{value:,.0f}"


def measured(records: list[Record], versions: bool = False) -> str:
    """Say when, where and by which commits a suite was measured, and with which releases."""
    found: dict[str, None] = {}
    named: dict[str, str] = {}
    for about in {str(r.about): r.about for r in records}.values():
        commit = f", commit `{about['commit']}`" if about.get("commit") else ""
        found[f"{about['date']}{commit}"] = None
        named |= about["versions"]
    text = "; ".join(found)
    if versions:
        text += "; " + ", ".join(f"{k} {v}" for k, v in named.items() if k not in UNNAMED)
    return f"*Measured {text}.*"


# Tables -------------------------------------------------------------------------------------------

TITLES = {"rmse": "RMSE", "error": "error", "log_loss": "log loss"}
COLUMNS = (*SIZES, UNSEEN_SIZE)


def rows_of(size: int) -> str:
    return "unseen sets" if size == UNSEEN_SIZE else f"{size:,} rows"


def fields(records: list[Record]) -> dict[str, list[Field]]:
    """Return a field a size for each metric, the last of unseen sets."""
    return {m: [Field(records, m, n) for n in COLUMNS] for ms in JUDGED.values() for m in ms}


def prices(records: list[Record]) -> list[float]:
    found = (f.price(tables.OURS) for some in fields(records).values() for f in some)
    return [price[1] for price in found if price is not None]


@block("tables-answer", "tables")
def tables_answer(records: list[Record]) -> str:
    """Say where the recommended estimators lead, where they do not, and what they take."""
    first: dict[str, list[str]] = {}
    others = []
    for metric, some in fields(records).items():
        for field in some:
            ranks = field.ranking().ranks  # type: ignore[union-attr]
            best = min((m for m in ranks if m in tables.PEERS), key=lambda m: ranks[m])
            if ranks[tables.OURS] < ranks[best]:
                first.setdefault(rows_of(field.size or 0), []).append(TITLES[metric])
            else:
                equal = ranks[tables.OURS] == ranks[best]
                how = "shares the lowest rank with" if equal else "is behind"
                others.append(
                    f"in {TITLES[metric]} with {rows_of(field.size or 0)} it {how} {best}"
                )
    led = "; ".join(
        f"with {which} in {'every measure' if len(names) == 3 else ', '.join(names)}"
        for which, names in first.items()
    )
    price = prices(records)
    return (
        f"Untouched, the recommended estimator has the lowest average rank {led}.\n"
        f"It does not lead everywhere: {'; '.join(others)}.\n"
        f"A fit takes {min(price):.1f} to {max(price):.1f} times as long as CatBoost's with its "
        "defaults (geometric means over sets)."
    )


@block("tables-ranks", "tables")
def tables_ranks(records: list[Record]) -> str:
    """Return average ranks by metric and size, best at the smallest size first."""
    text = []
    for metric, some in fields(records).items():
        found = [field.ranking() for field in some]
        by = [r.ranks if r else {} for r in found]
        names = [m for m in tables.HOW if any(m in ranks for ranks in by)]
        names.sort(key=lambda m: by[0].get(m, np.inf))
        heads = [f"{rows_of(f.size or 0)} ({len(f.sets)})" for f in some]
        lines = [[m, *(f"{r[m]:.2f}" if m in r else "" for r in by)] for m in names]
        lines.append(["critical difference", *(f"{r.distance:.2f}" if r else "" for r in found)])
        text.append(table([f"{TITLES[metric]}, average rank", *heads], lines))
    return "\n\n".join(text)


@block("tables-duels", "tables")
def tables_duels(records: list[Record]) -> str:
    """Return the recommended estimator against CatBoost."""
    lines = []
    for metric, some in fields(records).items():
        cells = []
        for found, p in (field.duels()[BASE] for field in some):
            counts = "/".join(map(str, found.counts))
            cells.append(f"{counts}, {found.ratio:.3f}, p {p:.2g}")
        lines.append([TITLES[metric], *cells])
    return table([f"against {BASE}", *map(rows_of, COLUMNS)], lines)


@block("tables-seconds", "tables")
def tables_seconds(records: list[Record]) -> str:
    """Return geometric means of the seconds of a fit, of regression and classification."""
    by = {m: some for m, some in fields(records).items() if m != "error"}
    names = [m for m in tables.HOW if any(m in f.methods() for some in by.values() for f in some)]
    heads = [f"{'numbers' if m == 'rmse' else 'classes'}, {rows_of(n)}" for m in by for n in SIZES]
    lines = []
    for name in names:
        values = [f.seconds(name) for some in by.values() for f in some if f.size in SIZES]
        lines.append([name, *("" if np.isnan(v) else f"{v:.2g}" for v in values)])
    return table(["fit, s", *heads], lines)


@block("tables-dear", "tables")
def tables_dear(records: list[Record]) -> str:
    """Return duels on the first split with contenders that have not all splits of a size."""
    told = []
    for metric in ("rmse", "log_loss"):
        for size in COLUMNS:
            whole = Field(records, metric, size)
            for name, how in tables.HOW.items():
                few = tables.FEW if how["group"] == "subset" else ()
                field = Field(records, metric, size, sets=few, splits=1)
                ours, theirs = (field.values(m) for m in (tables.OURS, name))
                late = whole.done(name) < tables.PLAN["sizes"][str(size)]["splits"]
                if late and name in tables.PEERS and ours is not None and theirs is not None:
                    found = duel(ours, theirs)
                    counts = "/".join(map(str, found.counts))
                    what = f"{name}, {TITLES[metric]}, {rows_of(size)}"
                    told.append(f"{what}: {counts}, {found.ratio:.3f}")
    return "; ".join(told) + "."


@block("tables-measured", "tables")
def tables_measured(records: list[Record]) -> str:
    return measured(records, versions=True)


@block("intervals", "intervals")
def intervals(records: list[Record]) -> str:
    from benchmarks.suites.intervals import means

    lines = []
    for size in (500, 2000):
        ours, theirs = (means(records, size, n) for n in ("AutoRegressor", "LightGBM, CQR"))
        names = [name for name in ours if name in theirs]
        scores = np.array([(ours[n][0], theirs[n][0]) for n in names])
        own, other = (np.array([by[n][1] for n in names]) for by in (ours, theirs))
        ratio = geometric(scores[:, 0] / scores[:, 1])
        lower = int(np.sum(scores[:, 0] < scores[:, 1]))
        span = f"{own.mean():.1%} ({own.min():.1%} to {own.max():.1%})"
        lines.append([f"{size:,}", len(names), span, f"{other.mean():.1%}", f"{ratio:.2f}", lower])
    heads = (
        "rows",
        "sets",
        "coverage (set by set)",
        "CQR's coverage",
        "score over CQR's",
        "lower on",
    )
    return table(heads, lines) + "\n\n" + measured(records)


# Large tables -------------------------------------------------------------------------------------


@block("large-answer", "large")
def large_answer(records: list[Record]) -> str:
    names = [large.standing(*(r["error"] for r in large.best(records, s))) for s in large.SETS]
    count = {kind: names.count(kind) for kind in ("better", "level", "worse")}
    return (
        "Against the best of all peers on each set, this library's best is better on "
        f"{count['better']}, level on {count['level']} and worse on {count['worse']} of "
        f"{len(names)} sets (level: within {large.LEVEL:.0%})."
    )


def share(r: Record) -> str:
    """Return an error as numbers or as a share of mistakes."""
    numbers = r.case["set"] in ("protein_casp", "flights_nyc13", "flights_3m")
    return f"{r['error']:.4f}" if numbers else f"{100 * r['error']:.2f} %"


@block("large", "large")
def large_table(records: list[Record]) -> str:
    """Return error and seconds of every method on every set; the least error is bold."""
    least = {s: min(r["error"] for r in large.finished(records, s)) for s in large.SETS}
    by = {(r.contender, r.case["set"]): r for r in records}
    names = dict.fromkeys(name for name, _ in by)
    rows = {s: next(r["rows"] for r in large.finished(records, s)) for s in large.SETS}
    lines = []
    for name in (
        *(n for n in names if n in large.OURS),
        *(n for n in names if n not in large.OURS),
    ):
        cells = []
        for s in large.SETS:
            r = by.get((name, s))
            if r is None:
                cells.append("")
            elif "failure" in r:
                cells.append(f"stopped: {r['failure']}")
            else:
                text = f"{share(r)}; {seconds(r['fit'])}"
                cells.append(f"**{text}**" if r["error"] == least[s] else text)
        lines.append([name, *cells])
    quick = [large.quickest(records, s) for s in large.SETS]
    told = [
        f"{q.contender.removeprefix('mercer ')}, {seconds(q['fit'])}" if q else "none"
        for q in quick
    ]
    lines.append(["as good as the best peer, s", *told])
    heads = [f"{s}, {rows[s]:,}" for s in large.SETS]
    return table(["error; fit, s", *heads], lines) + "\n\n" + measured(records, versions=True)


# Tuning -------------------------------------------------------------------------------------------


@block("tuning-answer", "tuning")
def tuning_answer(records: list[Record]) -> str:
    counts = np.sum([tuning.against(records, *pair).sets for pair in tuning.GRIDS], axis=0)
    times = [tuning.faster_than(records, *pair)[0] for pair in tuning.TURNS]
    return (
        f"One call of `tune` is better than a grid of 100 settings with five folds in {counts[0]}"
        f" comparisons of a machine on a set, as good in {counts[1]} and worse in {counts[2]}.\n"
        f"It is {min(times):.0f} to {max(times):.0f} times as fast (geometric means, machine by "
        f"machine)."
    )


@block("tuning", "tuning")
def tuning_tables(records: list[Record]) -> str:
    """Return duels with grids and defaults, and ranks."""
    lines = []
    for ours, theirs in (*tuning.GRIDS, *tuning.DEFAULTS):
        c, f = tuning.against(records, ours, theirs), tuning.faster_than(records, ours, theirs)
        time = "" if np.isnan(f[0]) else f"{f[0]:.0f} ({f[1]:.0f} to {f[2]:.0f})"
        counts = "/".join(map(str, c.sets))
        pair = f"{ours.removeprefix('mercer ')}, {theirs}"
        lines.append([pair, counts, f"{c.whole:.3f}", f"{c.ratio:.3f}", f"{c.p_value:.1g}", time])
    heads = (
        "method, against",
        "better/tie/worse",
        "ratio of means",
        "mean ratio",
        "p",
        "times as fast",
    )
    text = [table(heads, lines)]
    for task in tuning.SETS:
        found = tuning.ranking(records, task)
        lines = [[m, f"{rank:.2f}"] for m, rank in found.ranks.items()]
        heads = (f"{task}, {len(tuning.SETS[task])} sets", "average rank")
        text.append(table(heads, lines))
        text.append(f"Critical difference {found.distance:.2f}, Friedman's p {found.p_value:.0e}.")
    return "\n\n".join(text) + "\n\n" + measured(records, versions=True)


# Exact machines -----------------------------------------------------------------------------------

EXACT_PEERS = ("scikit-learn-intelex", "scikit-learn-intelex float32", "scikit-learn", "LIBSVM")


def of_group(records: list[Record], group: str) -> list[exact.Result]:
    return [r for r in exact.results(records) if r.problem.group == group]


def mean(found: list[tuple[exact.Result, exact.Ratio]]) -> float:
    return exact.geometric_mean(r.middle for _, r in found)


def number(value: exact.Ratio | None) -> str:
    if value is None:
        return ""
    return f"> {value.middle:.1f}" if value.bound else f"{value.middle:.2f}"


@block("exact-answer", "exact")
def exact_answer(records: list[Record], group: str = "main") -> str:
    """Say it in one sentence."""
    results = of_group(records, group)
    said = [
        f"{mean(exact.ratios(results, peer, 'fit')):.1f} times as fast as {peer}"
        for peer in ("scikit-learn-intelex", "scikit-learn")
    ]
    said.append(f"{mean(exact.ratios(results, 'mercer', 'fit', 'bare')):.1f} times the bare limit")
    return f"Geometric means over {len(results)} problems, fit: {', '.join(said)}."


def slowest_path(records: list[Record]) -> float:
    paths = [r for r in records if r.case.get("label") == "path"]
    return max(median(run["path"] / run["cold"] for run in r["rounds"]) for r in paths)


def mnist(records: list[Record]) -> float:
    """Return the seconds of ten classes of MNIST by the clock."""
    (found,) = (r for r in exact.results(records) if r.problem.data == "mnist")
    return found.seconds("mercer", "fit_wall")


@block("exact", "exact")
def exact_tables(records: list[Record]) -> str:
    """Return means, promises and every problem."""
    results = of_group(records, "main")
    lines = []
    for other in EXACT_PEERS:
        fit, predict = (exact.ratios(results, other, what) for what in ("fit", "predict"))
        worst, least = min(fit, key=lambda pair: pair[1].middle)
        limit = sum(r.bound for _, r in fit)
        problems = f"{len(fit)}" + (f", {limit} at the limit" if limit else "")
        where = f"{least.middle:.2f} ({worst.title})"
        lines.append([other, f"{mean(fit):.2f}", where, f"{mean(predict):.2f}", problems])
    heads = ("Mercer, times as fast as", "fit", "worst problem", "predict", "problems")
    text = [table(heads, lines)]
    far = [
        f"{library} {mean(exact.ratios(results, library, 'fit', 'bare')):.2f} and "
        f"{mean(exact.ratios(results, library, 'predict', 'bare')):.2f}"
        for library in ("mercer", *EXACT_PEERS)
    ]
    text.append(f"Times as long as `bare`, fit and predict: {'; '.join(far)}.")
    small_ones = exact_answer(records, "small")
    text.append(f"Smaller problems, the last seven below, apart. {small_ones}")
    text.append(table(("promise", "measured", "kept"), promises(records)))
    lines = []
    for r in results + of_group(records, "small"):
        against = [number(r.ratio(peer, "fit")) for peer in (EXACT_PEERS[0], EXACT_PEERS[2])]
        limit = number(r.ratio("mercer", "fit", "bare"))
        lines.append([r.title, f"{r.seconds('mercer'):.3g}", *against, limit])
    heads = (
        "problem",
        "fit, s",
        "/ intelex",
        "/ scikit-learn",
        "times bare",
        "predict",
    )
    text.append(table(heads, lines))
    return "\n\n".join(text) + "\n\n" + measured(records, versions=True)


def promises(records: list[Record]) -> list[list[str]]:
    """Hold every promise against its number."""
    results = of_group(records, "main")
    found: list[tuple[str, str, bool]] = []
    for peer, target in (("scikit-learn-intelex", 3.0), ("scikit-learn", 8.0)):
        fit = exact.ratios(results, peer, "fit")
        times = mean(fit)
        found.append((f"fit, {target:g} times as fast as {peer}", f"{times:.2f}", times >= target))
    for what, most in (("fit", 4.0), ("predict", 1.3)):
        times = mean(exact.ratios(results, "mercer", what, "bare"))
        found.append((f"{what}, within {most:g} times bare", f"{times:.2f}", times <= most))
    faults = [f for r in exact.results(records) for f in exact.own_faults(r)]
    text = "; ".join(faults) or "everywhere"
    found.append(("objective within 1e-5 of the best, as certified", text, not faults))
    found.append(("ten classes of MNIST, 60,000 rows", f"{mnist(records):.0f} s", True))
    path = slowest_path(records)
    found.append(
        (
            "ten values of C, warm started, within 2.5 cold fits at the largest",
            f"{path:.2f}",
            path <= 2.5,
        )
    )
    return [[words, text, "yes" if kept else "**no**"] for words, text, kept in found]


# Kernels, small samples, linear -------------------------------------------------------------------


@block("kernels", "kernels")
def kernels_table(records: list[Record]) -> str:
    """Return the least and the largest ratio of each machine and kernel, and which are slower."""
    cells: dict[str, dict[str, list[tuple[float, bool]]]] = {}
    slow: dict[str, list[int]] = {}
    above = 0
    for case, ours, theirs in kernels.pairs(records):
        kernel, ratio = case["settings"]["kernel"], kernels.ratio(ours, theirs)
        row = cells.setdefault(case["machine"], {})
        row.setdefault(kernel, []).append((ratio, theirs["limited"]))
        if ratio < 1.0 - kernels.NOISE:
            slow.setdefault(f"`{case['machine']}`, {kernel}", []).append(ours["rows"])
        worse = ours["objective"] - theirs["objective"]
        above += kernel != "sigmoid" and worse > kernels.EQUAL * abs(theirs["objective"])
    lines = []
    for machine, row in cells.items():
        shown = [f"`{machine}`"]
        for kernel in kernels.KERNELS:
            ratios = [ratio for ratio, _ in row[kernel]]
            mark = "+" if any(limited for _, limited in row[kernel]) else ""
            shown.append(f"{min(ratios):.2f} to {max(ratios):,.2f}{mark}")
        lines.append(shown)
    told = "; ".join(
        f"{what} ({', '.join(f'{n:,}' for n in dict.fromkeys(rows))})"
        for what, rows in slow.items()
    )
    return (
        f"In all, fits are {kernels.sentence(records)}. Our objective is above scikit-learn's by "
        f"more "
        f"than {kernels.EQUAL:g} of it in {above} of them.\n\n"
        + table(["times as fast", *kernels.KERNELS], lines)
        + f"\n\nSlower, with the rows: {told}.\n\n"
        + measured(records)
    )


@block("small", "small")
def small_table(records: list[Record]) -> str:
    """Return the known problems, and the mean over all."""
    fits, ones = small.faster(records), small.faster(records, "p50")
    ours = {r.case["problem"]: r for r in records if r.contender == "mercer"}
    some = [fits[name] for name, r in ours.items() if 100 <= r["rows"] <= 1000]
    lines = [
        [name, f"{r['rows']:,}", f"{1e3 * r['fit']:.2f}", f"{fits[name]:.2f}"]
        for name, r in ours.items()
        if r.case["known"]
    ]
    return (
        f"Geometric mean over all {len(fits)} fits **{geometric(list(fits.values())):.2f}**, over "
        f"those "
        f"of 100 to 1,000 rows **{geometric(some):.2f}**, of predictions of one row "
        f"{geometric(list(ones.values())):.2f}.\n\n"
        f"{table(('`SVC`', 'rows', 'fit, ms', 'ratio'), lines)}\n\n{measured(records)}"
    )


@block("linear", "linear")
def linear_table(records: list[Record]) -> str:
    by = {(str(r.case), r.contender): r for r in records}
    lines = []
    for (case, name), r in by.items():
        if name == "mercer":
            continue
        c, ours = r.case, by[case, "mercer"]
        what = f"{name}, {c['rows']:,} x {c['columns']:,}"
        if "loss" in c:
            what = f"{name}, text, {c['loss'].replace('_', ' ')}, tol {c['tol']:g}"
        ratio = ours.get("ratio", r["seconds"] / ours["seconds"])
        digits = 2 if "loss" in c else 1
        cells = [
            f"{c['C']:g}",
            f"{r['seconds']:.2f}",
            f"{ours['seconds']:.3g}",
            f"{ratio:.{digits}f}",
        ]
        lines.append([what, *cells, f"{r['excess']:.0e}", f"{ours['excess']:.0e}"])
    heads = ("peer, problem", "C", "theirs, s", "ours, s", "ratio", "their excess", "ours")
    return table(heads, lines) + "\n\n" + measured(records)


# Certificates, least squares, landmarks -----------------------------------------------------------


@block("certificate", "certificate")
def certificate(records: list[Record]) -> str:
    fits = [r for r in records if "fits" in r]
    shares = np.array([r["share"] for r in records if "share" in r])
    total, false = (sum(r[k] for r in fits) for k in ("fits", "false"))
    lines = []
    for r in fits:
        low, high = r.case["C"]
        rough = f"{r['rough']:,.0f}" if r["rough"] else ""
        cells = [r["fits"], r["converged"], f"{r['gap']:.1e}", rough]
        lines.append([f"{r.case['machine']}, C {low:g} to {high:g}", *cells])
    heads = ("machine", "fits", "converged", "gap / objective", "float32 / gap")
    slack = max(r["slack"] for r in fits)
    more = float(np.exp(-np.mean(np.log1p(-shares))))
    return (
        f"**{false or 'None'} of {total:,} bounds are false.** On {len(shares)} problems of the "
        f"exact "
        f"machines a fit with its certificate takes {more:.2f} times as long as without "
        f"(geometric mean;"
        f" {100 * shares.min():.0f} to {100 * shares.max():.0f} % of the fit). The reported gap "
        f"is at most {slack:.3f} times the true one.\n\n"
        f"{table(heads, lines)}\n\n{measured(records)}"
    )


@block("least-squares", "least-squares")
def least_squares(records: list[Record]) -> str:
    part = {p: [r for r in records if r.case["part"] == p] for p in ("fit", "path", "large")}
    lines = []
    for r in part["fit"]:
        t = r["times"]
        cells = [t["given"], t["points"] - t["kernel"], t["kernel"]]
        cells += [t.get("KernelRidge"), t.get("Gaussian process")]
        shown = ["" if v is None else f"{v / t['dpotrf']:.2f}" for v in cells]
        lines.append([f"{r.case['n']:,}", f"{t['dpotrf']:.3f}", *shown])
    heads = (
        "n",
        "`dpotrf`, s",
        "given matrix",
        "points less kernel",
        "kernel",
        "KernelRidge",
        "GP",
    )
    text = [table(heads, lines)]
    paths = [f"{r['times']['path'] / r['times']['eigh']:.2f}" for r in part["path"]]
    sizes = [f"{r.case['n']:,}" for r in part["path"]]
    text.append(
        f"100 values of C with the exact leave-one-out errors of each take {' and '.join(paths)} "
        f"of one "
        f"bare `numpy.linalg.eigh` at {' and '.join(sizes)} rows."
    )
    lines = []
    for r in part["large"]:
        c = r.case
        kind = "thin factor" if c["preconditioner"] == "auto" else "none"
        what = f"{c['n']:,}, {kind}, {c['targets']}" + ("" if r["converged"] else ", stopped")
        cells = [r["iterations"], f"{r['violation']:.0e}", f"{r['cpu']:.0f}"]
        lines.append(
            [what, *cells, f"{r['step']:.2f}", f"{r['bare']:.2f}", f"{r['peak'] / MIB:,.0f}"]
        )
    heads = (
        "n, preconditioner, targets",
        "steps",
        "residual",
        "CPU, s",
        "step, s",
        "bare, s",
        "MiB",
    )
    text.append(table(heads, lines))
    return "\n\n".join(text) + "\n\n" + measured(records)


@block("landmarks", "landmarks")
def landmarks_table(records: list[Record]) -> str:
    part = {p: landmarks.part(records, p) for p in ("pass", "fit", "growth", "kinked")}
    text = []
    for kind in ("float64", "float32"):
        some = [r for r in part["pass"] if r.case["dtype"] == kind]
        ratios, nano = [r["ratio"] for r in some], [r["nanoseconds"] for r in some]
        text.append(
            f"{kind} {min(ratios):.2f} to {max(ratios):.2f} times the bare loop ({min(nano):.2f} "
            f"to "
            f"{max(nano):.2f} ns a kernel value)"
        )
    said = (
        f"A pass takes in {'; in '.join(text)}, with 5 to 784 features and 500 or 2,000 landmarks."
    )
    by = {(str(r.case), r.contender): r for r in part["fit"]}
    lines = []
    for (case, name), ours in by.items():
        if name == "mercer":
            c, theirs = ours.case, by[case, "scikit-learn"]
            cells = [
                f"{r['cpu']:.1f}; {r['peak'] / 1e6:,.0f}; {r['error']:.4f}" for r in (ours, theirs)
            ]
            what = f"{c['machine']}, {c['rows']:,}, {c['m']:,}"
            lines.append([what, *cells, f"{theirs['cpu'] / ours['cpu']:.1f}"])
    heads = ("machine, rows, landmarks", "Mercer: s; MB; error", "Nystroem", "times as fast")
    fits = table(heads, lines)
    lines = []
    for name, m in dict.fromkeys((r.case["machine"], r.case["m"]) for r in part["growth"]):
        some = [r for r in part["growth"] if r.case["machine"] == name]
        cells = [f"{r['cpu']:.1f}; {r['peak'] / 1e6:,.0f}" for r in some]
        lines.append([f"{name}, {m}", *cells, f"{landmarks.exponent(some):.3f}"])
    sizes = [f"{n:,} rows" for n in dict.fromkeys(r.case["rows"] for r in part["growth"])]
    growth = table(["from Parquet: s; MB", *sizes, "power of rows"], lines)
    ratios = [r["peer"] / r["cpu"] for r in part["kinked"]]
    bent = (
        f"Losses with kinks (hinge, tube) are {geometric(ratios):.1f} times as fast as LIBLINEAR "
        f"over the "
        f"same landmarks ({min(ratios):.1f} to {max(ratios):.1f}, {len(ratios)} problems of 300 "
        f"to 1,000 "
        "landmarks), at equal objectives."
    )
    return "\n\n".join([said, fits, growth, bent, measured(records)])


@block("local", "local")
def local(records: list[Record]) -> str:
    fits = [r for r in records if r.case["part"] == "fit"]
    lines = [
        [
            f"{r.case['rows']:,}",
            f"{r.case.get('leaf', 1000):,}",
            f"{r['cpu']:,.0f}",
            f"{r['peak'] / MIB:,.0f}",
        ]
        for r in sorted(fits, key=lambda r: r.case["rows"])
    ]
    one, two, killed = (r["wall"] for r in records if r.case["part"] == "cluster")
    rates = [r["rows_a_minute"] / 1e6 for r in records if r.case["part"] == "predict"]
    return (
        table(("rows", "leaf", "fit, s", "MiB"), lines)
        + f"\n\nOn a Dask cluster 10^6 rows take one worker {one:.0f} s, two {two:.0f} s, and two "
        f"of which one "
        f"is killed half way {killed:.0f} s, with the same predictions to the last bit. A core "
        f"predicts "
        f"{min(rates):.1f} to {max(rates):.1f} million rows a minute by leaves of "
        f"4,000.\n\n{measured(records)}"
    )


# How far it goes ----------------------------------------------------------------------------------


@block("sizes", "sizes")
def sizes(records: list[Record]) -> str:
    """Return seconds of machines with knowledge, and the power of n between the last two sizes."""
    shown = (2000, 5000, 20_000)
    by: dict[str, dict[int, Record]] = {}
    for r in records:
        by.setdefault(r.case["machine"], {})[r.case["n"]] = r
    lines = []
    for name, found in by.items():
        (n, a), (m, b) = sorted(found.items())[-2:]
        growth = float(np.log(b["seconds"] / a["seconds"]) / np.log(m / n))
        mark = {False: "*"}
        cells = [
            f"{found[k]['seconds']:.3g}{mark.get(found[k]['converged'], '')}" if k in found else ""
            for k in shown
        ]
        lines.append([name, *cells, f"{growth:.1f}"])
    heads = ("machine, s", *(f"{n:,}" for n in shown), "growth")
    return table(heads, lines) + "\n\n" + measured(records)


@block("compact", "compact")
def compact(records: list[Record]) -> str:
    from benchmarks.suites.compact import MACHINES, growth

    by = {(r.case["machine"], r.case["n"], r.contender): r for r in records}
    lines = []
    for name, title in zip(MACHINES, ("squared", "Huber", "`SVC`"), strict=True):
        cells = [
            f"{r['fit']:.1f}; {r['peak'] / MIB:,.0f}" if (r := by.get((name, n, way))) else ""
            for n, way in (
                (12_500, "scikit-learn"),
                (12_500, "whole matrix"),
                (12_500, "neighbours"),
                (200_000, "neighbours"),
            )
        ]
        powers = (f"{growth(records, name, key):.2f}" for key in ("fit", "peak"))
        lines.append([title, *cells, *powers])
    heads = ("s; MiB", "12,500: scikit-learn", "whole matrix", "neighbours", "200,000: neighbours")
    return table((*heads, "time grows", "memory"), lines) + "\n\n" + measured(records)


@block("scale", "scale")
def scale(records: list[Record]) -> str:
    from benchmarks.suites.scale import CLUSTERS, estimate
    from benchmarks.suites.scale import measured as costs_of

    costs = costs_of(records)
    lines = []
    for power in (8, 9, 10):
        for m in (3, 4, 5):
            cells = []
            for count, cores in CLUSTERS.values():
                took, money = estimate(10.0**power, 50, 10**m, count, cores, costs)
                # 24 m^2 bytes are more than a node of 32 cores has.
                small_client = count == 1 and m == 5
                cells.append(
                    "–" if small_client else f"{duration(took)}, ${money:,.{2 * (money < 10)}f}"
                )
            lines.append([f"10^{power}, 10^{m}", *cells])
    million = costs.value * costs.double.seconds(1e6, 10, 1000)
    million += costs.curved * costs.single.seconds(1e6, 10, 1000)
    return (
        f"10^6 rows against 1,000 landmarks are {million:.0f} seconds of one core, all passes of "
        f"a squared "
        f"loss "
        f"together.\n\n{table(('rows, landmarks', *(f'{c} cores' for c in CLUSTERS)), lines)}\n\n"
        f"{measured(records)}"
    )


def duration(value: float) -> str:
    """Return a time as people say it."""
    if value < 90:
        return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"
    if value < 5400:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.1f} h" if value < 172_800 else f"{value / 86_400:.0f} days"


# Other pages --------------------------------------------------------------------------------------


@block("weights", "hour")
def weights(records: list[Record]) -> str:
    by = {(r.case["program"], r.case["run"]): r for r in records}
    weight = by["weights", "none"]["megabytes"]
    named = [name for name in weight if weight[name] >= 10]
    rest = sum(weight[name] for name in weight if name not in named)
    lines = [[name, f"{weight[name]:.0f}"] for name in named]
    lines.append([f"the other {len(weight) - len(named)}", f"{rest:.0f}"])
    total, about = sum(weight.values()), by["weights", "none"].about
    return (
        f"{len(weight)} distributions, {total:.0f} MB on disk with Python {about['python']}:\n\n"
        + table(("", "MB"), lines)
    )


@block("programs", "hour")
def programs(records: list[Record]) -> str:
    by = {(r.case["program"], r.case["run"]): r["cpu"] for r in records if "cpu" in r}
    lines = [
        [words, f"{by['mercer', run]:.2f}", f"{by['scikit-learn', run]:.2f}"]
        for words, run in (
            ("import `SVC`", "import"),
            ("fit and predict 300 rows, once in a process", "first fit"),
        )
    ]
    lines += [[name, f"{cpu:.1f}", ""] for (name, run), cpu in by.items() if run == "program"]
    return (
        "Processor seconds of a whole process on one thread, its start and imports included:\n\n"
        + table(("program", "mercer", "scikit-learn"), lines)
        + f"\n\n{measured(records)}"
    )


@block("faults", "faults")
def faults(records: list[Record]) -> str:
    one, two = (r["seconds"] for r in records if "workers" in r.case)
    by = {r.case["fault"]: r for r in records if "fault" in r.case}
    killed, frozen, client = by["killed"], by["frozen"], by["client"]
    lines = []
    for words, r in (
        ("a worker was killed", killed),
        ("a worker froze, `patience=10`", frozen),
        (f"the client was killed after {client['kept']} of {client['passes']} passes", client),
    ):
        rest = " for the rest" if r is client else ""
        cells = [
            f"{r['undisturbed']:.0f} s",
            f"{r['seconds']:.0f} s{rest}",
            "yes" if r["same"] else "no",
        ]
        lines.append([words, f"{r.case['rows']:,}", *cells])
    heads = ("in the middle of the fit", "rows", "undisturbed", "with the fault", "same bits")
    return (
        "Measured from Parquet files of 10 features, hinge loss, 300 landmarks, workers of one "
        "thread on "
        f"one machine of two cores (`make bench SUITE=faults`). {frozen.case['rows']:,} rows take "
        f"one "
        f"worker {one:.0f} s and two {two:.0f} s, {one / two:.2f} times as "
        f"fast.\n\n{table(heads, lines)}\n\n"
        f"Predictions of the {killed['predicted']:,} rows were written to Parquet files in "
        f"{killed['predictions']:.0f} s, {100 * killed['mistakes']:.1f} % of them wrong on rows "
        f"without noise."
    )


@block("studio", "studio-check")
def studio(records: list[Record]) -> str:
    from benchmarks.suites.studio_check import LIMITS

    (found,) = records
    lines = [
        [name, f"{found[name]:.3g}", f"{most:g}"] for name, most in LIMITS.items() if name in found
    ]
    slow = sorted(found["rows"].items(), key=lambda pair: -pair[1])
    told = ", ".join(f"{name} {value:g}" for name, value in slow)
    journeys = ", ".join(
        f"{name} {one['seconds']:g} s ({one['rows']:,} rows)"
        for name, one in found["journeys"].items()
    )
    return (
        f"{table(('', 'measured', 'limit'), lines)}\n\nOf 100,000 rows, in seconds: {told}.\n\n"
        f"Journeys from a raw file to script, model and report, the script run again: {journeys}. "
        f"Predictions of every script were those on the screen, bit by bit.\n\n{measured(records)}"
    )


# Writing ------------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """Return a page with its blocks written anew."""

    def write(found: re.Match[str]) -> str:
        name = found[2]
        if name not in BLOCKS:
            raise ValueError(f"no block {name!r}; there are {', '.join(BLOCKS)}")
        return f"{found[1]}{BLOCKS[name](stored(SUITE_OF[name]))}\n{found[3]}"

    return MARKED.sub(write, text)


def main() -> None:
    """Write all pages that have results, and their figures."""
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    figures.prices(stored("tables"), BENCHMARK.with_name("benchmark_tables.svg"))
    figures.large(stored("large"), BENCHMARK.with_name("benchmark_large.svg"))
