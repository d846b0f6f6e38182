"""Methods of others for the contest on tables, each as its authors advise, on one thread.

They need ``catboost``, ``interpret``, ``lightgbm``, ``pytabkit``, ``xgboost`` and ``xrfm`` in the
interpreter that the variable PEERS names; this library need not be there.
"""

from collections.abc import Callable, Iterator
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import torch
import xgboost
from catboost import CatBoostClassifier, CatBoostRegressor
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor
from scipy.stats import loguniform, randint, uniform
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ParameterSampler,
    StratifiedKFold,
    train_test_split,
)
from sklearn.svm import SVC, SVR

from benchmarks.contenders.xrfm import feature_machine
from benchmarks.suites.tables import Split, columns

torch.set_num_threads(1)
Predict = Callable[[pd.DataFrame], Any]
Fit = Callable[[Split], tuple[Predict, dict[str, Any]]]

DRAWS, FEW_DRAWS = 15, 8
TREES, PATIENCE = 1_000, 30
LEAVES = {
    "learning_rate": loguniform(0.02, 0.2),
    "num_leaves": randint(4, 64),
    "min_child_samples": randint(2, 40),
    "subsample": uniform(0.6, 0.4),
    "subsample_freq": [1],
    "colsample_bytree": uniform(0.4, 0.6),
    "reg_lambda": loguniform(1e-3, 1e1),
}
OBLIVIOUS = {
    "learning_rate": loguniform(0.02, 0.2),
    "depth": randint(3, 9),
    "l2_leaf_reg": loguniform(0.5, 20.0),
    "random_strength": loguniform(0.1, 10.0),
    "bagging_temperature": uniform(0.0, 1.0),
    "rsm": uniform(0.4, 0.6),
}
# The ranges that the authors of xRFM search, without their kernels for graphics processors.
FEATURES = {
    "bandwidth": loguniform(1.0, 200.0),
    "exponent": uniform(0.7, 0.7),
    "reg": loguniform(1e-6, 1e1),
    "diag": [False, True],
}


def answers(machine: Any, data: Split, change: Callable[[Any], Any] = lambda X: X) -> Predict:
    """Return the function that gives targets or probabilities for a table."""
    wanted = machine.predict if data.regression else machine.predict_proba
    return lambda X: wanted(change(X))


def parts(data: Split, folds: int, used: int | None = None) -> Iterator[tuple[Any, Any]]:
    kind = KFold if data.regression else StratifiedKFold
    pairs = kind(folds, shuffle=True, random_state=0).split(data.X, data.y)
    return (pair for _, pair in zip(range(used or folds), pairs, strict=False))


def stopped(
    data: Split,
    space: dict[str, Any],
    folds: int,
    used: int | None,
    trial: Callable[[dict[str, Any], Any, Any], tuple[float, int]],
) -> dict[str, Any]:
    """Return the best of the draws, with the mean number of trees at which its folds stopped."""
    best: tuple[float, dict[str, Any]] = (np.inf, {})
    pairs = list(parts(data, folds, used))
    for draw in ParameterSampler(space, DRAWS, random_state=0):
        found = [trial(draw, learn, judge) for learn, judge in pairs]
        loss, trees = np.mean(found, axis=0)
        if loss < best[0]:
            best = (loss, draw | {"n_estimators": max(1, round(trees))})
    return best[1]


def boosting(data: Split, **chosen: Any) -> Any:
    kind = lightgbm.LGBMRegressor if data.regression else lightgbm.LGBMClassifier
    return kind(**chosen, n_jobs=1, verbose=-1, random_state=0)


def light(data: Split) -> tuple[Predict, dict[str, Any]]:
    return answers(boosting(data).fit(data.X, data.y), data), {}


