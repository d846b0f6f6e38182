"""The weight C of linear machines, by cross-validation of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from mercer._params import check_sample_weight
from mercer._sklearn import num_samples, safe_indexing, safe_split
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.estimators.linear import LinearMachine
from mercer.selection.local_tuning import Wishes
from mercer.selection.objective import Pace, Stop, Trial

__all__ = ["search_weight"]

# Weights from the one that is given, by factors: below it and above it.
FACTORS = 4.0 ** np.arange(-6, 7)
N_FOLDS = 5
# Steps away from the best weight so far after which no further ones are tried.
PATIENCE = 2


def search_weight(
    estimator: LinearMachine,
    X: PointsLike,
    y: TargetsLike,
    sample_weight: WeightsLike,
    how: Wishes,
) -> dict[str, Any]:
    """Choose C by the held-out mistakes or absolute errors of five folds.

    The search goes from the C that is given to both sides, until two weights in a row are no
    better.

    Parameters
    ----------
    estimator : LinearSVC or LinearSVR
    X, y, sample_weight :
        The sample.
    how : Wishes
        What was asked for: budget, clock, listener.

    Returns
    -------
    dict
        Fields of a :class:`~mercer.selection.tuning.Tuning`.
    """
    if how.criterion != "auto" or how.parameters is not None or how.ard is not False:
        raise ValueError(
            f"{type(estimator).__name__} has no kernel and is tuned by its own held-out loss: "
            "leave criterion='auto', parameters=None and ard=False."
        )
    pace, n = Pace(how.max_time, num_samples(X)), num_samples(X)
    weights = check_sample_weight(sample_weight, n)
    folds = list(check_cv(N_FOLDS, y, classifier=is_classifier(estimator)).split(X, y))
    trials: list[Trial] = []

    def held_out(C: float) -> float:
        pace.start(n)
        machine, loss = clone(estimator).set_params(C=C, verbose=False), 0.0
        for train, test in folds:
            X_train, y_train = safe_split(machine, X, y, train)
            X_test = safe_indexing(X, test)
            machine.fit(X_train, y_train, sample_weight=weights[train])
            predicted = machine.predict(X_test)
            truth = np.asarray(safe_indexing(y, test))
            errors = predicted != truth if is_classifier(machine) else np.abs(predicted - truth)
            loss += float(weights[test] @ errors)
        pace.end(n)
        trials.append(Trial("C", {"C": C}, loss / float(weights.sum()), n, pace.elapsed))
        if how.callback is not None and how.callback(trials[-1]):
            raise Stop
        return trials[-1].value

    middle, status, stopped = len(FACTORS) // 2, "converged", False
    try:
        best = held_out(float(estimator.C))
        for side in (FACTORS[:middle][::-1], FACTORS[middle + 1 :]):
            worse, least = 0, best
            for factor in side:
                if len(trials) >= how.budget:
                    status, stopped = "budget", True
                    break
                value = held_out(float(estimator.C * factor))
                worse = 0 if value < least else worse + 1
                least = min(least, value)
                if worse >= PATIENCE:
                    break
            if stopped:
                break
    except Stop:
        status = "stopped"
    if not trials:
        raise ValueError(
            f"max_time={how.max_time} ended before C={estimator.C} was tried; raise it."
        )
    # Of equal ones the smallest weight: the most regularized machine.
    chosen = min(trials, key=lambda trial: (trial.value, trial.parameters["C"]))
    machine = clone(estimator).set_params(**chosen.parameters)
    seconds = pace.elapsed
    if how.refit:
        with pace.last_fit():
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            machine.fit(X, y, **given)
    return {
        "best_estimator_": machine,
        "best_params_": dict(chosen.parameters),
        "best_value_": chosen.value,
        "criterion": "held-out loss",
        "trials_": trials,
        "status_": status,
        "seconds_": seconds,
    }
