"""Composed operators, Lipschitz classes, mixed norms and rates, against what they bound."""

import numpy as np
import pytest

from covering.spectra_cases import exponential
from mercer.kernels import Gaussian
from mercer_research.compression.foreign import lipschitz_constant
from mercer_research.covering import (
    BestScaling,
    Box,
    Composition,
    ConvexHull,
    DiagonalOperator,
    Ellipsoid,
    ExponentialDecay,
    HilbertBall,
    LipschitzClass,
    PointCover,
    evaluation_rate,
    mixed_norm_factor,
)


@pytest.mark.parametrize("seed", range(4))
def test_a_composition_is_between_its_operator_and_its_ends(seed):
    rng = np.random.default_rng(seed)
    s, r = np.sort(rng.gamma(0.5, size=(2, 6)) + 0.01)[:, ::-1]
    inner, outer = Ellipsoid(np.log(s)), Ellipsoid(np.log(r))
    both = Composition(inner, outer)
    # Diagonal operators compose to one whose axes are products.
    product = DiagonalOperator(np.log(s * r))
    assert both.norm == pytest.approx(product.norm)
    previous = np.inf
    for radius in both.norm * np.array([1e-3, 1e-2, 0.1, 0.3, 0.9]):
        value = both.log_covering(radius)
        assert product.log_lower(radius) <= value <= previous
        assert value <= inner.scaled(outer.norm).log_covering(radius) + 1e-9
        assert value <= outer.scaled(inner.norm).log_covering(radius) + 1e-9
        previous = value
    assert both.log_covering(both.norm) == 0.0


def test_entropy_numbers_multiply():
    inner, outer = DiagonalOperator([0.0, -1.0]), DiagonalOperator([0.5, -0.5])
    both = Composition(inner, outer)
    for n, t in ((3.0, 4.0), (8.0, 2.0), (30.0, 30.0)):
        radius = np.exp(inner.log_entropy(n) + outer.log_entropy(t))
        # Splits are tried this far apart, two axes gain two nats for each of the radius, and the
        # number of balls of either is rounded up.
        step = np.log(both.norm / radius) / 128
        rounded = np.log1p(np.exp(-n)) + np.log1p(np.exp(-t))
        assert both.log_covering(radius) <= n + t + 2 * step + rounded


def test_the_operator_norm_is_the_first_entropy_number():
    for covering in (Ellipsoid([0.3, -1]), HilbertBall(5, 2.0), BestScaling([0.0, -1.0])):
        assert np.exp(covering.log_entropy(0.0)) == pytest.approx(covering.norm, rel=1e-9)


def test_lipschitz_classes_hold_their_functions():
    # Convex combinations of Gaussians on an interval, drawn and packed on a fine grid.
    kernel, width = Gaussian(0.5), 4.0
    slope = lipschitz_constant(kernel)
    grid = np.linspace(0, width, 200)[:, None]
    K = kernel(grid)
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.full(200, 0.01), size=1500) * rng.choice([-1, 1], (1500, 200))
    values = draws @ K
    assert np.max(np.abs(np.diff(values, axis=1)) / np.diff(grid[:, 0])) <= slope * (1 + 1e-9)
    bound = LipschitzClass(slope, Box(width), HilbertBall, largest=1.0)
    hulls = LipschitzClass(slope, Box(width), lambda a: ConvexHull(a, 200))
    previous = np.inf
    for radius in (0.1, 0.2, 0.4):
        packed = PointCover(values, np.inf, start=0, smallest=2 * radius).log_lower(radius)
        for cover in (bound, hulls):
            assert 0 < packed <= cover.log_covering(radius)
        assert bound.log_covering(radius) <= previous
        previous = bound.log_covering(radius)
        # No number of points is better than the one found, but for a hundredth of the radius.
        others = [
            HilbertBall(a).log_covering(left - 0.01 * radius)
            for a in range(1, 400)
            if (left := radius - slope * width / (2 * a)) > 0.02 * radius
        ]
        assert previous <= min(others)
        # Nor is it better than the best number of points that leaves all of its share.
        left = radius - slope * width / (2 * np.arange(1, 400))
        points = np.flatnonzero(left > 0.02 * radius)
        best = min(HilbertBall(k + 1).log_covering(left[k]) for k in points)
        assert previous >= best * (1 - 1e-9)
    assert bound.log_covering(1.0) == 0.0
    assert bound.norm == 1.0
    assert LipschitzClass(0.0, Box(1.0), HilbertBall).log_covering(0.5) == HilbertBall(
        1
    ).log_covering(0.5 * 0.99)


