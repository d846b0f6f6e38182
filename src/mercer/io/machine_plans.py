"""Plans of machines that are functions themselves: expansions, and votes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.estimators import (
    LSSVC,
    CensoredRegressor,
    HeteroscedasticNuSVR,
    HeteroscedasticSVR,
    LinearSVC,
    LinearSVR,
    MissingInputClassifier,
    MissingInputRegressor,
    OneClassSVM,
    QuantileBand,
    SupportVectorTube,
    UniversalKriging,
)
from mercer.io.emitters import expansion, free_part, is_wide, origin_of
from mercer.io.errors import CannotConvert
from mercer.io.gaps import with_gaps
from mercer.io.registry import Plan, register
from mercer.io.symbols import LABEL, Outputs, Value
from mercer.losses.classification import Logistic
from mercer.losses.softmax import Softmax
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.one_vs_one import PairwiseClassifier
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.regression import Regression
from mercer.reduced.random_features import Waves

__all__ = ["TRIED_POINTS", "regressor", "voted"]

# Points on which a plan is compared with its model.
TRIED_POINTS = 100


# Functions ---------------------------------------------------------------------------------------


def _functions(model: Any) -> tuple[Callable[[Value], Value], Array, bool]:
    """Return how the functions of a machine are written, points of it, and whether they grow."""
    name = type(model).__name__
    if is_function(model.kernel) or is_precomputed(model.kernel):
        raise CannotConvert(f"{name} with a kernel that is a function or a matrix has no points.")
    if compares_objects(model.kernel):
        raise CannotConvert(f"{name} compares objects, which are no inputs of a graph.")
    b = np.atleast_2d(np.asarray(model.null_space_coef_, dtype=np.float64))
    if model._functions is not None:
        return _waves(model, b)
    if not hasattr(model, "_expansion"):
        Z, A = _dense(model.support_vectors_), _dense(model.dual_coef_).T
        kernel, space = model.kernel_, model.null_space_
        return lambda x: expansion(x, kernel, Z, A, space, b), Z, is_wide(kernel)
    found = model._expansion()
    Z, A = _dense(found.points), np.asarray(found.coef, dtype=np.float64)
    return (
        lambda x: expansion(x, found.kernel, Z, A, found.null_space, found.null_space_coef),
        Z,
        is_wide(found.kernel),
    )


def _waves(model: Any, b: Array) -> tuple[Callable[[Value], Value], Array, bool]:
    """Return a machine of random features: cosines and sines of centred points."""
    phi = model._functions
    if not isinstance(phi, Waves):
        raise CannotConvert(f"random features by {type(phi).__name__} cannot be converted to ONNX.")
    A = np.zeros((phi.m, len(b)))
    A[model._kept] = np.asarray(_dense(model._dual_coef_)).T
    D, p = len(phi.omega), model.n_features_in_
    omega = phi.omega
    shift = np.zeros(p) if phi.origin is None else phi.origin
    centre = shift.astype(np.float32).astype(np.float64)
    size = np.sqrt(phi.height / D)

    def write(x: Value) -> Value:
        angle = (x - centre[None]) @ omega.T
        angle = angle - (omega @ (shift - centre))[None]
        f = (angle.map("Cos") @ A[:D] + angle.map("Sin") @ A[D:]) * size
        value: Value = f + free_part(x, model.null_space_, b, p, centre)
        return value

    tried = np.random.default_rng(0).normal(size=(TRIED_POINTS, p))
    Z = centre + tried / np.sqrt(np.mean(omega**2))
    return write, Z, False


def _dense(points: Any) -> Array:
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)


# Regressors --------------------------------------------------------------------------------------


def regressor(model: Any) -> Plan:
    """Return the plan of an expansion, whose functions are its outputs.

    Parameters
    ----------
    model : Expansion
        The model.
    """
    f, Z, wide = _functions(model)
    width = len(np.atleast_2d(model.null_space_coef_))
    return Plan(model, lambda x: {"prediction": f(x)}, {"prediction": width}, None, Z, wide)


def _censored(model: CensoredRegressor) -> Plan:
    plain = regressor(model)
    if not model.log:
        return plain
    return _changed(
        plain, lambda x, out: {"prediction": out["prediction"].map("Exp")}, {"prediction": 1}
    )


def _changed(
    plan: Plan, change: Callable[[Value, Outputs], Outputs], widths: dict[str, int]
) -> Plan:
    """Return a plan whose outputs are made of another's."""
    return replace(plan, write=lambda x: change(x, plan.write(x)), widths=widths)


def _with_walls(model: Any, walls: Callable[[Value], tuple[Any, Any]]) -> Plan:
    """Return a regressor with an interval around its function."""

    def change(x: Value, out: Outputs) -> Outputs:
        f, (lower, upper) = out["prediction"], walls(x)
        return out | {"interval": (f - lower).beside(f + upper)}

    return _changed(regressor(model), change, {"prediction": 1, "interval": 2})


