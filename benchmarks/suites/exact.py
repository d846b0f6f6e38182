"""Exact machines beside every peer and the bare kernel values, two threads, a path of C; an hour.

Contenders take turns, each in a process of its own and each round in another order. Answers are
judged by `benchmarks.contenders.judge`, which is nobody's. ``--short`` takes three minutes and
fails if Mercer is slow or wrong.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders.judge import Verdict, disagreement, judge
from benchmarks.contenders.machines import (
    COMMON,
    LIBRARIES,
    Problem,
    installed,
    problem_of,
    written,
)
from benchmarks.store import NoAnswerError, Record, Worker
from data import MISSING

SERVER = "benchmarks.contenders.machines:Server"
PACKAGES = {
    "": (
        *("mercer", "scikit-learn", "scikit-learn-intelex", "libsvm-official", "thundersvm-cpu"),
        *("numpy", "scipy"),
    )
}
# Where problems are only compared with few, these are the ones that matter.
FEW = ("mercer", "scikit-learn", "scikit-learn-intelex", "bare")
FEW_ON_THREADS = ("mercer", "scikit-learn-intelex", "bare")
# Seconds that a fit or a prediction may take; who needed more than `once` for a first fit is not
# asked again.
LIMIT, LIMITS, ONCE = 150.0, {"scikit-learn": 60.0, "scikit-learn-intelex float32": 60.0}, 10.0
LIMITS |= {"LIBSVM": 20.0, "ThunderSVM": 3.0}
ROUNDS, SHORT_ROUNDS = 3, 2
CONDITIONS = {"threads": 1, "rounds": ROUNDS, "limit": LIMIT, "limits": LIMITS, "once": ONCE}
# What the short run must show: times as fast as scikit-learn-intelex, geometric mean.
FAST_ENOUGH = 1.2
# A looser objective than this, relative to the best one found, would not be the same answer.
SAME_OBJECTIVE = 1e-5

# Every row says where its settings are from: a publication, round numbers, or a coarse grid of C
# and gamma on 3,000 rows (the smallest C within half a point of the best score).
PLATT = "Platt (1999): variance 10"
HSU = "Hsu and Lin (2002), one against one"
HSIEH = "Hsieh, Si and Dhillon (2014)"
GRID, ROUND, AUTO = "grid", "round numbers", "gamma = 1 / features"
RAW: dict[str, Any] = {"scaling": "none", "official": True}
GREY: dict[str, Any] = {"scaling": "largest", "official": True}
BOX: dict[str, Any] = {"scaling": "interval", "official": True}
COVTYPE = Problem("SVC", "covtype_binary", 50_000, 10_000, 0.1, {"C": 10.0}, source=ROUND)
MNIST = ("mercer", "scikit-learn-intelex", "bare")

CLASSIFICATION = [
    Problem("SVC", "a9a", 32_561, 10_000, 0.03, {"C": 1.0}, **RAW, source=ROUND),
    Problem("SVC", "w8a", 49_749, 10_000, 0.05, {"C": 5.0}, **RAW, source=PLATT),
    Problem("SVC", "ijcnn1", 49_990, 10_000, 2.0, {"C": 32.0}, **RAW, source=HSIEH),
    Problem("SVC", "cod_rna", 59_535, 10_000, 0.5, {"C": 10.0}, official=True, source=ROUND),
    COVTYPE,
    replace(COVTYPE, n=100_000),
    Problem("SVC", "mnist_even", 20_000, 5_000, 0.02, {"C": 5.0}, **GREY, source=ROUND),
    Problem(
        "SVC", "mnist", 60_000, 10_000, 0.02, {"C": 5.0}, **GREY, source=ROUND, contenders=MNIST
    ),
    Problem("SVC", "letter", 15_000, 5_000, 4.0, {"C": 16.0}, **BOX, source=HSU),
    Problem("SVC", "skin", 200_000, 10_000, 4 / 3, {"C": 10.0}, source=GRID),
    Problem("SVC", "spambase", 3_600, 1_000, 1 / 57, {"C": 10.0}, source=AUTO),
]
# Machine settings shared by the two ways to choose the width of the tube.
REGRESSION = [
    replace(base, machine=machine, settings=base.settings | extra)
    for base in (
        Problem("SVR", "california", 15_000, 5_000, 1 / 8, {"C": 10.0}, source=GRID),
        Problem("SVR", "kin40k", 10_000, 10_000, 1 / 8, {"C": 10.0}, source=GRID),
        Problem("SVR", "cpusmall", 6_000, 2_000, 0.025, {"C": 10.0}, source=GRID),
        Problem("SVR", "protein_casp", 20_000, 10_000, 16 / 9, {"C": 1.0}, source=GRID),
    )
    for machine, extra in (("SVR", {"epsilon": 0.1}), ("NuSVR", {"nu": 0.5}))
]
NOVELTY = [Problem("OneClassSVM", "kdd99_http", 100_000, 10_000, 1 / 3, {"nu": 0.01}, source=AUTO)]
SMALL = [
    replace(problem, group="small", source=problem.source or AUTO)
    for problem in (
        Problem("SVC", "pendigits", 8_000, 2_000, 1 / 16, {"C": 10.0}),
        Problem("SVC", "satimage", 4_435, 2_000, 1.0, {"C": 16.0}, **BOX, source=HSU),
        Problem("SVR", "kin8nm", 6_000, 2_000, 1 / 8, {"C": 1.0, "epsilon": 0.1}),
        Problem("SVR", "abalone", 3_000, 1_000, 1 / 10, {"C": 10.0, "epsilon": 0.1}),
        Problem("NuSVC", "a9a", 8_000, 5_000, 0.03, {"nu": 0.3}, **RAW, source=ROUND),
        Problem("NuSVC", "letter", 10_000, 5_000, 1 / 16, {"nu": 0.1}),
        Problem("OneClassSVM", "ijcnn1", 20_000, 5_000, 1 / 22, {"nu": 0.1}),
    )
]
EXACT = CLASSIFICATION + REGRESSION + NOVELTY + SMALL
# The same with two threads, whose answers have the same bits as those of one, where there are many
# rows: beside scikit-learn-intelex only, by the clock.
TWO_THREADS = [
    replace(problem, label="threads", threads=2, contenders=FEW_ON_THREADS)
    for problem in EXACT
    if 10_000 <= problem.n < 100_000
]
# Every kind of machine on data that are there anywhere, and two more where the folder of data is.
SHORT = [
    Problem("SVC", "hastie", 8_000, 2_000, 0.1, {"C": 1.0}),
    Problem("SVC", "moons", 15_000, 2_000, 1.0, {"C": 10.0}),
    Problem("SVC", "digits", 1_500, 200, 1 / 64, {"C": 10.0}),
    Problem("SVR", "friedman1", 6_000, 2_000, 0.1, {"C": 1.0, "epsilon": 0.1}),
]
if not MISSING:
    SHORT += [
        Problem("SVC", "a9a", 8_000, 2_000, 0.03, {"C": 1.0}, **RAW),
        replace(COVTYPE, n=8_000, n_test=2_000, source=""),
    ]
# Ten values of C, ascending, each machine started from the last one.
PATH_VALUES = [float(C) for C in np.geomspace(0.1, 100.0, 10)]
PATH = [
    replace(problem, label="path")
    for problem in (
        replace(COVTYPE, n=10_000, n_test=1_000),
        Problem("SVC", "mnist_even", 10_000, 1_000, 0.02, **GREY),
        Problem("SVC", "cod_rna", 20_000, 1_000, 0.5, official=True),
    )
]
# The accelerated one-class machine is scikit-learn's own again.
NO_MACHINE = {
    "scikit-learn-intelex": ("OneClassSVM",),
    "scikit-learn-intelex float32": ("OneClassSVM",),
}


def cases(short: bool) -> list[dict[str, Any]]:
    if not short and MISSING:
        raise SystemExit(MISSING)
    return [problem.case() for problem in (SHORT if short else EXACT + TWO_THREADS + PATH)]


def contenders(case: dict[str, Any]) -> list[str]:
    """Return who is installed, has a machine for a problem and was not left out of it."""
    if case.get("label") == "path":
        return ["mercer"]
    names = LIBRARIES if case.get("source") and case.get("threads", 1) == 1 else FEW
    return [
        name
        for name in installed(list(names))
        if name in case.get("contenders", [name])
        and case["machine"] not in NO_MACHINE.get(name, ())
    ]


# Who took too long for fewer rows of the same problem, and need not try.
EXCUSED: dict[tuple[Any, ...], dict[str, str]] = {}


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    """Let contenders take turns on one problem, each round in another order."""
    problem = problem_of(case)
    if problem.label == "path":
        return {"mercer": path(problem)}
    excused = EXCUSED.setdefault(problem.family(), {})
    found = turns(
        problem, [n for n in names if n not in excused], SHORT_ROUNDS if short else ROUNDS
    )
    found |= {name: {"failure": why} for name, why in excused.items() if name in names}
    for name, values in found.items():
        if values.get("failure", "").startswith("over ") and name not in excused:
            excused[name] = f"{values['failure']} at {problem.n:,} rows"
    return found


def turns(problem: Problem, names: list[str], rounds: int) -> dict[str, dict[str, Any]]:
    """Measure a problem; ``bare`` is last in a round, given a contender's support vectors."""
    k = problem.threads
    workers = {name: Worker(SERVER, name, k, threads=k) for name in names}
    peers = [name for name in names if name != "bare"]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    learned: dict[str, dict[str, Any]] = {}
    failures: dict[str, str] = {}
    sample = problem.sample()
    try:
        with written(sample) as folder:
            for turn in range(rounds):
                shift = turn % max(1, len(peers))
                for name in [*peers[shift:], *peers[:shift], *(n for n in names if n == "bare")]:
                    first = runs[name][0]["fit_wall"] if runs[name] else 0.0
                    if name in failures or first > ONCE or (name == "bare" and not learned):
                        continue
                    worker, limit = workers[name], min(LIMIT, LIMITS.get(name, LIMIT))
                    try:
                        if turn == 0:
                            given = next(iter(learned.values())) if name == "bare" else {}
                            worker.ask("load", problem, folder, given, seconds=600.0)
                        run = worker.ask("fit", seconds=limit)
                        runs[name].append(run | worker.ask("predict", seconds=limit))
                        if turn == 0 and name != "bare":
                            learned[name] = worker.ask("learned")
                    except NoAnswerError as failure:
                        failures[name] = str(failure)
    finally:
        for worker in workers.values():
            worker.close()
    verdicts = {name: judge(problem, sample, model) for name, model in learned.items()}
    found: dict[str, dict[str, Any]] = {name: {"failure": why} for name, why in failures.items()}
    for name in names:
        if runs[name]:
            found.setdefault(name, {})
            found[name] |= {"rounds": runs[name]}
            if name in verdicts:
                found[name] |= worth(learned[name], verdicts[name], verdicts)
    return found


