"""The class of a kernel machine: brackets, members, laws, and what the points add."""

import numpy as np
import pytest

from covering.spectra_cases import PERIOD, gaussian
from mercer.gram import Tiled
from mercer.kernels import Gaussian, Matern
from mercer_research.covering import (
    CoefficientBall,
    HilbertBall,
    Interval,
    KernelBall,
    PointCover,
    ball,
    exact_cover,
    feature_box,
    log_packing_bound,
    log_volume_bound,
    with_offset,
)

C = PERIOD**-0.5
THREE = np.array([[0.0], [0.7], [2.0]])


def wrapped(x, width):
    """Return the Gram matrix of the periodic Gaussian."""
    t = x[:, None] - x[None, :]
    return sum(np.exp(-((t + PERIOD * j) ** 2) / (2 * width**2)) for j in range(-6, 7))


def test_worked_three_points():
    K = Gaussian()(THREE)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(K)[::-1], (1.95436722, 0.88661436, 0.15901842), atol=6e-9
    )
    found = KernelBall.from_gram(K)
    # Volume of all three points, printed to three decimals; fewer points say more at 0.5.
    for radius, volume, returned in ((0.5, 0.788, 2.079), (0.1, 5.616, 6.908)):
        sign, log_det = np.linalg.slogdet(K)
        by_hand = 0.5 * log_det + np.log(4 / 3 * np.pi) - 3 * np.log(2 * radius)
        assert sign == 1
        assert by_hand == pytest.approx(volume, abs=6e-4)
        assert found.log_lower(radius) >= by_hand - 1e-12
        assert found.log_covering(radius) == pytest.approx(returned, abs=6e-4)
        assert found.active(radius) == "cube"
        assert log_volume_bound(K, radius) == found.log_lower(radius)
    assert found.log_lower(0.1) == pytest.approx(5.616, abs=6e-4)
    # Four functions are farther apart than 1. What is packed at 0.2 covers what was drawn.
    assert log_packing_bound(K, 0.5) == pytest.approx(np.log(4))
    assert log_packing_bound(K, 0.1) >= log_volume_bound(K, 0.2)
    for radius in (0.5, 0.1):
        assert log_packing_bound(K, radius) <= found.log_covering(radius)


def test_worked_volumes():
    # Printed to three decimals: 300 equally spaced points of a period.
    K = wrapped(np.linspace(-3, 3, 300, endpoint=False), 0.5)
    log_eigenvalues, times = gaussian(0.5)
    found = KernelBall.from_spectrum(
        log_eigenvalues, multiplicity=times, eigenfunction_bound=C, n_points=300
    )
    for radius, lower in zip(
        (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001),
        (1.596, 8.235, 14.542, 22.860, 36.483, 47.573, 87.262),
        strict=True,
    ):
        assert log_volume_bound(K, radius) == pytest.approx(lower, abs=6e-4)
        for member in found.members:
            assert member.log_covering(radius) >= lower


def ellipse(K, n):
    """Return n points of the boundary of the class on two points."""
    t = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(t), np.sin(t)]) @ np.linalg.cholesky(K).T


@pytest.mark.parametrize("distance", [0.3, 1.0, 3.0])
def test_two_points_by_brute_force(distance):
    # The class on two points is a filled ellipse: sets inside it from below, squares from above.
    K = Gaussian()(np.array([[0.0], [distance]]))
    found = KernelBall.from_gram(K)
    inside, rim = ellipse(K, 16), ellipse(K, 1000)
    for radius in (0.7, 0.4, 0.2):
        least = exact_cover(inside, radius, np.inf)
        assert np.log(least) <= found.log_covering(radius) + 1e-12
        filled = np.vstack([rim * s for s in np.linspace(0, 1, 40)])
        squares = np.unique(np.floor(filled / (2 * radius)), axis=0)
        assert found.log_lower(radius) <= np.log(len(squares))
        assert log_packing_bound(K, radius) <= np.log(len(squares))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(2.0), Matern(1.0, nu=0.5)])
def test_every_member_is_above_every_lower_bound(kernel):
    X = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
    K = kernel(X)
    found = KernelBall.from_gram(K, norm=2.0)
    for radius in (1.5, 0.7, 0.2, 0.05):
        lower = max(found.log_lower(radius), log_packing_bound(K, radius, norm=2.0, n_draws=600))
        assert lower > 0
        for member in found.members:
            assert member.log_covering(radius) >= lower
        assert found.log_covering(radius) == min(m.log_covering(radius) for m in found.members)
        assert found.bracket(radius) == (found.log_lower(radius), found.log_covering(radius))


