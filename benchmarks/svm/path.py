"""A path of warm starts against one fit from nothing."""

import tempfile
from typing import Any

from benchmarks.svm.contender import Contender, write
from benchmarks.svm.judge import disagreement, judge
from benchmarks.svm.measure import Conditions
from benchmarks.svm.problems import PATH_VALUES, Problem


def measure(problem: Problem, conditions: Conditions) -> dict[str, Any]:
    """Fit at the largest C and along all its values, alternating; judge both answers there."""
    last = Problem(**problem.key() | {"settings": problem.settings | {"C": PATH_VALUES[-1]}})
    contender = Contender("mercer", conditions.threads)
    sample = problem.sample()
    try:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, sample)
            contender.ask("load", (problem, folder, {}))
            answers = [
                contender.ask("path", PATH_VALUES, 10 * conditions.limit)
                for _ in range(conditions.rounds)
            ]
    finally:
        contender.close()
    cold, path = (judge(last, sample, answers[0][which]) for which in ("cold", "path"))
    return {
        "problem": problem.key(),
        "n_features": sample.X.shape[1],
        "values": PATH_VALUES,
        "runs": [answer["times"] for answer in answers],
        "objective": {"cold": cold.objective, "path": path.objective},
        "violation": {"cold": cold.violation, "path": path.violation},
        "disagreement": disagreement(cold, path),
    }