def worth(model: dict[str, Any], verdict: Verdict, verdicts: dict[str, Verdict]) -> dict[str, Any]:
    """Return what a model says of itself and what the judge says of it."""
    best = min(other.objective for other in verdicts.values())
    return {
        "support": len(model["support_"]),
        "bits": sha256(np.ascontiguousarray(model["dual_coef_"]).tobytes()).hexdigest()[:16],
        "objective": verdict.objective,
        "excess": (verdict.objective - best) / abs(best),
        "violation": verdict.violation,
        "infeasibility": verdict.infeasibility,
        "disagreement": max(disagreement(verdict, other) for other in verdicts.values()),
        "certificate": model.get("certificate"),
    }


def path(problem: Problem) -> dict[str, Any]:
    """Fit at the largest C and along all its values, alternating; judge both answers there."""
    worker, sample = Worker(SERVER, "mercer", 1), problem.sample()
    try:
        with written(sample) as folder:
            worker.ask("load", problem, folder, {})
            answers = [worker.ask("path", PATH_VALUES, seconds=10 * LIMIT) for _ in range(ROUNDS)]
    finally:
        worker.close()
    last = replace(problem, settings=problem.settings | {"C": PATH_VALUES[-1]})
    cold, along = (judge(last, sample, answers[0][which]) for which in ("cold", "path"))
    return {
        "rounds": [answer["times"] for answer in answers],
        "objective": {"cold": cold.objective, "path": along.objective},
        "disagreement": disagreement(cold, along),
    }


