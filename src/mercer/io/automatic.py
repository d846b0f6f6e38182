"""What the machines of a table say together: features, machines, weights, and their spread."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from functools import reduce
from typing import Any

import numpy as np

from mercer._typing import Array, PointsLike
from mercer.io.forests import has_trees, tree_values
from mercer.io.steps import interpolated
from mercer.io.symbols import Eager, Value
from mercer.preprocessing import RankNormalizer
from mercer.tabular.tasks import CERTAIN, SOFT, Logistic, SquaredSigns

__all__ = [
    "Forms",
    "blind",
    "chances",
    "exacting",
    "knots",
    "log_odds",
    "members",
    "predictions",
    "quantiles",
    "sample",
]

Planned = Callable[[Any], Any]


class _Encoded:
    """Stand in for the encoder of a table that is encoded already."""

    def transform(self, X: PointsLike) -> Any:
        return X


def blind(model: Any) -> Any:
    """Return a model that takes encoded tables, with which a graph can be compared."""
    seeing = copy.copy(model)
    seeing.encoder_ = _Encoded()
    return seeing


class Forms:
    """Features of an encoded table, each form written once however many machines share it."""

    def __init__(self, M: Value) -> None:
        self.M, self.known = M, dict[Any, Value]()
        self.doubled: Forms | None = None

    def exact(self) -> Forms:
        """Return the same features in float64."""
        wide = self.M.backend.wide()
        if wide.dtype == self.M.backend.dtype:
            return self
        self.doubled = self.doubled or Forms(self.M.within(wide))
        return self.doubled

    def of(self, member: Any) -> Value:
        """Return the points that the machine of a member is computed from."""
        features = member.features
        key = _content(features)
        if key not in self.known:
            self.known[key] = self._written(features)
        Z = self.known[key]
        if member.map is None:
            return Z
        p, q = len(member.map), len(features.categories)
        numbers: Value = Z.columns(range(p)) @ member.map
        return numbers.beside(Z.columns(range(p, p + q))) if q else numbers

    def _written(self, features: Any) -> Value:
        parts, scaler = [], features.scaler
        if len(features.numbers):
            x = self.M.columns(features.numbers.tolist())
            if isinstance(scaler, RankNormalizer):
                parts.append(interpolated(x, scaler.values_, scaler.scores_))
            else:
                parts.append((x - scaler.centre_[None]) / scaler.scale_[None])
        if len(features.categories):
            parts.append(self.M.columns(features.categories.tolist()))
        return parts[0].beside(*parts[1:])


def _content(features: Any) -> tuple[Any, ...]:
    """Return what tells forms of features apart."""
    scaler = features.scaler
    if not len(features.numbers):
        return (features.categories.tobytes(),)
    learned = [*scaler.values_, *scaler.scores_] if isinstance(scaler, RankNormalizer) else []
    learned += [] if learned else [scaler.centre_, scaler.scale_]
    return (features.categories.tobytes(), *(one.tobytes() for one in learned))


def sample(member: Any, Z: Array) -> Array:
    """Return encoded rows that have given points as features."""
    features = member.features
    p = len(features.numbers)
    numbers = Z[:, :p] if member.map is None else Z[:, :p] @ np.linalg.pinv(member.map)
    M = np.zeros((len(Z), p + len(features.categories)))
    if p:
        M[:, features.numbers] = features.scaler.inverse_transform(numbers)
    M[:, features.categories] = Z[:, p:]
    return M


def knots(model: Any, n: int) -> Array:
    """Return encoded rows of a model without kernels: values that its numbers had, and codes.

    Parameters
    ----------
    model : Automatic
        The model.
    n : int
        How many rows.
    """
    rng, encoder, features = np.random.default_rng(0), model.encoder_, model.members_[0].features
    M = np.zeros((n, len(features.columns)))
    for j, values in zip(features.numbers, getattr(features.scaler, "values_", ()), strict=False):
        M[:, j] = rng.choice(values, n)
    for c, j in enumerate(encoder.categorical_):
        M[:, j] = rng.integers(-1, len(encoder.categories_[c]) + 1, n)
    return M


def members(
    model: Any, forms: Forms, planned: Planned, exact: Collection[int] = ()
) -> list[Value | None]:
    """Write what every machine that counts says, (n, d) each; None for the others.

    Parameters
    ----------
    model : Automatic
        The model.
    forms : Forms
        Features.
    planned : callable
        From a fitted machine to its plan.
    exact : collection of int, default=()
        Machines that compute in float64 in a graph of float32.
    """

    def says(m: int, member: Any) -> Value:
        if has_trees(member):
            points = forms.exact().of(member)
            return tree_values(member, points, model._outputs).within(forms.M.backend)
        points = (forms.exact() if m in exact else forms).of(member)
        said = planned(member.machine).said(points)
        return _says(member, said, model._outputs).within(forms.M.backend)

    counts = np.any(np.atleast_2d(model.weights_) != 0.0, axis=0)
    return [says(m, member) if counts[m] else None for m, member in enumerate(model.members_)]


def exacting(model: Any, Z: Array, planned: Planned) -> list[int]:
    """Return machines in the order of what float32 costs the sum, the most expensive first.

    Parameters
    ----------
    model : Automatic
        The model.
    Z : (n, k) array
        Encoded rows.
    planned : callable
        From a fitted machine to its plan.
    """
    found = [
        members(model, Forms(Eager(kind).value(Z)), planned) for kind in (np.float64, np.float32)
    ]
    cost = {
        m: float(
            np.max(np.abs(weights)) * np.quantile(np.abs(np.subtract(f.handle, g.handle)), 0.99)
        )
        for m, (f, g, weights) in enumerate(
            zip(*found, np.atleast_2d(model.weights_).T, strict=True)
        )
        if isinstance(f, Value) and isinstance(g, Value) and not has_trees(model.members_[m])
    }
    return sorted(cost, key=lambda m: -cost[m])


def _says(member: Any, out: dict[str, Value], d: int) -> Value:
    if not issubclass(member.task, Logistic):
        f = out["prediction"]
        return soft_odds(f, d) if issubclass(member.task, SquaredSigns) else f
    scores, classes = out["scores"], member.machine.classes_
    if len(classes) == max(d, 2):
        return scores.columns([1]) if d == 1 else scores
    # Classes that the machine has not seen: nothing speaks for them.
    place = np.zeros((len(classes), d))
    place[np.arange(len(classes)), classes] = 1.0
    value: Value = scores @ place + (CERTAIN * (place.sum(axis=0) - 1.0))[None]
    return value


def soft_odds(f: Value, d: int) -> Value:
    """Write log odds of estimates of 2 p - 1, see :func:`mercer.tabular.tasks.soft_odds`."""

    def logarithm(p: Value) -> Value:
        t = p * (1.0 / SOFT)
        inner = softplus(t.at_least(-CERTAIN)).map("Log")
        far = (-t).above(CERTAIN)
        return t * far + inner * (1.0 - far) + float(np.log(SOFT))

    odds = logarithm((f + 1.0) * 0.5)
    return odds if d > 1 else odds - logarithm((1.0 - f) * 0.5)


def softplus(t: Value) -> Value:
    """Write log(1 + exp(t)) to the last digit of it, however small.

    With w = 1 + e rounded, log(1 + e) = e log(w) / (w - 1) since both are wrong by the same factor;
    the operator Softplus of onnxruntime has none of the digits where e is below the rounding of 1.
    """
    e = (-t.map("Abs")).map("Exp")
    w = e + 1.0
    rest = w - 1.0
    none = 1.0 - rest.positive()
    return t.at_least(0.0) + e * ((w.map("Log") + none) / (rest + none))


def _sum(M: Value, parts: list[Value], d: int) -> Value:
    # A column of zeros, so that there is a value for every row where no machine counts.
    return reduce(Value.__add__, parts, M.columns([0]) * np.zeros((1, d)))


def predictions(model: Any, M: Value, values: list[Value | None]) -> Value:
    """Write weighted sums in units of the targets, (n, d)."""
    parts = [f * model._weights[None, :, m] for m, f in enumerate(values) if isinstance(f, Value)]
    found = _sum(M, parts, model._outputs)
    value: Value = found * model._scale[None] + model._mean[None]
    return value


def quantiles(model: Any, f: Value, forms: Forms, levels: Any, planned: Planned) -> Value:
    """Write quantiles of a single target around its prediction, (n, levels)."""
    (spread,) = model._spreads
    shifts = np.array([spread.quantile(float(level)) for level in levels]) * float(model._scale[0])
    if spread.machine is None:
        return f + shifts[None]
    roots: Value = planned(spread.machine).said(forms.of(model._spread_member))["prediction"]
    roots = roots.at_least(float(spread.least))
    return f + (roots * roots) * shifts[None]


def log_odds(model: Any, M: Value, values: list[Value | None]) -> Value:
    """Write calibrated log odds: of the second of two classes, or of all, (n, d)."""
    parts = [
        f * float(w) for f, w in zip(values, model.weights_, strict=True) if isinstance(f, Value)
    ]
    return _sum(M, parts, model._outputs) + np.asarray(model._constants)[None]


def chances(odds: Value, d: int) -> Value:
    """Write probabilities of classes from log odds."""
    if d > 1:
        return odds.shares()
    p = odds.map("Sigmoid")
    return (1.0 - p).beside(p)
