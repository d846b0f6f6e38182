"""Windows against loops, jumps against their features."""

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import (
    Matern,
    Polynomial,
)
from mercer_research.kernels import Breaks, LocalityImproved

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(6, 3))


def locality_by_loops(x, z, shape, window, inner, outer, taper=False):
    """One pair of images, pixel by pixel."""
    a, b = np.reshape(x, shape), np.reshape(z, shape)
    total = 0.0
    for center in np.ndindex(*shape):
        local = 0.0
        for pixel in np.ndindex(*shape):
            distance = max(abs(i - j) for i, j in zip(center, pixel, strict=True))
            if distance <= window // 2:
                local += a[pixel] * b[pixel] / (1 + distance if taper else 1)
        total += local**inner
    return (total / a.size) ** outer


@pytest.mark.parametrize("shape", [(12,), (3, 4)])
@pytest.mark.parametrize(
    ("window", "inner", "outer", "taper"), [(3, 2, 1, False), (5, 3, 2, True), (1, 1, 4, False)]
)
def test_windows_against_loops(shape, window, inner, outer, taper):
    X, Z = RNG.normal(size=(2, 4, 12))
    kernel = LocalityImproved(shape, window, inner, outer, taper)
    exact = [[locality_by_loops(x, z, shape, window, inner, outer, taper) for z in Z] for x in X]
    scale = np.abs(exact).max()
    np.testing.assert_allclose(kernel(X, Z), exact, rtol=1e-11, atol=1e-13 * scale)
    np.testing.assert_allclose(kernel(sparse.csr_array(X), Z), kernel(X, Z), rtol=1e-12)


def test_one_window_over_everything_is_the_polynomial_kernel():
    kernel = LocalityImproved((3,), window=7, inner=3)
    np.testing.assert_allclose(kernel(X, Z), Polynomial(3)(X, Z), rtol=1e-12)


def test_neighbours_belong_together():
    """Pixels that are exchanged within a window matter less than those carried far away."""
    image = np.zeros((1, 8))
    image[0, [2, 3]] = 1.0
    near, far = np.roll(image, 1), np.zeros((1, 8))
    far[0, [3, 7]] = 1.0
    kernel = LocalityImproved((8,), window=3, inner=2)
    assert Polynomial(2)(image, near) == Polynomial(2)(image, far)
    both = np.zeros((1, 8))
    both[0, [2, 6]] = 1.0
    assert kernel(image, image)[0, 0] > kernel(both, both)[0, 0]


def test_breaks_are_sums_over_their_features():
    knots = [-0.5, 0.0, 0.8]
    x, z = RNG.normal(size=(7, 1)), RNG.normal(size=(5, 1))
    x[0] = 0.0
    exact = np.zeros((7, 5))
    for tau in knots:
        for i in range(3):
            left, right = (
                np.where(u > tau, 1, -1) * (u - tau) ** i / (2.0 if i == 2 else 1.0) for u in (x, z)
            )
            exact += left @ right.T
    np.testing.assert_allclose(Breaks(knots, degree=2)(x, z), exact, rtol=0, atol=1e-12)
    assert Breaks([0.0]).features(np.zeros((1, 1)))[0, 0] == -1.0


def test_a_jump_is_found_where_it_is():
    """A smooth machine with a jump of size 1 at a known place, with almost no penalty on it."""
    x = np.linspace(0, 1, 60)[:, None]
    y = np.sin(2 * x[:, 0]) + (x[:, 0] > 0.4)
    kernel = Matern(2.0, nu=2.5) + 1e3 * Breaks([0.4])
    a = np.linalg.solve(kernel(x) + 1e-6 * np.eye(60), y)
    f = kernel(np.array([[0.4 - 1e-9], [0.4 + 1e-9]]), x) @ a
    assert f[1] - f[0] == pytest.approx(1.0, abs=0.01)
    # Its cost: a function with a jump of height h alone has the norm h^2 / 4.
    step = np.array([[0.3], [0.6]])
    w = np.linalg.pinv(Breaks([0.4])(step)) @ np.array([-0.5, 0.5])
    assert w @ Breaks([0.4])(step) @ w == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LocalityImproved((2, 2))(X), "4 entries but the points have 3"),
        (lambda: LocalityImproved((2.0,)), "tuple of positive integers"),
        (lambda: LocalityImproved((3,), window=2), "odd"),
        (lambda: LocalityImproved((3,), inner=0), "inner must be"),
        (lambda: LocalityImproved((3,), outer=1.5), "outer must be"),
        (lambda: Breaks([]), "finite numbers"),
        (lambda: Breaks([0.0], degree=-1), "at least 0"),
        (lambda: Breaks([0.0])(X), "kernel of one feature"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()