# What the results say -----------------------------------------------------------------------------


class Ratio(NamedTuple):
    """How many times as long one contender takes as another: median over rounds, and extremes.

    A contender that passed the limit counts with the limit, and ``bound`` says so.
    """

    middle: float
    low: float
    high: float
    bound: bool = False


@dataclass(frozen=True)
class Result:
    """One problem, and what every contender did on it."""

    problem: Problem
    by: dict[str, Record]

    @property
    def title(self) -> str:
        p = self.problem
        return " ".join(filter(None, (p.machine, p.data, f"{p.n:,}", p.label)))

    def seconds(self, name: str, what: str = "fit_cpu") -> float:
        return float(median(run[what] for run in self.by[name]["rounds"]))

    def ratio(self, other: str, what: str, base: str = "mercer") -> Ratio | None:
        """Compare two contenders round by round; none if they never met.

        By the processor's time, and with several threads by the clock.
        """
        met = [name for name in (base, other) if "rounds" in self.by.get(name, {})]
        if len(met) == 2:
            key = f"{what}_{'cpu' if self.problem.threads == 1 else 'wall'}"
            ours, theirs = (self.by[name]["rounds"] for name in (base, other))
            values = [b[key] / a[key] for a, b in zip(ours, theirs, strict=False)]
            return Ratio(median(values), min(values), max(values))
        failure = self.by[other].get("failure", "") if other in self.by else ""
        over = re.match(r"over (\d+) s", failure)
        if base in met and over and what == "fit":
            least = float(over[1]) / self.seconds(base, "fit_wall")
            return Ratio(least, least, least, bound=True)
        return None


