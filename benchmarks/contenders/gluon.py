"""AutoGluon for the contest on tables, by the interpreter that AUTOGLUON names."""

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from autogluon.tabular import TabularPredictor

from benchmarks.suites.tables import Split

Predict = Callable[[pd.DataFrame], Any]
TARGET = "the target of the contest"
PRESETS = {"medium": "medium_quality", "best": "best_quality"}


def ensemble(data: Split, quality: str, seconds: int) -> tuple[Predict, dict[str, Any]]:
    """Fit an ensemble within clock seconds, judged by what the contest ranks by, on one core."""
    # The predictor reads its models from the folder: it goes when the last reference does.
    folder = tempfile.TemporaryDirectory()
    machine = TabularPredictor(
        TARGET,
        path=folder.name,
        problem_type="regression" if data.regression else None,
        eval_metric="root_mean_squared_error" if data.regression else "log_loss",
        verbosity=0,
    )
    # Folds one after the other in this process: workers would take further cores.
    local = {"ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"}}
    machine.fit(
        data.X.assign(**{TARGET: data.y}),
        presets=PRESETS[quality],
        time_limit=seconds,
        num_cpus=1,
        num_gpus=0,
        **(local if quality == "best" else {}),
    )

    def predict(X: pd.DataFrame, kept: Any = folder) -> Any:
        found = machine.predict(X) if data.regression else machine.predict_proba(X)
        return found.to_numpy()

    board = machine.leaderboard(silent=True)
    return predict, {"model": machine.model_best, "models": len(board)}


METHODS = {
    f"AutoGluon {quality} {seconds} s": partial(ensemble, quality=quality, seconds=seconds)
    for seconds in (60, 300)
    for quality in PRESETS
}
