"""LightGBM, xRFM and Neo LS-SVM on small tables, each as its authors advise, by PEERS."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import torch
from neo_ls_svm import NeoLSSVM
from scipy.stats import loguniform, randint, uniform
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.contenders.xrfm import feature_machine
from benchmarks.suites.tuning import Split

torch.set_num_threads(1)
Fit = Callable[[Split], tuple[Any, dict[str, Any]]]

DRAWS = 12
# Around the defaults and below them in capacity, since the samples are small.
TREES = {
    "n_estimators": randint(50, 300),
    "learning_rate": loguniform(0.02, 0.3),
    "num_leaves": randint(4, 24),
    "min_child_samples": randint(3, 40),
    "subsample": uniform(0.6, 0.4),
    "subsample_freq": [1],
    "colsample_bytree": uniform(0.5, 0.5),
    "reg_lambda": loguniform(1e-3, 1e1),
}
# The ranges that the authors of xRFM search, without their kernels for graphics processors.
FEATURES = {
    "bandwidth": loguniform(1.0, 200.0),
    "exponent": uniform(0.7, 0.7),
    "reg": loguniform(1e-6, 1e1),
    "diag": [False, True],
}


def trees(regression: bool) -> Any:
    kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    return kind(n_jobs=1, verbose=-1, random_state=0)


def boosting(data: Split) -> tuple[Any, dict[str, Any]]:
    return trees(data.regression).fit(data.X, data.y), {}


def tuned_boosting(data: Split) -> tuple[Any, dict[str, Any]]:
    search = RandomizedSearchCV(
        trees(data.regression),
        TREES,
        n_iter=DRAWS,
        scoring="neg_mean_squared_error" if data.regression else "accuracy",
        cv=5,
        n_jobs=1,
        random_state=0,
    ).fit(data.X, data.y)
    return search, search.best_params_


class FeatureMachine:
    """xRFM on standardized features, in single precision, a fifth of the rows for validation."""

    def __init__(self, data: Split) -> None:
        self.scaler = StandardScaler().fit(data.X)
        self.regression = data.regression
        X = self.scaler.transform(data.X).astype(np.float32)
        y = data.y.astype(np.float32 if data.regression else np.int64)
        parts = train_test_split(
            X, y, test_size=0.2, random_state=0, stratify=None if data.regression else y
        )
        self.X, self.held_X, self.y, self.held_y = parts

    def fit(self, **chosen: Any) -> float:
        """Fit with the given parameters and return the error on the rows for validation."""
        self.machine = feature_machine(self.regression, **chosen)
        self.machine.fit(self.X, self.y, self.held_X, self.held_y)
        found = np.ravel(self.machine.predict(self.held_X))
        wrong = (found - self.held_y) ** 2 if self.regression else found != self.held_y
        return float(np.mean(wrong))

    def predict(self, X: Any) -> Any:
        return np.ravel(self.machine.predict(self.scaler.transform(X).astype(np.float32)))


def features(data: Split) -> tuple[Any, dict[str, Any]]:
    machine = FeatureMachine(data)
    machine.fit()
    return machine, {}


def tuned_features(data: Split) -> tuple[Any, dict[str, Any]]:
    machine = FeatureMachine(data)
    tried = [{}, *ParameterSampler(FEATURES, DRAWS - 1, random_state=0)]
    best = min(tried, key=lambda chosen: machine.fit(**chosen))
    machine.fit(**best)
    return machine, best


def neo(data: Split) -> tuple[Any, dict[str, Any]]:
    """Neo LS-SVM scales by itself and knows two classes: several are one against the rest."""
    several = not data.regression and len(np.unique(data.y)) > 2
    machine = OneVsRestClassifier(NeoLSSVM()) if several else NeoLSSVM()
    return machine.fit(data.X, data.y), {}


METHODS: dict[str, Fit] = {
    "LightGBM default": boosting,
    "LightGBM tuned": tuned_boosting,
    "xRFM default": features,
    "xRFM tuned": tuned_features,
    "Neo LS-SVM": neo,
}
