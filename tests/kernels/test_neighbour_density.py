"""The part of pairs within reach of a compact kernel, by counting all of them."""

import numpy as np
import pytest

from mercer.kernels import Wendland
from mercer.kernels.neighbours import Neighbours


@pytest.mark.parametrize("n", [1, 7, 30])
def test_the_density_of_few_points_is_counted(n):
    rng = np.random.default_rng(n)
    kernel = Wendland(0.8)
    X, Z = rng.uniform(0.0, 2.0, (n, 2)), rng.uniform(0.0, 2.0, (40, 2))
    near = kernel(X, Z) > 0
    neighbours = Neighbours(kernel, Z)
    np.testing.assert_array_equal(neighbours.counts(X), near.sum(axis=1))
    assert neighbours.density(X) == pytest.approx(near.mean())
    assert neighbours.density(X[:0]) == 0.0
    assert Neighbours(kernel, Z[:0]).density(X) == 0.0
