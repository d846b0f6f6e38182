"""Kernel machines: any convex loss, any kernel, anything unpenalized, a certificate on every fit.

Names are imported when they are first used, so that ``import mercer`` itself costs nothing.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from mercer._version import __version__
from mercer._words import did_you_mean

if TYPE_CHECKING:
    from mercer.estimators import (
        LSSVC,
        LSSVR,
        SVC,
        SVR,
        AdditiveClassifier,
        AdditiveRegressor,
        CensoredRegressor,
        ConformalRegressor,
        Forecaster,
        KernelClassifier,
        KernelLogisticRegression,
        KernelRegressor,
        LinearSVC,
        LinearSVR,
        MissingInputRegressor,
        NuSVC,
        NuSVR,
        OneClassSVM,
        QuantileBand,
        QuantileSVR,
        ShapeConstrainedClassifier,
        ShapeConstrainedRegressor,
        SmoothingSpline,
        UniversalKriging,
    )
    from mercer.local import Local
    from mercer.reduced import Nystrom, RandomFeatures
    from mercer.selection import tune
    from mercer.tabular import AutoClassifier, AutoRegressor

__all__ = [
    "LSSVC",
    "LSSVR",
    "SVC",
    "SVR",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "CensoredRegressor",
    "ConformalRegressor",
    "Forecaster",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "LinearSVC",
    "LinearSVR",
    "Local",
    "MissingInputRegressor",
    "NuSVC",
    "NuSVR",
    "Nystrom",
    "OneClassSVM",
    "QuantileBand",
    "QuantileSVR",
    "RandomFeatures",
    "ShapeConstrainedClassifier",
    "ShapeConstrainedRegressor",
    "SmoothingSpline",
    "UniversalKriging",
    "__version__",
    "tune",
]


# Where a name of the list above is found, unless it is in `estimators`.
_HOMES = {
    **dict.fromkeys(["AutoClassifier", "AutoRegressor"], "tabular"),
    **dict.fromkeys(["Nystrom", "RandomFeatures"], "reduced"),
    "Local": "local",
    "tune": "selection",
}


def _rooms() -> list[str]:
    """Return the public modules, except one that needs an extra."""
    hidden = ("_", "distributed")
    return [found.name for found in iter_modules(__path__) if not found.name.startswith(hidden)]


def __getattr__(name: str) -> Any:
    """Import an estimator or a subpackage on first use."""
    if name in __all__:
        return getattr(import_module(f"mercer.{_HOMES.get(name, 'estimators')}"), name)
    if name == "report":
        from mercer._optional import application

        return application("report")
    if name == "research":
        from mercer._optional import plugin

        return plugin("research")
    if name in _rooms():
        return import_module(f"mercer.{name}")
    instead = _instead(name)
    for room in () if name.startswith("_") else _SEARCHED:
        if name in import_module(f"mercer.{room}").__all__:
            instead = f" It is in mercer.{room}: from mercer.{room} import {name}."
            break
    raise AttributeError(f"module 'mercer' has no attribute {name!r}.{instead}")


# Where a name is looked for that is not in the list above.
_SEARCHED = (
    "estimators",
    "selection",
    "kernels",
    "losses",
    "io",
    "preprocessing",
    "manifold",
    "regularizers",
)

# Names that people know from elsewhere, and what to use here.
_KNOWN_ELSEWHERE = {
    "KernelRidge": "LSSVR, kernel ridge regression with an intercept",
    "GaussianProcessRegressor": "mercer.selection.LSSVRCV, whose kernel maximizes the evidence",
    "Nystroem": "Nystrom, as in SVC(approximation=Nystrom(2000))",
    "RBFSampler": "RandomFeatures, as in SVC(approximation=RandomFeatures(2000))",
    "QuantileRegressor": "QuantileSVR, or QuantileBand for several quantiles",
    "IsotonicRegression": "ShapeConstrainedRegressor([Increasing(0)])",
    "MonotoneRegressor": "ShapeConstrainedRegressor([Increasing(0)])",
    "SurvivalSVM": "CensoredRegressor",
    "GAM": "AdditiveRegressor, or AdditiveClassifier",
    "LinearGAM": "AdditiveRegressor",
    "KernelDensity": "scikit-learn's KernelDensity",
    "HuberRegressor": "mercer.estimators.HuberSVR",
    "LogisticRegression": "KernelLogisticRegression",
    "RBF": "mercer.kernels.Gaussian, or kernel='rbf'",
    "StandardScaler": "standardize=True, or scikit-learn's StandardScaler",
    "CoxPHSurvivalAnalysis": "CensoredRegressor, which predicts times",
    "SVDD": "OneClassSVM, the same with a Gaussian kernel",
    "LSSVM": "LSSVC or LSSVR",
    "GaussianProcessClassifier": "KernelLogisticRegression, the mode of its posterior",
    "GridSearchCV": "tune, or scikit-learn's GridSearchCV",
    "MapieRegressor": "ConformalRegressor",
    "LocalOutlierFactor": "OneClassSVM",
}


def _instead(name: str) -> str:
    """Return what to use for a name that people know from elsewhere, or may have mistyped."""
    if name in _KNOWN_ELSEWHERE:
        return f" Use {_KNOWN_ELSEWHERE[name]}."
    return did_you_mean(name, [*__all__, *_rooms()])


def __dir__() -> list[str]:
    return sorted([*__all__, *_rooms()])
