"""The scikit-learn face: machines as declarations of loss, kernel, null space and solver."""

from mercer.estimators.general import KernelClassifier, KernelLogisticRegression, KernelRegressor
from mercer.estimators.one_class import OneClassSVM
from mercer.estimators.svc import SVC, NuSVC
from mercer.estimators.svr import SVR, HuberSVR, NuSVR, QuantileSVR

__all__ = [
    "SVC",
    "SVR",
    "HuberSVR",
    "KernelClassifier",
    "KernelLogisticRegression",
    "KernelRegressor",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "QuantileSVR",
]
