"""Samples measured in orthonormal directions: whole, in blocks, on a box."""

import tracemalloc

import numpy as np
import pytest

from mercer.data.base import Block, Source
from mercer.kernels import Gaussian, Matern
from mercer_research.covering import (
    MeasuredFrame,
    PrincipalCovering,
    nystrom_spectrum,
    periodized_spectrum,
)
from mercer_research.kernels import Periodized

RADII = (0.7, 0.3, 0.1, 0.03)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, (300, 2))


def by_hand(K):
    """Measure principal directions by the definitions, with a loop over rows."""
    values, U = np.linalg.eigh(K)
    kept = values > len(K) * 2.3e-16 * values[-1]
    Z = (U[:, kept] * np.sqrt(values[kept]))[:, ::-1]
    c = np.abs(Z).max(axis=0)
    rest, spread, outer = [np.sqrt(np.diag(K).max())], [0.0], [1.0]
    for t in range(1, Z.shape[1] + 1):
        left = np.maximum([K[s, s] - Z[s, :t] @ Z[s, :t] for s in range(len(K))], 0.0)
        rest.append(np.sqrt(left.max()))
        spread.append(np.sqrt(max(np.sum((z[:t] / c[:t]) ** 2) for z in Z)))
        r = np.maximum(c[:t], rest[-1])
        ends = [np.sum((z[:t] / r) ** 2) + q / rest[-1] ** 2 for z, q in zip(Z, left, strict=True)]
        outer.append(np.sqrt(max(ends)))
    return c, np.array(rest), np.array(spread), np.array(outer)


def test_definitions(X):
    K = Matern(0.7)(X[:60])
    frame = MeasuredFrame.from_gram(K)
    c, rest, spread, outer = by_hand(K)
    np.testing.assert_allclose(frame.axes, c, rtol=1e-9)
    np.testing.assert_allclose(frame.rest[:-1], rest[:-1], rtol=1e-6)
    np.testing.assert_allclose(frame.spread, spread, rtol=1e-8)
    np.testing.assert_allclose(frame.outer_spread[:-1], outer[:-1], rtol=1e-6)
    # Per axis they are at most 1: the box has corners at sqrt(t).
    assert (frame.spread <= np.sqrt(np.arange(61)) * (1 + 1e-12)).all()
    assert frame.size == 1.0


def test_rows_in_blocks_measure_what_the_matrix_does(X):
    # With as many centres as rows the span is that of the sample, and so are its directions.
    kernel = Matern(0.7, nu=1.5)
    whole = MeasuredFrame.from_gram(kernel(X))
    blocks = MeasuredFrame.from_data(kernel, [X[:100], X[100:130], X[130:]], 300)
    np.testing.assert_allclose(blocks.mean_squares[:50], whole.mean_squares[:50], rtol=1e-9)
    np.testing.assert_allclose(blocks.axes[:20], whole.axes[:20], rtol=1e-6)
    np.testing.assert_allclose(blocks.rest[:50], whole.rest[:50], rtol=1e-6)
    for radius in RADII:
        expected = PrincipalCovering(whole).log_covering(radius)
        assert PrincipalCovering(blocks).log_covering(radius) == pytest.approx(expected, rel=1e-5)


def test_the_order_of_rows_does_not_matter(X):
    kernel = Gaussian(0.5)
    order = np.random.default_rng(1).permutation(len(X))
    one, two = (MeasuredFrame.from_data(kernel, rows, 40) for rows in (X, X[order]))
    for name in ("axes", "rest", "spread", "outer_spread"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-6, atol=1e-9)
    for radius in RADII:
        first, second = (PrincipalCovering(f).log_covering(radius) for f in (one, two))
        assert first == second == np.inf or first == pytest.approx(second, rel=1e-6)


def test_few_directions_are_a_bound_still(X):
    # Twenty directions measure as much as all rows need at a coarse radius, and never less than
    # nothing: what they leave is counted.
    kernel = Gaussian(1.0)
    K = kernel(X)
    for centres in ("pivoted", "uniform", "rpcholesky", X[:7]):
        frame = MeasuredFrame.from_data(kernel, X, 20, centres=centres)
        trace = np.trace(K) / len(X)
        left = trace - frame.mean_squares.sum()
        assert frame.rest[-1] ** 2 >= left > 0
        best = np.linalg.eigvalsh(K)[::-1][: len(frame.axes)].sum() / len(X)
        assert frame.mean_squares.sum() <= best * (1 + 1e-12)
        assert (np.diff(frame.rest) <= 1e-12).all()
        assert (np.diff(frame.spread) >= 0).all()