def test_mixed_norms():
    rng = np.random.default_rng(0)
    for power in (1, 1.5, 2, 4, np.inf):
        for D in (1, 2, 5):
            norms = np.abs(rng.normal(size=(2000, D))) ** 3
            norms /= np.linalg.norm(norms, power, axis=1, keepdims=True)
            corner, middle = np.eye(D)[0], np.ones(D) / np.linalg.norm(np.ones(D), power)
            reached = max(np.linalg.norm(corner), np.linalg.norm(middle))
            assert mixed_norm_factor(D, power) == pytest.approx(reached)
            assert np.max(np.linalg.norm(norms, axis=1)) <= reached * (1 + 1e-12)
    with pytest.raises(ValueError, match="at least 1"):
        mixed_norm_factor(2, 0.5)


def test_evaluation_gains_half_a_power():
    # Exponential kernel: entropy numbers of the scaled features fall as (ln n)^(-1/2).
    log_eigenvalues, times, log_tail = exponential(20_000)
    scaling = BestScaling(
        log_eigenvalues, multiplicity=times, log_tail=log_tail, eigenfunction_bound=6**-0.5
    )
    unit = HilbertBall(10**6)
    both = Composition(scaling, unit, radii=unit.steps)
    alone = np.log([scaling.log_covering(r) for r in (0.4, 0.1)])
    # Stirling's correction to the mean logarithm of the 544 or more eigenvalues of a head.
    stirling = 0.5 * np.log(2 * np.pi * 544) / 544
    assert np.log(4) / np.diff(alone)[0] == pytest.approx(0.5, abs=stirling)
    on_points = np.log([both.log_covering(r) for r in (0.02, 0.005)])
    # The logarithm of m, over the number of terms, adds at most this to the exponent.
    beside = 0.5 / np.log(10**6 / unit.terms(0.03))
    assert 1.0 <= np.log(4) / np.diff(on_points)[0] <= 1.0 + beside
    assert evaluation_rate(0.5) == 1.0
    assert evaluation_rate(0.7, "exponential") == 0.7
    with pytest.raises(ValueError, match="'polynomial' or 'exponential'"):
        evaluation_rate(1.0, "none")


@pytest.mark.parametrize(("rate", "power"), [(1.0, 1.0), (0.2, 2.0), (0.05, 2.0), (0.5, 0.5)])
def test_a_law_of_decay_bounds_its_spectrum(rate, power):
    j = np.arange(1, 4001)
    for D in (1, 2):
        spectrum = BestScaling(
            np.log(9.0) - rate * j**power, norm=2.0, eigenfunction_bound=0.5, outputs=D
        )
        law = ExponentialDecay(rate, power, 3.0, 0.5, 2.0, D)
        assert law.norm >= spectrum.norm
        for log_n in (5.0, 40.0, 400.0):
            ratio = np.exp(law.log_entropy(log_n) - spectrum.log_entropy(log_n))
            # Looser than the best scaling of the list, by the worked factor of 2.8 at most.
            assert 1.0 - 1e-9 <= ratio <= 2.85
            radius = np.exp(law.log_entropy(log_n))
            if log_n > 36 and radius < law.norm * (1 - 1e-9):
                assert law.log_covering(radius) == pytest.approx(log_n, rel=1e-6)
    # ln N grows as the power 1 + 1/p of ln(1/radius) plus constants: of one ball, of the factor 6,
    # and of the share of the decay that is left to the features, at least 1e-6 of it.
    logs = [np.log(law.log_covering(r)) for r in (1e-150, 1e-300)]
    constants = abs(np.log(6 * law.norm)) + 0.5 / power * np.log(1e6)
    beside = (1 + 1 / power) * constants / np.log(1e150) / np.log(2)
    assert np.diff(logs)[0] / np.log(2) == pytest.approx(1 + 1 / power, abs=beside)
