"""Compiling ahead what fits would compile first."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor

from mercer._typing import Estimator, PointsLike, TargetsLike
from mercer.estimators import LSSVC, LSSVR, SVC, SVR, NuSVC, OneClassSVM
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.local import Local
from mercer.reduced import Nystrom
from mercer.selection import tune
from mercer.tabular.forest import Forest


def compiled() -> dict[str, int]:
    """Return the functions that are compiled when first used, and their signatures so far."""
    return {
        f"{name}.{key}": len(value.signatures)
        for name, module in sorted(sys.modules.items())
        if name.startswith("mercer.") and name.endswith("_numba")
        for key, value in vars(module).items()
        if hasattr(value, "signatures") and value.py_func.__module__ == name
    }


def small_fits() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield small fits which between them use every compiled loop, with a word for each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1500)
    labels = X[:, 0] * X[:, 1] > 0.0
    for kernel in (Gaussian(1.0), Gaussian(1e-3), Matern(1.0, nu=1.5), Laplacian(1.0), Linear()):
        for n in (50, 1500):
            one = SVC(kernel=kernel)
            yield f"SVC, {kernel}, {n} rows", partial(_fit, one, X[:n], labels[:n])
        exact = LSSVR(kernel, solver="conjugate_gradient")
        yield f"LSSVR, {kernel}", partial(_fit, exact, X, y)
    for machine in (NuSVC(), LSSVC(), SVC(probability=True)):
        yield type(machine).__name__, partial(_fit, machine, X, labels)
    sparse = SVC(kernel=Linear(), solver="coordinate_descent")
    yield "SVC, sparse rows", partial(_fit, sparse, csr_array(X), labels)
    yield "SVR", partial(_fit, SVR(), X, y)
    for n in (50, 1500):
        yield f"OneClassSVM, {n} rows", partial(_fit, OneClassSVM(), X[:n], None)
    for tuned in (Laplacian(np.ones(3)), Matern(np.ones(3), nu=1.5)):
        yield f"tune, {tuned}", partial(tune, LSSVR(tuned), X[:200], y[:200])
    yield "SVC, landmarks", partial(_fit, SVC(approximation=Nystrom(20)), X, labels)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    yield "forest", partial(Forest.of(forest).predict, X)
    yield "Local", partial(_fit, LSSVR(approximation=Local(400)), X, y)


def _fit(machine: Estimator, X: PointsLike, y: TargetsLike) -> None:
    machine.fit(X, y).predict(X)


def warm(verbose: bool = True) -> int:
    """Compile every loop of the library, so that first fits do not wait.

    Parameters
    ----------
    verbose : bool, default=True
        Write a line a fit, and how long all of it took.

    Returns
    -------
    int
        The number of compiled signatures.
    """
    began = time.perf_counter()
    for name, fit in small_fits():
        since = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit()
        if verbose:
            print(f"{name}: {time.perf_counter() - since:.1f} s", flush=True)
    found = sum(compiled().values())
    if verbose:
        print(f"{found} loops are ready after {time.perf_counter() - began:.0f} s")
    return found
