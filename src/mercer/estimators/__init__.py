"""The scikit-learn face: machines as declarations of loss, kernel, null space and solver.

Modules are imported when one of their names is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.estimators.adaptive_margin import (
        AdaptiveMarginPath,
        AdaptiveMargins,
        AdaptiveMarginSVC,
        CollapsedMachine,
        LeaveOneOutSVC,
        adaptive_margin_path,
    )
    from mercer.estimators.additive import AdditiveClassifier, AdditiveRegressor, Component
    from mercer.estimators.band import QuantileBand
    from mercer.estimators.censored import CensoredRegressor
    from mercer.estimators.errors import estimate_errors
    from mercer.estimators.forecasting import Backtest, Forecaster
    from mercer.estimators.general import (
        KernelClassifier,
        KernelLogisticRegression,
        KernelRegressor,
    )
    from mercer.estimators.hard_margin import HardMarginSVC, separability
    from mercer.estimators.hard_tube import HardTubeSVR, InfeasibleTube
    from mercer.estimators.intervals import ConformalRegressor
    from mercer.estimators.kriging import UniversalKriging
    from mercer.estimators.least_squares import GeneralizedLeastSquares
    from mercer.estimators.linear_programming import (
        NuSparseClassifier,
        NuSparseRegressor,
        SparseClassifier,
        SparseRegressor,
    )
    from mercer.estimators.ls_svc import LSSVC
    from mercer.estimators.ls_svm import LSSVR
    from mercer.estimators.missing import (
        BreakdownWarning,
        MissingInputClassifier,
        MissingInputRegressor,
    )
    from mercer.estimators.missing_risks import ExpectedRisk, MeanEmbedding, WorstCase
    from mercer.estimators.mixed import PartiallyLinearRegressor
    from mercer.estimators.network import GrowingPenalty, RegularizationNetwork
    from mercer.estimators.one_class import OneClassSVM
    from mercer.estimators.regimes import RegimeSwitchingRegressor
    from mercer.estimators.robust import RobustLSSVR
    from mercer.estimators.shaped import ShapeConstrainedClassifier, ShapeConstrainedRegressor
    from mercer.estimators.spline import SmoothingSpline, ThinPlateSpline
    from mercer.estimators.structure import (
        SparseAdditiveClassifier,
        SparseAdditiveRegressor,
        StructureWarning,
        VariationPath,
    )
    from mercer.estimators.svc import SVC, NuSVC
    from mercer.estimators.svr import SVR, HuberSVR, NuSVR, QuantileSVR
    from mercer.estimators.terms import TermSelector
    from mercer.estimators.tube import SupportVectorTube
    from mercer.estimators.tubes import HeteroscedasticNuSVR, HeteroscedasticSVR
    from mercer.estimators.vector import MultiOutputSVR
    from mercer.machines.expansion import CollinearColumns, IndefiniteKernel
    from mercer.machines.shaping import Knowledge, ShapeCertificate

__all__ = [
    "LSSVC",
    "LSSVR",
    "SVC",
    "SVR",
    "AdaptiveMarginPath",
    "AdaptiveMarginSVC",
    "AdaptiveMargins",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "Backtest",
    "BreakdownWarning",
    "CensoredRegressor",
    "CollapsedMachine",
    "CollinearColumns",
    "Component",
    "ConformalRegressor",
    "ExpectedRisk",
    "Forecaster",
    "GeneralizedLeastSquares",
    "GrowingPenalty",
    "HardMarginSVC",
    "HardTubeSVR",
    "HeteroscedasticNuSVR",
    "HeteroscedasticSVR",
    "HuberSVR",
    "IndefiniteKernel",
    "InfeasibleTube",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "Knowledge",
    "LeaveOneOutSVC",
    "MeanEmbedding",
    "MissingInputClassifier",
    "MissingInputRegressor",
    "MultiOutputSVR",
    "NuSVC",
    "NuSVR",
    "NuSparseClassifier",
    "NuSparseRegressor",
    "OneClassSVM",
    "PartiallyLinearRegressor",
    "QuantileBand",
    "QuantileSVR",
    "RegimeSwitchingRegressor",
    "RegularizationNetwork",
    "RobustLSSVR",
    "ShapeCertificate",
    "ShapeConstrainedClassifier",
    "ShapeConstrainedRegressor",
    "SmoothingSpline",
    "SparseAdditiveClassifier",
    "SparseAdditiveRegressor",
    "SparseClassifier",
    "SparseRegressor",
    "StructureWarning",
    "SupportVectorTube",
    "TermSelector",
    "ThinPlateSpline",
    "UniversalKriging",
    "VariationPath",
    "WorstCase",
    "adaptive_margin_path",
    "estimate_errors",
    "separability",
]

# Where each name is found.
_HOMES = {
    name: module
    for module, names in {
        "estimators.adaptive_margin": (
            "AdaptiveMarginPath",
            "AdaptiveMargins",
            "AdaptiveMarginSVC",
            "CollapsedMachine",
            "LeaveOneOutSVC",
            "adaptive_margin_path",
        ),
        "estimators.additive": ("AdditiveClassifier", "AdditiveRegressor", "Component"),
        "estimators.band": ("QuantileBand",),
        "estimators.censored": ("CensoredRegressor",),
        "estimators.errors": ("estimate_errors",),
        "estimators.forecasting": ("Backtest", "Forecaster"),
        "estimators.general": ("KernelClassifier", "KernelLogisticRegression", "KernelRegressor"),
        "estimators.hard_margin": ("HardMarginSVC", "separability"),
        "estimators.hard_tube": ("HardTubeSVR", "InfeasibleTube"),
        "estimators.intervals": ("ConformalRegressor",),
        "estimators.kriging": ("UniversalKriging",),
        "estimators.least_squares": ("GeneralizedLeastSquares",),
        "estimators.linear_programming": (
            "NuSparseClassifier",
            "NuSparseRegressor",
            "SparseClassifier",
            "SparseRegressor",
        ),
        "estimators.ls_svc": ("LSSVC",),
        "estimators.ls_svm": ("LSSVR",),
        "estimators.missing": (
            "BreakdownWarning",
            "MissingInputClassifier",
            "MissingInputRegressor",
        ),
        "estimators.missing_risks": ("ExpectedRisk", "MeanEmbedding", "WorstCase"),
        "estimators.mixed": ("PartiallyLinearRegressor",),
        "estimators.network": ("GrowingPenalty", "RegularizationNetwork"),
        "estimators.one_class": ("OneClassSVM",),
        "estimators.regimes": ("RegimeSwitchingRegressor",),
        "estimators.robust": ("RobustLSSVR",),
        "estimators.shaped": ("ShapeConstrainedClassifier", "ShapeConstrainedRegressor"),
        "estimators.spline": ("SmoothingSpline", "ThinPlateSpline"),
        "estimators.structure": (
            "StructureWarning",
            "SparseAdditiveClassifier",
            "VariationPath",
            "SparseAdditiveRegressor",
        ),
        "estimators.svc": ("SVC", "NuSVC"),
        "estimators.svr": ("SVR", "HuberSVR", "NuSVR", "QuantileSVR"),
        "estimators.terms": ("TermSelector",),
        "estimators.tube": ("SupportVectorTube",),
        "estimators.tubes": ("HeteroscedasticSVR", "HeteroscedasticNuSVR"),
        "estimators.vector": ("MultiOutputSVR",),
        "machines.expansion": ("CollinearColumns", "IndefiniteKernel"),
        "machines.shaping": ("Knowledge", "ShapeCertificate"),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    """Import what is asked for on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mercer.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
