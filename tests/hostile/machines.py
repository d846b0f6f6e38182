"""Every exported estimator, with settings that keep a fit of sixty rows short."""

import inspect
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from mercer import SVC, SVR, Nystrom, RandomFeatures
from mercer.kernels.named import FREE, NAMES
from mercer.manifold import PrincipalManifold
from mercer.regularizers import Polynomial
from mercer.solvers import SOLVERS
from mercer_research.manifold import GenerativeTopographicMap, PrincipalManifoldCV

ROOMS = (
    "mercer",
    "mercer.estimators",
    "mercer_research.estimators",
    "mercer_research.linear",
    "mercer_research.density",
    "mercer_research.fusion",
    "mercer_research.selection",
    "mercer.selection",
    "mercer.preprocessing",
)

# Searches look at few settings, because the subject is the data and not the search.
SETTINGS: dict[str, dict[str, Any]] = {
    "AdditiveRegularization": {"cv": 3},
    "AutoClassifier": {"members": ["gaussian"]},
    "AutoRegressor": {"members": ["gaussian"]},
    "RegimeSwitchingRegressor": {"n_rounds": 2},
    "FixedComplexity": {"estimator": SVR(), "max_norm": 1.0},
    "Forecaster": {"lags": 3},
    "FusedLSSVR": {"cv": 3},
    "FusedRidge": {"cv": 3},
    "HardMarginSVC": {"kernel": "rbf", "gamma": 10.0},
    "ConformalRegressor": {"cv": 3},
    "KernelCDF": {"lines": 2, "grid": 4},
    "LSSVCCV": {"budget": 2},
    "LSSVRCV": {"budget": 2},
    "MarginBoost": {"n_estimators": 5},
    "PlausibleLeastSquares": {"n_draws": 200},
    "CertifiedSVC": {"Cs": [1.0], "widths": [1.0], "cv": 2},
    "PrincipalCurve": {"n_init": 1, "max_iter": 20},
    "PrincipalManifold": {"max_iter": 20},
    "PrincipalManifoldCV": {
        "estimator": PrincipalManifold(max_iter=20),
        "lams": [0.1, 0.01],
        "cv": 2,
    },
    "RBFNetwork": {"n_centres": 4, "max_iter": 20},
    "SVCCV": {"budget": 2},
    "SVRCV": {"budget": 2},
    "ShapeConstrainedClassifier": {"lines": 4},
    "ShapeConstrainedRegressor": {"lines": 4},
    "SparseSubstrate": {"cv": 3, "n_zetas": 5},
    "SparseSubstrateClassifier": {"cv": 3, "n_zetas": 5},
    "StableLSSVR": {"cv": 3},
    "ThresholdSelector": {"estimator": SVC()},
    "ValidatedLasso": {"cv": 3},
    "ValidatedSelection": {"max_nodes": 50},
    "SparseAdditiveClassifier": {"cv": 3, "n_mus": 4},
    "SparseAdditiveRegressor": {"cv": 3, "n_mus": 4},
}

# Estimators of one feature.
UNIVARIATE = {"ChiSquareDensity", "HistogramDensity", "SmoothingSpline"}

# Estimators that search among features.
SEARCHES = {
    "AdditiveClassifier",
    "AdditiveRegressor",
    "LeastSquaresAmongstAlternatives",
    "PlausibleLeastSquares",
    "ValidatedSelection",
    "SparseAdditiveClassifier",
    "SparseAdditiveRegressor",
}

# Settings at the ends of what is allowed, and beyond.
NUMBERS = {
    "C": [1e-300, 1e-12, 1e-3, 30.0, 1e3, 1e6, 1e12, 1e300, float("inf"), 0.0, -1.0, float("nan")],
    "gamma": [0.0, 1e-300, 1e-8, 10.0, 1e3, 1e8, 1e300, "auto", "median", "tuned", -1.0],
    "epsilon": [0.0, 1e-300, 1e-3, 10.0, 1e300, -1.0],
    "nu": [0.0, 1e-10, 0.05, 0.9, 1.0],
    "tol": [1e-8, 1e-2, 1.0],
    "degree": [0, 1, 2, 10, 100],
    "coef0": [-1.0, 1.0, 1e10],
    "max_iter": [0, 1, 10],
    "lam": [1e-300, 1e-3, 1e3, 1e300, 0.0],
    "nugget": [1e-300, 1e-3, 1e300],
    "quantile": [0.0, 1e-10, 0.9, 1.0],
    "delta": [1e-300, 1e-3, 1e300],
    "alpha": [0.0, 1e-300, 1e300],
    "p": [1.0, 1.1, 10.0, 1e3],
}
KINDS = {
    "kernel": sorted(({*FREE, *NAMES}) - {"precomputed"}),
    "solver": sorted(SOLVERS),
    "standardize": [True],
    "null_space": [Polynomial(1)],
    "approximation": [Nystrom(1), Nystrom(5), Nystrom(50), RandomFeatures(10), "auto"],
}
DRAWN = NUMBERS | KINDS


def exported(rooms: tuple[str, ...] = ROOMS) -> dict[str, type[BaseEstimator]]:
    """Return the estimators that a user can import, by name."""
    found = {}
    for room in rooms:
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if (
                inspect.isclass(value)
                and issubclass(value, BaseEstimator)
                and hasattr(value, "fit")
            ):
                found[name] = value
    return dict(sorted(found.items()))


def make(name: str) -> Any:
    """Return an estimator with the settings of this suite."""
    return EVERY[name](**SETTINGS.get(name, {}))


def kind(machine: Any) -> str:
    """Return what the targets of an estimator are."""
    name = type(machine).__name__
    if name == "Forecaster":
        return "series"
    if name == "CensoredRegressor":
        return "censored"
    if is_classifier(machine) or name == "ThresholdSelector":
        return "labels"
    return "numbers"


MACHINES = exported()
# A room more would give every number of the older stream another estimator.
EVERY = exported((*ROOMS, "mercer.manifold", "mercer_research.risk_bounds"))
MAPS = (GenerativeTopographicMap, PrincipalManifoldCV)
EVERY = dict(sorted((EVERY | {cls.__name__: cls for cls in MAPS}).items()))