def results(records: Iterable[Record], label: str = "") -> list[Result]:
    """Gather the records of each problem, in the order of the file."""
    found: dict[str, Result] = {}
    for record in records:
        if record.case.get("label", "") == label:
            problem = problem_of(record.case)
            found.setdefault(str(record.case), Result(problem, {})).by[record.contender] = record
    return list(found.values())


def ratios(
    found: Iterable[Result], other: str, what: str, base: str = "mercer"
) -> list[tuple[Result, Ratio]]:
    pairs = ((result, result.ratio(other, what, base)) for result in found)
    return [(result, value) for result, value in pairs if value is not None]


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = np.log(list(values))
    return float(np.exp(logarithms.mean())) if logarithms.size else float("nan")


def gains_of_threads(records: list[Record]) -> list[tuple[str, float, bool]]:
    """Return problems, how many times as fast two threads are by the clock, and if bits agree."""
    gains = []
    alone = {(r.problem.family(), r.problem.n): r.by.get("mercer") for r in results(records)}
    for result in results(records, "threads"):
        base = replace(result.problem, label="")
        one, two = alone.get((base.family(), base.n)), result.by.get("mercer")
        if one and two and "bits" in one and "bits" in two:
            seconds = [median(run["fit_wall"] for run in record["rounds"]) for record in (one, two)]
            gains.append((result.title, seconds[0] / seconds[1], one["bits"] == two["bits"]))
    return gains


