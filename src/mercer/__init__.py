"""Kernel machines: any convex loss, any kernel, anything unpenalized, a certificate on every fit.

Names are imported when they are first used, so that ``import mercer`` itself costs nothing.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any
from warnings import warn

from mercer._version import __version__
from mercer._words import did_you_mean

if TYPE_CHECKING:
    from mercer.estimators import (
        LSSVC,
        LSSVR,
        SVC,
        SVR,
        AdaptiveMarginSVC,
        AdditiveClassifier,
        AdditiveRegressor,
        CensoredRegressor,
        Component,
        ConformalRegressor,
        Forecaster,
        GeneralizedLeastSquares,
        HardMarginSVC,
        HardTubeSVR,
        HeteroscedasticNuSVR,
        HeteroscedasticSVR,
        HuberSVR,
        KernelClassifier,
        KernelLogisticRegression,
        KernelRegressor,
        LeaveOneOutSVC,
        MissingInputClassifier,
        MissingInputRegressor,
        MultiOutputSVR,
        NuSparseClassifier,
        NuSparseRegressor,
        NuSVC,
        NuSVR,
        OneClassSVM,
        PartiallyLinearRegressor,
        QuantileBand,
        QuantileSVR,
        RegimeSwitchingRegressor,
        RegularizationNetwork,
        RobustLSSVR,
        ShapeConstrainedClassifier,
        ShapeConstrainedRegressor,
        SmoothingSpline,
        SparseAdditiveClassifier,
        SparseAdditiveRegressor,
        SparseClassifier,
        SparseRegressor,
        SupportVectorTube,
        TermSelector,
        ThinPlateSpline,
        UniversalKriging,
        estimate_errors,
    )
    from mercer.reduced import Nystrom, RandomFeatures
    from mercer.reporting import report
    from mercer.selection import LSSVCCV, LSSVRCV, SVCCV, SVRCV, tune
    from mercer.tabular import AutoClassifier, AutoRegressor

__all__ = [
    "LSSVC",
    "LSSVCCV",
    "LSSVR",
    "LSSVRCV",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "AdaptiveMarginSVC",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "CensoredRegressor",
    "Component",
    "ConformalRegressor",
    "Forecaster",
    "GeneralizedLeastSquares",
    "HardMarginSVC",
    "HardTubeSVR",
    "HeteroscedasticNuSVR",
    "HeteroscedasticSVR",
    "HuberSVR",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "LeaveOneOutSVC",
    "MissingInputClassifier",
    "MissingInputRegressor",
    "MultiOutputSVR",
    "NuSVC",
    "NuSVR",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "Nystrom",
    "OneClassSVM",
    "PartiallyLinearRegressor",
    "QuantileBand",
    "QuantileSVR",
    "RandomFeatures",
    "RegimeSwitchingRegressor",
    "RegularizationNetwork",
    "RobustLSSVR",
    "ShapeConstrainedClassifier",
    "ShapeConstrainedRegressor",
    "SmoothingSpline",
    "SparseAdditiveClassifier",
    "SparseAdditiveRegressor",
    "SparseClassifier",
    "SparseRegressor",
    "SupportVectorTube",
    "TermSelector",
    "ThinPlateSpline",
    "UniversalKriging",
    "__version__",
    "estimate_errors",
    "report",
    "tune",
]


# Where a name of the list above is found, unless it is in `estimators`.
_HOMES = {
    **dict.fromkeys(["Nystrom", "RandomFeatures"], "reduced"),
    **dict.fromkeys(["LSSVCCV", "LSSVRCV", "SVCCV", "SVRCV", "tune"], "selection"),
    **dict.fromkeys(["AutoClassifier", "AutoRegressor"], "tabular"),
    "report": "reporting",
}


# What a listing of the package shows; all other names of the list above are imported the same way.
_FIRST = (
    *("AutoRegressor", "AutoClassifier", "SVR", "SVC", "OneClassSVM", "LSSVR", "LSSVC"),
    *("KernelRegressor", "KernelClassifier", "KernelLogisticRegression", "AdditiveRegressor"),
    *("QuantileBand", "ConformalRegressor", "ShapeConstrainedRegressor", "CensoredRegressor"),
    *("UniversalKriging", "Forecaster", "tune", "report"),
)

# Names before the first release, by the names that tell the task.
_RENAMED = {
    "CompetingMachines": "RegimeSwitchingRegressor",
    "IntervalRegressor": "ConformalRegressor",
    "LocalTubeSVR": "HeteroscedasticSVR",
    "MixedRegressor": "PartiallyLinearRegressor",
    "NuTubeSVR": "HeteroscedasticNuSVR",
    "ShapedClassifier": "ShapeConstrainedClassifier",
    "ShapedRegressor": "ShapeConstrainedRegressor",
    "VariationClassifier": "SparseAdditiveClassifier",
    "VariationRegressor": "SparseAdditiveRegressor",
    "VectorSVR": "MultiOutputSVR",
}


def _rooms() -> list[str]:
    """Return the subpackages, except the one that needs Dask and the one that makes no promises."""
    hidden = ("distributed", "research")
    return [m.name for m in iter_modules(__path__) if m.ispkg and m.name not in hidden]


def __getattr__(name: str) -> Any:
    """Import an estimator or a subpackage on first use."""
    if name in __all__:
        return getattr(import_module(f"mercer.{_HOMES.get(name, 'estimators')}"), name)
    if name in _rooms():
        return import_module(f"mercer.{name}")
    if name in _RENAMED:
        new = _RENAMED[name]
        warn(f"mercer.{name} is now called {new}.", FutureWarning, stacklevel=2)
        return __getattr__(new)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}.{_instead(name)}")


# Names that people know from elsewhere, and what to use here.
_KNOWN_ELSEWHERE = {
    "LinearSVC": "SVC(kernel='linear')",
    "LinearSVR": "SVR(kernel='linear')",
    "KernelRidge": "LSSVR, kernel ridge regression with an intercept",
    "GaussianProcessRegressor": "LSSVRCV, whose kernel maximizes the evidence",
    "Nystroem": "Nystrom, as in SVC(approximation=Nystrom(2000))",
    "RBFSampler": "RandomFeatures, as in SVC(approximation=RandomFeatures(2000))",
    "QuantileRegressor": "QuantileSVR, or QuantileBand for several quantiles",
    "IsotonicRegression": "ShapeConstrainedRegressor([Increasing(0)])",
    "MonotoneRegressor": "ShapeConstrainedRegressor([Increasing(0)])",
    "SurvivalSVM": "CensoredRegressor",
    "GAM": "AdditiveRegressor, or AdditiveClassifier",
    "LinearGAM": "AdditiveRegressor",
    "KernelDensity": "mercer.density.KernelCDF, or scikit-learn's KernelDensity",
    "HuberRegressor": "HuberSVR",
    "LogisticRegression": "KernelLogisticRegression",
    "KernelPCA": "mercer.manifold.KernelPCA",
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
    return sorted([*_FIRST, *_rooms()])
