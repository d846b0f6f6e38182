"""Sections on what was learned: effects of inputs, influential rows, what the kernel keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import OneToOneFeatureMixin

from mercer._typing import PointsLike
from mercer.inspect import filter_curve
from mercer.kernels.points import Array, is_sparse, to_dense
from mercer.machines.base import KernelMachine
from mercer.plotting import panels
from mercer.plotting.base import Axes
from mercer.plotting.effects import MAX_ROWS, MAX_VALUES, Effect, EffectDisplay, effects_of
from mercer.selection import influence
from mercer_studio.reporting.judging import Validation
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.subject import Subject
from mercer_studio.reporting.words import plural, short

__all__ = ["effects_section", "influence_section", "kernel_section"]

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
