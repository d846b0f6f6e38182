"""Projection on manifolds: damped steps stay solvable on sets with spare coordinates."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer.manifold import PrincipalManifold, Sphere


def test_a_sphere_has_one_coordinate_more_than_directions():
    # The damping of rows that move for many steps used to vanish, and the system was singular.
    X, _ = load_iris(return_X_y=True)
    shell = PrincipalManifold(Sphere(20), lam=0.01, tol=1e-3).fit(X)
    Z = shell.transform(X)
    assert np.linalg.norm(Z, axis=1) == pytest.approx(1.0, abs=1e-12)
    some = Sphere(20).samples()
    grid = shell.inverse_transform(some)
    nearest = np.min(((X[:, None] - grid[None]) ** 2).sum(axis=2), axis=1)
    assert np.all(shell.distortion(X) <= nearest * (1 + 1e-9))