def light_tuned(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Cross-validation in five folds at 500 rows, in three at 2,000; a single fold above."""

    def trial(draw: dict[str, Any], learn: Any, judge: Any) -> tuple[float, int]:
        machine = boosting(data, **draw, n_estimators=TREES).fit(
            data.X.iloc[learn],
            data.y[learn],
            eval_set=[(data.X.iloc[judge], data.y[judge])],
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )
        (score,) = machine.best_score_["valid_0"].values()
        return score, machine.best_iteration_

    n = len(data.y)
    folds, used = (5, 5) if n <= 1_000 else (3, 3 if n <= 4_000 else 1)
    chosen = stopped(data, LEAVES, folds, used, trial)
    return answers(boosting(data, **chosen).fit(data.X, data.y), data), chosen


def levels(data: Split) -> Callable[[Any], Any]:
    """Return the change of a table that names missing cells of categories."""
    named = data.categories
    return lambda X: X.assign(**{c: X[c].astype(str).fillna("missing") for c in named})


def symmetric(data: Split, **chosen: Any) -> Any:
    kind = CatBoostRegressor if data.regression else CatBoostClassifier
    return kind(
        **chosen,
        cat_features=data.categories,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        random_seed=0,
    )


def cat(data: Split) -> tuple[Predict, dict[str, Any]]:
    change = levels(data)
    return answers(symmetric(data).fit(change(data.X), data.y), data, change), {}


def cat_tuned(data: Split) -> tuple[Predict, dict[str, Any]]:
    change = levels(data)
    X = change(data.X)

    def trial(draw: dict[str, Any], learn: Any, judge: Any) -> tuple[float, int]:
        machine = symmetric(data, **draw, n_estimators=TREES)
        held = (X.iloc[judge], data.y[judge])
        machine.fit(X.iloc[learn], data.y[learn], eval_set=held, early_stopping_rounds=PATIENCE)
        (score,) = machine.get_best_score()["validation"].values()
        return score, machine.get_best_iteration() + 1

    chosen = stopped(data, OBLIVIOUS, 3, 3, trial)
    return answers(symmetric(data, **chosen).fit(X, data.y), data, change), chosen


def extreme(data: Split) -> tuple[Predict, dict[str, Any]]:
    kind = xgboost.XGBRegressor if data.regression else xgboost.XGBClassifier
    machine = kind(enable_categorical=True, n_jobs=1, random_state=0)
    return answers(machine.fit(data.X, data.y), data), {}


def forest(data: Split) -> tuple[Predict, dict[str, Any]]:
    change = columns(data, impute=False, scale=False).transform
    kind = RandomForestRegressor if data.regression else RandomForestClassifier
    machine = kind(300, random_state=0).fit(change(data.X), data.y)
    return answers(machine, data, change), {}


def support(data: Split) -> tuple[Predict, dict[str, Any]]:
    """A Gaussian kernel's grid: gamma in units of one over the number of columns."""
    change = columns(data).transform
    X = change(data.X)
    grid = {"C": 10.0 ** np.arange(-1, 5), "gamma": 4.0 ** np.arange(-3, 2) / X.shape[1]}
    machine = SVR() if data.regression else SVC()
    folds = list(parts(data, 5))
    scoring = "neg_mean_squared_error" if data.regression else "accuracy"
    search = GridSearchCV(machine, grid, cv=folds, scoring=scoring).fit(X, data.y)
    best = search.best_estimator_
    if not data.regression:
        # Platt's probabilities, from left-out decisions, of a machine of all rows.
        best = CalibratedClassifierCV(best, cv=folds, ensemble=False).fit(X, data.y)
    return answers(best, data, change), search.best_params_


class FeatureMachine:
    """xRFM on standardized columns, in single precision, a fifth of the rows for validation."""

    def __init__(self, data: Split) -> None:
        made = columns(data)
        self.change = lambda X: made.transform(X).astype(np.float32)
        self.data = data
        y = data.y.astype(np.float32 if data.regression else np.int64)
        self.X, self.held_X, self.y, self.held_y = train_test_split(
            self.change(data.X),
            y,
            test_size=0.2,
            random_state=0,
            stratify=None if data.regression else y,
        )

    def fit(self, **chosen: Any) -> float:
        """Return the squared error, or Brier's score, on the rows for validation."""
        self.machine = feature_machine(self.data.regression, **chosen)
        self.machine.fit(self.X, self.y, self.held_X, self.held_y)
        if self.data.regression:
            return float(np.mean((np.ravel(self.machine.predict(self.held_X)) - self.held_y) ** 2))
        indicator = np.eye(self.data.classes)[self.held_y]
        return float(np.mean((self.machine.predict_proba(self.held_X) - indicator) ** 2))


def features(data: Split) -> tuple[Predict, dict[str, Any]]:
    found = FeatureMachine(data)
    found.fit()
    return answers(found.machine, data, found.change), {}


def features_tuned(data: Split) -> tuple[Predict, dict[str, Any]]:
    found = FeatureMachine(data)
    tried = [{}, *ParameterSampler(FEATURES, FEW_DRAWS - 1, random_state=0)]
    best = min(tried, key=lambda chosen: found.fit(**chosen))
    found.fit(**best)
    return answers(found.machine, data, found.change), best


def network(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit a network of pytabkit, in single precision, medians for missing numbers."""
    middle, named = data.X[data.numbers].median(), levels(data)

    def change(X: pd.DataFrame) -> pd.DataFrame:
        X = named(X).fillna(middle)
        return X.astype(dict.fromkeys(data.numbers, np.float32))

    kind = RealMLP_TD_Regressor if data.regression else RealMLP_TD_Classifier
    machine = kind(device="cpu", random_state=0, n_threads=1, verbosity=0)
    machine.fit(change(data.X), data.y, cat_col_names=data.categories)
    return answers(machine, data, change), {}


def additive(data: Split) -> tuple[Predict, dict[str, Any]]:
    kind = ExplainableBoostingRegressor if data.regression else ExplainableBoostingClassifier
    machine = kind(n_jobs=1, random_state=0).fit(levels(data)(data.X), data.y)
    return answers(machine, data, levels(data)), {}


METHODS: dict[str, Fit] = {
    "CatBoost": cat,
    "LightGBM": light,
    "XGBoost": extreme,
    "RandomForest": forest,
    "xRFM": features,
    "LightGBM tuned": light_tuned,
    "xRFM tuned": features_tuned,
    "SVM grid": support,
    "RealMLP": network,
    "CatBoost tuned": cat_tuned,
    "EBM": additive,
}
