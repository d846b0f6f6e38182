"""Distortions of quantizers: worked numbers, the tail behind the mean, rates and curves."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer_research.covering import (
    Covering,
    CurvesOfLength,
    Distortion,
    FiniteClass,
    Interval,
    KernelBall,
    Rate,
    covering_rate,
    excess_rate,
)
from periodic_gaussian import PeriodicGaussian, spectrum


def test_constants_of_costs():
    squared = Distortion(size=1.5)
    assert squared.largest == pytest.approx(4 * 1.5**2)
    assert squared.lipschitz == pytest.approx(4 * 1.5)
    absolute = Distortion(size=1.5, power=1.0)
    assert (absolute.largest, absolute.lipschitz) == (3.0, 1.0)
    # Random points, maps and codes in the ball: costs of nearby maps differ by no more.
    rng = np.random.default_rng(0)
    for power in (1.0, 2.0, 3.0):
        cost = Distortion(size=1.5, power=power)
        x, f, g = rng.uniform(-1, 1, (3, 2000, 5, 2))
        x, f, g = (
            1.5 * p / np.maximum(1, np.linalg.norm(p, axis=-1, keepdims=True)) for p in (x, f, g)
        )
        costs = [np.min(np.linalg.norm(x[:, :1] - m, axis=-1) ** power, axis=1) for m in (f, g)]
        apart = np.max(np.linalg.norm(f - g, axis=-1), axis=1)
        assert np.max(costs) <= cost.largest
        assert np.all(np.abs(costs[0] - costs[1]) <= cost.lipschitz * apart + 1e-12)


def test_worked_learning_curve():
    # Two outputs of a Gaussian class, covered four times finer than the losses need.
    covering = KernelBall.from_spectrum(**spectrum(0.5), outputs=2)
    by_hand = PeriodicGaussian(0.5, outputs=2)
    assert covering.log_covering(0.01) == pytest.approx(by_hand.log_covering(0.01))
    worked = {10**3: 2.42, 10**4: 0.865, 10**5: 0.304, 10**6: 0.105, 10**7: 0.036}
    for m, value in worked.items():
        digits = 0.005 if value > 1 else 0.0005
        bound = Distortion(shrink=4.0).mean_excess(covering, m)
        assert bound.value == pytest.approx(value, abs=digits)
        assert bound.trivial == 4.0
        assert not bound.vacuous
        # Twice finer is enough, and better.
        assert Distortion().mean_excess(covering, m).value < bound.value


def test_two_ways_of_writing_the_constants():
    # exp(-m (eta - e)^2 / (8 r^4)) and exp(-m (eta - e)^2 / (32 r^4)), radius 1.3.
    r, m = 1.3, 5000
    cost = Distortion(size=r)
    covering = FiniteClass(np.log(12.0))
    eta = cost.deviation(covering, m, 0.05).value
    assert 2 * 12 * np.exp(-m * eta**2 / (8 * r**4)) == pytest.approx(0.05, rel=1e-6)
    eta = cost.excess(covering, m, 0.05).value
    assert 2 * 13 * np.exp(-m * eta**2 / (32 * r**4)) == pytest.approx(0.05, rel=1e-6)


def test_the_best_share_of_the_covering_is_found():
    cost, m, delta = Distortion(), 20_000, 0.05
    covering = Interval(1.0)
    radii = np.geomspace(1e-5, 1, 20_000)
    logs = np.array([covering.log_covering(radius / 8) for radius in radii])
    every = radii + np.sqrt(8 * (np.log(2 / delta) + logs) / m)
    found = cost.deviation(covering, m, delta)
    # Steps of the covering make a landscape of teeth; a scan of 20,000 places finds no more.
    assert found.value <= np.min(every) * 1.005
    assert found.value >= np.min(every) * (1 - 1e-3)
    assert cost.losses(covering).log_covering(0.4) == covering.log_covering(0.1)


def test_the_mean_is_the_integral_of_the_tail():
    m, count = 3000, 40.0
    rate = 32.0
    bound = Distortion().mean_excess(FiniteClass(np.log(count)), m).value

    def tail(t):
        return min(1.0, 2 * (count + 1) * np.exp(-m * t**2 / rate))

    corner = np.sqrt(rate * np.log(2 * (count + 1)) / m)
    exact = quad(tail, 0, corner)[0] + quad(tail, corner, 20 * corner)[0]
    assert exact <= bound <= 1.2 * exact


class Law(Covering):
    """Covering numbers that are a power of 1 / radius, or of its logarithm."""

    name = "law"

    def __init__(self, power=0.0, log_power=0.0):
        self.power, self.log_power = power, log_power

    norm = 1.0

    def _log_covering(self, radius):
        if radius >= 1:
            return 0.0
        return (1 / radius) ** self.power * np.log(1 / radius) ** self.log_power


def test_powers_of_learning_curves():
    m = np.geomspace(1e12, 1e16, 5)
    for power in (0.5, 1.0, 2.0, 4.0):
        curve = [Distortion().mean_excess(Law(power), int(n)).value for n in m]
        slope = np.polyfit(np.log(m), np.log(curve), 1)[0]
        # The last term falls faster, by ln N: a correction of m^(-a / (a + 2)) at 10^12 rows.
        assert -slope == pytest.approx(excess_rate(Rate(-power)).power, abs=2e-3)


def test_logarithms_of_learning_curves():
    for log_power in (1.0, 1.5, 2.0):
        rate = excess_rate(Rate(0.0, log_power))
        assert rate.power == 0.5
        # ln (curve sqrt m) against ln ln m. Constants add some 5 to ln(1 / radius), which is 46 at
        # 10^40 rows: a tenth of the slope.
        m = np.array([1e40, 1e80, 1e160])
        curve = [Distortion().mean_excess(Law(0.0, log_power), n).value for n in m]
        slope = np.polyfit(np.log(np.log(m)), np.log(curve * np.sqrt(m)), 1)[0]
        assert slope == pytest.approx(rate.log_power, rel=0.1)


def test_rates_of_spectra():
    # Worked values of the text: a length penalty, whose eigenvalues fall as 1 / j^2.
    assert excess_rate(covering_rate(Rate(2.0))).power == pytest.approx(1 / 4)
    assert excess_rate(covering_rate(Rate(2.0), absolute=True)).power == pytest.approx(3 / 8)
    assert excess_rate(Rate(-1.0)).power == pytest.approx(1 / 3)
    for a in (1.5, 2.0, 3.0, 7.0):
        assert excess_rate(covering_rate(Rate(a))).power == pytest.approx((a - 1) / (2 * a))
    for p in (0.5, 1.0, 2.0):
        rate = excess_rate(covering_rate(Rate(np.inf, p)))
        assert (rate.power, rate.log_power) == (0.5, pytest.approx((p + 1) / (2 * p)))
    with pytest.raises(ValueError, match="no sum"):
        covering_rate(Rate(1.0))
    assert str(Rate(0.0, 1.5)) == "ln^1.5 t"
    assert str(Rate(0.0)) == "1"


def test_rates_of_coverings_are_those_of_a_spectrum():
    # The truncated Gaussian spectrum in one dimension: ln N grows as ln^(3/2) (1 / radius).
    covering = PeriodicGaussian(0.5)
    radii = np.geomspace(1e-90, 1e-60, 7)
    logs = [covering.log_covering(radius) for radius in radii]
    slope = np.polyfit(np.log(np.log(1 / radii)), np.log(logs), 1)[0]
    assert slope == pytest.approx(covering_rate(Rate(np.inf, 2.0)).log_power, abs=0.03)


def follow(curve, radius, dim, length):
    """Return the curve on the lattice, constant between the middles of steps, and its code."""
    steps = int(np.ceil(length / radius))
    middles = (np.arange(steps) + 0.5) / steps
    width = radius / np.sqrt(dim)
    cells = np.rint(curve(middles) / width).astype(int)
    return cells, cells * width


def test_curves_of_bounded_length_are_followed_on_a_lattice():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 4001)
    for dim, radius in ((1, 0.2), (2, 0.1), (3, 0.3)):
        bound = CurvesOfLength(length=2.0, dim=dim)
        for _ in range(20):
            # A random polygon of length 2 inside the unit ball, at constant speed.
            corners = np.cumsum(rng.standard_normal((12, dim)), axis=0)
            lengths = np.r_[0, np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))]
            corners = (corners - corners.mean(0)) * 2.0 / lengths[-1]
            at = lengths / lengths[-1]

            def curve(s, corners=corners, at=at):
                return np.stack([np.interp(s, at, c) for c in corners.T], axis=1)

            assert np.max(np.linalg.norm(curve(t), axis=1)) <= 1
            cells, places = follow(curve, radius, dim, 2.0)
            step = np.minimum((t * len(cells)).astype(int), len(cells) - 1)
            assert np.max(np.linalg.norm(curve(t) - places[step], axis=1)) <= radius * (1 + 1e-9)
            # Turns are among those that are counted, and so are starts.
            turns = np.max(np.abs(np.diff(cells, axis=0)))
            assert turns <= np.floor(2 * np.sqrt(dim))
            assert np.all(np.abs(cells[0]) <= np.sqrt(dim) / radius + 0.5)
            steps, per = len(cells) - 1, 2 * np.floor(2 * np.sqrt(dim)) + 1
            starts = 2 * np.floor(np.sqrt(dim) / radius + 0.5) + 1
            assert dim * (np.log(starts) + steps * np.log(per)) <= bound.log_covering(radius) + 1e-9
    assert bound.log_covering(1.0) == 0.0
    fine = [CurvesOfLength(2.0, 2).log_covering(r) * r for r in (1e-3, 1e-4, 1e-5)]
    assert fine[2] == pytest.approx(fine[1], rel=0.01)  # O(1 / radius)


def test_wrong_settings():
    with pytest.raises(ValueError, match="shrink"):
        Distortion(shrink=1.0)
    with pytest.raises(ValueError, match="delta"):
        Distortion().excess(FiniteClass(0.0), 100, 0.0)
