"""Kernel machines: any convex loss, any kernel, anything unpenalized, a certificate on every fit.

Names are imported when they are first used, so that ``import mercer`` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer._version import __version__

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
        CompetingMachines,
        Component,
        Forecaster,
        GeneralizedLeastSquares,
        HardMarginSVC,
        HardTubeSVR,
        HuberSVR,
        IntervalRegressor,
        KernelClassifier,
        KernelLogisticRegression,
        KernelRegressor,
        LeaveOneOutSVC,
        LocalTubeSVR,
        MissingInputClassifier,
        MissingInputRegressor,
        MixedRegressor,
        NuSparseClassifier,
        NuSparseRegressor,
        NuSVC,
        NuSVR,
        NuTubeSVR,
        OneClassSVM,
        QuantileBand,
        QuantileSVR,
        RegularizationNetwork,
        RobustLSSVR,
        ShapedClassifier,
        ShapedRegressor,
        SmoothingSpline,
        SparseClassifier,
        SparseRegressor,
        SupportVectorTube,
        TermSelector,
        ThinPlateSpline,
        UniversalKriging,
        VariationClassifier,
        VariationRegressor,
        VectorSVR,
        estimate_errors,
    )
    from mercer.reduced import Nystrom, RandomFeatures
    from mercer.selection import LSSVCCV, LSSVRCV, SVCCV, SVRCV, tune

_REDUCED = ["Nystrom", "RandomFeatures"]
_TUNED = ["LSSVCCV", "LSSVRCV", "SVCCV", "SVRCV", "tune"]
_ESTIMATORS = [
    "LSSVC",
    "LSSVR",
    "SVC",
    "SVR",
    "AdaptiveMarginSVC",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CensoredRegressor",
    "CompetingMachines",
    "Component",
    "Forecaster",
    "GeneralizedLeastSquares",
    "HardMarginSVC",
    "HardTubeSVR",
    "HuberSVR",
    "IntervalRegressor",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "LeaveOneOutSVC",
    "LocalTubeSVR",
    "MissingInputClassifier",
    "MissingInputRegressor",
    "MixedRegressor",
    "NuSVC",
    "NuSVR",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "NuTubeSVR",
    "OneClassSVM",
    "QuantileBand",
    "QuantileSVR",
    "RegularizationNetwork",
    "RobustLSSVR",
    "ShapedClassifier",
    "ShapedRegressor",
    "SmoothingSpline",
    "SparseClassifier",
    "SparseRegressor",
    "SupportVectorTube",
    "TermSelector",
    "ThinPlateSpline",
    "UniversalKriging",
    "VariationClassifier",
    "VariationRegressor",
    "VectorSVR",
    "estimate_errors",
]
_ROOMS = [
    "compression",
    "data",
    "density",
    "estimators",
    "fusion",
    "gram",
    "inspect",
    "kernels",
    "linear",
    "losses",
    "plotting",
    "preprocessing",
    "problems",
    "programs",
    "reduced",
    "regularizers",
    "selection",
    "series",
    "smoothing",
    "solvers",
]

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
    "CensoredRegressor",
    "CompetingMachines",
    "Component",
    "Forecaster",
    "GeneralizedLeastSquares",
    "HardMarginSVC",
    "HardTubeSVR",
    "HuberSVR",
    "IntervalRegressor",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "LeaveOneOutSVC",
    "LocalTubeSVR",
    "MissingInputClassifier",
    "MissingInputRegressor",
    "MixedRegressor",
    "NuSVC",
    "NuSVR",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "NuTubeSVR",
    "Nystrom",
    "OneClassSVM",
    "QuantileBand",
    "QuantileSVR",
    "RandomFeatures",
    "RegularizationNetwork",
    "RobustLSSVR",
    "ShapedClassifier",
    "ShapedRegressor",
    "SmoothingSpline",
    "SparseClassifier",
    "SparseRegressor",
    "SupportVectorTube",
    "TermSelector",
    "ThinPlateSpline",
    "UniversalKriging",
    "VariationClassifier",
    "VariationRegressor",
    "VectorSVR",
    "__version__",
    "estimate_errors",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import an estimator or a room on first use."""
    if name in _ESTIMATORS:
        return getattr(import_module("mercer.estimators"), name)
    if name in _REDUCED:
        return getattr(import_module("mercer.reduced"), name)
    if name in _TUNED:
        return getattr(import_module("mercer.selection"), name)
    if name in _ROOMS:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
