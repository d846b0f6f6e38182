"""The results as text: a line while they are measured, a page for the documentation."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.svm import figure, tables
from benchmarks.svm.claims import (
    Result,
    clock_of,
    exponent,
    geometric_mean,
    middle,
    ratio,
    ratios,
    title,
)
from benchmarks.svm.store import HERE, recorded

PAGE = HERE.parents[1] / "docs" / "explanation" / "benchmark.md"
FIGURE = "benchmark_growth.svg"
COMMANDS = {
    "exact": "make bench SUITE=exact",
    "growth": "make bench SUITE=growth",
    "hard": "make bench SUITE=hard",
    "path": "make bench SUITE=path",
}

Suite = tuple[dict[str, Any], list[Result]]


def line(result: Result) -> str:
    """Sum a problem up in a line."""
    if "values" in result:
        return f"{title(result)}: path / cold fit {tables.number(tables.path_ratio(result, 'cpu'))}"
    parts = [
        f"{library} {middle(c, 'fit_cpu'):.2f} + {middle(c, 'predict_cpu'):.2f} s"
        for library, c in result["contenders"].items()
    ]
    parts += [f"{library} {why}" for library, why in result["failures"].items()]
    return f"{title(result)}: " + ", ".join(parts)


def publish() -> None:
    """Write the page from the committed results of every suite that has some."""
    suites = {name: found for name in COMMANDS if (found := recorded(name))}
    if "growth" in suites:
        figure.growth(*suites["growth"], PAGE.parent / FIGURE)
    PAGE.write_text(page(suites), encoding="utf-8")


INTRODUCTION = """\
Exact machines (no approximation, `tol=1e-3`) next to scikit-learn (LIBSVM), scikit-learn-intelex
(oneDAL), LIBSVM itself and ThunderSVM, and next to `bare`: the kernel values between all rows and
the support vectors, computed once in float32 by BLAS and an exponential, and nothing else. No exact
method can do without them. The page is written by the benchmark; do not edit it by hand.
"""

RULES = """\
## How it was measured

{machine}

{where}
- Every contender lives in a process of its own with {threads} for BLAS, OpenMP, Numba and its own
  pool. In each of {rounds} rounds they take turns, in another order each time. A table shows the
  median and in brackets the smallest and the largest; a ratio is taken within a round. Calls
  shorter than half a second are repeated up to five times within a round.
- Ratios are of {unit}. By the clock a fit took {busy:.2f} times its processor time (median).
- A fit or a prediction may take {limit:.0f} s{exceptions}; one that takes longer is stopped and
  counts in means with the limit. Who needed more than {once:.0f} s for a fit is measured once, and
  who passed the limit is excused from larger samples of the same problem.
- Gaussian kernel, `tol=1e-3`, `cache_size=2000` for all, all else default. Everybody gets the same
  float64 rows, but for one more column in which scikit-learn-intelex is given float32. LIBSVM gets
  its own sparse rows before the clock starts. Regression targets are standardized.
