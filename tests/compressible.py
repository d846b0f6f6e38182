"""Fitted machines of every kind that compression reads, and where they are looked at."""

from functools import cache

import numpy as np
from sklearn.datasets import load_iris

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    OneClassSVM,
    QuantileSVR,
)
from mercer.estimators import RobustLSSVR, ThinPlateSpline
from mercer.kernels import Matern, Polyharmonic, Polynomial
from mercer.regularizers import Polynomial as Trend


@cache
def surface():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=120)


@cache
def iris():
    return load_iris(return_X_y=True)


MACHINES = {
    "LSSVR": lambda: LSSVR(C=10.0).fit(*surface()),
    "SVR": lambda: SVR(C=10.0).fit(*surface()),
    "quantile": lambda: QuantileSVR(C=10.0).fit(*surface()),
    "robust": lambda: RobustLSSVR(C=10.0).fit(*surface()),
    "standardized": lambda: LSSVR(C=10.0, standardize=True).fit(*surface()),
    "matern": lambda: KernelRegressor("huber", kernel=Matern(1.0), C=10.0).fit(*surface()),
    "polynomial": lambda: LSSVR(Polynomial(4, coef0=1.0), C=1.0).fit(*surface()),
    "trend": lambda: LSSVR(C=10.0, null_space=Trend(1)).fit(*surface()),
    "outputs": lambda: LSSVR(C=10.0).fit(
        surface()[0], np.column_stack([surface()[1]] * 2) ** [1, 2]
    ),
    "one-class": lambda: OneClassSVM(nu=0.5).fit(surface()[0]),
    "thin plate": lambda: ThinPlateSpline().fit(*surface()),
    "two classes": lambda: SVC(C=10.0).fit(iris()[0][50:], iris()[1][50:]),
    "SVC": lambda: SVC(C=1.0, decision_function_shape="ovo").fit(*iris()),
    "NuSVC": lambda: NuSVC(nu=0.3, decision_function_shape="ovo").fit(*iris()),
    "wild SVC": lambda: SVC(kernel=Polyharmonic(1), C=10.0, decision_function_shape="ovo").fit(
        *iris()
    ),
    "LSSVC": lambda: LSSVC(C=10.0).fit(*iris()),
    "codes": lambda: LSSVC(C=10.0, codes="one-vs-one").fit(*iris()),
    "logistic": lambda: KernelLogisticRegression(C=10.0).fit(*iris()),
    "squared hinge": lambda: KernelClassifier("squared_hinge").fit(*iris()),
}


@cache
def fitted(name):
    return MACHINES[name]()


def points(machine):
    return iris()[0] if hasattr(machine, "classes_") else surface()[0]


def values(machine, X):
    """Values of the functions themselves, before classes are told."""
    if isinstance(machine, LSSVC):
        return machine.column_decision(X)
    if hasattr(machine, "decision_function"):
        return machine.decision_function(X)
    return machine.predict(X)
