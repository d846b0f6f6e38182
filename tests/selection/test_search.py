"""Surfaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import LSSVR
from mercer.selection import criterion_surface, tune
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import GCV

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(150, 2))
y = np.sin(3 * X[:, 0]) + 0.2 * RNG.normal(size=150)


def test_a_surface_holds_the_criterion_of_every_pair():
    surface = criterion_surface(LSSVR(gamma=0.5), X, y, criterion="gcv")
    k, m = 12, 20
    spectral = Spectral(surface.kernels[k](X), np.ones((150, 1)))
    expected = GCV().value(spectral.at(y, float(surface.Cs[m])))
    assert_allclose(surface.values[k, m], expected, rtol=1e-9)
    assert surface.factors[k] == pytest.approx(1.0)
    assert_allclose(surface.kernels[k].length_scale, 1.0)


def test_the_descent_ends_no_higher_than_the_lowest_point_of_the_surface():
    surface = criterion_surface(LSSVR(), X, y)
    found = tune(LSSVR(), X, y, criterion="loo")
    assert found.best_value_ <= surface.values[surface.best] * 1.0001
    assert set(surface.best_params) == {"kernel", "C"}
    with pytest.raises(ValueError, match="positive"):
        criterion_surface(LSSVR(), X, y, Cs=[0.0])