def _support_vector_tube(model: SupportVectorTube) -> Plan:
    half = float(model.tube_halfwidth_)
    return _with_walls(model, lambda x: (half, half))


def _heteroscedastic_nu(model: HeteroscedasticNuSVR) -> Plan:
    coef, Z = np.atleast_2d(model.tube_coef_), _dense(model.support_vectors_)

    def walls(x: Value) -> tuple[Any, Any]:
        free = free_part(x, model.tube_, coef, Z.shape[1], origin_of(Z)).at_least(0.0)
        return free.columns([0]), free.columns([len(coef) - 1])

    return _with_walls(model, walls)


def _heteroscedastic(model: Any) -> Plan:
    given = (model.upper, model.upper if model.lower is None else model.lower)
    if any(callable(width) or np.ndim(width) for width in given):
        return regressor(model)
    upper, lower = (float(width) for width in given)
    return _with_walls(model, lambda x: (lower, upper))


def _band(model: QuantileBand) -> Plan:
    f, Z, wide = _functions(model)
    k = len(model.quantiles_)
    middle = int(np.argmin(np.abs(model.quantiles_ - 0.5)))

    def write(x: Value) -> Outputs:
        q = f(x).ascending(k)
        return {
            "prediction": q.columns([middle]),
            "interval": q.columns([0, k - 1]),
            "quantiles": q,
        }

    return Plan(model, write, {"prediction": 1, "interval": 2, "quantiles": k}, None, Z, wide)


# Classifiers -------------------------------------------------------------------------------------


def voted(model: Any, functions: Plan, more: Any = None) -> Plan:
    """Return a classifier that decides by the sign of a function, or the largest of several.

    Parameters
    ----------
    model : estimator
        The classifier.
    functions : Plan
        The plan of its functions.
    more : callable, optional
        From the functions to further outputs.
    """
    k = len(model.classes_)

    def change(x: Value, out: Outputs) -> Outputs:
        f = out["prediction"]
        return _decided(f, k) | ({} if more is None else more(f))

    widths = {LABEL: 0, "scores": k} | ({} if more is None else {"probabilities": k})
    plan = _changed(functions, change, widths)
    return replace(plan, model=model, classes=np.asarray(model.classes_))


def _decided(f: Value, k: int) -> Outputs:
    """Return the label and a score of every class, in the order of the labels."""
    scores = (-f).beside(f) if k == 2 else f
    # Zero speaks for the first class, which is the first of the largest.
    return {LABEL: scores.largest(), "scores": scores}


def _logistic(model: Any) -> Any:
    """Return how probabilities are written, of a machine whose loss is logistic."""
    k = len(model.classes_)

    def logistic(f: Value) -> Outputs:
        p = ((-f).beside(f) if k == 2 else f).map("Sigmoid")
        # Where all classes are as good as impossible none is preferred.
        total = p.total(k)
        none = 1.0 - total.positive()
        return {"probabilities": (p + none * (1.0 / k)) / (total + none)}

    loss = getattr(model, "loss_", None)
    if isinstance(loss, Softmax):
        return lambda f: {"probabilities": f.shares()}
    return logistic if isinstance(loss, Logistic) else None


def _rest(model: OneVsRest) -> Plan:
    return voted(model, regressor(model), _logistic(model))


def _pairs(model: PairwiseClassifier) -> Plan:
    f, Z, wide = _functions(model)
    k, classes = len(model.classes_), np.asarray(model.classes_)
    if model._calibrated is not None:
        raise CannotConvert(
            f"{type(model).__name__}(probability=True) is calibrated by scikit-learn; convert it "
            "without probability, or a CalibratedClassifierCV."
        )
    if k == 2:
        functions = Plan(model, lambda x: {"prediction": f(x)}, {"prediction": 1}, None, Z, wide)
        return voted(model, functions)
    pairs = model._class_pairs()
    first, second = np.zeros((len(pairs), k)), np.zeros((len(pairs), k))
    for d, (i, j) in enumerate(pairs):
        first[d, i] = second[d, j] = 1.0
    whole = model.decision_function_shape == "ovr"

    def write(x: Value) -> Outputs:
        g = f(x)
        won = g.positive()
        votes = won @ first + (1.0 - won) @ second
        # As scikit-learn has it: ties are broken by the sums of values, squeezed below a vote.
        sums = g @ (first - second)
        ovr = votes + sums / (sums.map("Abs") + 1.0) * (1.0 / 3.0)
        label = ovr if model.break_ties else votes
        return {LABEL: label.largest(), "scores": ovr if whole else g}

    widths = {LABEL: 0, "scores": k if whole else len(pairs)}
    return Plan(model, write, widths, classes, Z, wide)


