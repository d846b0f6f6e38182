"""Sections on the data, the fit and what was learned: effects, influential rows, the kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import OneToOneFeatureMixin

from mercer._typing import AnyArray, Estimator, PointsLike
from mercer._version import PACKAGES
from mercer.inspect import filter_curve
from mercer.kernels.points import Array, is_sparse, to_dense
from mercer.machines.base import KernelMachine
from mercer.plotting import panels
from mercer.plotting.base import Axes
from mercer.plotting.effects import MAX_ROWS, MAX_VALUES, Effect, EffectDisplay, effects_of
from mercer.preprocessing.leakage import leaks_of
from mercer.selection import influence
from mercer_studio.reporting.page import (
    Section,
    first_sentence,
    number,
    percent,
    plural,
    seconds,
    short,
    size,
)
from mercer_studio.reporting.subject import Subject
from mercer_studio.reporting.validation import Validation

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
        name = str(getattr(found.criterion, "name", type(found.criterion).__name__))
        section.say(
            f"{plural(len(found.trials_), 'trial')} in {seconds(found.seconds_)}, judged by {name} "
            f"(smaller is better); the search ended with '{found.status_}'."
        )
        for note in found.notes_:
            section.warn(note)
        return list_trials(section, found.trials_, name)
    if search is None:
        return None
    values = np.asarray(search["mean_test_score"], dtype=float)
    section.say(f"{plural(len(values), 'setting')}, judged by cross-validation (larger is better).")
    settings = [_said_settings(one) for one in search["params"]]
    rows = list(zip(settings, values, search["std_test_score"], strict=True))
    head = ("parameters", "mean score", "spread of folds")
    return _best(section, "mean score of folds", head, rows, values, np.argsort(-values), 1)


def list_trials(section: Section, trials: Sequence[Any], name: str) -> Section:
    """Draw the criterion of the trials of a search, and list the best of them."""
    values = np.array([trial.value for trial in trials], dtype=float)
    rows = [(t.stage, _said_settings(t.parameters), t.rows, t.value) for t in trials]
    # Values on parts of the rows do not compare with those on all of them.
    order = np.lexsort((values, [-trial.rows for trial in trials]))
    return _best(section, name, ("stage", "parameters", "rows", "value"), rows, values, order, 2)


def _said_settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in settings.items())


def _best(
    section: Section,
    name: str,
    head: tuple[str, ...],
    rows: Sequence[tuple[object, ...]],
    values: Array,
    order: NDArray[np.intp],
    words: int,
) -> Section:
    order = order[np.isfinite(values[order])]
    if not len(order):
        return section
    best = int(order[0])
    section.figures(
        (
            "The criterion in the order of time; the best trial is marked",
            f"{len(values)} trials; the best is number {best + 1} with {number(values[best])}.",
            lambda ax: panels.descent(ax, values, best, name),
        )
    )
    order = order[:MAX_TRIALS_LISTED]
    caption = f"The best {len(order)} of {len(values)}"
    return section.table(caption, head, [rows[i] for i in order], words)


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


MAX_COLUMNS_LISTED, MAX_ROWS_COUNTED = 40, 20_000
"""Columns of the table, and rows from which middles and histograms are taken."""


def data_section(subject: Subject) -> Section:
    """Describe the sample, and what happens to it before it reaches the machine."""
    section = Section("Data and preprocessing", "data")
    p, rows = len(subject.names), subject.some(MAX_ROWS_COUNTED)
    described = [_described(subject, j) for j in range(min(p, MAX_COLUMNS_LISTED))]
    gaps = sum(row[2] for row in described)
    cells = f"{number(gaps)} missing cells" if gaps else "no missing cells"
    part = f" among the first {MAX_COLUMNS_LISTED} columns" if p > MAX_COLUMNS_LISTED else ""
    words = sum(row[1] == "category" for row in described)
    section.say(
        f"{plural(subject.n, 'row')} and {plural(p, 'input')}"
        f"{f', {words} of them categories' if words else ''}; {cells}{part}.",
        f"The target is {subject.target}.",
    )
    few = (
        ""
        if subject.n <= MAX_ROWS_COUNTED
        else f"; medians of {number(MAX_ROWS_COUNTED)} rows drawn at random"
    )
    head = ("input", "kind", "missing", "least", "median", "largest", "values")
    section.table(f"Inputs{few}", head, described, words=2)
    if p > MAX_COLUMNS_LISTED:
        section.say(f"{p - MAX_COLUMNS_LISTED} further inputs are not listed.")
    y = subject.y[rows]
    if subject.classifies:
        names, counts = np.unique(subject.y, return_counts=True)
        order = np.argsort(-counts)[:15]
        labels = [str(names[i])[:24] for i in order]
        shares = counts[order] / subject.n
        drawn = ", ".join(f"{a} {100 * s:.1f} %" for a, s in zip(labels, shares, strict=True))
        caption = f"Classes of {subject.target}"
        section.figures(
            (
                caption,
                f"{caption}: {drawn}",
                lambda ax: panels.bars(ax, labels, counts[order], "rows"),
            )
        )
    else:
        low, middle, high = (number(q) for q in np.quantile(y.astype(float), [0.05, 0.5, 0.95]))
        caption = f"{subject.target}: median {middle}, nine of ten between {low} and {high}"
        section.figures(
            (caption, f"Histogram. {caption}", lambda ax: panels.histogram(ax, y, subject.target))
        )
    for sentence in _preprocessing(subject):
        section.say(sentence)
    with suppress(TypeError, ValueError):  # of inputs that are sparse, or no table
        for sentence in leaks_of(subject.X, subject.y):
            section.warn(sentence)
    return section


def _described(subject: Subject, j: int) -> tuple[Any, ...]:
    """Return name, kind, missing cells, least, median, largest and number of values of a column."""
    values = subject.column(j)
    name = subject.names[j]
    if values.dtype.kind in "iufb":
        numbers = values.astype(float)
        gaps = np.isnan(numbers)
        known = numbers[~gaps]
        some = known[:: max(len(known) // MAX_ROWS_COUNTED, 1)]
        ends = (known.min(), np.median(some), known.max()) if len(known) else ("", "", "")
        kinds = "yes/no" if values.dtype.kind == "b" else "number"
        return name, kinds, int(gaps.sum()), *ends, _different(some)
    if values.dtype.kind == "M":
        gaps = np.isnat(values)
        ends = (str(values[~gaps].min())[:10], "", str(values[~gaps].max())[:10])
        return name, "date", int(gaps.sum()), *ends, _different(values[~gaps])
    known = np.array([str(value) for value in values if _known(value)])
    words, counts = np.unique(known, return_counts=True)
    first = f"mostly {words[np.argmax(counts)]}" if len(words) else ""
    return name, "category", len(values) - len(known), "", first, "", len(words)


def _known(value: object) -> bool:
    # What is missing is None or differs from itself; NA of pandas is neither true nor false.
    return value is not None and str(value) not in ("<NA>", "nan", "NaT")


def _different(values: AnyArray) -> str:
    count = len(np.unique(values))
    return number(count) if count < MAX_ROWS_COUNTED else f"{number(MAX_ROWS_COUNTED)} or more"


def _preprocessing(subject: Subject) -> Iterator[str]:
    if subject.transformers:
        said = [step_in_words(step) for _, step in subject.transformers]
        steps = [words for words in said if words != f"all inputs: {AS_THEY_ARE}"]
        yield (
            f"Before the machine sees a row: {'; then '.join(steps)}."
            if steps
            else "The machine sees the columns as they are."
        )
    if subject.found("standardize") is True:
        yield "The machine divides every input by its standard deviation."
    encoder = subject.found("encoder_")
    if encoder is not None:
        yield (
            "Categories are compared by equality; missing numbers become medians and are marked as "
            "missing; columns are scaled by length scales that the machine learns."
        )
        dropped = getattr(encoder, "dropped_", {})
        if dropped:
            reasons = "; ".join(f"{name} ({why})" for name, why in dropped.items())
            yield f"Left out: {reasons}."
    elif not subject.transformers and not subject.found("standardize"):
        yield "The machine sees the rows as they are, without scaling."


STEPS = {
    "StandardScaler": "numbers are centred and divided by their standard deviation",
    "Scaler": "numbers are centred and divided by their standard deviation",
    "MinMaxScaler": "numbers are scaled to the range from 0 to 1",
    "RobustScaler": "numbers are centred on their median and divided by their quartile range",
    "RankNormalizer": "numbers are replaced by the normal scores of their ranks",
    "QuantileTransformer": "numbers are replaced by their quantiles",
    "OneHotEncoder": "every category becomes a column of 0 and 1",
    "OrdinalEncoder": "categories become whole numbers",
    "DateEncoder": "dates become days and their places in the day, the week and the year",
    "TableEncoder": "words become codes, dates days, and gaps are filled and marked",
    "PCA": "inputs are replaced by principal components",
}
"""What steps of a pipeline do, by the names of their classes."""

AS_THEY_ARE = "passed on as they are"
"""What happens to columns that no step changes."""

MAX_NAMES_SAID = 4
"""Columns that a sentence names."""


def step_in_words(step: Any) -> str:
    """Return what a step of a pipeline does.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> step_in_words(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()))
    'gaps are filled with the median, numbers are centred and divided by their standard deviation'
    """
    if hasattr(step, "transformers_"):
        parts = [
            f"{_named(step, columns)}: {step_in_words(inner)}"
            for _, inner, columns in step.transformers_
            if not (isinstance(inner, str) and inner == "drop") and len(_of(step, columns))
        ]
        return "; ".join(parts)
    if hasattr(step, "steps"):
        return ", ".join(step_in_words(inner) for _, inner in step.steps)
    if isinstance(step, str) or getattr(step, "func", step) is None:
        return AS_THEY_ARE
    name = type(step).__name__
    if name == "SimpleImputer":
        how = {"most_frequent": "most frequent value", "constant": "constant"}
        return f"gaps are filled with the {how.get(step.strategy, step.strategy)}"
    return STEPS.get(name) or f"{name} ({first_sentence(step).rstrip('.')})"


def _of(step: Any, columns: Any) -> list[str]:
    """Return the names of the columns that a part of a ColumnTransformer reads."""
    names = [str(one) for one in getattr(step, "feature_names_in_", [])] or [
        f"x{j}" for j in range(step.n_features_in_)
    ]
    if isinstance(columns, slice):
        return names[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if len(columns) and isinstance(columns[0], bool | np.bool_):
        return [name for name, chosen in zip(names, columns, strict=True) if chosen]
    return [one if isinstance(one, str) else names[one] for one in columns]


def _named(step: Any, columns: Any) -> str:
    names = _of(step, columns)
    if len(names) == step.n_features_in_ and len(names) > 1:
        return "all inputs"
    if len(names) <= MAX_NAMES_SAID:
        return ", ".join(names)
    return f"{', '.join(names[: MAX_NAMES_SAID - 1])} and {len(names) - MAX_NAMES_SAID + 1} others"


MAX_EFFECTS, MAX_LISTED, MAX_NAME_LETTERS = 24, 10, 32
"""Effects that are drawn, rows that are listed, letters of a name in a figure."""

MAX_INPUTS_LISTED = 5
"""Inputs of a row that is listed."""

MAX_ROWS_LEFT_OUT, MAX_ROWS_DECOMPOSED = 2000, 1000
"""Rows up to which every row is left out, and rows whose eigenvalues are drawn."""


def effects_section(subject: Subject, max_time: float | None) -> Section:
    """Draw the effect of every input on the prediction."""
    section = Section("What moves the prediction", "effects")
    p = len(subject.names)
    rows = _affordable(subject, max_time)
    X = subject.rows(rows)
    X = to_dense(X) if is_sparse(X) else X
    label = subject.classes[-1] if subject.classifies else None
    if label is None:
        what = subject.target
    elif hasattr(subject.model, "predict_proba"):
        what = f"P({subject.target} = {label})"
    else:
        what = f"decision for {label}"
    first = list(range(min(p, 4 * MAX_EFFECTS)))
    found = effects_of(subject.model, X, features=first, random_state=subject.seed)
    found = sorted(found, key=lambda effect: -effect.size)
    shown, rest = found[:MAX_EFFECTS], found[MAX_EFFECTS:]
    main = [effect.name for effect in shown[:3] if effect.size > 0]
    if not main:
        section.lead("No input moves the prediction.")
    elif len(found) > 1:
        section.lead(f"What moves {what} most: {', '.join(main)}.")
    low = min(float(np.min(effect.low)) for effect in shown)
    high = max(float(np.max(effect.high)) for effect in shown)
    drawn = [_drawn(effect, what, (low, high)) for effect in shown]
    if len(shown) > 1:
        drawn.insert(0, _ranked(shown, what))
    section.figures(*drawn)
    section.say(
        "How to read it: an effect is measured by moving one input while all others stay as they "
        f"are, in {plural(len(rows), 'row')}. The line is the mean prediction, and the band holds "
        "the middle four fifths of the changes of single rows: where it is wide, the effect "
        "depends on other inputs. Marks below are deciles of the input. All effects have one "
        "scale; their size is the standard deviation of the line over the sample. Inputs that go "
        "together share an effect, and an effect is no cause."
    )
    if rest:
        sizes = [(effect.name, effect.size) for effect in rest]
        section.table("Smaller effects", ("input", "size of the effect"), sizes)
    if p > len(first):
        section.say(f"Effects of {p - len(first)} further inputs were not measured.")
    return section


def _ranked(shown: list[Effect], what: str) -> tuple[str, str, Callable[[Axes], object]]:
    """Return the figure of the sizes of effects."""
    names, sizes = [_cut(effect.name) for effect in shown], [effect.size for effect in shown]
    listed = ", ".join(f"{a} {number(size)}" for a, size in zip(names, sizes, strict=True))
    return (
        f"Size of each effect on {what}",
        f"Bars of the sizes of effects on {what}: {listed}",
        lambda ax: panels.bars(ax, names, np.array(sizes), f"size of the effect on {_cut(what)}"),
    )


def _affordable(subject: Subject, max_time: float | None) -> NDArray[np.intp]:
    """Return as many rows as effects of all inputs can be averaged over in the time."""
    few = subject.some(MAX_ROWS)
    if max_time is None:
        return few
    X, began = subject.rows(few), time.perf_counter()
    _ask(subject)(X)
    each = (time.perf_counter() - began) / len(few)
    inputs = min(len(subject.names), 4 * MAX_EFFECTS)
    return subject.some(int(np.clip(max_time / (MAX_VALUES * inputs * each), 20, MAX_ROWS)))


def _ask(subject: Subject) -> Callable[[PointsLike], object]:
    model: Any = subject.model
    asked = subject.classifies and hasattr(model, "predict_proba")
    return model.predict_proba if asked else model.predict  # type: ignore[no-any-return]


def _drawn(
    effect: Effect, what: str, limits: tuple[float, float]
) -> tuple[str, str, Callable[[Axes], object]]:
    at, down = int(np.argmax(effect.mean)), int(np.argmin(effect.mean))
    ends = f"lowest at {_value(effect, down)}, highest at {_value(effect, at)}"
    short_name = replace_name(effect)

    def draw(ax: Axes) -> None:
        EffectDisplay(effects=[short_name], target=_cut(what)).plot([ax], columns=1)
        room = 0.04 * (limits[1] - limits[0])
        ax.set_ylim(limits[0] - room, limits[1] + room)
        if effect.values.dtype.kind in "iuf":
            ax.locator_params(axis="x", nbins=5)

    caption = f"{effect.name}: {ends}" if effect.size > 0 else f"{effect.name}: no effect"
    return caption, f"Effect of {effect.name} on {what}: {ends}", draw


def replace_name(effect: Effect) -> Effect:
    """Return the effect with a name that fits below a figure."""
    return effect._replace(name=_cut(effect.name))


def _cut(name: str) -> str:
    return name if len(name) <= MAX_NAME_LETTERS else name[: MAX_NAME_LETTERS - 1] + "…"


def _value(effect: Effect, k: int) -> str:
    value = effect.values[k]
    return number(float(value)) if effect.values.dtype.kind in "iuf" else str(value)


def influence_section(
    subject: Subject, found: Validation | None, max_time: float | None
) -> Section:
    """List the rows that the model depends on most, or those that it predicts worst."""
    section = Section("Most influential rows", "influence")
    machine = subject.machine
    index: Any = getattr(machine, "support_", None)
    coef: Any = getattr(machine, "dual_coef_", None) if index is not None else None
    fit = subject.faithful and coef is not None and np.shape(coef)[1] == len(index)
    if fit and not getattr(machine, "approximation", None):
        # Terms beyond the rows are places where a known shape holds the function.
        coef = np.abs(to_dense(coef)).sum(axis=0)[index < subject.n]
        index = index[index < subject.n]
        size = _left_out(subject) if _can_leave_out(subject, len(index), max_time) else None
        if size is not None:
            section.say(
                "How much the fitted function would change without a row (root mean square over "
                "the sample), by leaving rows out one after the other, exactly."
            )
            name = "change without it"
        else:
            size = np.zeros(subject.n)
            size[index] = coef
            spare = len(index) < subject.n
            rest = "; others could be left out without any change" if spare else ""
            section.say(
                f"The function is a sum of {plural(len(index), 'term')}, one per support vector, "
                f"from {plural(subject.n, 'row')}{rest}. "
                "Listed are the rows with the largest coefficients, the worst predicted first "
                "where many have the largest."
            )
            name = "coefficient"
        order = np.lexsort((-_errors(subject), -size))[:MAX_LISTED]
        return _listed(section, subject, order, size, name)
    section.title = "Rows that are predicted worst"
    if found is None:
        return section.say("Nothing is known of single rows without a validation.")
    section.say(
        "Rows that the models of the cross-validation, which do not know them, predict worst: "
        "errors in the data, or cases of which the model knows too little."
    )
    y, f = found.answers.y, found.answers.predicted
    if not subject.classifies:
        error = np.abs(np.asarray(y, dtype=float) - f)
    elif found.answers.probabilities is not None:
        mine = np.searchsorted(subject.classes, y)
        error = 1.0 - found.answers.probabilities[np.arange(len(y)), mine]
    else:
        error = (f != y).astype(float)
    size = np.zeros(subject.n)
    size[found.rows] = error
    worst = np.argsort(-error, kind="stable")[:MAX_LISTED]
    chances = subject.classifies and found.answers.probabilities is not None
    name = "1 - P(observed)" if chances else "error"
    return _listed(section, subject, found.rows[worst], size, name, f[worst])


def _errors(subject: Subject) -> Array:
    """Return how wrong the model is on the rows of its fit."""
    f = subject.model.predict(subject.X)
    if subject.classifies:
        return np.asarray(f != subject.y, dtype=float)
    return np.asarray(np.abs(np.asarray(subject.y, dtype=float) - f))


def _left_out(subject: Subject) -> Array | None:
    """Return how much the function changes without each row, None if others were fitted."""
    if not isinstance(subject.machine, KernelMachine):
        return None
    try:
        found = influence(subject.machine, subject.inside(np.arange(subject.n)), subject.y)
    except ValueError:  # fitted with weights, or to other rows: their certificate does not fit
        return None
    return found.size / subject.n


def _can_leave_out(subject: Subject, support: int, max_time: float | None) -> bool:
    """Return whether leaving out rows is defined for the machine and affordable."""
    solution: Any = getattr(subject.machine, "solution_", None)
    one = solution is not None and np.shape(solution.a) == (subject.n,)
    weighted = getattr(subject.machine, "class_weight", None) is not None
    errors = getattr(subject.machine, "errors", None) is not None
    if not one or weighted or errors or subject.n > MAX_ROWS_LEFT_OUT or not solution.converged:
        return False
    if np.shape(getattr(subject.machine, "dual_coef_", ()))[:1] != (1,):
        return False
    if solution.n_iter == 1 and support == subject.n:  # a linear system: one inverse tells all
        return True
    return max_time is None or support * sum(solution.times.values()) < max_time


def _listed(
    section: Section,
    subject: Subject,
    rows: Array,
    size: Array,
    name: str,
    predicted: Array | None = None,
) -> Section:
    """List rows with what was observed and predicted, by default by the model itself."""
    p = min(len(subject.names), MAX_INPUTS_LISTED)
    f = subject.model.predict(subject.rows(rows)) if predicted is None else predicted
    head = ("row", name, "observed", "predicted", *subject.names[:p])
    cells = [
        (subject.label(i), size[i], _plain(subject.y[i]), _plain(f[k]),
         *(_plain(subject.column(j)[i]) for j in range(p)))
        for k, i in enumerate(rows.tolist())
    ]  # fmt: skip
    more = f"; the first {p} inputs" if p < len(subject.names) else ""
    return section.table(f"{len(cells)} rows{more}", head, cells)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def kernel_section(subject: Subject) -> Section | None:
    """Say what the kernel keeps and removes; None for machines without one kernel of points."""
    machine, rows, member = subject.machine, subject.some(MAX_ROWS_DECOMPOSED), None
    if (
        hasattr(machine, "members_")
        and hasattr(machine, "weights_")
        and hasattr(machine, "encoder_")
    ):
        weights = np.atleast_2d(machine.weights_).mean(axis=0)
        known = [k for k, one in enumerate(machine.members_) if hasattr(one.machine, "kernel_")]
        if not known:
            return None
        member = machine.members_[max(known, key=lambda k: float(weights[k]))]
        Z = member.points(np.asarray(machine.encoder_.transform(subject.inside(rows)), dtype=float))
        machine = member.machine
    else:
        Z = subject.inside(rows)
    kernel, C = (
        getattr(machine, "kernel_", None),
        getattr(machine, "C_", getattr(machine, "C", None)),
    )
    if kernel is None or getattr(kernel, "precomputed", True) or not isinstance(C, float | int):
        return None
    section = Section("What the kernel keeps and removes", "kernel")
    Z = np.asarray(to_dense(Z), dtype=float)
    whose = (
        "" if member is None else f" of the kernel machine with the largest weight, {member.name},"
    )
    section.say(f"The kernel{whose} is {in_words(kernel)}, with C = {number(float(C))}.")
    m = len(Z)
    K = np.asarray(kernel(Z), dtype=float)
    centred = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    # Eigenvalues of the whole matrix are about n / m times those of m rows.
    values = np.maximum(linalg.eigvalsh(centred)[::-1], 0.0) * (subject.n / m)
    share = values / (values + 1.0 / float(C))
    dimension = float(share.sum())
    estimated = "" if m == subject.n else f", estimated from {plural(m, 'row')}"
    section.lead(
        f"Of the components of the data, about {dimension:,.0f} are kept (effective "
        f"dimension{estimated})."
    ).say(
        "A component is a pattern of target values over the rows, from smooth to rough as the "
        "kernel sees it. The share of its amplitude that least squares with this kernel and this C "
        "keeps is λ / (λ + 1/C) for an eigenvalue λ of the centred kernel matrix; other losses "
        "weigh rows differently, but damp the same patterns."
    )
    last = max(int(np.searchsorted(-share, -0.005)), 5)
    section.figures(
        (
            f"{number(int(np.sum(share > 0.5)))} components keep more than half",
            f"Falling curve of shares kept; {number(int(np.sum(share > 0.5)))} are above a half",
            lambda ax: panels.kept(ax, share[:last]),
        )
    )
    same = all(isinstance(step, OneToOneFeatureMixin) for _, step in subject.transformers)
    if member is None and same:
        _wavelengths(section, subject, kernel, Z)
    return section


def in_words(kernel: Any) -> str:
    """Return a kernel in words: its name and its length scales.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> in_words(Gaussian(2.0)), in_words(Gaussian([1.0, 4.0]))
    ('Gaussian of length scale 2', 'Gaussian with a length scale for each input, 1 to 4')
    >>> in_words(0.5 * Linear())
    '0.5 * Linear()'
    """
    scale = getattr(kernel, "length_scale", None)
    if scale is None:
        return short(kernel)
    scales = np.ravel(np.asarray(scale, dtype=float))
    if len(scales) == 1:
        return f"{type(kernel).__name__} of length scale {number(float(scales[0]))}"
    ends = f"{number(float(scales.min()))} to {number(float(scales.max()))}"
    return f"{type(kernel).__name__} with a length scale for each input, {ends}"


def _wavelengths(section: Section, subject: Subject, kernel: Any, Z: Array) -> None:
    """Add the shortest waves that a stationary kernel passes, along every input."""
    scale, p = getattr(kernel, "length_scale", None), Z.shape[1]
    if scale is None or not kernel.stationary or len(getattr(kernel, "categories", [])):
        return
    half = filter_curve(kernel, dim=p).half
    if not np.isfinite(half) or half <= 0:
        return
    scales = np.broadcast_to(np.asarray(scale, dtype=float), p)
    waves = 2.0 * np.pi / half * scales / scales[0]
    spread = np.where(Z.std(axis=0) > 0, Z.std(axis=0), np.nan)
    order = np.argsort(waves / spread, kind="stable")[:20]
    section.table(
        "Waves shorter than this have less than half of the power of slow ones in the kernel; "
        "a wave of many standard deviations is a trend",
        ("input", "length scale", "wavelength", "in standard deviations"),
        [
            (
                subject.names[j],
                scales[j],
                waves[j],
                waves[j] / spread[j] if spread[j] > 0 else float("nan"),
            )
            for j in order.tolist()
        ],
    )
