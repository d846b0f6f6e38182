"""The results as text: a line while they are measured, a page for the documentation."""

from statistics import median
from typing import Any

TITLES = {
    "SVC": "Classification",
    "SVR": "Regression",
    "NuSVC": "Nu-classification",
    "NuSVR": "Nu-regression",
    "OneClassSVM": "One-class",
}
SCORES = {
    "SVC": "accuracy",
    "NuSVC": "accuracy",
    "SVR": "R²",
    "NuSVR": "R²",
    "OneClassSVM": "inside",
}


def middle(contender: dict[str, Any], what: str) -> float:
    return float(median(run[what] for run in contender["runs"]))


def line(result: dict[str, Any]) -> str:
    """Sum a problem up in a line."""
    parts = [
        f"{library} {middle(c, 'fit_cpu'):.2f} + {middle(c, 'predict_cpu'):.2f} s"
        for library, c in result["contenders"].items()
    ]
    parts += [f"{library} {why}" for library, why in result["failures"].items()]
    return "{machine} {data} {n}: ".format(**result["problem"]) + ", ".join(parts)


def page(environment: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Write the page."""
    clock = "cpu" if environment["threads"] == 1 else "wall"
    lines = [*introduction(environment, results, clock), *summary(results, clock)]
    for machine, title in TITLES.items():
        chosen = [r for r in results if r["problem"]["machine"] == machine]
        if chosen:
            lines += ["", f"## {title}: `{machine}`", "", *table(chosen, clock)]
    return "\n".join(lines) + "\n"


# Largest change of an unchanged program's median fit between two runs: above a second, and below.
NOISE, SHORT_NOISE = 1.3, 2.2

INTRODUCTION = """\
# Benchmark

Fit and predict times next to scikit-learn (LIBSVM) and scikit-learn-intelex (oneDAL), on the same
rows with the same settings. Nothing here has been tuned for speed yet: the table is the starting
point. It is written by `make bench`; do not edit it by hand.

Measured on {date} at commit `{commit}`: {processor}, {cores} cores, Python {python}, {packages}.

- Every contender lives in a process of its own with {threads} for BLAS, OpenMP and its own pool; in
  each of {rounds} rounds they take turns, in another order each time. Times are {unit}: the median,
  and in brackets the smallest and the largest.
- By the clock a fit took {busy:.2f} times its processor time (median); above one, the machine had
  other work.
- The brackets are the spread within one run and understate the noise. Between two whole runs on
  such a machine (15 November 2026) the medians of scikit-learn and scikit-learn-intelex, the same
  programs both times, changed by up to {noise:.1f} times for fits above a second and up to
  {short_noise:.1f} times for shorter ones; three of the thirty comparisons of fits changed sides.
- Gaussian kernel, `gamma = 1 / n_features` on standardized features, `tol=1e-3`,
  `cache_size=200`, all else default. Regression targets are standardized.
- *objective* is the dual objective, *violation* the largest violation of the optimality conditions
  (LIBSVM's stopping quantity), both measured from the fitted attributes by one function that
  belongs to no contender; pairs of classes are summed and maximized over.
- The score is measured on rows that the fit has not seen: accuracy, R², or the share of points
  inside the region. *peak* is the memory of a fit in a new process above what it held before.
- One-class machines are not accelerated by scikit-learn-intelex, which is left out there.
"""


def introduction(
    environment: dict[str, Any], results: list[dict[str, Any]], clock: str
) -> list[str]:
    threads = environment["threads"]
    every = [run for r in results for c in r["contenders"].values() for run in c["runs"]]
    values = environment | {
        "threads": "one thread" if threads == 1 else f"{threads} threads",
        "unit": "processor seconds" if clock == "cpu" else "seconds of the clock",
        "packages": ", ".join(f"{name} {v}" for name, v in environment["versions"].items() if v),
        "noise": NOISE,
        "short_noise": SHORT_NOISE,
        # Short fits say more about the resolution of the two clocks than about the machine.
        "busy": median(r["fit_wall"] / r["fit_cpu"] for r in every if r["fit_cpu"] > 0.1),
    }
    return [INTRODUCTION.format(**values), *compile_time(environment["startup"], clock)]


def compile_time(startup: dict[str, list[dict[str, float]]], clock: str) -> list[str]:
    return [
        "The first fit of a process costs more than the second, which the tables leave out:",
        "Mercer's inner loop is compiled by Numba and then kept on disk.",
        "",
        "| first fit minus second, seconds | never run here before | run here before |",
        "| --- | ---: | ---: |",
        *(
            f"| {library} | {new[clock]:.2f} | {again[clock]:.2f} |"
            for library, (new, again) in startup.items()
        ),
    ]


def summary(results: list[dict[str, Any]], clock: str) -> list[str]:
    """Compare with the fastest other contender, and say where Mercer loses."""
    lines = [
        "",
        "## Where it stands",
        "",
        "How many times as long Mercer takes as each other contender; above one it loses.",
        "",
        "| problem | fit / sklearn | fit / intelex | predict / sklearn | predict / intelex |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lost: dict[str, list[str]] = {"fit": [], "predict": []}
    for r in results:
        ours = r["contenders"].get("mercer")
        if ours is None:
            continue
        cells = []
        name = "{machine} {data}".format(**r["problem"])
        for what in ("fit", "predict"):
            ratios = {
                library: middle(ours, f"{what}_{clock}") / max(middle(c, f"{what}_{clock}"), 1e-9)
                for library, c in r["contenders"].items()
                if library != "mercer"
            }
            for library in ("scikit-learn", "scikit-learn-intelex"):
                cells.append(f"{ratios[library]:.2f}" if library in ratios else "–")
            if ratios and max(ratios.values()) > 1.0:
                worst = max(ratios.values())
                seconds = middle(ours, f"{what}_{clock}") / worst
                noise = NOISE if seconds > 1.0 else SHORT_NOISE
                lost[what].append(f"{name} {worst:.2f}{'' if worst > noise else '?'}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for what, names in lost.items():
        where = f"{len(names)} of {len(results)}: {', '.join(names)}" if names else "none"
        lines += ["", f"Slower than the fastest other, {what} (times as long): {where}."]
    lines += [
        "",
        f"A question mark: within what two runs differ by, {NOISE} times if the fastest other",
        f"takes more than a second and {SHORT_NOISE} times if it takes less.",
    ]
    return lines


def table(results: list[dict[str, Any]], clock: str) -> list[str]:
    score = SCORES[results[0]["problem"]["machine"]]
    titles = ["fit", "predict", "support", "objective", "violation", score, "peak"]
    lines = [
        f"| problem | contender | {' | '.join(titles)} |",
        f"| --- | --- |{' ---: |' * len(titles)}",
    ]
    for r in results:
        p = r["problem"]
        settings = ", ".join(f"{k}={v:g}" for k, v in p["settings"].items())
        title = f"{p['data']}, {p['n']} × {r['n_features']}, {settings}; {p['n_test']} to predict"
        for library, c in r["contenders"].items():
            cells = [
                title,
                library,
                spread(c, f"fit_{clock}"),
                spread(c, f"predict_{clock}"),
                str(c["support"]),
                f"{c['objective']:.8g}",
                f"{c['violation']:.1e}",
                f"{middle(c, 'score'):.4f}",
                f"{c['peak'] / 1e6:.0f} MB",
            ]
            lines.append("| " + " | ".join(cells) + " |")
            title = ""
        for library, why in r["failures"].items():
            lines.append(f"| {title} | {library} | {why} |  |  |  |  |  |  |")
            title = ""
    return lines


def spread(contender: dict[str, Any], what: str) -> str:
    values = [run[what] for run in contender["runs"]]
    return f"{median(values):.2f} ({min(values):.2f}–{max(values):.2f})"
