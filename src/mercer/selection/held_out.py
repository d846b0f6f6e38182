"""The weight of the loss, and widths nearby, by cross-validation of any machine along a path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from mercer.estimators.base import KernelMachine
from mercer.kernels.precomputed import Precomputed
from mercer.losses.regression import Squared
from mercer.selection.objective import Objective, Stop

__all__ = ["choose_weight", "held_out_loss"]

Array = NDArray[np.float64]

# Weights that are tried, a decade apart, then half a decade around the best.
DECADES = (0.1, 1.0, 10.0, 100.0, 1000.0)
HALF = 10**0.5
NUS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
# Widths beside that of the least-squares machine.
BESIDE = (0.5, 2.0)
# A path ends when so many values in a row were worse than the best by this factor.
PATIENCE, WORSE = 1, 1.02


def choose_weight(
    estimator: KernelMachine,
    X: Any,
    y: Any,
    sample_weight: Any,
    params: dict[str, Any],
    objective: Objective,
    folds: int = 5,
) -> tuple[dict[str, Any], float, str]:
    """Choose ``C`` or ``nu`` of a machine for a kernel, and whether the kernel be wider.

    Parameters
    ----------
    estimator : KernelMachine
    X, y, sample_weight
        The sample.
    params : dict
        With the ``kernel``.
    objective : Objective
        Keeps the trials; its statement says which rows are used.
    folds : int

    Returns
    -------
    dict
        The chosen parameters.
    value : float
        Their cross-validated loss.
    status : str
    """
    some = objective.statement
    rows = some.rows
    labels, points = np.asarray(y)[rows], _safe_indexing(X, rows)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[rows]
    name = "nu" if "nu" in estimator.get_params(deep=False) else "C"
    splits = list(
        check_cv(folds, labels, classifier=is_classifier(estimator)).split(labels, labels)
    )
    tried: dict[tuple[float, float], float] = {}

    def path(factor: float, values: list[float]) -> None:
        theta = objective.space.wider(objective.space.read(params["kernel"]), np.log(factor))
        kernel, _ = objective.space.at(theta)
        settings: dict[str, Any] = {"kernel": kernel, "warm_start": True}
        if getattr(estimator, "standardize", False):
            settings["standardize"] = False
        if some.plain:
            # Without other free functions than a constant the matrix is all that a machine needs.
            K = np.asarray(kernel(some.X), dtype=np.float64)
            settings["kernel"] = Precomputed()
        machines = [clone(estimator).set_params(**settings) for _ in splits]
        best, worse = np.inf, 0
        for value in sorted(values):
            total = 0.0
            for machine, (inside, outside) in zip(machines, splits, strict=True):
                machine.set_params(**{name: value})
                given = {} if weights is None else {"sample_weight": weights[inside]}
                if some.plain:
                    first, second = K[np.ix_(inside, inside)], K[np.ix_(outside, inside)]
                else:
                    first, second = _safe_indexing(points, inside), _safe_indexing(points, outside)
                machine.fit(first, labels[inside], **given)
                left = None if weights is None else weights[outside]
                total += held_out_loss(machine, second, labels[outside], left)
            total /= len(labels) if weights is None else weights.sum()
            tried[factor, value] = total
            objective.note(f"held out, {name}", kernel, {name: value}, total, len(labels))
            worse = worse + 1 if total > WORSE * best else 0
            best = min(best, total)
            if worse > PATIENCE:
                break

    status = "converged"
    try:
        if name == "nu":
            path(1.0, list(NUS))
        else:
            path(1.0, list(DECADES))
            _, middle = _chosen(tried)
            path(1.0, [middle / HALF, middle * HALF])
        if objective.space.widths:
            _, middle = _chosen(tried)
            for factor in BESIDE:
                path(factor, [middle])
    except Stop:
        status = "stopped"
    if not tried:
        return {}, np.nan, status
    factor, value = _chosen(tried)
    theta = objective.space.wider(objective.space.read(params["kernel"]), np.log(factor))
    return {"kernel": objective.space.at(theta)[0], name: value}, tried[factor, value], status


def _chosen(tried: dict[tuple[float, float], float]) -> tuple[float, float]:
    """Return the best width and weight; of several that are as good, the one in the middle."""
    least = min(tried.values())
    ties = sorted(key for key, value in tried.items() if value <= least * (1 + 1e-9))
    return ties[len(ties) // 2]


def held_out_loss(machine: Any, X: Any, y: Any, weights: Any = None) -> float:
    """Return the summed loss of a machine on samples that it was not fitted to.

    Mistakes for a classifier. For a regressor its own loss, or squared errors if that is zero over
    a whole tube, whose width would otherwise be best infinite.

    Parameters
    ----------
    machine : KernelMachine
        Fitted.
    X, y, weights
        The samples.
    """
    predicted = machine.predict(X)
    if is_classifier(machine):
        losses = (predicted != y).astype(float)
    else:
        try:
            loss = machine._loss()
            flat = float(loss.value(np.zeros(1), np.full(1, 1e-12))[0]) == 0.0
        except NotImplementedError:
            flat = True
        y = np.asarray(y, dtype=np.float64)
        loss = Squared() if flat else loss
        losses = np.asarray(loss.value(np.ravel(y), np.ravel(predicted)))
        losses = losses.reshape(len(y), -1).sum(axis=1)
    return float(np.sum(losses) if weights is None else losses @ weights)
