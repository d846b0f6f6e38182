"""With ``NUMBA_DISABLE_JIT=1`` every compiled loop runs as Python, so that it can be debugged."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor

from mercer import LSSVR, SVC, SVR, NuSVC, OneClassSVM, tune
from mercer.gram import Tiled
from mercer.gram.row_store import RowStore
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.local import Local
from mercer.losses import Hinge
from mercer.reduced import Nystrom
from mercer.solvers._pairs import slopes
from mercer.tabular.forest import Forest

PACKAGE = Path(__file__).parents[1] / "src" / "mercer"
# Reached by a thousand rows and more, which take long as Python.
LARGE = {"weigh_and_bound", "weigh_both"}


def loops() -> set[str]:
    """Return the names of all compiled functions, read from the source."""
    return {
        node.name
        for path in PACKAGE.rglob("_*_numba.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator).startswith("njit") for decorator in node.decorator_list)
    }


def intervals() -> dict[str, tuple[float, float]]:
    """Fit machines to 30 rows; return between which numbers each certifies the least objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y, labels = np.sin(X[:, 0]), X[:, 0] * X[:, 1] > 0.0
    found = {}
    for name, machine, target in [
        ("SVC", SVC(), labels),
        ("SVC by pairs", SVC(kernel=Laplacian(1.0), solver="smo"), labels),
        ("SVC of far points", SVC(kernel=Gaussian(1e-3)), labels),
        ("SVC with a profile", SVC(kernel=Matern(1.0, nu=1.5)), labels),
        ("SVC with a smoother profile", SVC(kernel=Matern(1.0, nu=2.5)), labels),
        ("NuSVC", NuSVC(nu=0.3), labels),
        ("SVR", SVR(), y),
        ("SVR over landmarks", SVR(approximation=Nystrom(5)), y),
        ("OneClassSVM", OneClassSVM(), None),
        ("LSSVR", LSSVR(), y),
        ("LSSVR by products", LSSVR(Gaussian(1.0), solver="conjugate_gradient"), y),
        ("LSSVR of far points", LSSVR(Gaussian(1e-3), solver="conjugate_gradient"), y),
    ]:
        solution = machine.fit(X, target).solution_
        machine.predict(X)
        found[name] = (solution.dual, solution.objective)
    return found


def products() -> None:
    """Run the loops that small fits do not need, and compare what they give with NumPy."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    for kernel in (Gaussian(1.0), Laplacian(1.0)):
        K = kernel(X.astype(np.float64))
        close = {"rtol": 0.0, "atol": 1e-5}  # float32, of forty values of at most one
        wide = np.empty((40, 60), dtype=np.float32)
        evaluate = kernel.against(X)
        np.testing.assert_allclose(evaluate(X, out=wide[:, :40]), K, **close)
        np.testing.assert_allclose(Tiled(kernel, X).matvec(np.ones(40)), K.sum(axis=1), **close)
        double = X.astype(np.float64)
        sums = kernel.against(double).prepare(double).products(double, np.ones((40, 1)), [40])
        np.testing.assert_allclose(sums[0, :, 0], K.sum(axis=1), rtol=1e-12)
        for shape in ((), (2,)):
            F = np.zeros((*shape, 40))
            evaluate.add(F, X[:2], np.ones((*shape, 2)))
            np.testing.assert_allclose(F, np.broadcast_to(K[:2].sum(axis=0), F.shape), **close)
        store = RowStore(Tiled(kernel, X), 40 * 4 * 10)
        store.square(np.arange(5))
        np.testing.assert_allclose(store.square(np.arange(3, 8)), K[3:8, 3:8], **close)
    terms = Hinge().dual_terms(np.array([1.0, -1.0]), np.ones(2))
    up, down = slopes(np.zeros(2), np.array([0.5, 0.0]), terms)
    np.testing.assert_array_equal(up, [-1.0, np.inf])
    np.testing.assert_array_equal(down, [-1.0, 1.0])
    Z = np.repeat(rng.normal(size=(200, 2)), 2, axis=1)
    linear = SVC(kernel=Linear(), solver="coordinate_descent")
    assert linear.fit(csr_array(Z), Z[:, 0] > 0.0).score(csr_array(Z), Z[:, 0] > 0.0) > 0.9
    assert LSSVR(approximation=Local(20)).fit(Z[:60], Z[:60, 0]).score(Z[:60], Z[:60, 0]) > 0.9
    for kernel in (Laplacian(np.ones(2)), Gaussian(np.ones(2))):
        assert tune(LSSVR(kernel), Z[:20, 1:3], Z[:20, 0]).best_estimator_
    forest = RandomForestRegressor(2, max_depth=3, random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(Forest.of(forest).predict(X), forest.predict(X))
    with pytest.warns(FutureWarning, match="probability"):
        SVC(probability=True).fit(Z[:30], Z[:30, 0] > 0.0)


def as_python() -> None:
    """Do all of this and print what was certified and which functions were called."""
    called = set()

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.endswith("_numba.py"):
            called.add(frame.f_code.co_name)

    sys.setprofile(watch)
    found = intervals()
    products()
    sys.setprofile(None)
    print(json.dumps([found, sorted(called)]))


def test_compiled_loops_run_as_python():
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, called = json.loads(done.stdout)
    assert loops() - set(called) == LARGE
    # The least objective lies in both intervals, but for rounding: the same problems were solved.
    compiled = intervals()
    assert found.keys() == compiled.keys()
    for name, (low, high) in found.items():
        assert high - low <= 0.01 * abs(high), name
        gap = max(low, compiled[name][0]) - min(high, compiled[name][1])
        assert gap <= 1e-12 * abs(high), name


if __name__ == "__main__":
    as_python()
