"""The residual of a differogram, from its own nugget, sill and scale."""

import numpy as np
import pytest

from mercer_research.series.differogram import _fit


def test_the_residual_is_the_weighted_mean_square():
    rng = np.random.default_rng(0)
    d, count = np.linspace(0.1, 5.0, 40), rng.integers(20, 60, 40).astype(float)
    half = (0.2 + 1.5 * -np.expm1(-0.5 * d**2)) * (1.0 + 0.1 * rng.normal(size=40))
    found = _fit("gaussian", d, half, count)
    rise = 1.0 - found.kernel(np.zeros((1, 1)), d[:, None])[0]
    model = found.nugget + found.partial_sill * rise
    # Pairs are weighed by one over the model of the last step, which has settled.
    expected = np.sum(count / model * (half - model) ** 2) / count.sum()
    assert found.residual == pytest.approx(expected, rel=1e-4)
