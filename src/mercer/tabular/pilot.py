"""How long a fit takes, measured by a pilot on few rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from mercer._deadline import no_deadline
from mercer.tabular.candidates import CANDIDATES, Candidate
from mercer.tabular.members import Cost, TableSample, judge
from mercer.tabular.tasks import Logistic, Squares, Task
from mercer.tabular.trees import Ensemble, pilot_trees

__all__ = ["Expected", "compile_loops", "expect"]

# Rows of the pilot, those that a search for scales begins with: at least, for each column, at most.
LEAST, PER_COLUMN, MOST = 250, 10, 350
# Power of the rows by which evaluations of a search grow from hundreds of rows to a thousand, where
# kernels and factorizations are as long as what does not depend on the rows.
POWER = 1.6
# Share of its evaluations with which a search goes on with more rows, and again with all of them.
GOING_ON = 1 / 6
# Rows of two machines that tell how fitting and leaving out grow, and bounds of the power.
TWO, POWERS = (400, 1200), (1.5, 3.0)
# Rows and columns of the fits that compile loops.
SMALL = 40, 3
# Machines that the folds of a learned metric are worth, fitted and left out.
FOLDED = 3.0


@dataclass(frozen=True)
class Expected:
    """Seconds that the parts of a fit are expected to take."""

    machines: Mapping[str, float] = field(default_factory=dict)
    """Each machine of the plan."""

    rest: float = 0.0
    """All that follows the machines."""


@cache
def compile_loops(classes: bool = False) -> None:
    """Compile or load the loops of a fit, once in a process.

    A budget is for fits. Compiling takes ten seconds at the first use after an installation: within
    a budget of one second nothing but the fewest rows would be left.

    Parameters
    ----------
    classes : bool, default=False
        Whether targets are classes.
    """
    n, p = SMALL
    X = np.random.default_rng(0).normal(size=(n, p))
    columns = TableSample(X, np.arange(p), np.arange(0), n, n, 0, [str(j) for j in range(p)])
    tasks: list[Task] = [Squares(np.sin(X[:, :1]), np.ones(n))]
    if classes:  # two of them, and several under the softmax loss
        tasks += [Logistic(np.arange(n) % k, k, np.ones(n)) for k in (2, 3)]
    with no_deadline():
        for task in tasks:
            for candidate in CANDIDATES[:2]:
                judge(candidate.name, candidate, columns, task)


def expect(
    plan: Mapping[str, tuple[Candidate | Ensemble | None, Task]],
    columns: TableSample,
    kept: int,
) -> Expected:
    """Return what a fit is expected to take, after fitting few rows for each kind of task.

    A search does most of its work on few rows, some with more and some with all of its rows.
    Fitting and leaving out are measured on few and on more rows, and grow by the power between.

    Parameters
    ----------
    plan : dict
        Machines.
    columns : TableSample
    kept : int
        Number of machines that are fitted to all rows where there are more than are judged.
    """
    n = max(LEAST, min(PER_COLUMN * columns.X.shape[1], MOST))
    n = min(n, columns.judged)
    measured: dict[type[Task], tuple[float, float, float]] = {}
    machines: dict[str, float] = {}
    rest = 0.0
    for name, (candidate, task) in plan.items():
        if isinstance(candidate, Ensemble):
            machines[name] = pilot_trees(candidate, columns, task, n)
            continue
        if type(task) not in measured:
            first = next(
                one for one, of in plan.values() if isinstance(one, Candidate) and of is task
            )
            few = judge(name, first, replace(columns, judged=n), task)
            costs = [Cost.measured(first, columns, task, rows) for rows in TWO]
            judged = at(columns.judged, *(cost.probed for cost in costs))
            alone = at(columns.fitted, *(cost.fitting for cost in costs))
            measured[type(task)] = few.seconds, judged, alone
        seconds, judged, alone = measured[type(task)]
        found = seconds * growth(n, min(columns.judged, task.tuned))
        machines[name] = found + (1.0 if candidate is not None else 1.0 + FOLDED) * judged
        if columns.judged < columns.fitted:
            rest = max(rest, min(kept, len(plan)) * alone)
    # The scale of errors of a number is learned by one more machine.
    scales = sum(of.Y.shape[1] for of in {of for _, of in plan.values()} if type(of) is Squares)
    return Expected(machines, rest + scales * min(machines.values()))


def at(rows: int, few: float, more: float) -> float:
    """Return seconds that so many rows take, given those of 400 and of 1200 rows, if measured.

    Examples
    --------
    >>> at(1200, 1.0, 9.0), at(3600, 1.0, 9.0), at(400, 0.0, 0.0)
    (9.0, 81.0, 0.0)
    """
    if few <= 0.0:
        return 0.0
    power = np.log(more / few) / np.log(TWO[1] / TWO[0]) if more > 0.0 else 2.0
    power = float(np.clip(power, *POWERS))
    first, seconds = (TWO[1], more) if more > 0.0 else (TWO[0], few)
    return seconds * float((rows / first) ** power)


def growth(few: int, rows: int) -> float:
    """Return how much longer a search takes by more rows than few.

    Examples
    --------
    >>> growth(250, 250)
    1.0
    """

    def evaluation(n: float) -> float:
        return float((n / few) ** POWER)

    if rows <= 1.5 * few:
        return evaluation(rows)
    between = evaluation((few * rows) ** 0.5) if rows > 2.25 * few else 0.0
    return 1.0 + GOING_ON * (evaluation(rows) + between)
