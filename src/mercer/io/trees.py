"""Local machines as graphs: points go down a tree, each to the leaf that is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.io.symbols import LABEL, METHODS, Outputs, Value
from mercer.machines.leaf_tasks import UNSEEN_CLASS_ROWS

__all__ = ["local"]


def local(
    model: Any, planned: Callable[[Any], Any]
) -> tuple[Callable[[Value], Outputs], dict[str, int], Array]:
    """Return how a local machine is written, the widths of its outputs, and points of it.

    Parameters
    ----------
    model : KernelMachine
        A machine that was fitted with ``approximation=Local(...)``.
    planned : callable
        From the machine of a leaf to its plan.
    """
    tree, leaves, blend = model._local.tree, model._local.sequence, model._local.blend
    plans = [None if leaf.machine is None else planned(leaf.machine) for leaf in leaves]
    known = [plan for plan in plans if plan is not None]
    labelled = hasattr(model, "classes_")
    k = len(model.classes_) if labelled else 0
    names = {name for name, method in METHODS.items() if hasattr(model, method)}
    for plan in known:
        names &= {*plan.widths}
    if labelled:
        names = names if known else {"scores"}
        widths = {LABEL: 1} | {name: k for name in ("scores", "probabilities") if name in names}
    else:
        widths = {name: width for name, width in known[0].widths.items() if name in names}

    def says(number: int, x: Value) -> Value:
        leaf, plan = leaves[number], plans[number]
        out = {} if plan is None else plan.write(x)
        parts = [
            _of_all(name, out.get(name), leaf, x, k) if labelled else out[name] for name in widths
        ]
        return parts[0].beside(*parts[1:])

    def said(number: int, x: Value) -> Value:
        plan, width = plans[number], sum(widths.values())
        size = 1 if plan is None else len(plan.Z)
        return x.backend.blocks(x, lambda b: {"says": says(number, b)}, {"says": width}, size)[
            "says"
        ]

    def write(x: Value) -> Outputs:
        total = x.columns([0]) * np.zeros((1, sum(widths.values())))
        for number, weight in _weights(tree, x, blend):
            rows = weight.where()
            here = said(number, x.at(rows))
            total = total.put(rows, here * weight.at(rows) + total.at(rows) if blend else here)
        ends = np.cumsum([*widths.values()]).tolist()
        out = {
            name: total.columns(range(end - width, end))
            for (name, width), end in zip(widths.items(), ends, strict=True)
        }
        if not labelled:
            return out
        if k == 2:
            f = out["scores"].columns([1])
            out["scores"] = (-f).beside(f)
        votes = out["scores"] if blend else out[LABEL].equals(np.arange(float(k))[None])
        return out | {LABEL: votes.largest()}

    Z = np.concatenate([plan.Z for plan in known] or [np.zeros((1, model.n_features_in_))])
    return write, widths | ({LABEL: 0} if labelled else {}), Z


def _weights(tree: Any, x: Value, overlap: bool) -> Iterator[tuple[int, Value]]:
    """Yield leaves with how much they count for points, (n, 1)."""

    def visit(node: int, weight: Value) -> Iterator[tuple[int, Value]]:
        j, (left, right) = tree.column[node], tree.children[node]
        if j < 0:
            yield left, weight
            return
        z, (low, high) = x.columns([j]), tree.band[node]
        if tree.codes[node] is not None:
            codes = np.asarray(tree.codes[node], dtype=np.float64)
            share = 1.0 - z.equals(codes[None]).total(len(codes))
        elif overlap and high > low:
            share = ((z - float(low)) / float(high - low)).at_least(0.0).at_most(1.0)
        else:
            share = z.above(float(tree.cut[node]))
        yield from visit(left, weight * (1.0 - share))
        yield from visit(right, weight * share)

    yield from visit(0, x.columns([0]) * np.zeros((1, 1)) + 1.0)


def _of_all(name: str, value: Value | None, leaf: Any, x: Value, k: int) -> Value:
    """Return what a leaf says, in terms of all classes; None is said by a leaf of one class."""
    classes, nothing = np.asarray(leaf.classes), x.columns([0]) * np.zeros((1, 1))
    if name == LABEL:
        if value is None:
            return nothing + float(classes[0])
        return value.as_column().looked_up(classes, np.zeros(1, dtype=np.int64))
    place = np.zeros((len(classes), k))
    place[np.arange(len(classes)), classes] = 1.0
    others = 1.0 - place.sum(axis=0)
    value = nothing + 1.0 if value is None else value
    if name == "probabilities":
        unseen = UNSEEN_CLASS_ROWS / (len(leaf.rows) + UNSEEN_CLASS_ROWS * k)
        left = 1.0 - unseen * (k - len(classes))
        P: Value = value @ (left * place) + (unseen * others)[None]
        return P
    if len(classes) == k:
        return value
    # Below all others: what was never seen here is not what is decided for.
    lowest = value.ascending(len(classes)).columns([0]).at_most(-1.0)
    every: Value = value @ place + lowest * others[None]
    return every
