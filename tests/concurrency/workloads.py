"""Small fits of every kind of machine, and what must not depend on where they run."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mercer import SVC, SVR, KernelLogisticRegression, NuSVR, OneClassSVM
from mercer.estimators import HuberSVR

Task = tuple[Any, NDArray[np.float64], NDArray[np.float64]]


def tasks() -> list[Task]:
    """Return eight unfitted machines, each with data of its own.

    Large enough for several compiled calls each; one has a cache so small that it works in blocks.
    """
    machines = [
        SVC(C=10.0),
        SVC(C=10.0, cache_size=1),
        SVR(C=10.0),
        NuSVR(nu=0.3),
        OneClassSVM(nu=0.2),
        HuberSVR(delta=0.5),
        KernelLogisticRegression(),
        SVC(C=1.0, solver="interior_point"),
    ]
    return [(machine, *_sample(machine, seed)) for seed, machine in enumerate(machines)]


def _sample(machine: Any, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    return X, np.digitize(y, [-0.5, 0.5]).astype(float) if is_classifier(machine) else y


def same(fitted: Any, expected: Any) -> bool:
    """Compare what two machines learned, bit for bit."""
    return all(
        np.array_equal(getattr(fitted, name), getattr(expected, name))
        for name in ("support_", "dual_coef_", "intercept_")
    )


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a process that finds this module."""
    folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | variables
