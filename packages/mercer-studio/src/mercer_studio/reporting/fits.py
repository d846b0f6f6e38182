"""Sections on the fit: which machine and why, its certificate, what was tried, time and memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np

from mercer._typing import Estimator
from mercer._version import PACKAGES
from mercer.plotting import panels
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.subject import Subject
from mercer_studio.reporting.words import first_sentence, percent, plural, seconds, short, size

__all__ = ["certificate_section", "cost_section", "machine_section", "tuning_section"]

MAX_TRIALS_LISTED = 12
"""Rows of the table of trials."""


def machine_section(subject: Subject) -> Section:
    """Say which machine it is, and why."""
    section = Section("The machine, and why this one", "machine")
    machine = subject.machine
    section.lead(f"{type(machine).__name__}: {first_sentence(machine)}")
    for layer in reversed(subject.layers):
        section.say(_around(layer))
    solution = getattr(machine, "solution_", None)
    if solution is not None:
        section.say(f"Its solver is {solution.solver}, because of: {solution.reason}.")
    reason = getattr(machine, "approximation_reason_", None)
    if reason:
        section.say(f"Approximation: {reason}")
    settings = [(name, short(value)) for name, value in _settings(machine)]
    if settings:
        caption = "Settings that are not the defaults, and what the fit found"
        section.table(caption, ("", ""), settings, 2)
    if hasattr(machine, "explain"):
        explained = machine.explain()
        section.say(
            "The prediction is a weighted mean of several machines; weights minimize the error of "
            "predictions of rows that a machine was not fitted to."
        )
        head = ("machine", "weight", explained.measure, "seconds")
        together = ("together", 1.0, explained.error, "")
        section.table("Machines and their weights", head, [*explained.members, together])
        for note in explained.notes:
            section.warn(note)
    return section


def _around(layer: object) -> str:
    """Return the sentence about an estimator that a machine is part of."""
    if hasattr(layer, "steps"):
        return "It is the last step of a pipeline; the section on data says what comes before it."
    if hasattr(layer, "best_estimator_") or hasattr(layer, "tuning_"):
        return "Its settings were chosen by a search, which has a section of its own below."
    return f"It is part of {type(layer).__name__}: {first_sentence(layer)}"


def _settings(machine: Estimator) -> Iterator[tuple[str, object]]:
    fresh = type(machine)().get_params(deep=False) if _makes(type(machine)) else {}
    for name, value in machine.get_params(deep=False).items():
        if name == "verbose":  # changes what is shown, and nothing that is fitted
            continue
        if name not in fresh or repr(fresh[name]) != repr(value):
            yield name, value
    for name in ("kernel_", "C_", "epsilon_", "nu_"):
        found = getattr(machine, name, None)
        if found is not None and repr(found) != repr(getattr(machine, name[:-1], None)):
            yield f"{name} (found by the fit)", found


def _makes(kind: Any) -> bool:
    """Return whether a class can be made without a single argument."""
    given = signature(kind).parameters.values()
    return all(one.default is not one.empty or one.kind in (2, 4) for one in given)


def certificate_section(subject: Subject) -> Section:
    """Say how far the fit is from the optimum at most."""
    section = Section("The certificate", "certificate")
    parts = getattr(subject.machine, "members_", None)
    fits = [(subject.machine, type(subject.machine).__name__)] if parts is None else [
        (part.machine, part.name) for part in parts
    ]  # fmt: skip
    found = [(name, fit.solution_) for fit, name in fits if hasattr(fit, "solution_")]
    if not found:
        return section.say(
            "This machine has no certificate of its own; see the validation for what it is worth."
        )
    without = {name for fit, name in fits if not hasattr(fit, "solution_")}
    if without:
        machine: Any = subject.machine
        share = sum(part[1] for part in machine.explain().members if part[0] in without)
        section.warn(
            f"No certificate for {share:.0%} of the weight: {', '.join(sorted(without))}. Such "
            "fits are not the minimum of one functional; what follows is said of the others."
        )
    section.say(
        "Fitting minimizes a convex functional: misfit plus roughness. Duality gives a number that "
        "its minimum cannot be below; the distance of the value reached from this number is the "
        "duality gap, which was measured after the fit and does not trust the solver."
    )
    if len(found) > 1 and all(solution.converged for _, solution in found):
        worst = percent(max(solution.relative_gap for _, solution in found))
        which = "with a certificate " if without else ""
        section.lead(f"All {len(found)} machines {which}are at most {worst} above their optimum.")
        rows = [(n, s.objective, s.dual, percent(s.relative_gap)) for n, s in found]
        head = ("machine", "value reached", "the minimum is at least", "above it, at most")
        return section.table("Certificates", head, rows)
    for name, solution in found[:6]:
        worst = percent(solution.relative_gap)
        if np.isfinite(solution.gap) and solution.converged:
            section.lead(
                f"{name}: the value reached is {solution.objective:.6g}, and no function of this "
                f"space has less than {solution.dual:.6g}: the fit is at most {worst} above the "
                "optimum."
            )
        else:
            section.warn(
                f"{name}: the solver ended with '{solution.status.value}', "
                + (f"{worst} above the optimum at most." if np.isfinite(solution.gap) else "")
                + " Another solver, more time or scaled inputs may give another fit."
            )
    if not all(solution.converged for _, solution in found):
        section.say("Until the fit converges, predictions may depend on where the solver stopped.")
    elif not without:
        section.say(
            "So if predictions are bad, the cause is not the optimization but the data, the kernel "
            "or the settings."
        )
    section.code("\n\n".join(str(solution) for _, solution in found[:6]))
    return section


def tuning_section(subject: Subject) -> Section | None:
    """Say what was tried before these settings were taken, None if nothing is known of it."""
    section = Section("What was tried in tuning", "tuning")
    found, search = subject.found("tuning_"), subject.found("cv_results_")
    if found is not None:
        values = np.array([trial.value for trial in found.trials_], dtype=float)
        trials: list[tuple[object, ...]] = [
            (trial.stage, ", ".join(f"{k}={short(v)}" for k, v in trial.parameters.items()),
             trial.rows, trial.value)
            for trial in found.trials_
        ]  # fmt: skip
        name, least = str(getattr(found.criterion, "name", type(found.criterion).__name__)), True
        section.say(
            f"{plural(len(trials), 'trial')} in {seconds(found.seconds_)}, judged by {name} "
            f"(smaller is better); the search ended with '{found.status_}'."
        )
        for note in found.notes_:
            section.warn(note)
        head: tuple[str, ...] = ("stage", "parameters", "rows", "value")
    elif search is not None:
        values = np.asarray(search["mean_test_score"], dtype=float)
        trials = [
            (", ".join(f"{k}={short(v)}" for k, v in params.items()), value, spread)
            for params, value, spread in zip(
                search["params"], values, search["std_test_score"], strict=True
            )
        ]
        name, least = "mean score of folds", False
        section.say(
            f"{plural(len(trials), 'setting')}, judged by cross-validation (larger is better)."
        )
        head = ("parameters", "mean score", "spread of folds")
    else:
        return None
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return section
    # Values on parts of the rows do not compare with those on all of them.
    used = np.array([trial.rows for trial in found.trials_]) if found else np.zeros(len(values))
    order = known[np.lexsort((values[known] if least else -values[known], -used[known]))]
    best = int(order[0])
    section.figures(
        (
            "The criterion in the order of time; the best trial is marked",
            f"{len(values)} trials; the best is number {best + 1} with {number(values[best])}.",
            lambda ax: panels.descent(ax, values, best, name),
        )
    )
    section.table(
        f"The best {min(MAX_TRIALS_LISTED, len(order))} of {len(values)}", head,
        [trials[i] for i in order[:MAX_TRIALS_LISTED]], words=2 if found is not None else 1,
    )  # fmt: skip
    return section


def cost_section(subject: Subject) -> Section:
    """Say what the fit and predictions cost."""
    section = Section("Time and memory", "cost")
    rows = []
    solution, tuning = subject.found("solution_"), subject.found("tuning_")
    whole = getattr(subject.machine, "seconds_", None) or subject.found("refit_time_")
    if whole is not None:
        rows.append(("fit", seconds(whole)))
    if tuning is not None:
        rows.append(("tuning", seconds(tuning.seconds_)))
    if solution is not None:
        rows += [(f"last fit: {name}", seconds(value)) for name, value in solution.times.items()]
    some = subject.rows(subject.some(500))
    began = time.perf_counter()
    subject.model.predict(some)
    spent = time.perf_counter() - began
    one = subject.rows([0])
    began = time.perf_counter()
    subject.model.predict(one)
    alone = time.perf_counter() - began
    n = min(500, subject.n)
    rows += [
        (f"prediction of {plural(n, 'row')}", seconds(spent)),
        ("prediction of one row", seconds(alone)),
        ("arrays of the model", size(held(subject.model))),
        ("a kernel matrix of all rows would take", size(8.0 * subject.n**2)),
    ]
    return section.table("Measured on the machine that wrote this report", ("", ""), rows)


def held(found: object) -> int:
    """Return the bytes of all arrays that an object holds, each counted once.

    Examples
    --------
    >>> x = np.zeros(10)
    >>> held({"a": x, "b": [x, np.zeros(2)]})
    96
    """
    seen: dict[int, object] = {}  # which keeps them, so that no other takes their place
    waiting, total = [found], 0
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, np.ndarray):
            total += one.nbytes
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif type(one).__module__.split(".")[0] in (*PACKAGES, "sklearn", "scipy"):
            # Trees are compiled, and have their arrays behind a method.
            compiled = hasattr(one, "node_count")
            state = one.__getstate__() if compiled else getattr(one, "__dict__", {})
            waiting += state.values()
    return total
