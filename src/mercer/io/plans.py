"""What a fitted model says of new points, as values of a graph: one plan for every kind of model.

A plan is tried on points of the model before anything is written: where it would not say what the
model says, the model is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.estimators import ConformalRegressor, Forecaster
from mercer.estimators.structure import SparseAdditiveClassifier, SparseAdditiveRegressor
from mercer.io.automatic import (
    Forms,
    blind,
    chances,
    exacting,
    knots,
    log_odds,
    members,
    predictions,
    quantiles,
    sample,
)
from mercer.io.errors import CannotConvert
from mercer.io.forests import has_trees
from mercer.io.machine_plans import TRIED_POINTS
from mercer.io.registry import Plan, planner_of, refuse, register
from mercer.io.symbols import LABEL, METHODS, Eager, Outputs, Value
from mercer.io.trees import local
from mercer.machines.leaves import Leaves
from mercer.selection.self_tuned import SelfTuned
from mercer.tabular import AutoClassifier, AutoRegressor
from mercer.tabular.regressor import LEVELS

__all__ = ["LABEL", "METHODS", "Plan", "plan_of"]

# How much a plan and its model may differ in float64 as a share of the values: what is looked for
# is another formula. Rounding of terms that are added in another order is 1e-12 of them at most
# before they cancel.
MAX_DIFFERENCE = 1e-6
# Error of float32, in standard deviations of the model's values, from which float64 is used inside
# the graph. A third of what is promised, 1e-4, since it is measured on few points.
MAX_FLOAT32_ERROR = 3e-5


def plan_of(model: Any) -> Plan:
    """Return the plan of a fitted model; refuse a model that has none, by name.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    """
    check_is_fitted(model)
    return _tried(_planned(model))


def _planned(model: Any) -> Plan:
    """Return the plan of a model without trying it, as part of one that will be tried."""
    if isinstance(getattr(model, "_local", None), Leaves):
        return _local(model)
    return planner_of(model)(model)


# Machines around machines ------------------------------------------------------------------------


def _inner(name: str) -> Callable[[Any], Plan]:
    def find(model: Any) -> Plan:
        machine = getattr(model, name)
        if machine is None:
            raise CannotConvert(
                f"{type(model).__name__} without its refitted machine cannot be converted to ONNX."
            )
        return plan_of(machine)

    return find


def _conformal(model: ConformalRegressor) -> Plan:
    """Return a machine with the interval of split conformal prediction, whose ends are shifts."""
    inner = plan_of(model.estimator_)
    plain = Plan(
        model, lambda x: _only(inner.write(x)), {"prediction": 1}, None, inner.Z, inner.wide
    )
    if "prediction" not in inner.widths or not len(inner.Z) or model._band:
        return plain
    spread = None if model._spread is None else _planned(model._spread)
    at = inner.Z[:TRIED_POINTS]
    ends = np.asarray(model.predict_interval(at)) - np.asarray(model.predict(at))[:, None]
    if model._spread is not None:
        ends /= np.exp(model._spread.predict(at))[:, None]
    below, above = np.median(ends, axis=0)
    # Ends of the jackknife and of bands are other functions.
    if not np.all(np.abs(ends - [below, above]) <= 1e-12 * np.max(np.abs(ends))):
        return plain

    def write(x: Value) -> Outputs:
        f = inner.write(x)["prediction"]
        shifts = np.array([[below, above]])
        if spread is None:
            return {"prediction": f, "interval": f + shifts}
        return {"prediction": f, "interval": spread.write(x)["prediction"].map("Exp") * shifts + f}

    return replace(plain, write=write, widths={"prediction": 1, "interval": 2})


def _only(outputs: Outputs) -> Outputs:
    return {"prediction": outputs["prediction"]}


# Leaves of a tree and tables ---------------------------------------------------------------------


def _local(model: Any) -> Plan:
    """Return a machine in every leaf of a tree."""
    write, widths, Z = local(model, _planned)
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else None
    # On which side of a cut a point lies, float32 does not always know.
    return Plan(model, write, widths, classes, Z, True, apart=True)


def _automatic(model: Any) -> tuple[Any, Array]:
    """Return the model that takes encoded tables, and rows of such a table."""
    weights = np.atleast_2d(model.weights_).sum(axis=0)
    kernels = [k for k, member in enumerate(model.members_) if not has_trees(member)]
    if not kernels:
        return blind(model), knots(model, TRIED_POINTS)
    best = model.members_[max(kernels, key=lambda k: weights[k])]
    return blind(model), sample(best, _planned(best.machine).Z)


def _mixed(model: Any, write: Callable[[Sequence[int], Value], Outputs], **parts: Any) -> Plan:
    """Return the plan of a table in which float32 is given up by as few machines as need be."""
    seeing, Z = _automatic(model)
    apart = any(isinstance(getattr(one.machine, "_local", None), Leaves) for one in model.members_)
    order = exacting(model, _tries(Z), _planned)
    for k in range(len(order) + 1):
        plan = Plan(
            model=seeing,
            write=partial(write, order[:k]),
            Z=Z,
            wide=False,
            encoder=model.encoder_,
            apart=apart,
            **parts,
        )
        if not _tried(plan).wide:
            break
    return plan


def _auto_regressor(model: AutoRegressor) -> Plan:
    widths = {"prediction": model._outputs}
    if model._outputs == 1:
        widths |= {"interval": 2, "quantiles": len(LEVELS)}

    def write(exact: Sequence[int], M: Value) -> Outputs:
        forms = Forms(M)
        f = predictions(model, M, members(model, forms, _planned, exact))
        if model._outputs > 1:
            return {"prediction": f}
        q = quantiles(model, f, forms, LEVELS, _planned)
        return {"prediction": f, "interval": q.columns([0, len(LEVELS) - 1]), "quantiles": q}

    return _mixed(model, write, widths=widths, classes=None)


def _auto_classifier(model: AutoClassifier) -> Plan:
    k = len(model.classes_)

    def write(exact: Sequence[int], M: Value) -> Outputs:
        odds = log_odds(model, M, members(model, Forms(M), _planned, exact))
        P = chances(odds, model._outputs)
        scores = (-odds).beside(odds) if k == 2 else odds
        return {LABEL: P.largest(), "scores": scores, "probabilities": P}

    widths = {LABEL: 0, "scores": k, "probabilities": k}
    return _mixed(model, write, widths=widths, classes=np.asarray(model.classes_))


register(
    {
        Forecaster: refuse("continues a series and has no rows as inputs"),
        SelfTuned: _inner("machine_"),
        SparseAdditiveRegressor: _inner("machine_"),
        SparseAdditiveClassifier: _inner("machine_"),
        AutoRegressor: _auto_regressor,
        AutoClassifier: _auto_classifier,
        ConformalRegressor: _conformal,
    }
)


# Trying ------------------------------------------------------------------------------------------


def _tried(plan: Plan) -> Plan:
    """Return a plan that says what its model says, with the precision that it needs."""
    Z = _tries(plan.Z if len(plan.Z) else np.zeros((1, plan.model.n_features_in_)))
    with np.errstate(all="ignore"):
        found = plan.write(Eager(np.float64).value(Z))
        single = plan.write(Eager(np.float32).value(Z)) if not plan.wide else found
    wide = plan.wide
    for name in plan.widths:
        got = np.asarray(found[name].handle)
        if name == LABEL:
            assert plan.classes is not None
            wrong = np.mean(plan.classes[got] != np.asarray(plan.model.predict(Z)))
            # Of points on a boundary rounding decides.
            if wrong > 0.05:
                raise _differs(plan.model, "predict")
            continue
        true = np.asarray(getattr(plan.model, METHODS[name])(Z), dtype=np.float64)
        if name == "scores" and true.ndim == 1 and got.shape[1] == 2:
            true = np.column_stack([-true, true])
        true = true.reshape(got.shape)
        spread = max(float(np.std(true)), float(np.finfo(np.float64).tiny))
        # Scores of votes jump where a pair is undecided, as labels do.
        agree = np.abs(got - true) <= MAX_DIFFERENCE * max(spread, float(np.max(np.abs(true))))
        if np.mean(agree) < (0.95 if name == "scores" else 1.0):
            raise _differs(plan.model, METHODS[name])
        error = np.abs(np.asarray(single[name].handle, dtype=np.float64) - got)
        wide |= not np.quantile(error, 0.99) <= MAX_FLOAT32_ERROR * spread
    return replace(plan, wide=wide)


def _tries(Z: Array) -> Array:
    """Return some support vectors and points between them, in float32 as both precisions read."""
    rows = np.random.default_rng(0).permutation(len(Z))[:TRIED_POINTS]
    both = np.concatenate([Z[rows], 0.5 * (Z[rows] + Z[np.roll(rows, 1)])])
    return both.astype(np.float32).astype(np.float64)


def _differs(model: object, method: str) -> CannotConvert:
    return CannotConvert(
        f"{type(model).__name__}.{method} is more than the expansion that could be written."
    )
