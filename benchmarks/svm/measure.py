"""One problem, all contenders in turn: what they took and what their answers are worth."""

import tempfile
from dataclasses import dataclass
from typing import Any

from benchmarks.svm.claims import own_faults
from benchmarks.svm.contender import Contender, NoAnswerError, write
from benchmarks.svm.judge import Verdict, disagreement, judge
from benchmarks.svm.problems import Problem

# The accelerated one-class machine is scikit-learn's own again.
NO_MACHINE = {
    "scikit-learn-intelex": ("OneClassSVM",),
    "scikit-learn-intelex float32": ("OneClassSVM",),
}


@dataclass(frozen=True)
class Conditions:
    """Threads of everybody, rounds, seconds a fit or prediction may take, and who gets fewer.

    A contender whose first fit took more than ``once`` seconds is not asked again.
    """

    threads: int = 1
    rounds: int = 3
    limit: float = 150.0
    once: float = 10.0
    limits: tuple[tuple[str, float], ...] = (
        ("scikit-learn", 60.0),
        ("scikit-learn-intelex float32", 60.0),
        ("LIBSVM", 20.0),
        ("ThunderSVM", 3.0),
    )

    def limit_of(self, library: str) -> float:
        return min(self.limit, dict(self.limits).get(library, self.limit))


def entrants(problem: Problem, libraries: list[str]) -> list[str]:
    """Return who has a machine for a problem and was not left out of it."""
    return [
        library
        for library in libraries
        if (not problem.contenders or library in problem.contenders)
        and problem.machine not in NO_MACHINE.get(library, ())
    ]


def measure(
    problem: Problem, libraries: list[str], conditions: Conditions, excused: dict[str, str]
) -> dict[str, Any]:
    """Let contenders take turns on one problem, each round in another order.

    ``excused`` says who need not try, and why; ``bare`` is last in a round, since it is given the
    support vectors that the first contender found.
    """
    names = [name for name in entrants(problem, libraries) if name not in excused]
    contenders = {name: Contender(name, conditions.threads) for name in names}
    peers = [name for name in names if name != "bare"]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    learned: dict[str, dict[str, Any]] = {}
    failures = {name: why for name, why in excused.items() if name in entrants(problem, libraries)}
    sample = problem.sample()
    try:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, sample)
            for turn in range(conditions.rounds):
                shift = turn % max(1, len(peers))
                for name in [*peers[shift:], *peers[:shift], *(n for n in names if n == "bare")]:
                    first = runs[name][0]["fit_wall"] if runs[name] else 0.0
                    if name in failures or first > conditions.once:
                        continue
                    if name == "bare" and not learned:
                        continue
                    contender, limit = contenders[name], conditions.limit_of(name)
                    try:
                        if turn == 0:
                            given = next(iter(learned.values())) if name == "bare" else {}
                            contender.ask("load", (problem, folder, given))
                        run = contender.ask("fit", limit=limit)
                        runs[name].append(run | contender.ask("predict", limit=limit))
                        if turn == 0 and name != "bare":
                            learned[name] = contender.ask("learned")
                    except NoAnswerError as failure:
                        failures[name] = str(failure)
    finally:
        for contender in contenders.values():
            contender.close()
    verdicts = {name: judge(problem, sample, model) for name, model in learned.items()}
    result = {
        "problem": problem.key(),
        "n_features": sample.X.shape[1],
        "failures": failures,
        "contenders": {
            name: {"runs": runs[name], "peak": runs[name][0]["peak"], "held": runs[name][0]["held"]}
            | (worth(learned[name], verdicts[name], verdicts) if name in verdicts else {})
            for name in names
            if runs[name]
        },
    }
    return result | {"faults": own_faults(result)}


def worth(model: dict[str, Any], verdict: Verdict, verdicts: dict[str, Verdict]) -> dict[str, Any]:
    """Return what a model says of itself and what the judge says of it."""
    best = min(other.objective for other in verdicts.values())
    return {
        "support": len(model["support_"]),
        "objective": verdict.objective,
        "excess": (verdict.objective - best) / abs(best),
        "violation": verdict.violation,
        "infeasibility": verdict.infeasibility,
        "disagreement": max(disagreement(verdict, other) for other in verdicts.values()),
        "certificate": model.get("certificate"),
    }