class Cloud(Source):
    """Uniform rows that are made as they are read."""

    def __init__(self, n_rows):
        self.n_rows, self.n_features = n_rows, 3

    def blocks(self, rows):
        for number, start in enumerate(range(0, self.n_rows, rows)):
            n = min(rows, self.n_rows - start)
            X = np.random.default_rng(number).uniform(-1, 1, (n, 3))
            yield Block(X, start=start)


def test_memory_does_not_grow_with_rows():
    kernel = Gaussian(0.8)
    MeasuredFrame.from_data(kernel, Cloud(5_000), 24, n_jobs=1)
    peaks = []
    for n in (12_000, 96_000):
        tracemalloc.start()
        frame = MeasuredFrame.from_data(kernel, Cloud(n), 24, n_jobs=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert frame.n_samples == n
    # Features of all rows would take 16 MB more.
    assert peaks[1] < peaks[0] + 1e6


def test_a_box_is_measured_for_points_off_the_grid():
    kernel, lower, upper = Gaussian(0.6), np.array([-1.0, 0.0]), np.array([1.0, 1.0])
    Z = np.random.default_rng(2).uniform(lower, upper, (12, 2))
    fresh = np.random.default_rng(3).uniform(lower, upper, (4000, 2))
    for spacing in (0.4, 0.1, 0.02):
        box = MeasuredFrame.on_domain(kernel, lower, upper, spacing, 12, centres=Z)
        sample = MeasuredFrame.from_data(kernel, fresh, 12, centres=Z)
        assert not box.data_dependent
        # What all twelve directions leave does not depend on how they are turned.
        assert box.rest[-1] >= sample.rest[-1]
        cell = np.array([2.0, 1.0]) / np.ceil(np.array([2.0, 1.0]) / spacing - 1e-9)
        margin = np.sqrt(2 - 2 * np.exp(-np.sum((cell / 2) ** 2) / (2 * 0.36)))
        plain = MeasuredFrame.from_data(kernel, fresh, 12, centres=Z).rest[-1]
        assert box.rest[-1] <= plain + 2 * margin
        assert box.axes.min() > margin
    # Boxes within boxes, and finer grids, have less capacity.
    coarse, fine = (
        PrincipalCovering(MeasuredFrame.on_domain(kernel, [-1.0], [1.0], h, 12))
        for h in (0.05, 0.005)
    )
    assert fine.log_covering(0.2) < coarse.log_covering(0.2)


def test_nystrom_eigenvalues_of_a_wrapped_kernel():
    # On equidistant points quadrature is exact up to aliases.
    X = np.arange(120)[:, None] * 0.05
    kernel = Periodized(Gaussian(0.5), 6.0)
    exact = periodized_spectrum(Gaussian(0.5), 6.0).log_eigenvalues(15)
    for weights in (None, np.full(120, 0.05)):
        spectrum, sup_norms = nystrom_spectrum(kernel, X, weights, volume=6.0)
        np.testing.assert_allclose(spectrum.log_eigenvalues(15), exact, rtol=0, atol=1e-10)
    # Constants are 1/sqrt(v); a cosine is sqrt(2/v), however a pair is turned.
    assert sup_norms[0] == pytest.approx(6**-0.5, rel=1e-9)
    assert sup_norms[:15].max() <= np.sqrt(2 / 6) * (1 + 1e-9)
    assert spectrum.trace / 6 == pytest.approx(kernel.diag(np.zeros((1, 1)))[0], rel=1e-12)
    frame = MeasuredFrame.from_gram(kernel(X))
    np.testing.assert_allclose(frame.spectrum(6.0).log_eigenvalues(15), exact, rtol=0, atol=1e-10)
    assert frame.spectrum(6.0).eigenfunction_bound == pytest.approx(
        spectrum.eigenfunction_bound, rel=1e-3
    )
    with pytest.raises(ValueError, match="weights"):
        nystrom_spectrum(kernel, X, np.zeros(120))


def test_weights_of_a_gauss_rule():
    # Gauss-Legendre nodes on [-1, 1] against the midpoint rule, extrapolated from two steps.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    gauss, _ = nystrom_spectrum(Gaussian(0.5), nodes[:, None], weights)

    def midpoints(n):
        middle = (np.arange(n) + 0.5)[:, None] * 2 / n - 1
        return nystrom_spectrum(Gaussian(0.5), middle, volume=2.0)[0].log_values[:8]

    expected = (4 * midpoints(300) - midpoints(150)) / 3
    np.testing.assert_allclose(gauss.log_values[:8], expected, rtol=0, atol=3e-6)


def test_by_default_the_measure_of_the_whole_is_1():
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = Gaussian()(X)
    found = np.exp(MeasuredFrame.from_gram(K).spectrum().log_eigenvalues(10))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(K)[::-1][:10] / 30, rtol=1e-9)
