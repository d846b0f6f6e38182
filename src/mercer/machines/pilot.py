"""Exact, low-rank or local machines: what a pilot measures on a part of the sample."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._fitting import say, within
from mercer._sklearn import safe_indexing
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.kernels.points import count, take
from mercer.local import Local
from mercer.local.tree import equality_columns, grow, sensitivity
from mercer.machines.protocol import WholeMachine
from mercer.reduced.nystrom import Nystrom

__all__ = ["Choice", "PilotFit", "choose_approximation"]

# Up to so many rows an exact machine takes seconds, and a pilot as long.
MAX_EXACT_ROWS = 8000
# Rows of a part of the sample, the share of them that is left out, and parts.
PART_ROWS, LEFT_OUT_SHARE, N_PARTS = 8000, 0.2, 2
# Rows that a tree is grown from, where there are more.
MAX_TREE_ROWS = 100_000
# Landmarks of all rows, and the fewest that stand for the share of a part in them.
MAX_LANDMARKS, MIN_LANDMARKS = Nystrom().max_m, 32
# Errors nearer to each other than this share are equal: then the cheaper machine is taken.
EQUAL_ERROR_SHARE = 0.01
# Seconds of an exact machine that need no comparison, that it may take if it is better, and that a
# fit of the pilot may take.
QUICK_SECONDS, MAX_EXACT_SECONDS, MAX_PILOT_SECONDS = 60.0, 300.0, 20.0
# Bytes of a matrix up to which least squares are factorized.
MAX_FACTORED_BYTES = 4e9
# Powers of the number of rows that the time of an exact machine may grow with.
GROWTH_POWERS = (1.5, 3.0)


@dataclass(frozen=True)
class Choice:
    """How a machine is fitted, and why."""

    how: Any
    """Nystrom, Local, or None for an exact machine."""

    reason: str


@dataclass(frozen=True)
class PilotFit:
    """Fit a machine by the approximation that a pilot chooses."""

    def fit(
        self, machine: WholeMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        """Choose by fits to a part of the rows, then fit to all of them."""
        choice = choose_approximation(machine, X, y, sample_weight)
        other = copy.copy(machine).set_params(approximation=choice.how)
        say(machine, choice.reason)
        with within(other):  # the machine says how it ended
            other.fit(X, y, sample_weight=sample_weight)
        parameters = machine.get_params(deep=False)
        machine.__dict__.update({k: v for k, v in vars(other).items() if k not in parameters})
        machine.approximation_, machine.approximation_reason_ = choice.how, choice.reason


def choose_approximation(
    machine: WholeMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None
) -> Choice:
    """Return how to fit a machine to a sample in memory.

    Parts of neighbouring rows, as dense as the sample, are fitted in three ways, and rows of the
    parts that are left out are predicted: by local machines, by as many landmarks as a part would
    have if 4096 were shared by all parts, and by the exact machine, whose time for all rows is
    foretold by its times for a part and a quarter of it. An exact machine of a minute is not
    compared.

    Parameters
    ----------
    machine : KernelMachine
        It is not changed.
    X, y, sample_weight :
        As in its ``fit``.
    """
    if machine.approximation == "local":
        return Choice(Local(), "Local: asked for by name.")
    pilot = clone(machine)
    rows = pilot._validate(X, y, sample_weight)
    n = count(rows.X)
    if n <= MAX_EXACT_ROWS:
        return Choice(None, f"Exact: {n} rows take seconds.")
    pilot._sparse = hasattr(rows.X, "tocsr")
    kernel = pilot._resolved(rows)
    parts = _parts(pilot, kernel, rows)
    if not parts:
        return Choice(Nystrom(), "Low rank: targets of neighbouring rows are all alike.")
    order = np.arange(n) if rows.order is None else rows.order
    settings = {
        "kernel": kernel,
        "standardize": False,
        "verbose": False,
        "max_time": MAX_PILOT_SECONDS,
    }
    known = pilot.get_params(deep=False)
    template = clone(machine).set_params(**{k: v for k, v in settings.items() if k in known})
    trial = _Trial(template, X, y, sample_weight, [order[part] for part in parts])
    # A quarter of a part tells how the time of an exact machine grows; by the solver of all rows,
    # which for least squares is another one where a matrix of them is too large.
    whole: dict[str, Any] = {}
    if machine.solver == "auto" and pilot._loss(rows).quadratic and 8.0 * n**2 > MAX_FACTORED_BYTES:
        whole = {"solver": "conjugate_gradient"}
    _, before = trial(None, 0.25, **whole)
    exact, after = trial(None, **whole)
    foretold = np.inf
    if np.isfinite(after):
        growth = np.clip(np.log(after / before) / np.log(4.0), *GROWTH_POWERS)
        foretold = float(after * (n / (PART_ROWS * (1.0 - LEFT_OUT_SHARE))) ** growth)
    if foretold <= QUICK_SECONDS:
        return Choice(None, f"Exact: all {n} rows take some {max(foretold, 1.0):.0f} s.")
    share = max(MIN_LANDMARKS, round(MAX_LANDMARKS * PART_ROWS / n))
    local, few = trial(Local())[0], trial(Nystrom(share))[0]
    slow = "too slow" if foretold == np.inf else f"some {foretold:.0f} s"
    why = (
        f"parts of {PART_ROWS} rows, left-out errors {local:.4g} (local), {few:.4g} ({share} "
        f"landmarks, the share of a part in {MAX_LANDMARKS}), {exact:.4g} (exact, {slow} for all "
        f"{n} rows)."
    )
    if exact < (1.0 - EQUAL_ERROR_SHARE) * min(local, few) and foretold <= MAX_EXACT_SECONDS:
        return Choice(None, f"Exact: {why}")
    if few <= (1.0 + EQUAL_ERROR_SHARE) * local:
        return Choice(Nystrom(), f"Low rank: {why}")
    return Choice(Local(), f"Local: {why}")


@dataclass(frozen=True)
class _Trial:
    """Fits to parts of a sample in one way or another."""

    template: Any
    X: PointsLike
    y: TargetsLike
    weights: Any
    parts: list[NDArray[np.intp]]

    def __call__(self, how: Any, share: float = 1.0, **settings: Any) -> tuple[float, float]:
        """Return the mean left-out error of an approximation, and the seconds of a fit.

        A fit that did not end in time takes for ever.
        """
        errors, began, seconds = [], 0.0, 0.0
        for part in self.parts:
            cut = round((1.0 - LEFT_OUT_SHARE) * len(part))
            inside, outside = part[: round(share * cut)], part[cut:]
            fit = (
                {} if self.weights is None else {"sample_weight": np.asarray(self.weights)[inside]}
            )
            machine = clone(self.template).set_params(approximation=how, **settings)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                X, y = (safe_indexing(given, inside) for given in (self.X, self.y))
                machine.fit(X, y, **fit)
            seconds += time.perf_counter() - began if machine.fit_status_ == 0 else np.inf
            right = machine.score(safe_indexing(self.X, outside), safe_indexing(self.y, outside))
            errors.append(1.0 - float(right))
        return float(np.mean(errors)), seconds / len(self.parts)


def _parts(pilot: Any, kernel: Any, rows: Any) -> list[NDArray[np.intp]]:
    """Return rows of some parts of the sample, in a random order, whose targets differ."""
    n, rng = count(rows.X), np.random.default_rng(0)
    order = rng.permutation(n)
    points = take(rows.X, order[:MAX_TREE_ROWS])
    categories = equality_columns(kernel, int(points.shape[1]))
    tree = grow(points, -(-n // PART_ROWS), sensitivity(kernel, points, categories), categories)
    leaf = tree.route(rows.X)
    Y = pilot._targets(np.asarray(rows.y))
    found = []
    for number in rng.permutation(tree.leaves):
        part = order[leaf[order] == number]
        cut = round((1.0 - LEFT_OUT_SHARE) * len(part))
        quarter = part[: cut // 4]
        if len(quarter) and np.any(np.ptp(Y[quarter], axis=0) > 0):
            found.append(part)
        if len(found) == N_PARTS:
            break
    return found
