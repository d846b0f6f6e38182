"""Steps before a machine, written as values of a graph, beside NumPy's own."""

import numpy as np
import pytest

from mercer.io.steps import interpolated
from mercer.io.symbols import Eager


@pytest.mark.parametrize("counts", [(1, 5), (2, 1), (9, 1), (1, 1), (0, 3)])
def test_interpolation_of_columns_with_different_numbers_of_knots(counts):
    rng = np.random.default_rng(0)
    x = rng.normal(scale=2.0, size=(50, 2))
    knots = [np.sort(rng.normal(size=n)) for n in counts]
    values = [np.sort(rng.normal(size=n)) for n in counts]
    found = interpolated(Eager(np.float64).value(x), knots, values).handle
    # A column without knots is zero.
    expected = [
        np.interp(column, a, f) if len(a) else np.zeros(50)
        for column, a, f in zip(x.T, knots, values, strict=True)
    ]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-12)
