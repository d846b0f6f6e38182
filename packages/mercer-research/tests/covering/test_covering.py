"""The algebra of covering numbers: scales, sums and the best of several bounds."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer.risk_bounds import Assumption, Bound
from mercer_research.covering import Best, Covering, Interval, Sum


def test_an_interval_needs_so_many_balls():
    line = Interval(1.0)
    for radius, count in ((1.0, 1), (0.5, 2), (0.3, 4), (1 / 3, 3), (2.0, 1)):
        assert np.exp(line.log_covering(radius)) == pytest.approx(count)
    with pytest.raises(ValueError, match="finite"):
        Interval(np.inf)


def test_entropy_numbers_invert_covering_numbers():
    line = Interval(1.0)
    for count in (2, 3, 10, 1000):
        assert np.exp(line.log_entropy(np.log(count) + 1e-9)) == pytest.approx(1 / count, rel=1e-9)


def test_scaling_scales_the_radius():
    line = Interval(1.0)
    assert line.scaled(3.0).log_covering(0.3) == line.log_covering(0.1)
    assert line.scaled(3.0).norm == 3.0
    assert line.scaled(0.0).log_covering(0.1) == 0.0


def test_the_sum_of_two_intervals_is_one():
    # [-1, 1] + [-2, 2] = [-3, 3]: at radius 0.1 thirty balls suffice, products of counts do not.
    assert Interval(3.0).log_covering(0.1) == pytest.approx(np.log(30))
    total = Interval(1.0) + Interval(2.0)
    assert total.log_covering(0.1) >= Interval(3.0).log_covering(0.1)
    every = [
        Interval(1.0).log_covering(t * 0.1) + Interval(2.0).log_covering((1 - t) * 0.1)
        for t in np.linspace(0.001, 0.999, 20001)
    ]
    assert total.log_covering(0.1) <= min(every) + np.log(1.03)
    assert total.log_covering(3.0) == 0.0
    # Of two cubes the radius is best shared as their dimensions are: 7 to 1, not in halves.
    p, q, radius = 7.0, 1.0, 0.1
    least = (p + q) * np.log((p + q) / radius) - p * np.log(p) - q * np.log(q)
    assert Sum(Logarithmic(p), Logarithmic(q)).log_covering(radius) == pytest.approx(
        least, rel=1e-9
    )
    assert Sum(Logarithmic(q), Logarithmic(p)).log_covering(radius) == pytest.approx(
        least, rel=1e-9
    )
    halves = (p + q) * np.log(2 / radius)
    assert least < halves - 1.0


@dataclass(frozen=True)
class Logarithmic(Covering):
    """A class of some dimension: as many balls as its power of one over the radius."""

    dimension: float
    name: str = "dimension"
    norm = 1.0

    def _log_covering(self, radius):
        return self.dimension * np.log(1 / radius)


def test_the_best_says_whose_it_is():
    loose, tight = Interval(2.0, "loose"), Interval(1.0, "tight")
    best = Best([loose, tight])
    assert best.active(0.1) == "tight"
    assert best.log_covering(0.1) == tight.log_covering(0.1)
    assert isinstance(loose + tight, Sum)
    assert (loose + tight).active(0.1) == "loose + tight"


def test_a_bound_that_rests_on_something_false_may_not_be_quoted():
    false = Assumption("the scaler saw training rows only", "violated")
    bound = Bound(0.1, "binomial tail", trivial=0.4, assumptions=(false,))
    assert not bound.valid
    assert "may not be quoted" in str(bound)
    assert "the scaler saw training rows only" in str(bound)
