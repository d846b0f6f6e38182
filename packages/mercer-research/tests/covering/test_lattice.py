"""Points of the integer lattice by their squared length, against Jacobi's formulas and counting."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gamma

from mercer_research.covering import lattice_shells, log_lattice_shells

PRINTED = {
    2: [1, 4, 4, 0, 4, 8, 0, 0, 4],
    3: [1, 6, 12, 8, 6, 24, 24, 0, 12],
    4: [1, 8, 24, 32, 24, 48, 96, 64, 24],
    8: [1, 16, 112, 448, 1136, 2016, 3136, 5504, 9328],
}


@pytest.mark.parametrize("dim", PRINTED)
def test_shells_of_the_specification(dim):
    assert lattice_shells(dim, 8).tolist() == PRINTED[dim]


@pytest.mark.parametrize(("dim", "count"), [(2, 317), (3, 4169), (4, 49689)])
def test_points_within_ten(dim, count):
    assert lattice_shells(dim, 100).sum() == count


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_shells_by_counting(dim):
    lengths = [sum(j * j for j in point) for point in product(range(-4, 5), repeat=dim)]
    counted = np.bincount(lengths)[:17]  # all points of squared length 16 have entries up to 4
    assert lattice_shells(dim, 16).tolist() == counted.tolist()


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def test_jacobi_two_four_and_eight_squares():
    two, four, eight = (lattice_shells(dim, 300) for dim in (2, 4, 8))
    for n in range(1, 301):
        d = divisors(n)
        assert two[n] == 4 * (sum(k % 4 == 1 for k in d) - sum(k % 4 == 3 for k in d))
        assert four[n] == 8 * sum(k for k in d if k % 4)
        assert eight[n] == 16 * sum((-1) ** (n + k) * k**3 for k in d)


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_a_ball_holds_its_volume(dim):
    # Gauss: the count differs from the volume by at most that of a shell of sqrt(d) about it.
    r = 60.0
    volume = np.pi ** (dim / 2) / gamma(dim / 2 + 1)
    count = lattice_shells(dim, 3600).sum()
    assert volume * (r - np.sqrt(dim) / 2) ** dim <= count <= volume * (r + np.sqrt(dim) / 2) ** dim


def test_large_dimensions_stay_exact():
    # The shell of squared length 2 holds the points (+-1, +-1, 0, ...): 4 d (d - 1) / 2.
    huge = lattice_shells(200, 60)
    assert huge[2] == 2 * 200 * 199
    assert isinstance(huge[60], int)
    assert huge[60] > 2**63
    logs = log_lattice_shells(200, 60)
    assert logs[2] == pytest.approx(np.log(2 * 200 * 199), rel=1e-15)
    assert log_lattice_shells(2, 3)[3] == -np.inf
    with pytest.raises(ValueError, match="dim"):
        lattice_shells(0, 4)
