"""Reduced sets at new points: against closed forms, differences and the best choice of old ones."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from mercer.compression.expansions import as_functions
from mercer.compression.preimage import preimages
from mercer.compression.pursuit import matching_pursuit
from mercer.compression.slopes import Slopes
from mercer.kernels import Gaussian, Matern, Polynomial, RationalQuadratic, Stretched


def expansion(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def test_one_point_for_two_is_what_a_search_on_the_line_finds():
    X, a = np.array([[-0.7], [0.5]]), np.array([1.0, 2.0])
    best = minimize_scalar(
        lambda z: -((Gaussian()([[z]], X)[0] @ a) ** 2), bounds=(-1, 1), options={"xatol": 1e-10}
    )
    found = preimages(Gaussian(), X, a, 1)
    # A maximum is known to the root of the precision of its value.
    assert found.points.item() == pytest.approx(best.x, abs=1e-5)
    assert found.coef.item() == pytest.approx(Gaussian()([[best.x]], X)[0] @ a, rel=1e-9)
    square = a @ Gaussian()(X) @ a + best.fun
    assert found.distance == pytest.approx(np.sqrt(square), rel=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),
        2.0 * Stretched(Gaussian(0.7), [1.0, 2.0]),
        RationalQuadratic(1.0),
        Matern(1.5, nu=2.5),
    ],
)
def test_new_points_beat_the_greedy_choice_of_old_ones(kernel):
    X, a = expansion()
    _, _, history = matching_pursuit(kernel, X, a, 4)
    found = preimages(kernel, X, a, 4)
    assert found.distance < 0.95 * history[-1]
    K = kernel(np.vstack([X, found.points]))
    d = np.concatenate([a, -found.coef])
    assert found.distance == pytest.approx(np.sqrt(d @ K @ d), rel=1e-5)
    assert np.all(np.diff(found.distances) < 0)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.8),
        3.0 * Stretched(Gaussian([1.0, 0.5]), 2.0),
        RationalQuadratic(1.0),
        Polynomial(3, coef0=1.0),
    ],
)
def test_gradients_are_those_of_differences(kernel):
    X, a = expansion(20)
    f = as_functions(kernel, X, np.column_stack([a, a**2]))
    box = np.stack([X.min(axis=0), X.max(axis=0)])
    Z = np.array([[0.3, -0.4], [1.0, 0.2]])
    values, slopes = Slopes(kernel, box)(f, Z)
    np.testing.assert_allclose(values, f(Z))
    h = 1e-5
    for j in range(2):
        move = np.zeros(2)
        move[j] = h
        numeric = (f(Z + move) - f(Z - move)) / (2 * h)
        # Central differences: h^2 times a third derivative, and rounding over h.
        np.testing.assert_allclose(slopes[:, :, j], numeric, atol=1e-7 * np.abs(numeric).max() * 10)


def test_it_stops_at_a_distance_and_without_polish():
    X, a = expansion()
    found = preimages(Gaussian(1.0), X, a, 40, distance=2.0, polish=0)
    assert found.distance <= 2.0 < found.distances[-2]


def test_sparse_rows_and_objects_are_refused():
    with pytest.raises(ValueError, match="use method='greedy'"):
        preimages(Gaussian(), csr_array(np.eye(2)), np.ones(2), 1)
