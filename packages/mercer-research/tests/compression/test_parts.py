"""Parts of compression: values that are not held, cells, draws."""

import numpy as np
import pytest

from mercer.compression.expansions import KernelFunctions
from mercer.kernels import Gaussian, Laplacian
from mercer_research.compression.stratified_sampling import Strata, _kmeans, draw_terms
from mercer_research.compression.sup_norm import sup_terms


@pytest.mark.parametrize("step", ["exact", "fixed"])
def test_terms_are_the_same_where_values_are_not_held(step, monkeypatch):
    X = np.linspace(-3.0, 3.0, 80)[:, None]
    a = np.sin(9 * X[:, 0]) / 20
    held = sup_terms(Laplacian(1.0), X, a, 0.01, step=step)
    monkeypatch.setattr("mercer_research.compression.sup_norm.HELD", 0.0)
    fresh = sup_terms(Laplacian(1.0), X, a, 0.01, step=step)
    assert len(held.index) > 3
    np.testing.assert_array_equal(fresh.index, held.index)
    np.testing.assert_allclose(fresh.coef, held.coef, rtol=1e-10)


def plain(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return KernelFunctions(
        Gaussian(), X, rng.normal(size=(n, 1)), np.zeros(n, dtype=np.intp), np.ones((1, 1), bool)
    )


def test_cells_are_numbered_from_zero():
    f = plain()
    positive = f.coef[:, 0] > 0
    labels = _kmeans(f.points, np.abs(f.coef[:, 0]), positive, 5, 0)
    assert sorted(np.unique(labels)) == list(range(len(np.unique(labels))))
    for label in np.unique(labels):
        assert len(np.unique(positive[labels == label])) == 1


def test_no_draw_is_one_draw():
    f = plain()
    cells = np.zeros(f.n, dtype=np.intp), np.array([4])
    strata = Strata(*cells, total=1.0, radius=1.0, expected=1.0, bound=1.0)
    none, one = (draw_terms(f, strata, draws, True, 0) for draws in (0, 1))
    np.testing.assert_array_equal(none[0].index, one[0].index)
    assert none[1] == one[1]
