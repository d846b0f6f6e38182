"""Symmetries hold at all points, windows against loops, jumps against their features."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import special_ortho_group

from mercer.kernels import (
    Gaussian,
    Invariant,
    Linear,
    Multiquadric,
    Periodic,
    Polynomial,
    Precomputed,
    Symmetrized,
    Transformed,
)
from mercer.kernels.invariant import log_polar

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(6, 3))


# Not isotropic and not stationary, so that nothing holds by accident.
BASE = Gaussian([0.7, 1.5, 2.0]) + 0.3 * Polynomial(3, 0.4, 1.0)


@pytest.mark.parametrize(("parity", "sign"), [("even", 1.0), ("odd", -1.0)])
@pytest.mark.parametrize("center", [0.0, 0.7, [0.5, -1.0, 2.0]])
def test_functions_have_their_parity_everywhere(parity, sign, center):
    kernel = Symmetrized(BASE, parity, center)
    mirror = 2 * np.asarray(center) - X
    exact = (
        BASE(X, Z)
        + sign * BASE(X, 2 * np.asarray(center) - Z)
        + sign * BASE(mirror, Z)
        + BASE(mirror, 2 * np.asarray(center) - Z)
    ) / 4
    K = kernel(X, Z)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(K, exact, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(kernel(mirror, Z), sign * K, rtol=0, atol=1e-12 * scale)
    assert kernel.positive_definite


def test_symmetrizing_twice_changes_nothing_and_parts_add_up():
    even, odd = Symmetrized(BASE), Symmetrized(BASE, "odd")
    np.testing.assert_allclose(Symmetrized(even)(X, Z), even(X, Z), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Symmetrized(even, "odd")(X, Z), 0.0, atol=1e-13)
    projection = (BASE(X, Z) + BASE(-X, -Z)) / 2
    np.testing.assert_allclose(even(X, Z) + odd(X, Z), projection, rtol=1e-12, atol=1e-13)


def test_a_stationary_kernel_needs_half_of_the_terms():
    g = Gaussian(0.8)
    np.testing.assert_allclose(
        Symmetrized(g, "odd")(X, Z), (g(X, Z) - g(X, -Z)) / 2, rtol=0, atol=1e-15
    )


def permutations():
    """The symmetric group of three features with its sign."""
    orders = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)]
    return [np.eye(3)[list(o)] for o in orders], [1, 1, 1, -1, -1, -1]


@pytest.mark.parametrize("signed", [False, True])
def test_functions_are_invariant_under_the_group(signed):
    group, signs = permutations()
    kernel = Invariant(BASE, group, signs if signed else None)
    K = kernel(X, Z)
    for g, sign in zip(group, signs, strict=True):
        np.testing.assert_allclose(
            kernel(X @ g.T, Z), (sign if signed else 1) * K, rtol=0, atol=1e-12
        )
    functions = [lambda X, g=g: X @ g.T for g in group]
    same = Invariant(BASE, functions, signs if signed else None)
    np.testing.assert_allclose(same(X, Z), K, rtol=0, atol=1e-13)
    np.testing.assert_allclose(Invariant(kernel, group)(X, Z), 0.0 if signed else K, atol=1e-12)
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -len(X) * EPS * values[-1] * 10


def test_a_reflection_is_a_group_of_two():
    np.testing.assert_allclose(
        Invariant(BASE, [np.eye(3), -np.eye(3)], [1, -1])(X, Z),
        Symmetrized(BASE, "odd")(X, Z),
        rtol=0,
        atol=1e-13,
    )


def test_log_polar_kernels_do_not_see_turns_and_scales():
    X, Z = RNG.normal(size=(2, 7, 2))
    kernel = Transformed(Gaussian(0.5).on([0]) * Periodic(0.8, period=2 * np.pi).on([1]), log_polar)
    K = kernel(X, Z)
    for scale in (0.1, 5.0):
        Q = scale * special_ortho_group.rvs(2, random_state=1)
        np.testing.assert_allclose(kernel(X @ Q, Z @ Q), K, rtol=0, atol=1e-13)
    assert np.abs(kernel(X + 1.0, Z + 1.0) - K).max() > 0.1
    assert not kernel.stationary
    np.testing.assert_allclose(kernel.diag(X), 1.0)
    np.testing.assert_allclose(kernel.paired(X, Z), K.diagonal(), rtol=1e-14)
    np.testing.assert_allclose(kernel(sparse.csr_array(X), Z), K, rtol=1e-14)
    inner = kernel.kernel.gradient(log_polar(X), log_polar(Z))
    found = kernel.gradient(X, Z)
    assert set(found) == {f"kernel__{name}" for name in inner}
    for name, slope in inner.items():
        np.testing.assert_array_equal(found[f"kernel__{name}"], slope)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Symmetrized("rbf"), "must be a Kernel of points"),
        (lambda: Symmetrized(Precomputed()), "must be a Kernel of points"),
        (lambda: Symmetrized(Multiquadric()), "conditionally positive definite"),
        (lambda: Symmetrized(Linear(), "both"), "'even' or 'odd'"),
        (lambda: Symmetrized(Linear(), center=np.nan), "center must be"),
        (lambda: Symmetrized(Linear(), center=[1.0, 2.0])(X), "2 entries but the points have 3"),
        (lambda: Invariant(Linear(), []), "at least one element"),
        (lambda: Invariant(Linear(), [np.eye(3)], [1, 1]), "one for each element"),
        (lambda: Invariant(Linear(), [np.eye(3)], [2]), "1 or -1"),
        (lambda: Invariant(Linear(), [np.ones((2, 3))]), "square matrices"),
        (lambda: Invariant(Linear(), [np.eye(3), 2 * np.eye(3)]), "not a group"),
        (lambda: Invariant(Linear(), permutations()[0][:3], [1, -1, 1]), "multiplicative"),
        (lambda: Transformed(Linear(), "log"), "map must be a function"),
        (lambda: log_polar(X), "points of the plane"),
        (lambda: log_polar(np.zeros((1, 2))), "The origin has no"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
