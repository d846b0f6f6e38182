"""Preconditioners from landmarks, and fits that hold one matrix of m by m numbers."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from mercer import LSSVC, LSSVR, SVR, KernelRegressor
from mercer.data import as_source
from mercer.kernels import Gaussian, ThinPlate
from mercer.reduced import Nystrom
from mercer.reduced.nystrom import LandmarkFactor, NystromMap
from mercer.reduced.solve import open_passes

EPS = float(np.finfo(np.float32).eps)


def upper(m, seed=0):
    """The factor of a kernel matrix, upper triangular."""
    Z = np.random.default_rng(seed).normal(size=(m, 2))
    return np.linalg.cholesky(Gaussian(0.5)(Z) + 0.1 * np.eye(m)).T


@pytest.mark.parametrize("q", [0, 1, 3])
@pytest.mark.parametrize("weight", [0.0, 3.0, 1e4])
def test_solutions_are_those_of_the_bordered_matrix(q, weight):
    m = 40
    R, P = upper(m), np.vander(np.linspace(-1.0, 1.0, m), q)
    U = np.vstack([R, P.T])  # features and unpenalized columns of the landmarks
    H = np.diag([1.0] * m + [0.0] * q) + weight / m * U @ U.T
    factor = LandmarkFactor(R, P, weight)
    size = m + (q if weight else 0)  # without weights nothing determines unpenalized columns
    g = np.random.default_rng(1).normal(size=m + q)
    g[size:] = 0.0
    exact = np.linalg.solve(H[:size, :size], g[:size])
    # A factor in single precision has relative errors of eps times the condition, m of them.
    bound = m * EPS * np.linalg.cond(H[:size, :size])
    assert bound < 0.5
    difference = np.linalg.norm(factor.solve(g)[:size] - exact)
    assert difference <= bound * np.linalg.norm(exact)
    assert np.array_equal(factor.solve(1e30 * g), factor.solve(1e30 * g))
    assert np.linalg.norm(factor.solve(1e30 * g) / 1e30 - factor.solve(g)) <= bound


def test_a_matrix_that_rounding_has_made_indefinite_is_made_definite():
    # Columns that are equal, with weights so large that a penalty of one is rounded away.
    R = np.triu(np.ones((30, 30)))
    R[1:] = 0.0
    factor = LandmarkFactor(R, np.ones((30, 1)), 1e12)
    found = factor.solve(np.ones(31))
    assert np.all(np.isfinite(found))
    # It is positive definite, which is all that conjugate gradients ask for.
    assert found @ np.ones(31) > 0


@pytest.mark.parametrize("repeated", [False, True])
def test_a_map_of_one_matrix_has_the_features_of_the_other(repeated):
    rng = np.random.default_rng(0)
    Z, X = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    if repeated:
        Z[7] = Z[30] = Z[2]
    index = np.arange(100, 150)
    usual, frugal = (NystromMap(Gaussian(0.7), Z, index, low) for low in (False, True))
    assert frugal.r == usual.r == (48 if repeated else 50)
    assert set(frugal.index) <= set(index)
    np.testing.assert_array_equal(Z[frugal.index - 100], frugal.Z)
    assert np.array_equal(frugal.R, np.triu(frugal.R))
    K = Gaussian(0.7)(frugal.Z)
    # Backward errors of a Cholesky factor.
    np.testing.assert_allclose(frugal.R.T @ frugal.R, K, rtol=0.0, atol=50 * 2.3e-16 * 4)
    # Inner products of features are those of the projection, whatever its basis.
    one, other = (phi.features(phi.raw(X)) for phi in (usual, frugal))
    spoilt = 1e-15 * np.linalg.cond(K)
    assert spoilt < 1e-3
    np.testing.assert_allclose(one @ one.T, other @ other.T, rtol=0.0, atol=spoilt)
    with pytest.raises(ValueError, match="vanishes on all centres"):
        NystromMap(0.0 * Gaussian(), Z, low_memory=True)


def limits(m, columns=1, n=900, p=3):
    """Bytes that the usual way needs, and that one matrix needs, for m landmarks."""
    X, found = np.zeros((n, p)), []
    for low_memory in (False, True):
        how = Nystrom(m, memory_limit=1000, n_jobs=1)
        with pytest.raises(ValueError, match="needed") as refusal:
            open_passes(as_source(X), how, m, columns, 10 * (m + 8) + 2000, low_memory=low_memory)
        number, unit = re.search(r"but ([\d.]+) (\w+) are", str(refusal.value)).groups()
        found.append(float(number) * {"MB": 1e6, "GB": 1e9}[unit])
    return found


def data(n=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n), rng


@pytest.mark.parametrize("kind", ["LSSVR", "weights", "classes", "outputs"])
def test_a_fit_of_one_matrix_is_the_fit_up_to_its_gap(kind):
    m, (X, y, rng) = 1200, data(1300)
    weights = rng.uniform(0.2, 2.0, size=len(y)) if kind == "weights" else None
    machine = LSSVC if kind == "classes" else LSSVR
    if kind == "classes":
        y = np.digitize(y, [-0.5, 0.5])
    if kind == "outputs":
        y = np.column_stack([y, X[:, 0] ** 2])
    usual, one = limits(m, columns=2 if kind == "outputs" else 1, n=len(X))
    assert one < 0.9 * usual
    found = []
    for limit in (1e9, 0.5 * (one + usual)):
        how = Nystrom(m, memory_limit=int(limit), n_jobs=1)
        # A regular matrix: of a singular one rounding says which landmarks stay.
        made = machine(kernel=Gaussian(0.3), C=10.0, approximation=how)
        found.append(made.fit(X, y, sample_weight=weights))
    dense, low = (made.solution_ for made in found)
    assert low.status.name == "CONVERGED"
    assert low.relative_gap <= 1e-6
    # Both are within their gaps of one minimum.
    assert abs(dense.objective - low.objective) <= dense.gap + low.gap
    assert low.passes > dense.passes  # the other way was really taken
    values = [made.predict(X) if kind != "classes" else made.decision_function(X) for made in found]
    # |w - w*|^2 / 2 is at most the gap, and values are at most |w - w*| times k(x, x) = 1, plus b.
    bound = 4.0 * (np.sqrt(2.0 * dense.gap) + np.sqrt(2.0 * low.gap))
    assert np.max(np.abs(values[0] - values[1])) <= bound


def test_refusals_name_the_landmarks_that_fit():
    X, y, _ = data(300)
    m = 5000
    usual, one = limits(m, n=300)
    how = Nystrom(m, memory_limit=int(0.9 * one), n_jobs=1)
    with pytest.raises(
        ValueError,
        match=r"memory_limit is \d+ MB, but \d+ MB are needed before .*; \d+ centres fit$",
    ) as refusal:
        LSSVR(approximation=how).fit(X, y)
    most = int(re.search(r"(\d+) centres fit$", str(refusal.value))[1])
    assert 0.9 * m < most < m

    def opened(number):
        how = Nystrom(number, memory_limit=int(0.9 * one), n_jobs=1)
        return open_passes(as_source(X, y), how, number, 1, 10 * (m + 8) + 2000, low_memory=True)

    assert opened(most).low_memory
    with pytest.raises(ValueError, match=f"; {most} centres fit$"):
        opened(most + 1)
    # Other losses, and kernels with polynomials of their own, need all matrices.
    between = Nystrom(m, memory_limit=int(0.5 * (one + usual)), n_jobs=1)
    for machine in (SVR(), KernelRegressor(loss="huber"), LSSVR(kernel=ThinPlate(2).on([0, 1]))):
        with pytest.raises(ValueError, match=r"; \d+ centres or random features fit$"):
            machine.set_params(approximation=between).fit(X, y)


CHILD = """
import json, re, sys
from pathlib import Path
import numpy as np
from mercer import LSSVR, Nystrom

def memory(name):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(name + r":\\s+(\\d+)", text)[1])

m, limit = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 8))
y = np.sin(X[:, 0]) + X[:, 1]
# Before it counts, loops are compiled and libraries loaded.
LSSVR(approximation=Nystrom(700)).fit(X[:2000], y[:2000])
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
machine = LSSVR(gamma=0.1, C=10.0, approximation=Nystrom(m, memory_limit=limit, n_jobs=1)).fit(X, y)
print(json.dumps({"peak": memory("VmHWM") - before, "m": machine.solution_.m,
                  "gap": machine.solution_.relative_gap}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")
def test_memory_stays_within_the_limit_that_only_one_matrix_keeps():
    m = 3000
    usual, one = limits(m, n=6000, p=8)
    limit = int(1.01 * one)
    assert limit < 0.8 * usual
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(m), str(limit)],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(run.stdout)
    assert found["m"] == m
    assert found["gap"] <= 1e-6
    assert found["peak"] <= limit
