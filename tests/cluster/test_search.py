"""A search over a cluster chooses what it chooses in memory, and takes as many passes."""

import dask.array as da
import numpy as np
import pytest

from mercer import LSSVR, SVC
from mercer.data import Arrays
from mercer.distributed import as_source
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.reduced import Nystrom
from mercer.reduced.normal import NormalEquations
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem
from mercer.reduced.targets import Values
from mercer.regularizers.null_space import Constant
from mercer.selection import StreamedSearch

N = 600
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=N)
LABELS = np.array(["no", "yes"])[(Y > 0).astype(int)]
HOW = Nystrom(40, random_state=3)


@pytest.mark.parametrize(
    ("machine", "grid", "y"),
    [
        (LSSVR(approximation=HOW), {"gamma": [0.1, 1.0], "C": [0.1, 10.0]}, Y),
        (SVC(approximation=HOW, tol=1e-2), {"gamma": [0.1, 1.0], "C": [0.1, 1.0]}, LABELS),
    ],
    ids=["numbers", "classes"],
)
def test_the_same_choice(client, machine, grid, y):
    here = StreamedSearch(machine, grid).fit([(X, y)])
    parts = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    there = StreamedSearch(machine, grid).fit(*parts)
    assert there.best_params_ == here.best_params_
    # Within the order of sums; a row at the border may be decided otherwise.
    tolerance = 1e-6 if y is Y else 1.1 / (0.2 * N)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], atol=tolerance
    )
    if y is Y:
        assert there.n_passes_ == here.n_passes_


def test_factors_of_many_functions_travel(client, monkeypatch):
    """Beyond DENSE functions maps leave their factor at home, but equations need it."""
    phi = NystromMap(Gaussian(1.0), X[:40])
    problem = Problem(phi, Constant(), Values(), Squared(), np.ones(1), 3)
    here = NormalEquations.gather(problem, Passes(Arrays(X, Y), rows=150))
    monkeypatch.setattr("mercer.reduced.normal.MAX_DENSE_FEATURES", 10)
    monkeypatch.setattr("mercer.reduced.base.MAX_DENSE_FEATURES", 10)
    parts = da.from_array(X, chunks=(150, -1)), da.from_array(Y, chunks=150)
    passes = Passes(as_source(*parts), rows=150)
    there = NormalEquations.gather(problem, passes, folds=3)
    np.testing.assert_allclose(there.gcv([1.0, 10.0]), here.gcv([1.0, 10.0]), rtol=1e-9)
    assert there.leave_one_out(passes, [1.0]).shape == (1, 1)
