"""Boosted trees, feature machines and Nystroem pipelines on large tables, by PEERS."""

from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import torch
import xgboost
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from benchmarks.contenders.xrfm import feature_machine
from benchmarks.suites.large import Table

torch.set_num_threads(1)
Fitted = tuple[Callable[[Any], Any], dict[str, Any]]

TREES, PATIENCE, HELD = 2_000, 100, 0.1


def frame(data: Table, X: Any, *, words: bool = False) -> pd.DataFrame:
    """Return rows with their categories as a data frame has them."""
    found = pd.DataFrame(X, columns=[str(j) for j in range(X.shape[1])])
    for j in data.categories:
        codes = found[str(j)].fillna(-1).astype(int)
        found[str(j)] = codes.astype(str) if words else pd.Categorical(codes, LEVELS)
    return found


# Codes of any category: the same for rows to learn from and to be judged by.
LEVELS = range(-1, 500)


def held_back(data: Table, *, words: bool = False) -> Any:
    """Return rows to learn from and rows that decide when to stop."""
    X = frame(data, data.X, words=words)
    return train_test_split(X, data.y, test_size=HELD, random_state=0)


def best(tried: list[tuple[float, dict[str, Any]]]) -> dict[str, Any]:
    """Return the settings with the least loss."""
    return min(tried, key=lambda one: one[0])[1]


def light(data: Table, **options: Any) -> Fitted:
    machine = leaves(data, **options).fit(frame(data, data.X), data.y)
    return lambda X: machine.predict(frame(data, X)), {}


def leaves(data: Table, **options: Any) -> Any:
    kind = lightgbm.LGBMRegressor if data.regression else lightgbm.LGBMClassifier
    return kind(n_jobs=1, verbose=-1, random_state=0, **options)


def light_tuned(data: Table, sizes: list[int]) -> Fitted:
    """Trees of several sizes, stopped early; the best of them, fitted to all rows."""
    X, held, y, answers = held_back(data)
    tried = []
    for size in sizes:
        machine = leaves(data, n_estimators=TREES, num_leaves=size)
        metric = "l2" if data.regression else "multi_error" if max(data.y) > 1 else "binary_error"
        stop = lightgbm.early_stopping(PATIENCE, first_metric_only=True, verbose=False)
        machine.fit(X, y, eval_set=[(held, answers)], eval_metric=metric, callbacks=[stop])
        (scores,) = machine.best_score_.values()
        tried.append(
            (scores[metric], {"num_leaves": size, "n_estimators": machine.best_iteration_})
        )
    return light(data, **best(tried))[0], best(tried)


def extreme(data: Table, **options: Any) -> Any:
    kind = xgboost.XGBRegressor if data.regression else xgboost.XGBClassifier
    return kind(n_jobs=1, tree_method="hist", enable_categorical=True, random_state=0, **options)


def xg(data: Table, **options: Any) -> Fitted:
    machine = extreme(data, **options).fit(frame(data, data.X), data.y)
    return lambda X: machine.predict(frame(data, X)), {}


def xg_tuned(data: Table, sizes: list[int]) -> Fitted:
    X, held, y, answers = held_back(data)
    metric = "rmse" if data.regression else "merror" if max(data.y) > 1 else "error"
    tried = []
    for depth in sizes:
        chosen = {"max_depth": depth, "learning_rate": 0.1}
        machine = extreme(
            data,
            n_estimators=TREES,
            early_stopping_rounds=PATIENCE,
            eval_metric=metric,
            **chosen,
        )
        machine.fit(X, y, eval_set=[(held, answers)], verbose=False)
        chosen["n_estimators"] = int(machine.best_iteration) + 1
        tried.append((machine.best_score, chosen))
    return xg(data, **best(tried))[0], best(tried)


def symmetric(data: Table, **options: Any) -> Any:
    kind = catboost.CatBoostRegressor if data.regression else catboost.CatBoostClassifier
    return kind(
        cat_features=[str(j) for j in data.categories],
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        random_seed=0,
        **options,
    )


def cat(data: Table) -> Fitted:
    machine = symmetric(data).fit(frame(data, data.X, words=True), data.y)
    return lambda X: np.ravel(machine.predict(frame(data, X, words=True))), {}


def cat_tuned(data: Table, depth: int) -> Fitted:
    """One depth, stopped early, without a second fit to all rows: it takes minutes as it is."""
    X, held, y, answers = held_back(data, words=True)
    machine = symmetric(data, n_estimators=TREES, depth=depth)
    if not data.regression:
        machine.set_params(eval_metric="Accuracy")
    machine.fit(X, y, eval_set=(held, answers), early_stopping_rounds=PATIENCE)
    found = {"depth": depth, "trees": machine.tree_count_}
    return lambda X: np.ravel(machine.predict(frame(data, X, words=True))), found


def encoded(data: Table, X: Any) -> Any:
    """Return scaled numbers and one column for each frequent level of a category."""
    numbers = [j for j in range(X.shape[1]) if j not in data.categories]
    mean, scale = np.nanmean(data.X[:, numbers], axis=0), np.nanstd(data.X[:, numbers], axis=0)
    if data.name == "mnist":
        scale = np.full_like(scale, np.std(data.X))
    Z = np.nan_to_num((X[:, numbers] - mean) / np.where(scale > 0, scale, 1.0))
    for j in data.categories:
        values, counts = np.unique(data.X[:, j], return_counts=True)
        Z = np.column_stack([Z, X[:, j, None] == values[np.argsort(-counts)[:20]]])
    return Z.astype(np.float32)


def features(data: Table, leaf: int) -> Fitted:
    """xRFM as in its manual, a fifth of the rows to validate by; leaves are cubic."""
    y = data.y.astype(np.float32 if data.regression else np.int64)
    X, held, y, answers = train_test_split(encoded(data, data.X), y, test_size=0.2, random_state=0)
    machine = feature_machine(data.regression, leaf)
    machine.fit(X, y, held, answers)
    return lambda X: np.ravel(machine.predict(encoded(data, X))), {}


def nystroem(data: Table, centres: int) -> Fitted:
    """Width and weight as the library has them by default, on scaled features."""
    Z = encoded(data, data.X)
    width = 1.0 / (Z.shape[1] * float(Z.var()))
    kind = Ridge if data.regression else RidgeClassifier
    machine = make_pipeline(
        Nystroem(gamma=width, n_components=centres, random_state=0), kind(alpha=0.1)
    )
    machine.fit(Z, data.y)
    return lambda X: machine.predict(encoded(data, X)), {}


METHODS: dict[str, Callable[..., Fitted]] = {
    "LightGBM": light,
    "LightGBM tuned": light_tuned,
    "LightGBM, 1,000 trees of 255 leaves": light,
    "XGBoost": xg,
    "XGBoost tuned": xg_tuned,
    "CatBoost": cat,
    "CatBoost tuned": cat_tuned,
    "xRFM": features,
    "Nystroem + Ridge": nystroem,
}
