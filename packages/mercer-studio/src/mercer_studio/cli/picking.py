"""Which task a target poses, and which machine answers it; both with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor

from mercer import estimators, manifold, selection, tabular
from mercer._typing import Estimator
from mercer._words import did_you_mean
from mercer.reduced import Nystrom
from mercer_studio.cli.memory import Memory
from mercer_studio.cli.refusals import Refusal

__all__ = ["LANDMARKS", "MACHINES", "MAPS", "Picked", "answers", "pick", "task_of"]

# Whole numbers are classes if there are this few different ones.
MAX_WHOLE_CLASSES = 10

# How many times fewer rows exact machines get where several are stacked.
STACKED_PARTS = 2

# Rows of the parts to which stacked machines of a large table are fitted.
LEAF_ROWS = 4000

LANDMARKS = 1000
"""Landmarks where rows are too many for an exact machine."""


MACHINES: dict[str, type[Any]] = {
    name: one
    for room in (estimators, selection, tabular)
    for name in room.__all__
    if isinstance(one := getattr(room, name), type)
    and hasattr(one, "fit")
    and hasattr(one, "predict")
}
"""Machines that ``--machine`` takes, by name."""

MAPS: dict[str, type[Any]] = {
    name: one
    for name in manifold.__all__
    if isinstance(one := getattr(manifold, name), type) and hasattr(one, "transform")
}
"""Machines that give rows coordinates, by name."""


@dataclass(frozen=True)
class Picked:
    """A machine and why.

    Parameters
    ----------
    machine : estimator
        Not fitted.
    why : str
        The reason.
    as_is : bool
        Whether it reads tables as they are.
    """

    machine: Estimator
    why: str
    as_is: bool = False


def task_of(column: pd.Series) -> tuple[str, str]:
    """Return whether a target asks for numbers or classes, and why.

    Parameters
    ----------
    column : Series
        Without gaps.

    Examples
    --------
    >>> task_of(pd.Series(["yes", "no", "yes"]))
    ('classification', 'its values are words')
    >>> task_of(pd.Series([0.5, 1.5, 2.25]))
    ('regression', 'it has 3 different numbers')
    """
    if column.dtype.kind == "M":
        raise Refusal(f"the target {column.name!r} holds dates; predict a number or classes.")
    if column.dtype.kind not in "iufb":
        return "classification", "its values are words"
    values = np.unique(column.to_numpy(dtype=np.float64))
    whole = bool(np.all(values == np.rint(values)))
    few = len(values) <= MAX_WHOLE_CLASSES and len(column) > 2 * len(values)
    if len(values) <= 2 or (whole and few):
        what = "whole numbers" if whole else "numbers"
        return "classification", f"it has {len(values)} different {what}"
    return "regression", f"it has {len(values)} different numbers"


def answers(name: str) -> str:
    """Return the task that a machine answers.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> answers("SVC"), answers("lssvr")
    ('classification', 'regression')
    """
    cls = _known(name)
    if issubclass(cls, ClassifierMixin):
        return "classification"
    if issubclass(cls, RegressorMixin):
        return "regression"
    raise Refusal(f"{cls.__name__} predicts neither numbers nor classes; use it in Python.")


def pick(
    name: str | None,
    task: str,
    rows: int,
    memory: Memory,
    *,
    sparse: bool = False,
    settings: Mapping[str, Any] | None = None,
    budget: float | None = None,
) -> Picked:
    """Return the machine for a task.

    Parameters
    ----------
    name : str, optional
        The machine that was asked for.
    task : {"regression", "classification", "survival", "structure"}
        The task.
    rows : int
        Rows to fit to.
    memory : Memory
        What may be taken.
    sparse : bool
        Whether the features are a sparse matrix.
    settings : mapping, optional
        Parameters of the machine.
    budget : float, optional
        Seconds.
    """
    if task == "structure":
        return _of_structure(name, dict(settings or {}))
    if task == "survival":
        return _of_times(name, rows, memory, dict(settings or {}))
    tight = memory.limit is not None and memory.exact_rows // STACKED_PARTS < min(rows, LEAF_ROWS)
    if name is None and not sparse and tight:
        name = "LSSVR" if task == "regression" else "KernelLogisticRegression"
        why = "several machines of parts of the rows would not fit the memory"
    elif name is None and not sparse:
        name = "AutoRegressor" if task == "regression" else "AutoClassifier"
        why = "it reads tables as they are and stacks machines that the data choose"
    elif name is None:
        name = "SVR" if task == "regression" else "SVC"
        why = "the features are a sparse matrix"
    else:
        why = "it was asked for"
    machine = _made(_known(name), dict(settings or {}))
    wanted, fits = (
        ("a regressor", is_regressor) if task == "regression" else ("a classifier", is_classifier)
    )
    if not fits(machine):
        raise Refusal(f"{name} is not {wanted}, and the task is {task}; see --task and --machine.")
    as_is = name.startswith("Auto")
    if as_is and sparse:
        raise Refusal(f"{name} takes no sparse matrix; ask for another machine, such as SVC.")
    return _within(machine, why, as_is, rows, memory, budget, dict(settings or {}))


def _of_structure(name: str | None, settings: dict[str, Any]) -> Picked:
    """Return a machine that gives rows two coordinates."""
    why = "it was asked for" if name else "it makes a map, and says how well the map explains rows"
    machine = _made(_among(MAPS, name or "GenerativeTopographicMap"), settings)
    known = machine.get_params(deep=False)
    if "n_components" in known and "n_components" not in settings:
        machine.set_params(n_components=2)
    if "random_state" in known and "random_state" not in settings:
        machine.set_params(random_state=0)
    return Picked(machine, why)


def _of_times(name: str | None, rows: int, memory: Memory, settings: dict[str, Any]) -> Picked:
    """Return the machine for times, some of which are only known to be exceeded."""
    if name not in (None, "CensoredRegressor"):
        raise Refusal(f"{name} takes no censored times; CensoredRegressor does.")
    # Inputs stretch times; residuals of folds tell the spread that new ones have.
    usual = {"log": True, "cv": 5, "C": "auto"}
    machine = _made(_known("CensoredRegressor"), {**usual, **settings})
    why = "it uses times that are only known to be exceeded"
    return _within(machine, why, False, rows, memory, None, settings)


def _within(
    machine: Estimator,
    why: str,
    as_is: bool,
    rows: int,
    memory: Memory,
    budget: float | None,
    settings: dict[str, Any],
) -> Picked:
    """Return a machine whose memory and time are bounded."""
    params, most = machine.get_params(deep=False), memory.exact_rows
    if as_is:
        # Stacked machines are in memory together, with the gradients by which scales are found.
        if memory.limit is not None:
            machine.set_params(max_rows=int(np.clip(most // STACKED_PARTS, 10, params["max_rows"])))
        if budget is not None:
            machine.set_params(budget=budget)
    elif rows > most:
        if "approximation" not in params:
            raise Refusal(
                f"{type(machine).__name__} of {rows} rows would need more memory than there is "
                f"({most} rows fit); raise --memory-limit or ask for another machine."
            )
        if "approximation" not in settings:
            m = int(np.clip(memory.free / 32.0 / rows, 50, LANDMARKS))
            limit = int(memory.free / 4.0)
            machine.set_params(approximation=Nystrom(m, memory_limit=limit))
            why += f"; {rows} rows are too many for an exact one, so it has {m} landmarks"
    return Picked(machine, why, as_is)


def _known(name: str) -> type[Any]:
    return _among(MACHINES, name)


def _among(machines: Mapping[str, type[Any]], name: str) -> type[Any]:
    """Return a machine by its name, in small or large letters."""
    plain = {one.lower(): one for one in machines}
    if name.lower() not in plain:
        near = did_you_mean(name, machines)
        raise Refusal(f"there is no machine {name[:60]!r}.{near} 'mercer fit --help' lists some.")
    return machines[plain[name.lower()]]


def _made(cls: type[Any], settings: dict[str, Any]) -> Estimator:
    try:
        machine: Estimator = cls()
    except TypeError as error:
        raise Refusal(
            f"{cls.__name__} cannot be made without settings of its own: {error}."
        ) from error
    known = sorted(machine.get_params(deep=False))
    unknown = [name for name in settings if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise Refusal(
            f"{cls.__name__} has no setting {unknown[0]!r}.{near} It has: {', '.join(known)}."
        )
    return machine.set_params(**settings)
