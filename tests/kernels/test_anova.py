"""Kernels of all features from one: against brute force over subsets, and taken apart again."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from mercer.kernels import (
    ANOVA,
    Additive,
    BSpline,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    Precomputed,
    Spline,
    Tensor,
    components,
)
from mercer.kernels.anova import subsets

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(8, 5)), RNG.normal(size=(6, 5))


def brute_force(kernel, sizes):
    """The sum over subsets of these sizes, one by one."""
    values = [kernel(X[:, [j]], Z[:, [j]]) for j in range(5)]
    total = np.zeros((8, 6))
    for size in sizes:
        for chosen in combinations(range(5), size):
            total += np.prod([values[j] for j in chosen], axis=0)
    return total


@pytest.mark.parametrize("one", [Gaussian(0.7), Linear(), Polynomial(2, coef0=1.0)], ids=repr)
def test_subsets_are_summed_by_the_recursion(one):
    for order in range(1, 7):
        exact = brute_force(one, range(1, min(order, 5) + 1))
        scale = np.abs(exact).max()
        found = ANOVA(one, order)(X, Z)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(Additive(one)(X, Z), brute_force(one, [1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Tensor(one)(X, Z), brute_force(one, [5]), rtol=1e-12, atol=1e-12)


def test_all_subsets_are_a_product():
    values = [Gaussian(0.7)(X[:, [j]], Z[:, [j]]) for j in range(5)]
    exact = np.prod([1 + value for value in values], axis=0) - 1
    np.testing.assert_allclose(ANOVA(Gaussian(0.7), 5)(X, Z), exact, rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_components_are_counted_and_add_up(order):
    kernel = ANOVA(Gaussian(0.7), order)
    parts = kernel.components(5)
    assert len(parts) == sum(comb(5, k) for k in range(1, order + 1)) == len(subsets(5, order))
    assert len({frozenset(features) for features, _ in parts}) == len(parts)
    np.testing.assert_allclose(sum(k(X, Z) for _, k in parts), kernel(X, Z), rtol=1e-13)


def test_tensor_products_of_gaussians_only_are_radial():
    np.testing.assert_allclose(Tensor(Gaussian(0.9))(X, Z), Gaussian(0.9)(X, Z), rtol=1e-13)
    np.testing.assert_allclose(Tensor(Matern(0.9, nu=0.5))(X, Z), Laplacian(0.9)(X, Z), rtol=1e-13)
    assert np.abs(Tensor(Matern(0.9))(X, Z) - Matern(0.9)(X, Z)).max() > 1e-2
    [(features, product)] = Tensor(Gaussian(0.9)).components(5)
    assert features == (0, 1, 2, 3, 4)
    np.testing.assert_allclose(product(X, Z), Gaussian(0.9)(X, Z), rtol=1e-13)


def test_spectra_of_tensor_products_multiply():
    omega = RNG.normal(size=(7, 2))
    np.testing.assert_allclose(
        Tensor(Gaussian(0.6)).spectrum(omega, 2), Gaussian(0.6).spectrum(omega, 2), rtol=1e-13
    )
    np.testing.assert_allclose(
        Tensor(Matern(0.6, nu=0.5)).spectrum(omega, 2),
        Laplacian(0.6).spectrum(omega, 2),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        Tensor(Matern()).spectrum(omega[:, 0]), Matern().spectrum(omega[:, 0]), rtol=1e-15
    )
    with pytest.raises(ValueError, match="not radial"):
        Tensor(Matern()).spectrum(omega[:, 0], 2)
    with pytest.raises(NotImplementedError):
        Additive(Matern()).spectrum(omega, 2)


def test_properties():
    assert Tensor(Gaussian()).stationary
    assert not Tensor(Linear()).stationary
    assert not Additive(Gaussian()).radial
    assert Tensor(BSpline(2.0)).support.norm == np.inf
    assert Additive(BSpline(2.0)).support is None
    assert Tensor(Periodic(period=3.0)).period == 3.0
    np.testing.assert_array_equal(
        Tensor(Periodic()).coefficients(np.arange(4)), Periodic().coefficients(np.arange(4))
    )
    assert Additive(Spline(3)).unpenalized(2) == [(), (0,), (1,), (0, 0), (1, 1)]
    assert ANOVA(Spline(2), interactions=1).order == 2


def test_parts_of_a_decomposition_sum_to_the_machine():
    """Lemma 9.1 with reciprocal weights: the penalty sum c_t |w_t|^2 over explicit features."""
    X, Z = RNG.normal(size=(12, 3)), RNG.normal(size=(5, 3))
    y = RNG.normal(size=12)
    one, two, three = Linear().on([0]), Polynomial(2, coef0=1.0).on([1, 2]), Linear().on([2])
    weights = [0.5, 2.0, 8.0]
    kernel = (1 / 0.5) * one + 0.5 * (two + (2.0 / 8.0) * three)
    a = np.linalg.solve(kernel(X) + np.eye(12), y)
    parts = components(kernel, 3)
    assert [name for name, _ in parts] == [
        "2.0 * Linear().on([0])",
        "0.5 * Polynomial(degree=2, gamma=1.0, coef0=1.0).on([1, 2])",
        "0.125 * Linear().on([2])",
    ]
    maps = [
        lambda X: X[:, [0]],
        lambda X: Polynomial(2, coef0=1.0).features(X[:, [1, 2]]),
        lambda X: X[:, [2]],
    ]
    blocks = [feature_map(X) for feature_map in maps]
    penalty = np.repeat(weights, [b.shape[1] for b in blocks])
    phi = np.hstack(blocks)
    w = np.linalg.solve(phi.T @ phi + np.diag(penalty), phi.T @ y)
    cuts = np.cumsum([b.shape[1] for b in blocks])[:-1]
    total = np.zeros(5)
    for (_, part), feature_map, own in zip(parts, maps, np.split(w, cuts), strict=True):
        found = part(Z, X) @ a
        np.testing.assert_allclose(found, feature_map(Z) @ own, rtol=0, atol=1e-11)
        total += found
    np.testing.assert_allclose(total, kernel(Z, X) @ a, rtol=0, atol=1e-12)


def test_sums_inside_restrictions_and_multiples_are_taken_apart():
    kernel = (
        2.0 * Additive(Gaussian(0.5)).on([3, 1]) + ANOVA(Linear()).on(slice(2)) + Tensor(Matern())
    )
    parts = components(kernel, 5)
    assert len(parts) == 2 + 3 + 1
    np.testing.assert_allclose(sum(k(X, Z) for _, k in parts), kernel(X, Z), rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ANOVA(Gaussian(), 0), "at least 1"),
        (lambda: ANOVA(Gaussian(), 1.5), "integer"),
        (lambda: Additive("rbf"), "Kernel of one feature"),
        (lambda: Tensor(Precomputed()), "Kernel of one feature"),
        (lambda: Tensor(Multiquadric()), "use Additive"),
        (lambda: ANOVA(Spline()), "conditional order 2"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
