"""What quantization errors have in common, whatever the latent set and the map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer_research.manifold import KPlanes, PrincipalPlane, VectorQuantizer

X = np.random.default_rng(0).normal(size=(40, 3)) @ np.diag([3.0, 2.0, 1.0])
COSTS = ["squared", "huber", "absolute"]


@pytest.mark.parametrize("cost", COSTS)
def test_names_of_the_latent_points_do_not_matter(cost):
    made = VectorQuantizer(4, cost=cost, random_state=0).fit(X)
    turned = VectorQuantizer(4, cost=cost, init=made.cluster_centers_[::-1]).fit(X)
    assert_allclose(turned.objective_, made.objective_, rtol=1e-9)
    assert_allclose(turned.distortion(X), made.distortion(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cost", COSTS)
def test_a_larger_latent_set_costs_no_more(cost):
    costs = [VectorQuantizer(1, cost=cost).fit(X).objective_]
    for k in range(2, 6):
        last = VectorQuantizer(k - 1, cost=cost, random_state=0).fit(X)
        far = X[[np.argmax(last.distortion(X))]]
        start = np.vstack([last.cluster_centers_, far])
        costs.append(VectorQuantizer(k, cost=cost, init=start).fit(X).objective_)
        assert costs[-1] < last.objective_
    planes = [PrincipalPlane(q, cost=cost).fit(X).objective_ for q in (1, 2, 3)]
    assert planes[0] > planes[1] > planes[2]


@pytest.mark.parametrize("cost", COSTS)
def test_rows_cost_nothing_if_they_are_images_and_only_then(cost):
    rows = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, -1.0]])
    made = VectorQuantizer(3, cost=cost, n_init=20, random_state=0).fit(rows)
    assert made.objective_ == 0.0
    assert np.all(made.distortion(rows + 0.1) > 0.0)
    line = np.outer(np.arange(6.0), [1.0, 2.0, 2.0]) + 1.0
    plane = PrincipalPlane(1, cost=cost).fit(line)
    assert_allclose(plane.distortion(line), 0.0, atol=1e-9)
    assert np.all(plane.distortion(line + np.array([0.0, 0.1, 0.0])) > 1e-3)


def test_mean_clusters_and_lines_are_one_functional():
    """A point, k points, a line and k lines: each a special case of a larger one."""
    point = VectorQuantizer(1).fit(X)
    assert_allclose(point.objective_, X.var(axis=0).sum())
    line = PrincipalPlane(1).fit(X)
    one = KPlanes(1, 1, n_init=1).fit(X)
    assert_allclose(one.objective_, line.objective_)
    assert line.objective_ < point.objective_
    assert KPlanes(2, 1, random_state=0).fit(X).objective_ < line.objective_
    several = VectorQuantizer(3, random_state=0).fit(X)
    for made in (point, several, line, one):
        assert_allclose(made.score(X), -np.mean(made.distortion(X)))
        assert_allclose(made.objective_, np.mean(made.distortion(X)))
        R = X - made.reconstruct(X)
        assert_allclose(made.distortion(X), np.sum(R**2, axis=1), atol=1e-12)
