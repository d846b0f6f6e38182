"""Inequalities of uniform convergence: worked numbers, inverses, and what must rise or fall."""

import numpy as np
import pytest
from scipy.optimize import brentq

from mercer_research.covering import (
    BestScaling,
    FiniteClass,
    GrowthFunction,
    Inequality,
    Interval,
    KernelBall,
    binary_classes,
    finite_classes,
    one_function,
    real_valued_classes,
    sample_entropies,
    squared_errors,
    zero_training_error,
)
from periodic_gaussian import PeriodicGaussian, spectrum

EVERY = {
    "one": one_function(),
    "finite": finite_classes(),
    "real": real_valued_classes(),
    "binary": binary_classes(),
    "weak": binary_classes(printed=True),
    "zero": zero_training_error(),
    "squared": squared_errors(),
}
every = pytest.mark.parametrize("inequality", EVERY.values(), ids=EVERY)


def test_one_mean():
    single = FiniteClass(0.0)
    bound = one_function().probability(single, n_samples=100, radius=0.1)
    assert bound.value == pytest.approx(np.exp(-2), rel=1e-12)
    two = one_function(two_sided=True).probability(single, n_samples=100, radius=0.1)
    assert two.value == pytest.approx(2 * np.exp(-2), rel=1e-12)


def test_squared_errors_as_printed():
    """4 N(r / 16) exp(-r^2 m / 32), where half an interval takes 0.5 / (0.2 / 16) = 40 balls."""
    rule, m = squared_errors(), 10_000
    finite = rule.probability(FiniteClass(np.log(10)), m, 0.2)
    assert finite.value == pytest.approx(40 * np.exp(-12.5), rel=1e-12)
    line = rule.probability(Interval(0.5), m, 0.2)
    assert line.value == pytest.approx(160 * np.exp(-12.5), rel=1e-12)
    width = rule.width(FiniteClass(np.log(10)), m, 0.05)
    assert width.value == pytest.approx(np.sqrt(32 / m * np.log(40 / 0.05)), rel=1e-9)


def test_means_of_different_ranges():
    ranges = np.array([1.0, 2.0, 0.5, 0.0])
    bound = one_function(ranges).width(FiniteClass(0.0), 4, 0.1)
    assert bound.value == pytest.approx(np.sqrt(5.25 * np.log(10) / 2) / 4, rel=1e-12)
    assert np.exp(-2 * 16 * bound.value**2 / 5.25) == pytest.approx(0.1, rel=1e-10)
    with pytest.raises(ValueError, match="ranges"):
        one_function([-1.0])


@pytest.mark.parametrize(
    ("m", "log_growth", "binary", "weak", "zero"),
    [
        (1_000, 60.8871, 0.722602, 1.027325, 0.186327),
        (10_000, 83.9287, 0.265798, 0.377367, 0.0252811),
        (100_000, 106.9561, 0.0943772, 0.133884, 0.00319254),
    ],
)
def test_worked_widths_of_binary_classes(m, log_growth, binary, weak, zero):
    growth = GrowthFunction(10)
    assert growth(2 * m).log_count == pytest.approx(log_growth, abs=5e-5)
    for name, value in (("binary", binary), ("weak", weak), ("zero", zero)):
        bound = EVERY[name].width(growth, m)
        assert bound.value == pytest.approx(value, rel=5e-6)  # six digits
        assert bound.vacuous == (value >= 1)
        assert bound.log_covering == growth(2 * m).log_count


