"""scikit-learn's ways: a grid with cross-validation, and the defaults."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.tuning.sets import Split

# Ten values of each: gamma from 1/64 to 8 times 1 / features, which is scikit-learn's own choice
# for standardized features, five decades of C, seven of alpha. LIBSVM's time grows with C: a pilot
# of five sets with C up to 1e4 took a minute a split for regression, hence 1e3; nothing else was
# changed.
WIDTHS = 2.0 ** np.arange(-6, 4)
COSTS = np.geomspace(1e-2, 1e3, 10)
RIDGES = np.geomspace(1e-6, 1e1, 10)


def grid(machine: Any, **values: NDArray[np.float64]) -> Any:
    """Return the fit of a machine by a grid of 10 x 10 on standardized features, 5 folds."""

    def fit(data: Split) -> tuple[Any, dict[str, Any]]:
        asked = {f"machine__{name}": found for name, found in values.items()}
        asked["machine__gamma"] = WIDTHS / data.X.shape[1]
        search = GridSearchCV(
            Pipeline([("scaler", StandardScaler()), ("machine", machine)]),
            asked,
            scoring="neg_mean_squared_error" if data.regression else "accuracy",
            cv=5,
            n_jobs=1,
        ).fit(data.X, data.y)
        return search, {k.removeprefix("machine__"): v for k, v in search.best_params_.items()}

    return fit


def plain(machine: Any) -> Any:
    """Return the fit of a machine as it is."""

    def fit(data: Split) -> tuple[Any, dict[str, Any]]:
        return machine.fit(data.X, data.y), {}

    return fit


def scaled(machine: Any) -> Any:
    return plain(make_pipeline(StandardScaler(), machine))


REGRESSORS = {
    "KernelRidge grid": grid(KernelRidge(kernel="rbf"), alpha=RIDGES),
    "SVR grid": grid(SVR(epsilon=0.1, cache_size=500), C=COSTS),
    "KernelRidge default": plain(KernelRidge()),
    "KernelRidge scaled": scaled(KernelRidge()),
    "KernelRidge rbf default": plain(KernelRidge(kernel="rbf")),
    "KernelRidge rbf scaled": scaled(KernelRidge(kernel="rbf")),
    "SVR default": plain(SVR()),
    "SVR scaled": scaled(SVR()),
}
CLASSIFIERS = {
    "SVC grid": grid(SVC(cache_size=500), C=COSTS),
    "SVC default": plain(SVC()),
    "SVC scaled": scaled(SVC()),
}
