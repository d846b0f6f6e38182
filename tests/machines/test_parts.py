"""Parts of machines that no prediction shows, each beside what it is by definition."""

import numpy as np
import pytest

from mercer.machines.variation_machine import _rows_of


@pytest.mark.parametrize("unit", [1.0, 1e-13, 1e13])
def test_rows_span_the_same_in_every_unit(unit):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(7, 3)) @ rng.normal(size=(3, 5))
    basis = _rows_of(unit * Z)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(Z @ basis @ basis.T, Z, atol=1e-12)
