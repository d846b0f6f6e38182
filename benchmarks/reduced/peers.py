"""What others offer for large sets: scikit-learn's Nystroem, Falkon, xRFM, Neo LS-SVM, LightGBM.

A method is a function of a task, the settings of the set and the number of centres; it returns
something that predicts and what it found. Those of scikit-learn need nothing else; the others are
there where they are installed.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier, SGDClassifier, SGDRegressor
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.reduced.sets import Task

Found = tuple[Any, dict[str, Any]]
Method = Callable[[Task, dict[str, float], int], Found]
BATCH, EPOCHS = 10_000, 5


def centres(settings: dict[str, float], m: int) -> Nystroem:
    return Nystroem(gamma=settings["gamma"], n_components=m, random_state=0)


def ridge(data: Task, settings: dict[str, float], m: int) -> Found:
    kind = Ridge if data.regression else RidgeClassifier
    machine = make_pipeline(centres(settings, m), kind(alpha=1.0 / settings["C"]))
    return machine.fit(data.X, data.y), {}


def linear_svc(data: Task, settings: dict[str, float], m: int) -> Found:
    """The hinge with its weight, as of the machine beside it, and not the squared one."""
    last = LinearSVC(loss="hinge", C=settings["C_hinge"], random_state=0)
    machine = make_pipeline(centres(settings, m), last).fit(data.X, data.y)
    return machine, {"iterations": int(np.max(last.n_iter_)), "most": last.max_iter}


class Batches:
    """Centres from the first rows, and stochastic gradients in a few passes over batches."""

    def __init__(self, data: Task, settings: dict[str, float], m: int, loss: str) -> None:
        n = len(data.X)
        self.map = centres(settings, m).fit(data.X[: max(m, BATCH)])
        classes = {} if data.regression else {"classes": np.unique(data.y)}
        weight = settings["C" if data.regression else "C_hinge"]
        options: dict[str, Any] = {"loss": loss, "alpha": 1.0 / (weight * n), "random_state": 0}
        # The mean of the iterates loses their noise: without it errors are a fourth larger.
        options["average"] = True
        if data.regression:
            # Features have norm one: steps of this length are stable, the default's are 50 times
            # as short.
            options |= {"eta0": 0.5, "epsilon": 0.0}
        self.machine = (SGDRegressor if data.regression else SGDClassifier)(**options)
        for _ in range(EPOCHS):
            for start in range(0, n, BATCH):
                rows = slice(start, start + BATCH)
                self.machine.partial_fit(self.map.transform(data.X[rows]), data.y[rows], **classes)

    def predict(self, X: Any) -> Any:
        return self.machine.predict(self.map.transform(X))


def stochastic(data: Task, settings: dict[str, float], m: int) -> Found:
    return Batches(data, settings, m, "squared_error" if data.regression else "hinge"), {}


def stochastic_median(data: Task, settings: dict[str, float], m: int) -> Found:
    # A tube of width zero: the absolute loss.
    return Batches(data, settings, m, "epsilon_insensitive"), {}


def svc(data: Task, settings: dict[str, float], m: int) -> Found:
    machine = SVC(C=settings["C_hinge"], gamma=settings["gamma"], cache_size=1000)
    machine.fit(data.X, data.y)
    return machine, {"support": len(machine.support_)}


def kernel_ridge(data: Task, settings: dict[str, float], m: int) -> Found:
    machine = KernelRidge(kernel="rbf", gamma=settings["gamma"], alpha=1.0 / settings["C"])
    return machine.fit(data.X, data.y), {}


def boosting(data: Task, settings: dict[str, float], m: int, **options: Any) -> Found:
    lightgbm = import_module("lightgbm")
    kind = lightgbm.LGBMRegressor if data.regression else lightgbm.LGBMClassifier
    machine = kind(n_jobs=1, verbose=-1, random_state=0, **options)
    return machine.fit(data.X, data.y), {}


def tuned_boosting(data: Task, settings: dict[str, float], m: int, **options: Any) -> Found:
    """Three sizes of trees, each stopped early by a tenth of the rows; the best one is kept."""
    lightgbm = import_module("lightgbm")
    kind = lightgbm.LGBMRegressor if data.regression else lightgbm.LGBMClassifier
    X, held, y, answers = train_test_split(data.X, data.y, test_size=0.1, random_state=0)
    metric = options.get("objective", "l2") if data.regression else "error"
    tried = []
    for leaves in (31, 127, 511):
        given = {"n_estimators": 1000, "num_leaves": leaves} | options
        machine = kind(n_jobs=1, verbose=-1, random_state=0, **given)
        stop = lightgbm.early_stopping(30, first_metric_only=True, verbose=False)
        machine.fit(X, y, eval_set=[(held, answers)], eval_metric=metric, callbacks=[stop])
        (scores,) = machine.best_score_.values()
        tried.append((scores[NAMES.get(metric, metric)], leaves, machine))
    _, leaves, machine = min(tried, key=lambda t: t[:2])
    return machine, {"leaves": leaves, "trees": int(machine.best_iteration_)}


# What LightGBM calls the metric that it was given.
NAMES = {"error": "binary_error", "mae": "l1"}


def neo(data: Task, settings: dict[str, float], m: int) -> Found:
    """It chooses its features and weights by itself and knows two classes."""
    machine = import_module("neo_ls_svm").NeoLSSVM()
    several = not data.regression and len(np.unique(data.y)) > 2
    return (OneVsRestClassifier(machine) if several else machine).fit(data.X, data.y), {}


class FeatureMachine:
    """xRFM as in its manual, a fifth of the rows for validation, in single precision."""

    def __init__(self, data: Task, leaf: int) -> None:
        y = data.y.astype(np.float32 if data.regression else np.int64)
        X, held, y, answers = train_test_split(
            data.X.astype(np.float32), y, test_size=0.2, random_state=0
        )
        model = {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "diag": False}
        fit = {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True}
        self.machine = import_module("xrfm").xRFM(
            rfm_params={"model": model | {"bandwidth_mode": "constant"}, "fit": fit},
            max_leaf_size=leaf,
            device="cpu",
            tuning_metric="mse" if data.regression else "accuracy",
            n_threads=1,
            random_state=0,
            verbose=False,
        )
        self.machine.fit(X, y, held, answers)

    def predict(self, X: Any) -> Any:
        return np.ravel(self.machine.predict(X.astype(np.float32)))


def features(data: Task, settings: dict[str, float], m: int) -> Found:
    """Leaves of 6,000 rows instead of 60,000: meant for graphics processors, they are cubic."""
    return FeatureMachine(data, 6_000), {}


class Torch:
    """Falkon in double precision, with as many steps as its manual takes."""

    def __init__(self, data: Task, settings: dict[str, float], m: int) -> None:
        torch, falkon = import_module("torch"), import_module("falkon")
        torch.set_num_threads(1)
        self.regression, self.torch = data.regression, torch
        Y = data.y[:, None] if data.regression else self.codes(data.y)
        self.machine = falkon.Falkon(
            kernel=falkon.kernels.GaussianKernel(sigma=(2.0 * settings["gamma"]) ** -0.5),
            # Its risk is a mean over rows.
            penalty=1.0 / (settings["C"] * len(data.X)),
            M=m,
            seed=0,
            options=falkon.FalkonOptions(use_cpu=True, keops_active="no"),
        )
        self.machine.fit(torch.from_numpy(data.X), torch.from_numpy(Y))

    @staticmethod
    def codes(y: Any) -> Any:
        several = 2.0 * (y[:, None] == np.unique(y)) - 1.0
        return several if several.shape[1] > 2 else several[:, 1:]

    def predict(self, X: Any) -> Any:
        f = self.machine.predict(self.torch.from_numpy(X)).numpy()
        if self.regression:
            return f[:, 0]
        return np.argmax(f, axis=1) if f.shape[1] > 1 else (f[:, 0] > 0.0).astype(int)


def falkon(data: Task, settings: dict[str, float], m: int) -> Found:
    return Torch(data, settings, m), {}


CENTRED: dict[str, Method] = {
    "Nystroem + Ridge": ridge,
    "Nystroem + LinearSVC": linear_svc,
    "Nystroem + SGD": stochastic,
    "Nystroem + SGD, absolute": stochastic_median,
    "Falkon": falkon,
}
WHOLE: dict[str, Method] = {
    "SVC of scikit-learn": svc,
    "KernelRidge of scikit-learn": kernel_ridge,
    "LightGBM default": boosting,
    "LightGBM tuned": tuned_boosting,
    "LightGBM absolute": partial(boosting, objective="mae"),
    "LightGBM absolute, tuned": partial(tuned_boosting, objective="mae"),
    "xRFM": features,
    "Neo LS-SVM": neo,
}
NEEDS = {"Falkon": "falkon", "LightGBM": "lightgbm", "xRFM": "xrfm", "Neo LS-SVM": "neo_ls_svm"}


def there(method: str) -> bool:
    """Return whether this interpreter can run a method."""
    return all(find_spec(module) for name, module in NEEDS.items() if method.startswith(name))