- *objective* is the dual objective, *above best* how far it is from the lowest one, relatively,
  *violation* the largest violation of the optimality conditions (LIBSVM's stopping quantity): all
  measured from the fitted attributes by one function that belongs to no contender, in float64.
  Pairs of classes are summed and maximized over.
- The score is measured on rows that the fit has not seen: accuracy, R², or the share of points
  inside the region. *peak* is the memory of the first fit above what the process held before.
- `bare` for several classes takes the support vectors of all pairs together.
- One-class machines are not accelerated by scikit-learn-intelex, which is left out there.
- Between two whole runs on such a machine medians of unchanged programs have moved by up to 1.3
  times for fits above a second and 2.2 times for shorter ones.
{absent}
The first fit of a process costs more than the second, which the tables leave out: Mercer's inner
loops are compiled by Numba and then kept on disk.
"""


def page(suites: dict[str, Suite]) -> str:
    """Put the page together; what has not been measured has no section."""
    lines = ["# Benchmark", ""]
    if "exact" not in suites:
        lines += [INTRODUCTION]
    else:
        about, results = suites["exact"]
        main, small = (
            [r for r in results if r["problem"]["group"] == group] for group in ("main", "small")
        )
        lines += [answer(about, main), "", INTRODUCTION]
        lines += ["## The answer", "", *tables.means(about, main), ""]
        lines += [*tables.distances(about, main), ""]
        if small:
            lines += [f"Smaller problems apart. {answer(about, small)}", ""]
        lines += ["What was asked for, and what it is:", "", *verdicts(suites), ""]
        lines += ["## Problem by problem", ""]
        lines += ["How many times as fast Mercer is, and how many times as long as `bare`."]
        lines += ["", *tables.comparison(about, results), ""]
    if "growth" in suites:
        lines += ["## Growth", "", f"![Time of a fit against rows, log-log]({FIGURE})", ""]
        lines += [*tables.growth(*suites["growth"]), ""]
    if "path" in suites:
        lines += ["## A path of ten values of C", ""]
        lines += ["From 0.1 to 100, each started from the last, against one fit at 100.", ""]
        lines += [*tables.path(*suites["path"]), ""]
    if "hard" in suites:
        lines += ["## Hard cases", "", *tables.hard(*suites["hard"]), ""]
    if "exact" in suites:
        about, results = suites["exact"]
        lines += [rules(suites), *tables.startup(about), ""]
        lines += ["## Times, objectives and memory", *tables.details(results), ""]
        lines += ["## Settings", "", *tables.sources(results), ""]
    return "\n".join(lines).rstrip() + "\n"


def answer(about: dict[str, Any], results: list[Result]) -> str:
    """Say it in one sentence."""
    clock = clock_of(about)
    said = [
        f"{geometric_mean(r.middle for _, r in found):.1f} times as fast as {peer}"
        for peer in ("scikit-learn-intelex", "scikit-learn")
        if (found := ratios(results, peer, "fit", clock))
    ]
    limit = ratios(results, "mercer", "fit", clock, base="bare")
    if limit:
        said.append(f"{geometric_mean(r.middle for _, r in limit):.1f} times the bare limit")
    return f"Geometric means over {len(results)} problems, fit: {', '.join(said)}."


def rules(suites: dict[str, Suite]) -> str:
    about, results = suites["exact"]
    conditions = about["conditions"]
    runs = [run for r in results for c in r["contenders"].values() for run in c["runs"]]
    exceptions = [f"{name} {seconds:.0f} s" for name, seconds in conditions["limits"]]
    absent = [
        f"- {name} is not installed here and left out.\n"
        for name in ("scikit-learn-intelex", "LIBSVM", "ThunderSVM")
        if name not in conditions["libraries"]
    ]
    threads = conditions["threads"]
    return RULES.format(
        machine=machine(about),
        where="\n".join(where(name, *suite) for name, suite in suites.items()),
        threads="one thread" if threads == 1 else f"{threads} threads",
        rounds=conditions["rounds"],
        unit="processor time" if threads == 1 else "time by the clock",
        limit=conditions["limit"],
        exceptions=f" ({', '.join(exceptions)})" if exceptions else "",
        once=conditions["once"],
        # Short fits say more about the resolution of the two clocks than about the machine.
        busy=median([r["fit_wall"] / r["fit_cpu"] for r in runs if r["fit_cpu"] > 0.1] or [1.0]),
        absent="".join(absent),
    )


def where(name: str, about: dict[str, Any], results: list[Result]) -> str:
    conditions = about["conditions"]
    return (
        f"- `{COMMANDS[name]}`: {about['date']}, commit `{about['commit']}`, {len(results)}"
        f" problems, rounds {conditions['rounds']}, limit {conditions['limit']:.0f} s, threads"
        f" {conditions['threads']}. {about.get('note', '')}".rstrip()
    )


def machine(about: dict[str, Any]) -> str:
    packages = ", ".join(f"{package} {v}" for package, v in about["versions"].items() if v)
    return f"{about['processor']}, {about['cores']} cores, Python {about['python']}, {packages}."


def verdicts(suites: dict[str, Suite]) -> list[str]:
    """Hold every promise against its number."""
    return [
        *tables.head("promise", "measured", "kept"),
        *(
            tables.row(text, measured, "yes" if kept else "**no**")
            for text, measured, kept in promises(suites)
        ),
    ]


def promises(suites: dict[str, Suite]) -> Iterator[tuple[str, str, bool]]:
    about, every = suites["exact"]
    clock = clock_of(about)
    results = [r for r in every if r["problem"]["group"] == "main"]
    for peer, target in (("scikit-learn-intelex", 3.0), ("scikit-learn", 8.0)):
        fit = ratios(results, peer, "fit", clock)
        if fit:
            mean = geometric_mean(r.middle for _, r in fit)
            yield f"fit, {target:g} times as fast as {peer}", f"{mean:.2f}", mean >= target
            lost = [f"{title(result)} {r.middle:.2f}" for result, r in fit if r.middle < 1]
            yield f"slower than {peer} nowhere", ", ".join(lost) or "nowhere", not lost
    for what, most in (("fit", 4.0), ("predict", 1.3)):
        limit = ratios(results, "mercer", what, clock, base="bare")
        if limit:
            times = geometric_mean(r.middle for _, r in limit)
            yield f"{what}, within {most:g} times bare", f"{times:.2f}", times <= most
    predict = ratios(results, "scikit-learn-intelex", "predict", clock)
    if predict:
        mean = geometric_mean(r.middle for _, r in predict)
        yield "predict, 1.5 times as fast as scikit-learn-intelex", f"{mean:.2f}", mean >= 1.5
    faults = [f"{title(r)}: {fault}" for r in every for fault in r["faults"]]
    text = "; ".join(faults) or "everywhere"
    yield "objective within 1e-5 of the best one, feasible, as certified", text, not faults
    for r in results:
        c = r["contenders"].get("mercer")
        if r["problem"]["data"] == "mnist" and c:
            memory = (c["held"] + c["peak"]) / 2**30
            against = tables.number(ratio(r, "scikit-learn-intelex", "fit", clock))
            text = f"{middle(c, 'fit_wall'):.0f} s by the clock, {memory:.1f} GiB with the rows;"
            text += f" times as fast as scikit-learn-intelex: {against}"
            yield "ten classes of MNIST, 60,000 rows, within 24 GiB", text, memory <= 24
    if "mercer" in about["startup"]:
        new, again = (times[clock] for times in about["startup"]["mercer"])
        text = f"{new:.1f} s and {again:.2f} s"
        yield "compiles in 3 s, and from disk in 0.3 s", text, new <= 3 and again <= 0.3
    yield from further_promises(suites)


def further_promises(suites: dict[str, Suite]) -> Iterator[tuple[str, str, bool]]:
    """Hold the promises of the other suites against their numbers."""
    if "path" in suites:
        about, results = suites["path"]
        worst = max(tables.path_ratio(r, clock_of(about)).middle for r in results)
        yield "ten values of C within 2.5 cold fits at the largest", f"{worst:.2f}", worst <= 2.5
    if "growth" in suites:
        about, results = suites["growth"]
        slopes = [
            f"{library} {exponent(*tables.curve(about, results, library)):.2f}"
            for library in about["conditions"]["libraries"]
        ]
        peaks = [r["contenders"]["mercer"]["peak"] for r in results if "mercer" in r["contenders"]]
        finished = len(peaks) == len(results)
        most_rows = max(r["problem"]["n"] for r in results)
        yield f"growth to {most_rows:,} rows: exponent of time", ", ".join(slopes), finished
        most, allowed = max(peaks, default=float("nan")), tables.allowed_memory()
        text = f"{most / 1e9:.2f} GB of {allowed / 1e9:.0f}"
        yield "memory within `cache_size` + 1 GB", text, most <= allowed
    if "hard" in suites:
        about, results = suites["hard"]
        lost = [
            f"{title(result)} {r.middle:.2f}"
            for result, r in ratios(results, "LIBSVM", "fit", clock_of(about))
            if r.middle < 1
        ]
        yield "hard cases, slower than LIBSVM nowhere", ", ".join(lost) or "nowhere", not lost