def test_worked_widths_of_a_gaussian_machine():
    # Losses in [0, 1] with Lipschitz constant 1, period 6, norm 1.
    worked = {
        1.0: (0.9961, 0.3684, 0.1339, 0.0469),
        0.5: (1.2152, 0.4581, 0.1676, 0.0599),
        0.1: (2.0543, 0.8260, 0.3135, 0.1149),
    }
    for width, values in worked.items():
        covering = KernelBall.from_spectrum(**spectrum(width))
        by_hand = PeriodicGaussian(width)
        for radius in (0.5, 0.1, 0.01):
            assert covering.log_covering(radius) == pytest.approx(by_hand.log_covering(radius))
        for m, value in zip((10**3, 10**4, 10**5, 10**6), values, strict=True):
            bound = real_valued_classes().width(covering, m)
            assert bound.value == pytest.approx(value, abs=5e-5)
            assert bound.vacuous == (value >= 1)
    scaled = BestScaling(**spectrum(0.5))
    widths = [real_valued_classes().width(scaled, 10**k).value for k in (3, 4, 5, 6)]
    assert widths == pytest.approx([1.3590, 0.5034, 0.1817, 0.0643], abs=5e-5)
    single = [one_function().width(FiniteClass(0.0), 10**k).value for k in (3, 4, 5, 6)]
    # Two sides at 0.05 are one side at 0.025.
    two = [one_function(two_sided=True).width(FiniteClass(0.0), 10**k).value for k in (3, 4, 5, 6)]
    assert np.round(two, 4) == pytest.approx([0.0429, 0.0136, 0.0043, 0.0014], abs=1e-12)
    assert np.all(np.array(single) < two)


def test_coverings_of_points_compete_with_those_of_the_domain():
    # A narrow kernel: on 2000 points greedy terms need fewer functions than the spectrum does.
    def on_points(n_points):
        return KernelBall.from_spectrum(**spectrum(0.1), n_points=n_points, size=1.0)

    few, many = (real_valued_classes().width(on_points, m) for m in (10**3, 10**5))
    assert "greedy terms" in few.method
    assert few.value < 2.0543 - 5e-5
    assert "truncation" in many.method
    rows = real_valued_classes().sample_size(on_points, radius=0.2, delta=0.05).value
    assert real_valued_classes().width(on_points, int(rows)).value <= 0.2
    assert real_valued_classes().width(on_points, int(rows) - 1).value > 0.2


def test_a_constant_covering_gives_the_bound_of_a_finite_class():
    for count, m, delta in ((1, 50, 0.1), (7, 1000, 0.05), (10**6, 10**5, 1e-3)):
        bound = finite_classes().width(FiniteClass(np.log(count)), m, delta)
        assert bound.value == pytest.approx(np.sqrt(np.log(2 * count / delta) / (2 * m)), rel=1e-12)


@every
def test_width_and_probability_are_inverse(inequality):
    covering = FiniteClass(np.log(50.0))
    for m, delta in ((5_000, 0.05), (10**6, 1e-4)):
        width = inequality.width(covering, m, delta)
        assert inequality.probability(covering, m, width.value).value == pytest.approx(delta)
        # Smooth coverings too: the oracle is a root finder on the formula.
        smooth = PeriodicGaussian(0.7)

        def excess(t, m=m, delta=delta, smooth=smooth):
            return inequality.log_probability(smooth, m, np.exp(t)) - np.log(delta)

        found = inequality.width(smooth, m, delta).value
        assert found == pytest.approx(np.exp(brentq(excess, -12, 5, xtol=1e-13)), rel=1e-9)


@every
def test_widths_fall_with_rows_and_with_delta(inequality):
    covering = PeriodicGaussian(0.5)
    rows = [inequality.width(covering, m).value for m in (100, 1000, 10**4, 10**6)]
    assert np.all(np.diff(rows) < 0)
    sure = [inequality.width(covering, 1000, delta).value for delta in (1e-6, 1e-3, 0.05, 0.5)]
    assert np.all(np.diff(sure) < 0)


@every
def test_the_number_of_rows_is_the_least_that_does(inequality):
    for covering in (FiniteClass(np.log(20.0)), GrowthFunction(3), Interval(0.5)):
        bound = inequality.sample_size(covering, radius=0.3, delta=0.05)
        m = int(bound.value)
        assert inequality.probability(covering, m, 0.3).value <= 0.05
        # Smaller samples do not; preconditions count as failures.
        smaller = np.unique(np.r_[np.geomspace(1, m - 1, 60).astype(int), m - 1])
        values = [inequality.probability(covering, int(k), 0.3).value for k in smaller]
        assert np.all(np.array(values) > 0.05)
        assert inequality.width(covering, m, 0.05).value <= 0.3 * (1 + 1e-12)


