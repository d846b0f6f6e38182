"""The loss of a machine on samples that it was not fitted to, and the folds that leave them out."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._typing import AnyArray, Array, PointsLike, Predictor, TargetsLike
from mercer.estimators.censored import CensoredRegressor
from mercer.estimators.robust import RobustLSSVR
from mercer.losses.base import Loss
from mercer.losses.interval import within
from mercer.losses.regression import Squared
from mercer.machines.base import KernelMachine
from mercer.machines.folds import as_splitter
from mercer.machines.subproblems import Rows
from mercer.smoothing.survival import kaplan_meier

__all__ = ["held_out_loss", "held_out_losses", "splitter"]


def splitter(y: AnyArray, folds: int, classification: bool) -> Any:
    """Return folds that hold all classes, fewer of them if a class has few samples."""
    rarest = int(np.min(np.unique(y, return_counts=True)[1])) if classification else 0
    if rarest < 2:
        return as_splitter(folds, y)
    return as_splitter(min(folds, rarest), y, classifier=True)


def held_out_loss(machine: Predictor, X: PointsLike, y: TargetsLike, weights: Any = None) -> float:
    """Return the summed loss of a machine on samples that it was not fitted to.

    Mistakes of a classifier. The own loss of a regressor, or squared errors if its loss is zero
    over a whole tube, whose width would otherwise be best infinite.

    Parameters
    ----------
    machine : KernelMachine
        Fitted.
    X, y, weights
        The samples.
    """
    losses = held_out_losses(machine, X, y)
    return float(np.sum(losses) if weights is None else losses @ weights)


@singledispatch
def held_out_losses(machine: Predictor, X: PointsLike, y: TargetsLike) -> Array:
    """Return the loss of a machine at every sample.

    Parameters
    ----------
    machine : estimator
        Fitted.
    X, y
        The samples.
    """
    predicted = machine.predict(X)
    if is_classifier(machine):
        return np.asarray(predicted != y, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    losses = np.asarray(_not_flat(machine).value(np.ravel(y), np.ravel(predicted)))
    return np.asarray(losses.reshape(len(y), -1).sum(axis=1))


@held_out_losses.register
def _(machine: CensoredRegressor, X: PointsLike, y: TargetsLike) -> Array:
    """Return losses of the distance to the intervals of censored targets."""
    known = machine._scaled(y)
    anchors, below, above = known.anchored()
    losses = within(_not_flat(machine), below, above).value(
        anchors, machine._evaluate(machine._check_new(X))
    )
    if machine.weighting is None:
        return np.asarray(losses)
    time, event = known.right_censored("weighting='ipcw'")
    unseen = kaplan_meier(time, event, reverse=True).before(time)
    return np.asarray(np.where(event, losses / np.where(event, unseen, 1.0), 0.0))


@held_out_losses.register
def _(machine: RobustLSSVR, X: PointsLike, y: TargetsLike) -> Array:
    """Return absolute errors: the size c of the own loss is small where the sample is learned."""
    y = np.asarray(y, dtype=np.float64)
    return np.asarray(np.abs(machine.predict(X) - y).reshape(len(y), -1).sum(axis=1))


def _not_flat(machine: Predictor) -> Loss:
    """Return the loss of a machine; the squared loss if its own is zero over a tube, or unknown."""
    # The loss of a problem with a width is not the loss of a prediction.
    if not isinstance(machine, KernelMachine) or not (
        machine._direct or "loss" in machine.get_params(deep=False)
    ):
        return Squared()
    try:
        loss: Loss = machine._loss(Rows(None))
    except (AttributeError, ValueError):
        return Squared()
    flat = float(loss.value(np.zeros(1), np.full(1, 1e-12))[0]) == 0.0
    return Squared() if flat else loss