def test_laws_of_the_ball():
    X = np.random.default_rng(1).normal(size=(50, 1))
    K = Gaussian(0.7)(X)
    found, larger = KernelBall.from_gram(K), KernelBall.from_gram(K, norm=3.0)
    radii = found.norm * np.geomspace(1e-3, 1.2, 40)
    at = np.array([found.log_covering(r) for r in radii])
    assert np.all(np.diff(at) <= 1e-9)
    assert at[-1] == 0.0
    for r, value in zip(radii, at, strict=True):
        assert larger.log_covering(3 * r) == pytest.approx(value, rel=1e-9)
        assert larger.log_covering(r) >= value - 1e-9
        assert found.scaled(3.0).log_covering(3 * r) == pytest.approx(value, rel=1e-9)
    # The order of the points does not matter, nor the frame in which features are given.
    order = np.random.default_rng(2).permutation(50)
    mixed = KernelBall.from_gram(K[np.ix_(order, order)])
    for r in (0.5, 0.1, 0.01):
        assert mixed.log_covering(r) == pytest.approx(found.log_covering(r), rel=1e-6)
    few = KernelBall.from_spectrum(*spectrum(), n_points=50)
    many = KernelBall.from_spectrum(*spectrum(), n_points=5000)
    domain = KernelBall.from_spectrum(*spectrum())
    for r in (0.5, 0.1, 0.01):
        assert few.log_covering(r) <= many.log_covering(r) <= domain.log_covering(r) + 1e-9


def spectrum():
    return (np.repeat(*gaussian(0.5)),)


def test_any_frame_is_valid():
    rng = np.random.default_rng(3)
    K = Gaussian(0.7)(rng.normal(size=(40, 2)))
    w, U = np.linalg.eigh(K)
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    Z = U * np.sqrt(np.maximum(w, 0)) @ Q
    turned = KernelBall.from_factor(Z[:, :30], np.sum(Z[:, 30:] ** 2, axis=1))
    best = KernelBall.from_gram(K)
    for radius in (0.6, 0.2):
        lower = log_packing_bound(K, radius, n_draws=600)
        for member in turned.members:
            assert member.log_covering(radius) >= max(lower, best.log_lower(radius))
        assert turned.log_lower(radius) <= best.log_covering(radius)
    with pytest.raises(ValueError, match="residual"):
        KernelBall.from_factor(Z, np.zeros(3))


def test_large_samples_read_few_rows(monkeypatch):
    X = np.random.default_rng(4).normal(size=(120, 1))
    K = Gaussian()(X)
    whole = KernelBall.from_gram(K)
    part = KernelBall.from_gram(Tiled(Gaussian(), X), rank=12)
    for radius in (0.5, 0.1, 0.03):
        value = part.log_covering(radius)
        assert whole.log_lower(radius) <= value <= HilbertBall(120).log_covering(radius)
        # The lower bound knows fewer points.
        assert part.log_lower(radius) <= whole.log_lower(radius) + 1e-9
    monkeypatch.setattr(ball, "COMPLETE", 50)
    # All that rounding leaves of the factor spans what the eigenvectors span: the same axes.
    beyond = KernelBall.from_gram(K)
    assert beyond.log_covering(0.1) == pytest.approx(whole.log_covering(0.1), rel=1e-6)


def test_the_domain_bounds_every_sample_of_it():
    log_eigenvalues, times = gaussian(0.5)
    domain = KernelBall.from_spectrum(log_eigenvalues, multiplicity=times, eigenfunction_bound=C)
    assert domain.norm == pytest.approx(1.0)
    rng = np.random.default_rng(5)
    for m in (5, 40, 200):
        sample = KernelBall.from_gram(wrapped(rng.uniform(-3, 3, m), 0.5))
        for radius in (0.5, 0.1, 0.01):
            assert sample.log_lower(radius) <= domain.log_covering(radius)


def test_outputs_share_the_norm():
    log_eigenvalues, times = gaussian(0.5)
    known = {"multiplicity": times, "eigenfunction_bound": C}
    one = KernelBall.from_spectrum(log_eigenvalues, **known)
    two = KernelBall.from_spectrum(log_eigenvalues, outputs=2, **known)
    for radius in (0.5, 0.1, 0.01):
        assert two.log_covering(radius) == pytest.approx(2 * one.log_covering(radius), rel=1e-9)
    # Brute force: pairs of functions on a sample, packed in the largest Euclidean distance.
    rng = np.random.default_rng(6)
    K = Gaussian()(rng.normal(size=(6, 1)))
    sample = KernelBall.from_gram(K, outputs=2)
    # By Cauchy and Schwarz no value exceeds the root of k(x, x), which one function reaches.
    assert sample.norm == pytest.approx(np.sqrt(np.max(np.diag(K))))
    L = np.linalg.cholesky(K + 1e-12 * np.eye(6))
    w = rng.normal(size=(1500, 6, 2))
    w /= np.linalg.norm(w, axis=(1, 2), keepdims=True)
    values = np.einsum("ij,njd->nid", L, w)
    for radius in (0.45, 0.3):
        kept = []
        for v in values:
            if all(np.max(np.linalg.norm(v - u, axis=1)) > 2 * radius for u in kept):
                kept.append(v)
        assert len(kept) > 1
        for member in sample.members:
            assert np.log(len(kept)) <= member.log_covering(radius)


