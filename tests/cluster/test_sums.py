"""Normal equations over a cluster are those in memory."""

import dask.array as da
import numpy as np

from mercer.data import Arrays
from mercer.distributed import as_source
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.reduced.normal_equations import NormalEquations
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, Values
from mercer.regularizers.null_space import Constant

N = 600
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=N)


def test_factors_of_many_functions_travel(client, monkeypatch):
    """Beyond DENSE functions maps leave their factor at home, but equations need it."""
    phi = NystromMap(Gaussian(1.0), X[:40])
    problem = Problem(phi, Constant(), Values(), Squared(), np.ones(1), 3)
    here = NormalEquations.gather(problem, Passes(Arrays(X, Y), rows=150))
    monkeypatch.setattr("mercer.reduced.normal_equations.MAX_DENSE_FEATURES", 10)
    monkeypatch.setattr("mercer.reduced.base.MAX_DENSE_FEATURES", 10)
    parts = da.from_array(X, chunks=(150, -1)), da.from_array(Y, chunks=150)
    passes = Passes(as_source(*parts), rows=150)
    there = NormalEquations.gather(problem, passes)
    np.testing.assert_allclose(there.gcv([1.0, 10.0]), here.gcv([1.0, 10.0]), rtol=1e-9)