def test_no_number_of_rows_suffices_for_a_class_that_fits_everything():
    bound = binary_classes().sample_size(lambda n: FiniteClass(n * np.log(2.0)), radius=0.1)
    assert bound.value == np.inf
    assert bound.vacuous


def test_steps_of_coverings_are_taken_from_the_side_that_holds():
    # A finite count that falls to one at radius 0.05: the width may lie exactly on the step.
    class Step(Interval):
        def _log_covering(self, radius):
            return 0.0 if radius >= 0.05 else 100.0

    rule = Inequality("rule", factor=1.0, rate=1.0)
    width = rule.width(Step(1.0), n_samples=10_000, delta=0.05).value
    assert 0.05 <= width <= 0.05 * (1 + 1e-12)
    assert rule.log_probability(Step(1.0), 10_000, width) <= np.log(0.05)


@every
def test_ranges_scale(inequality):
    # Losses in [0, B] are B times losses in [0, 1], and so are their coverings and widths.
    covering = PeriodicGaussian(0.5)
    wide = inequality.over(7.0).width(covering.scaled(7.0), 10_000)
    assert wide.value == pytest.approx(7 * inequality.width(covering, 10_000).value, rel=1e-10)
    assert wide.trivial == 7.0
    # Leaving the range out of the exponent, as sometimes printed, makes widths too small.
    assert inequality.width(covering.scaled(7.0), 10_000).value < wide.value


@every
def test_below_the_least_number_of_rows_nothing_would_be_said_anyway(inequality):
    for radius in (0.01, 0.1, 0.5):
        rows = inequality.least * (1 / radius) ** inequality.power
        if rows > 1:
            last = int(np.ceil(rows)) - 1
            assert inequality.log_probability(FiniteClass(0.0), last, radius) > 0
            assert inequality.probability(FiniteClass(0.0), last, radius).vacuous


def test_bounds_carry_what_they_rest_on():
    bound = real_valued_classes().width(Interval(0.5), 1000)
    assert bound.constants["rate"].value == 36.0
    assert bound.constants["factor"].value == 12_000.0
    assert {assumption.status for assumption in bound.assumptions} == {"assumed"}
    assert bound.valid
    assert not bound.data_dependent
    assert "offset" in bound.method


def test_coverings_on_so_many_points_are_asked_for_twice_the_rows():
    asked = []

    def covering(n_points):
        asked.append(n_points)
        return FiniteClass(1.0)

    real_valued_classes().width(covering, 1000)
    assert set(asked) == {2000}
    asked.clear()
    finite_classes().width(covering, 1000)
    assert set(asked) == {1000}


@pytest.mark.parametrize("wrong", [{"delta": 0.0}, {"delta": 1.0}, {"n_samples": 0}])
def test_wrong_arguments(wrong):
    arguments = {"n_samples": 10, "delta": 0.1} | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        finite_classes().width(FiniteClass(0.0), **arguments)


def test_entropies_are_in_order_and_their_errors_are_right():
    # Counts of sign patterns of thresholds that only sometimes see both clusters.
    rng = np.random.default_rng(0)
    logs = np.log(rng.integers(1, 1000, size=(400, 30)).astype(float))
    every_set = [sample_entropies(row) for row in logs]
    for entropies in every_set:
        assert entropies.mean <= entropies.annealed <= entropies.largest
    # The standard errors are those of 400 repetitions.
    for name in ("mean", "annealed"):
        spread = np.std([getattr(e, name) for e in every_set], ddof=1)
        claimed = np.sqrt(np.mean([getattr(e, f"{name}_error") ** 2 for e in every_set]))
        # A standard deviation of 400 draws is known to 1 / sqrt(800); four of these.
        assert claimed == pytest.approx(spread, rel=4 / np.sqrt(800))
    # Counts beyond the range of floating-point numbers are no trouble.
    assert sample_entropies([5000.0, 5001.0]).annealed == pytest.approx(5000.62011450696)
    with pytest.raises(ValueError, match="two"):
        sample_entropies([1.0])