def test_coefficients_of_a_larger_sum_are_the_same_functions_enlarged():
    # By a power of 2, so that radii scale without rounding.
    K = wrapped(np.linspace(-3, 3, 40), 0.5)
    one, four = (CoefficientBall.from_gram(K, norm=norm) for norm in (1.0, 4.0))
    assert one.norm == np.max(np.abs(K))
    assert four.norm == 4 * one.norm
    for radius in (0.5, 0.1, 0.01):
        assert four.log_covering(4 * radius) == pytest.approx(one.log_covering(radius), rel=1e-12)


def test_indefinite_kernels_have_no_ball():
    X = np.linspace(-1, 1, 30)[:, None]
    K = np.tanh(2 * X @ X.T - 0.5)
    with pytest.raises(ValueError, match="CoefficientBall"):
        KernelBall.from_gram(K)
    convex = CoefficientBall.from_gram(K)
    rng = np.random.default_rng(7)
    draws = rng.dirichlet(np.full(30, 0.05), size=2000) * rng.choice([-1, 1], (2000, 30))
    for radius in (0.4, 0.2, 0.05):
        packed = PointCover(draws @ K, np.inf, start=0, smallest=2 * radius).log_lower(radius)
        for member in convex.members:
            assert 0 < packed <= member.log_covering(radius)
    # Negative eigenvalues: what is true of positive definite kernels only is left out.
    positive = CoefficientBall.from_spectrum([0.0, -1.0, -2.0])
    signed = CoefficientBall.from_spectrum([0.0, -1.0, -2.0], indefinite=True, n_points=4)
    assert len(signed.members) < len(positive.members)
    assert positive.log_covering(0.1) <= CoefficientBall.from_spectrum(
        [0.0, -1.0, -2.0], indefinite=True
    ).log_covering(0.1)
    with pytest.raises(ValueError, match="too many"):
        CoefficientBall.from_gram(np.eye(4001))


def test_convex_combinations_are_a_smaller_class():
    # k(x, x) = 1: coefficients of sum 1 make functions of norm 1 at most.
    log_eigenvalues, times = gaussian(0.5)
    known = {"multiplicity": times, "eigenfunction_bound": C}
    ball = KernelBall.from_spectrum(log_eigenvalues, size=1.0, **known)
    convex = CoefficientBall.from_spectrum(log_eigenvalues, size=1.0, **known)
    K = wrapped(np.linspace(-3, 3, 40), 0.5)
    on_points = KernelBall.from_gram(K), CoefficientBall.from_gram(K)
    for radius in (0.5, 0.1, 0.01, 0.001):
        # wrapped to 1 + 3e-8 at a distance of zero
        assert convex.log_covering(radius) <= ball.log_covering(radius) * (1 + 1e-6)
        assert on_points[1].log_covering(radius) <= on_points[0].log_covering(radius) * (1 + 1e-6)
    rng = np.random.default_rng(8)
    draws = rng.dirichlet(np.full(40, 0.05), size=2000) * rng.choice([-1, 1], (2000, 40))
    for radius in (0.4, 0.2, 0.1):
        packed = PointCover(draws @ K, np.inf, start=0, smallest=2 * radius).log_lower(radius)
        assert 0 < packed <= on_points[1].log_covering(radius) + 1e-9
        assert packed <= convex.log_covering(radius) * (1 + 1e-6)


def test_boxes_shrink_no_faster_than_eigenvalues():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(80, 1))
    K = Gaussian(0.6)(X)
    w, U = np.linalg.eigh(K)
    Z = (U * np.sqrt(np.maximum(w, 0)))[:, ::-1]
    box = feature_box(Z)
    np.testing.assert_allclose(box.root_eigenvalues**2, np.maximum(w[::-1], 0) / 80, atol=1e-14)
    assert np.all(box.sides <= box.eigenfunction_bound * box.root_eigenvalues * (1 + 1e-9))
    beyond = np.append(np.cumsum(np.maximum(w, 0) / 80)[::-1][1:], 0.0)
    for _ in range(5):
        Q = np.linalg.qr(rng.normal(size=(80, 80)))[0]
        assert np.all(feature_box(Z @ Q).tails >= beyond - 1e-12)
    assert np.all(box.tails >= beyond - 1e-12)


def test_an_offset_needs_a_bound():
    found = HilbertBall(3)
    both = with_offset(found, 2.0)
    assert not both.data_dependent
    assert isinstance(both.second, Interval)
    guessed = with_offset(found, targets=[-0.5, 1.0])
    assert guessed.norm == 3.0
    assert guessed.data_dependent
    assert any("offset" in a.text for a in guessed.assumptions)
    shares = np.linspace(0.0005, 0.9995, 4000)
    for radius in (0.5, 0.1):
        assert both.log_covering(radius) >= found.log_covering(radius)
        # An interval of constants takes 2 / r balls, rounded up; the radius is shared at best.
        every = [
            found.log_covering(t * radius) + np.log(np.ceil(2.0 / ((1 - t) * radius)))
            for t in shares
        ]
        # Counts of balls are steps, of which a search may miss one.
        assert both.log_covering(radius) <= min(every) + 0.05
        assert min(every) < every[len(shares) // 2] - 0.2
    with pytest.raises(ValueError, match="give the largest offset"):
        with_offset(found)
    with pytest.raises(ValueError, match="finite"):
        with_offset(found, np.inf)