def _codes(model: LSSVC) -> Plan:
    f, Z, wide = _functions(model)
    M, k, how = (
        np.asarray(model.code_book_, dtype=np.float64),
        len(model.classes_),
        model._decoding_fit,
    )
    plain = how == "loss" and np.array_equal(M, 2.0 * np.eye(k) - 1.0)

    def scores(F: Value) -> Value:
        if how == "hamming":
            sure = F @ M.T
            votes = (F.map("Sign") @ M.T - float(M.shape[1])) * 0.5
            return votes + sure / (sure.map("Abs") + 1.0) * 0.25
        if how == "loss":
            return F @ (2.0 * M.T) - (F * F) @ (M**2).T - float(M.shape[1])
        free = np.eye(k) - 1.0 / k
        weights = np.linalg.pinv(free @ M) @ free
        value: Value = F @ weights + (1.0 / k - M.mean(axis=0) @ weights)[None]
        return value

    def one(F: Value) -> Value:
        if M.shape == (2, 1):
            return F * float(M[1, 0])
        both = scores(F)
        return both.columns([1]) - both.columns([0])

    sigmoid = None
    if k == 2 and M.shape == (2, 1) and getattr(model, "_report", None) is not None:
        slope, intercept = (float(np.ravel(part)[0]) for part in model._report.sigmoids)
        sign = float(M[1, 0])

        def sigmoid(g: Value) -> Outputs:  # g is the value for the second class
            p = ((g * (sign * slope) + intercept) * sign).map("Sigmoid")
            return {"probabilities": (1.0 - p).beside(p)}

    def write(x: Value) -> Outputs:
        F = f(x)
        if k == 2:
            g = one(F)
            return _decided(g, 2) | ({} if sigmoid is None else sigmoid(g))
        return _decided(F if plain else scores(F), k)

    widths = {LABEL: 0, "scores": k} | ({} if sigmoid is None else {"probabilities": 2})
    return Plan(model, write, widths, np.asarray(model.classes_), Z, wide)


def _one_class(model: OneClassSVM) -> Plan:
    def change(x: Value, out: Outputs) -> Outputs:
        f = out["prediction"]
        return {LABEL: f.beside(-f).largest(), "scores": f}  # the boundary is inside

    plan = _changed(regressor(model), change, {LABEL: 0, "scores": 1})
    return replace(plan, classes=np.array([1, -1]))


# Weights of features -----------------------------------------------------------------------------


def _weights(model: LinearSVC | LinearSVR) -> Plan:
    """Return the products with the weights of the features."""
    W = np.atleast_2d(_dense(model.coef_)).T
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), W.shape[1:])
    # Nothing is known of the sample: units in which every feature moves the values alike.
    size = np.max(np.abs(W), axis=1)
    spread = np.divide(1.0, size, out=np.ones_like(size), where=size > 0)
    Z = np.random.default_rng(0).normal(size=(TRIED_POINTS, len(W))) * spread
    widths = {"prediction": W.shape[1]}
    return Plan(model, lambda x: {"prediction": x @ W + b[None]}, widths, None, Z, True)


def _weights_of_classes(model: LinearSVC) -> Plan:
    return voted(model, _weights(model))


# Gaps ---------------------------------------------------------------------------------------------


def _missing(model: MissingInputRegressor) -> Plan:
    write, Z = with_gaps(model)

    def outputs(x: Value) -> Outputs:
        f, low, high = write(x)
        return {"prediction": f, "interval": low.beside(high)}

    return Plan(model, outputs, {"prediction": 1, "interval": 2}, None, Z, False)


def _missing_classes(model: MissingInputClassifier) -> Plan:
    if model.abstain is not None:
        raise CannotConvert(
            f"{type(model).__name__}(abstain=...) has a label that is no class; fit it without."
        )
    write, Z = with_gaps(model)
    functions = Plan(
        model, lambda x: {"prediction": write(x)[0]}, {"prediction": 1}, None, Z, False
    )
    return voted(model, functions, _logistic(model))


register(
    {
        MissingInputRegressor: _missing,
        MissingInputClassifier: _missing_classes,
        LinearSVC: _weights_of_classes,
        LinearSVR: _weights,
        OneClassSVM: _one_class,
        LSSVC: _codes,
        PairwiseClassifier: _pairs,
        OneVsRest: _rest,
        QuantileBand: _band,
        SupportVectorTube: _support_vector_tube,
        HeteroscedasticSVR: _heteroscedastic,
        HeteroscedasticNuSVR: _heteroscedastic_nu,
        CensoredRegressor: _censored,
        UniversalKriging: regressor,
        Regression: regressor,
    }
)
