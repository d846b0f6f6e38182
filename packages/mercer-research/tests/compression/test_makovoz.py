"""Rates of few terms, by covering a cube."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Matern, StringSpectrum
from mercer_research.compression import makovoz


@pytest.mark.parametrize(
    ("kernel", "dim", "exponent"),
    [
        (Laplacian(1.0), 1, -1.0),  # alpha = 1: -(1 + 1) / 2
        (Matern(1.0, nu=1.5), 1, -1.5),  # alpha = 3, and no more than 2 counts
        (Gaussian(1.0), 2, -1.0),  # -1/2 - min(alpha, 2) / (2 d)
    ],
)
def test_rates(kernel, dim, exponent):
    found = makovoz(kernel, 2**20, 6.0, dim)
    assert found.exponent == pytest.approx(exponent, abs=2e-3)
    # The cubes fill the domain, once for each sign.
    edge = 2 * found.input_radius / np.sqrt(dim)
    assert found.cells == 2 * round(6.0 / edge) ** dim
    assert found.cells <= 2**20
    assert found.bound == 2 * found.expected


def test_the_bound_of_equal_cells():
    """The printed number for n = 8: cells of width 1.5 for each sign."""
    assert makovoz(Laplacian(1.0), 8, 6.0).expected == pytest.approx(0.363, abs=5e-4)
    h = 0.75
    assert makovoz(Laplacian(1.0), 8, 6.0).entropy_number == pytest.approx(
        np.sqrt(2 * (1 - np.exp(-h)))
    )
    with pytest.raises(ValueError, match="not stationary"):
        makovoz(StringSpectrum(2), 8, 1.0)
    with pytest.raises(ValueError, match="two signs"):
        makovoz(Laplacian(1.0), 1, 1.0)
