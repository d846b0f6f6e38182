"""Results as tables in Markdown."""

from statistics import median
from typing import Any

from benchmarks.svm.claims import (
    Ratio,
    Result,
    clock_of,
    exponent,
    geometric_mean,
    middle,
    ratio,
    ratios,
    title,
)
from benchmarks.svm.problems import COMMON

Environment = dict[str, Any]

TITLES = {
    "SVC": "Classification",
    "SVR": "Regression",
    "NuSVC": "Nu-classification",
    "NuSVR": "Nu-regression",
    "OneClassSVM": "One-class",
}
SCORES = {"SVC": "accuracy", "NuSVC": "accuracy", "SVR": "R²", "NuSVR": "R²"}
PEERS = (
    "scikit-learn-intelex",
    "scikit-learn-intelex float32",
    "scikit-learn",
    "LIBSVM",
    "ThunderSVM",
)
GB = 1e9


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def head(*cells: str) -> list[str]:
    return [row(*cells), "| --- |" + " ---: |" * (len(cells) - 1)]


def number(value: Ratio | None) -> str:
    """Print a ratio with its spread."""
    if value is None:
        return "–"
    if value.bound:
        return f"> {value.middle:.1f}"
    if value.low == value.high:
        return f"{value.middle:.2f}"
    return f"{value.middle:.2f} ({value.low:.2f}–{value.high:.2f})"


def mean(found: list[tuple[Result, Ratio]]) -> str:
    return f"**{geometric_mean(r.middle for _, r in found):.2f}**" if found else "–"


def means(environment: Environment, results: list[Result]) -> list[str]:
    """Sum everything up: one row for every peer."""
    clock = clock_of(environment)
    lines = head(
        "Mercer, times as fast as",
        "fit",
        "worst problem",
        "predict",
        "problems",
    )
    for other in PEERS:
        fit, predict = (ratios(results, other, what, clock) for what in ("fit", "predict"))
        if not fit:
            continue
        worst, least = min(fit, key=lambda pair: pair[1].middle)
        bounds = sum(r.bound for _, r in fit)
        problems = f"{len(fit)}" + (f", {bounds} at the limit" if bounds else "")
        where = f"{least.middle:.2f} ({title(worst)})"
        lines.append(row(other, mean(fit), where, mean(predict), problems))
    return lines


def distances(environment: Environment, results: list[Result]) -> list[str]:
    """Say how far everybody is from the limit."""
    clock = clock_of(environment)
    lines = head(
        "times as long as `bare`", "fit", "best problem", "worst problem", "predict", "problems"
    )
    for library in ("mercer", *PEERS):
        fit, predict = (
            ratios(results, library, what, clock, base="bare") for what in ("fit", "predict")
        )
        if not fit:
            continue
        ordered = sorted(fit, key=lambda pair: pair[1].middle)
        ends = (f"{r.middle:.1f} ({title(result)})" for result, r in (ordered[0], ordered[-1]))
        lines.append(row(library, mean(fit), *ends, mean(predict), f"{len(fit)}"))
    return lines


def comparison(environment: Environment, results: list[Result]) -> list[str]:
    """Give every problem a row: how many times as fast Mercer is, and how far from the limit."""
    clock = clock_of(environment)
    peers = [p for p in PEERS if ratios(results, p, "fit", clock)]
    lines = head(
        "problem",
        *(f"fit / {p}" for p in peers),
        "fit, times bare",
        *(f"predict / {p}" for p in peers[:1]),
        "predict, times bare",
    )
    for r in results:
        lines.append(
            row(
                title(r),
                *(number(ratio(r, p, "fit", clock)) for p in peers),
                number(ratio(r, "mercer", "fit", clock, base="bare")),
                *(number(ratio(r, p, "predict", clock)) for p in peers[:1]),
                number(ratio(r, "mercer", "predict", clock, base="bare")),
            )
        )
    return lines


def details(results: list[Result]) -> list[str]:
    """Print what every contender took and found, machine by machine."""
    lines = []
    for machine, name in TITLES.items():
        chosen = [r for r in results if r["problem"]["machine"] == machine]
        if not chosen:
            continue
        titles = (
            "contender",
            "fit, s of processor",
            "by the clock",
            "predict, s",
            "support",
            "objective",
            "above best",
            "violation",
            SCORES.get(machine, "inside"),
            "peak",
        )
        lines += ["", f"### {name}: `{machine}`", "", *head("problem", *titles)]
        for r in chosen:
            lines += problem_rows(r)
    return lines


def problem_rows(r: Result) -> list[str]:
    lines, name = [], settings(r)
    for library, c in r["contenders"].items():
        judged = (
            (
                f"{c['support']:,}",
                f"{c['objective']:.8g}",
                f"{c['excess']:.0e}",
                f"{c['violation']:.1e}",
                f"{middle(c, 'score'):.4f}",
            )
            if "objective" in c
            else ("",) * 5
        )
        peak = f"{c['peak'] / 1e6:,.0f} MB" if library != "bare" else ""
        times = (spread(c, "fit_cpu"), spread(c, "fit_wall"), spread(c, "predict_cpu"))
        lines.append(row(name, library, *times, *judged, peak))
        name = ""
    for library, why in r["failures"].items():
        lines.append(row(name, library, why, *("",) * 8))
        name = ""
    return lines


