"""Capacity against width, equal capacities, and what part of a spectrum matters."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern
from mercer_research.covering import (
    Best,
    Interval,
    MeasuredFrame,
    PrincipalCovering,
    capacity_by_width,
    effective_head,
    equal_capacity,
    periodized_spectrum,
)

X = np.linspace(-2, 2, 120)[:, None]


def cover(kernel):
    return PrincipalCovering(MeasuredFrame.from_gram(kernel(X)))


def test_capacity_falls_with_the_width():
    factors = np.geomspace(0.25, 4.0, 9)
    curve = capacity_by_width(Gaussian(), factors, 0.1, cover)
    assert (np.diff(curve.log_covering) < 0).all()
    assert [k.length_scale for k in curve.kernels] == pytest.approx(factors)
    expected = cover(Gaussian(0.25))
    assert curve.log_covering[0] == expected.log_covering(0.1)
    assert curve.heads[0] == expected.head(0.1)
    assert set(curve.active) == {"principal directions of the sample"}
    with pytest.raises(ValueError, match="both"):
        _ = curve.total


def test_the_sum_of_risk_and_deviation_chooses():
    def risk(kernel):
        return 0.1 * kernel.length_scale

    def deviation(covering):
        return np.sqrt(covering.log_covering(0.1) / 1e4)

    curve = capacity_by_width(
        Gaussian(), [0.25, 0.5, 1.0, 2.0], 0.1, cover, risk=risk, deviation=deviation
    )
    np.testing.assert_allclose(curve.risk, [0.025, 0.05, 0.1, 0.2])
    np.testing.assert_allclose(curve.total, curve.risk + np.sqrt(curve.log_covering / 1e4))
    assert curve.best == curve.kernels[int(np.argmin(curve.total))]


@pytest.mark.parametrize("radius", [0.3, 0.1])
def test_families_at_equal_capacity(radius):
    match = equal_capacity(Matern(nu=2.5), Gaussian(0.8), radius, cover)
    target = cover(Gaussian(0.8)).log_covering(radius)
    assert match.target == target
    assert cover(match.kernel).log_covering(radius) == pytest.approx(target, rel=1e-5)
    # The kernel itself, and a number instead of a kernel.
    same = equal_capacity(Gaussian(3.0), Gaussian(0.8), radius, cover)
    assert same.kernel.length_scale == pytest.approx(0.8, rel=1e-5)
    number = equal_capacity(Matern(nu=2.5), target, radius, cover)
    assert number.factor == pytest.approx(match.factor, rel=1e-6)
    with pytest.raises(ValueError, match="no width"):
        equal_capacity(Gaussian(), 1e6, radius, cover)


def test_the_head_of_the_active_bound():
    one = cover(Gaussian(0.5))
    found = effective_head(one, 0.1)
    assert found.head == one.head(0.1) > 5
    assert found.frequency is None
    assert effective_head(one.scaled(2.0), 0.2).head == found.head
    best = effective_head(Best([one.scaled(5.0), one]), 0.1)
    assert best.head == found.head
    assert best.active == one.name
    assert effective_head(Interval(1.0), 0.1).head is None
    total = effective_head(one + Interval(1.0), 0.1)
    assert total.head >= found.head
    assert effective_head(one, 2.0).head == 0


def test_the_cutoff_frequency_is_that_of_the_shell():
    step = 2 * np.pi / 6
    # Heads of the truncated spectrum in the specification: k is twice the frequency plus one.
    line = periodized_spectrum(Gaussian(0.5), 6.0)
    for radius, head in ((0.9, 1), (0.5, 7), (0.2, 11), (0.1, 13), (0.01, 17), (0.001, 21)):
        found = effective_head(line.ball(), radius, line)
        assert found.active == "truncation"
        assert found.head == head
        assert found.frequency == pytest.approx(step * (head - 1) / 2, abs=1e-12)
    # In the plane shells have 1, 4, 4, 4, 8 points, at squared radii 0, 1, 2, 4, 5.
    plane = periodized_spectrum(Gaussian(1.0), 6.0, dim=2)
    radii = {1: 0.0, 5: 1.0, 9: 2.0, 13: 4.0, 21: 5.0, 25: 8.0, 29: 9.0, 37: 10.0, 45: 13.0}
    for radius in (0.9, 0.3, 0.1):
        found = effective_head(plane.ball(), radius, plane)
        assert found.frequency == pytest.approx(step * np.sqrt(radii[found.head]), abs=1e-12)
    # The best scaling tells its axes for a number of balls: as many as the radius needs.
    scaling = line.ball().members[1]
    found = effective_head(scaling, 0.1)
    assert found.head == scaling.head(scaling.log_covering(0.1))
    assert effective_head(scaling, 2.0).head == 0
    assert effective_head(line.ball().scaled(3.0), 0.3, line).head == 13


def test_width_of_the_lattice_for_a_capacity():
    def ball(kernel):
        return periodized_spectrum(kernel, 6.0).ball()

    curve = capacity_by_width(Gaussian(), np.geomspace(0.1, 1.0, 6), 0.1, ball)
    assert (np.diff(curve.log_covering) < 0).all()
    match = equal_capacity(Gaussian(), 39.6615, 0.1, ball)
    assert match.kernel.length_scale == pytest.approx(0.5, rel=1e-4)
