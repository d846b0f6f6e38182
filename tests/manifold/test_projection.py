"""Projection on manifolds: steps stay solvable, and are those of the second derivatives."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer._deadline import deadline
from mercer.kernels import Gaussian
from mercer.manifold import Grid, PrincipalManifold
from mercer.manifold.basis import make_basis
from mercer.manifold.distortions import SquaredDistortion
from mercer.manifold.latent import Sphere
from mercer.manifold.projection import Projector, _Search
from mercer.regularizers import Constant, Empty, Polynomial


def test_a_sphere_has_one_coordinate_more_than_directions():
    # The damping of rows that move for many steps used to vanish, and the system was singular.
    X, _ = load_iris(return_X_y=True)
    shell = PrincipalManifold(Sphere(20), lam=0.01, tol=1e-3).fit(X)
    Z = shell.transform(X)
    assert np.linalg.norm(Z, axis=1) == pytest.approx(1.0, abs=1e-12)
    some = Sphere(20).samples()
    assert np.linalg.norm(some, axis=1) == pytest.approx(1.0, abs=1e-12)
    grid = shell.inverse_transform(some)
    nearest = np.min(((X[:, None] - grid[None]) ** 2).sum(axis=2), axis=1)
    assert np.all(shell.distortion(X) <= nearest * (1 + 1e-9))


@pytest.mark.parametrize("null_space", [Empty(), Constant()])
def test_bends_are_differences_of_slopes(null_space):
    rng = np.random.default_rng(0)
    basis = make_basis(Grid(5, 6), Gaussian([0.4, 0.7]), "kernel", null_space)
    W = rng.normal(size=(basis.r + basis.q, 3))
    Z, R, h = rng.uniform(-1, 1, (8, 2)), rng.normal(size=(8, 3)), 1e-5
    slopes, found = basis.tangents(W), basis.bends(W)(Z, R)
    for k in range(2):
        up, down = (slopes(Z + sign * h * np.eye(2)[k])[1] for sign in (1, -1))
        # Central differences are exact to h squared, and to rounding over h.
        expected = np.einsum("nld,nd->nl", up - down, R) / (2 * h)
        np.testing.assert_allclose(found[:, k], expected, atol=1e-6 * np.abs(W).max())
    assert np.abs(found).max() > 1.0


def test_sets_and_free_functions_that_bend_are_left_to_differences():
    for latent, free in ((Sphere(20), Constant()), (Grid(4, 4), Polynomial(2))):
        basis = make_basis(latent, Gaussian(0.5), "kernel", free)
        assert basis.bends(np.zeros((basis.r + basis.q, 2))) is None


def test_the_grid_wins_only_where_it_is_nearer():
    rng = np.random.default_rng(0)
    basis = make_basis(Grid(5, 5), Gaussian(0.5), "kernel", Constant())
    project = Projector(basis, rng.normal(size=(basis.r + basis.q, 3)), SquaredDistortion())
    X = rng.normal(size=(40, 3))
    nearest = project(X)
    # From the answer no row moves; from a bad start every row ends at least as near as the grid.
    again = project(X, nearest.Z, steps=1)
    assert np.all(again.cost <= nearest.cost)
    np.testing.assert_allclose(again.Z, nearest.Z, atol=1e-6)
    images = basis(project.starts) @ project.W
    grid = ((X[:, None] - images[None]) ** 2).sum(axis=2).min(axis=1)
    assert np.all(project(X, np.full((40, 2), -1.0), steps=1).cost <= grid * (1 + 1e-12))


def test_other_minima_are_not_looked_for_after_the_deadline(monkeypatch):
    rng = np.random.default_rng(0)
    basis = make_basis(Grid(5, 5), Gaussian(0.5), "kernel", Constant())
    project = Projector(basis, rng.normal(size=(basis.r + basis.q, 3)), SquaredDistortion())
    X, looks, minima = rng.normal(size=(40, 3)), [], _Search._minima
    monkeypatch.setattr(_Search, "_minima", lambda *args: looks.append(1) or minima(*args))
    nearest = project(X)
    assert looks
    looks.clear()
    with deadline(0.0):
        late = project(X)
    assert not looks
    # Still the nearest image of the grid, or a nearer one.
    images = basis(project.starts) @ project.W
    grid = ((X[:, None] - images[None]) ** 2).sum(axis=2).min(axis=1)
    assert np.all(late.cost <= grid * (1 + 1e-12))
    assert np.all(nearest.cost <= late.cost * (1 + 1e-12))