def settings(r: Result) -> str:
    p = r["problem"]
    values = ", ".join(f"{k}={v:g}" for k, v in p["settings"].items())
    rows = f"{p['data']}, {p['n']:,} × {r['n_features']}"
    return f"{rows}, {values}, gamma={p['gamma']:.3g}; {p['n_test']:,} to predict"


def spread(contender: dict[str, Any], what: str) -> str:
    values = [run[what] for run in contender["runs"]]
    if len(values) == 1:
        return f"{values[0]:.3g}, once"
    return f"{median(values):.3g} ({min(values):.3g}–{max(values):.3g})"


SCALED = {
    "standard": "standardized",
    "interval": "to [-1, 1]",
    "largest": "divided by the largest",
    "none": "as published",
}


def sources(results: list[Result]) -> list[str]:
    """Print where every setting is from."""
    lines = head("problem", "features", "rows", "settings", "from")
    for r in results:
        p = r["problem"]
        values = ", ".join(f"{k}={v:g}" for k, v in p["settings"].items())
        part = "official partition" if p["official"] else "drawn at random"
        lines.append(
            row(
                title(r),
                SCALED[p["scaling"]],
                part,
                f"{values}, gamma={p['gamma']:.3g}",
                p["source"],
            )
        )
    return lines


def startup(environment: Environment) -> list[str]:
    clock = clock_of(environment)
    return [
        *head("first fit minus second, seconds", "never run here before", "run here before"),
        *(
            row(library, f"{new[clock]:.2f}", f"{again[clock]:.2f}")
            for library, (new, again) in environment["startup"].items()
        ),
    ]


def curve(
    environment: Environment, results: list[Result], library: str
) -> tuple[list[float], list[float]]:
    """Return rows and seconds of one contender."""
    met = [r for r in results if library in r["contenders"]]
    key = f"fit_{clock_of(environment)}"
    return [r["problem"]["n"] for r in met], [middle(r["contenders"][library], key) for r in met]


def growth(environment: Environment, results: list[Result]) -> list[str]:
    libraries = environment["conditions"]["libraries"]
    sizes = [r["problem"]["n"] for r in results]
    lines = head("rows", *(f"{n:,}" for n in sizes), "exponent")
    for library in libraries:
        cells = []
        for r in results:
            c = r["contenders"].get(library)
            key = f"fit_{clock_of(environment)}"
            cells.append(f"{middle(c, key):.3g} s" if c else r["failures"].get(library, "–"))
        lines.append(row(library, *cells, f"{exponent(*curve(environment, results, library)):.2f}"))
    peaks = [r["contenders"].get("mercer", {}).get("peak", float("nan")) for r in results]
    lines.append(row("memory of Mercer", *(f"{peak / GB:.2f} GB" for peak in peaks), ""))
    return lines


def hard(environment: Environment, results: list[Result]) -> list[str]:
    clock = clock_of(environment)
    peers = [p for p in ("scikit-learn", "LIBSVM") if ratios(results, p, "fit", clock)]
    lines = head(
        "problem",
        "Mercer, s",
        *(f"fit / {p}" for p in peers),
        "status",
        "relative gap",
        "violation",
        *(f"violation of {p}" for p in peers),
    )
    for r in results:
        ours = r["contenders"].get("mercer")
        if ours is None:
            why = r["failures"].get("mercer", "did not run")
            lines.append(row(title(r), why, *("",) * (2 * len(peers) + 3)))
            continue
        certificate = ours["certificate"]
        theirs = [r["contenders"].get(p) for p in peers]
        lines.append(
            row(
                title(r),
                f"{middle(ours, f'fit_{clock}'):.3g}",
                *(number(ratio(r, p, "fit", clock)) for p in peers),
                certificate["status"],
                f"{certificate['relative_gap']:.0e}",
                f"{ours['violation']:.1e}",
                *(f"{c['violation']:.1e}" if c else "–" for c in theirs),
            )
        )
    return lines


def path_ratio(result: Result, clock: str) -> Ratio:
    values = [run[f"path_{clock}"] / run[f"cold_{clock}"] for run in result["runs"]]
    return Ratio(median(values), min(values), max(values))


def path(environment: Environment, results: list[Result]) -> list[str]:
    clock = clock_of(environment)
    lines = head(
        "problem", "one cold fit, s", "the path, s", "ratio", "objective, cold", "and path"
    )
    for r in results:
        cold, along = (
            median(run[f"{which}_{clock}"] for run in r["runs"]) for which in ("cold", "path")
        )
        lines.append(
            row(
                title(r),
                f"{cold:.3g}",
                f"{along:.3g}",
                number(path_ratio(r, clock)),
                f"{r['objective']['cold']:.8g}",
                f"{r['objective']['path']:.8g}",
            )
        )
    return lines


def allowed_memory() -> float:
    """Return what a fit may take: the store of kernel values and a gigabyte."""
    return 1e6 * COMMON["cache_size"] + 1 * GB