def table(records: list[Record]) -> list[str]:
    """Return the lines of a table: times of the bare kernel values, and of the peer, a problem."""
    lines = ["problem | threads | x bare | x scikit-learn-intelex"]
    for label in ("", "threads"):
        some = results(records, label)
        for result in some:
            pairs = result.ratio("mercer", "fit", "bare"), result.ratio(FEW[2], "fit")
            words = [f"{pair.middle:.2f}" if pair else "-" for pair in pairs]
            lines.append(" | ".join([result.title, str(result.problem.threads), *words]))
        for name, base, other in (("bare", "bare", "mercer"), (FEW[2], "mercer", FEW[2])):
            values = [pair.middle for _, pair in ratios(some, other, "fit", base)]
            if values:
                lines.append(f"geometric mean, {name}: {geometric_mean(values):.2f}")
    for title, gain, same in gains_of_threads(records):
        bits = "the same bits" if same else "other bits"
        lines.append(f"{title}: two threads {gain:.2f} times as fast, {bits}")
    return lines


def own_faults(result: Result) -> list[str]:
    """Return what is wrong with Mercer's answer and its certificate."""
    ours = result.by.get("mercer")
    if ours is None or "objective" not in ours:
        return [f"mercer {ours.get('failure') if ours else 'did not run'}"]
    faults = []
    if ours["excess"] > SAME_OBJECTIVE:
        faults.append(f"mercer is {ours['excess']:.1e} above the best objective")
    # Sums of n terms, each known to float64, are known to about n times its spacing.
    if ours.get("infeasibility", 0.0) > 1e-12 * result.problem.n:
        faults.append(f"mercer leaves the feasible set by {ours['infeasibility']:.1e}")
    # Objective and bound carry the rounding of float32 kernel values, both the same: a small part
    # of the gap between them, or of a tenth of what separates equal objectives.
    if certificate := ours.get("certificate"):
        dual, relative_gap = -certificate["dual"], certificate["relative_gap"]
        if abs(dual - ours["objective"]) > max(0.05 * relative_gap, 0.1 * SAME_OBJECTIVE) * (
            1 + abs(dual)
        ):
            faults.append(f"mercer certifies {dual}, measured {ours['objective']}")
    return faults


def disagreements(found: Iterable[Result]) -> list[str]:
    """Return what contradicts the claim that all contenders solved the same problems."""
    wrong = []
    for result in found:
        for library, c in result.by.items():
            if "failure" in c and not c["failure"].startswith("over "):
                wrong.append(f"{result.title}: {library} {c['failure']}")
            if "objective" not in c:
                continue
            # More than the violations explain, and more than float32 rows do.
            if c.get("disagreement", 0.0) > 1 and c["excess"] > SAME_OBJECTIVE:
                wrong.append(
                    f"{result.title}: {library} stopped {c['excess']:.1e} above the best objective"
                )
            # The spread is twice the tolerance where a solver measures from its intercept.
            if c["violation"] > 2 * COMMON["tol"] and not library.endswith("float32"):
                wrong.append(
                    f"{result.title}: {library} stopped at a violation of {c['violation']:.1e}"
                )
        wrong += [f"{result.title}: {text}" for text in own_faults(result)]
    return wrong


def claims(records: list[Record], short: bool) -> list[str]:
    """Return what contradicts equal answers, and, of a short run, who is slow."""
    found = results(records)
    wrong = disagreements(found)
    print("\n".join(table(records)))
    gains = gains_of_threads(records)
    wrong += [f"{title}: two threads, other bits" for title, _, same in gains if not same]
    measured = ratios(found, "scikit-learn-intelex", "fit")
    if short and measured:
        mean = geometric_mean(r.middle for _, r in measured)
        print(f"fit against scikit-learn-intelex: {mean:.2f} times as fast (geometric mean)")
        if mean < FAST_ENOUGH:
            wrong.append(f"{mean:.2f} is less than {FAST_ENOUGH}")
    return wrong


def line(values: dict[str, Any]) -> str:
    if "rounds" not in values:
        return str(values)
    runs = values["rounds"]
    names = [name for name in ("fit_cpu", "predict_cpu", "cold", "path") if name in runs[0]]
    return ", ".join(f"{name} {median(run[name] for run in runs):.3g} s" for name in names)
