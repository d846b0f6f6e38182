"""Read a fitted machine, ours or scikit-learn's, through its public attributes only."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Expansion(NamedTuple):
    """One function ``sum_j a_j k(x_j, .) + b`` and the rows and targets it was fitted on."""

    rows: NDArray[np.intp]
    y: NDArray[np.float64]
    a: NDArray[np.float64]
    b: float


def expansions(machine: Any, y: NDArray[np.float64]) -> Iterator[Expansion]:
    """Return a machine's expansion, a classifier's one for each pair of classes.

    Signs are those of ``decision_function``: two classes speak of the second as positive, several
    of the first of each pair.
    """
    coef = np.zeros((len(machine.dual_coef_), len(y)))
    coef[:, machine.support_] = machine.dual_coef_
    if not hasattr(machine, "classes_"):
        yield Expansion(np.arange(len(y)), y, coef[0], float(machine.intercept_[0]))
        return
    binary = len(machine.classes_) == 2
    for k, (i, j) in enumerate(combinations(range(len(machine.classes_)), 2)):
        first, second = y == machine.classes_[i], y == machine.classes_[j]
        rows = np.flatnonzero(first | second)
        a = np.where(first, coef[j - 1], coef[i])[rows]
        sign = np.where((second if binary else first)[rows], 1.0, -1.0)
        yield Expansion(rows, sign, a, float(machine.intercept_[k]))
