"""The best scaling against a convex solver, worked numbers and laws; truncations by loops."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq

from covering.spectra_cases import PERIOD, exponential, gaussian, rational
from mercer_research.covering import BestScaling, MeasuredScaling, Truncation

C = PERIOD**-0.5
POLYNOMIAL = -2 * np.log(np.arange(1, 31))
GEOMETRIC = -0.3 * np.arange(30)


def test_worked_closed_form():
    # Printed to nine decimals.
    for log_eigenvalues, values, heads in (
        (
            POLYNOMIAL,
            (1.269704736, 0.926679784, 0.700380540, 0.497192901, 0.358052123),
            (1, 2, 3, 6, 12),
        ),
        (
            GEOMETRIC,
            (1.964133336, 1.721007544, 1.446862417, 1.073131542, 0.735002968),
            (1, 3, 5, 8, 12),
        ),
    ):
        scaling = BestScaling(log_eigenvalues)
        for log_n, value, head in zip((0, 0.7, 2, 5, 10), values, heads, strict=True):
            assert np.exp(scaling.log_scale(log_n)) == pytest.approx(value, abs=6e-10)
            assert scaling.head(log_n) == head


NATS = (0, 1, 5, 10, 20, 50, 100, 1000, 10000)
# fmt: off
TABLE = {
    "gaussian": (
        (1.000000, 0.847139, 0.516016, 0.314394, 0.137649, 0.0193827, 0.00146006),
        (1, 5, 7, 9, 13, 17, 21),
    ),
    "gaussian twice": (
        (1.000000, 0.836663, 0.477441, 0.266273, 0.0988439, 0.00908928, 0.000375689), None,
    ),
    "exponential": (
        (1.002482, 0.816751, 0.556815, 0.434130, 0.325550, 0.214251, 0.153662, 0.0492386,
         0.0155916),
        (1, 3, 7, 13, 23, 53, 103, 1003, 10003),
    ),
    "rational": (
        (1.043914, 0.774537, 0.412745, 0.241694, 0.108197, 0.0201708, 0.00284030, 7.90134e-10),
        (1, 3, 7, 9, 13, 19, 27, 87),
    ),
}
# fmt: on


def table_case(name):
    if name == "exponential":
        log_eigenvalues, times, log_tail = exponential(6000)
    else:
        log_eigenvalues, times = rational() if name == "rational" else gaussian(0.5)
        log_tail = -np.inf
    return BestScaling(
        log_eigenvalues,
        multiplicity=times,
        log_tail=log_tail,
        eigenfunction_bound=C,
        power=2 if name.endswith("twice") else 1,
    )


@pytest.mark.parametrize("name", TABLE)
def test_worked_periodic_kernels(name):
    # Printed to six digits: half a unit of the last, 5e-6 of the smallest leading digits.
    scaling, (values, heads) = table_case(name), TABLE[name]
    for i, (log_n, value) in enumerate(zip(NATS, values, strict=False)):
        assert np.exp(scaling.log_scale(log_n)) == pytest.approx(value, rel=5e-6)
        assert heads is None or scaling.head(log_n) == heads[i]


def test_the_exponential_kernel_has_its_rate():
    scaling = table_case("exponential")
    assert np.exp(scaling.log_scale(1000) - scaling.log_scale(10000)) == pytest.approx(
        3.158, abs=5e-4
    )


RADII = (0.9, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
SIX = (18.8583, 26.8871, 40.8914, 52.6218, 65.0690, 82.8310, 97.1891, 149.2653)
CUT = (4.4729, 15.2528, 28.7877, 39.6615, 51.6430, 68.0381, 80.4981, 129.7944)
HEADS = (1, 7, 11, 13, 13, 15, 17, 21)


def test_worked_covering_numbers():
    # Printed to four decimals.
    scaling = table_case("gaussian")
    log_eigenvalues, times = gaussian(0.5)
    cut = Truncation.from_spectrum(log_eigenvalues, multiplicity=times, eigenfunction_bound=C)
    for radius, six, truncation, head in zip(RADII, SIX, CUT, HEADS, strict=True):
        assert scaling.log_covering(radius) == pytest.approx(six, abs=6e-5)
        assert cut.log_covering(radius) == pytest.approx(truncation, abs=6e-5)
        assert cut.head(radius) == head


def infimum(log_eigenvalues, log_n, power):
    """Return the least bound over all scalings by a convex program in their logarithms."""
    k = len(log_eigenvalues)
    x = cp.Variable(k)
    feature = 0.5 * cp.log_sum_exp(log_eigenvalues - 2 * x)
    means = cp.multiply(power * cp.cumsum(x) - log_n, 1 / np.arange(1, k + 1))
    problem = cp.Problem(cp.Minimize(power * feature + cp.max(means)))
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    "log_eigenvalues",
    [
        POLYNOMIAL[:12],
        GEOMETRIC[:12],
        np.log([3.0, 1, 1, 1, 0.2, 0.2, 1e-3]),
        -(np.arange(8.0) ** 2),
    ],
)
def test_no_other_scaling_is_better(log_eigenvalues, power):
    scaling = BestScaling(log_eigenvalues, power=power)
    for log_n in (0.3, 2.0, 9.0):
        # The closed form is one of the scalings; the solver stops at 1e-8.
        assert scaling.log_scale(log_n) == pytest.approx(
            infimum(log_eigenvalues, log_n, power), abs=1e-6
        )


@pytest.fixture(params=range(5))
def spectrum(request):
    rng = np.random.default_rng(request.param)
    k = int(rng.integers(3, 60))
    values = np.sort(rng.gamma(0.3, size=k))[::-1] + 1e-12
    return np.log(values), rng.integers(1, 5, size=k)


def test_entropy_numbers_and_covering_numbers_are_one_curve(spectrum):
    log_eigenvalues, times = spectrum
    for power in (1, 2):
        scaling = BestScaling(log_eigenvalues, multiplicity=times, power=power, norm=3.0)
        for log_n in (37.0, 80.0, 400.0):  # where one ball more or less does not count
            radius = np.exp(scaling.log_entropy(log_n))
            if radius < scaling.norm:
                assert scaling.log_covering(radius) == pytest.approx(log_n, rel=1e-9)
        logs = [scaling.log_scale(log_n) for log_n in np.linspace(0, 200, 300)]
        assert np.all(np.diff(logs) <= 0)
        assert logs[0] == pytest.approx(np.log(scaling.norm), abs=1e-9)


def test_scaling_obeys_its_laws(spectrum):
    log_eigenvalues, times = spectrum
    plain = BestScaling(log_eigenvalues, multiplicity=times)
    listed = BestScaling(np.random.default_rng(0).permutation(np.repeat(log_eigenvalues, times)))
    larger = BestScaling(log_eigenvalues + np.log(4), multiplicity=times, norm=0.5)
    for log_n in (0.0, 1.0, 7.0, 60.0):
        assert listed.log_scale(log_n) == pytest.approx(plain.log_scale(log_n), abs=1e-9)
        assert larger.log_scale(log_n) == pytest.approx(plain.log_scale(log_n), abs=1e-9)
        assert listed.head(log_n) == plain.head(log_n)


def test_a_tail_that_is_only_summed_is_paid_for(spectrum):
    log_eigenvalues, times = spectrum
    k = len(times) // 2
    log_tail = np.log(np.sum(times[k:] * np.exp(log_eigenvalues[k:])))
    for kind in (BestScaling, Truncation.from_spectrum):
        known = kind(log_eigenvalues, multiplicity=times)
        part = kind(log_eigenvalues[:k], multiplicity=times[:k], log_tail=log_tail)
        assert part.norm == pytest.approx(known.norm)
        for radius in known.norm * np.array([0.9, 0.3, 0.1, 0.01]):
            assert part.log_covering(radius) >= known.log_covering(radius) - 1e-9
        assert part.log_covering(np.exp(0.5 * log_tail) / 7) == np.inf


def test_outputs_multiply_logarithms(spectrum):
    log_eigenvalues, times = spectrum
    for D in (2, 3):
        for kind in (BestScaling, Truncation.from_spectrum):
            one = kind(log_eigenvalues, multiplicity=times)
            many = kind(log_eigenvalues, multiplicity=times, outputs=D)
            for radius in one.norm * np.array([0.9, 0.2, 0.03]):
                single = one.log_covering(radius)
                # Balls are whole: their number is rounded up once for all outputs, or for each.
                rounding = D * np.log1p(np.exp(-single)) + 1e-9
                assert abs(many.log_covering(radius) - D * single) <= rounding
        scaling = BestScaling(log_eigenvalues, multiplicity=times, outputs=D)
        assert scaling.log_scale(5.0) == BestScaling(log_eigenvalues, multiplicity=times).log_scale(
            5.0 / D
        )


def test_truncation_by_a_loop(spectrum):
    log_eigenvalues, times = spectrum
    lam = np.repeat(np.exp(log_eigenvalues), times)
    norm, bound = 2.0, 0.7
    cut = Truncation.from_spectrum(
        log_eigenvalues, multiplicity=times, norm=norm, eigenfunction_bound=bound
    )
    for radius in cut.norm * np.array([0.9, 0.5, 0.1, 0.01]):
        values = {}
        for k in np.cumsum(times):
            tail = norm * bound * np.sqrt(lam[k:].sum())
            if tail < radius:
                r = (radius - tail) / (bound * np.sqrt(k))
                axes = norm * np.sqrt(lam[:k])
                values[k] = np.log(axes).sum() + k * np.log(2 / r + 1 / axes[-1])
        assert cut.log_covering(radius) == pytest.approx(min(values.values()), rel=1e-9)
        assert cut.head(radius) == min(values, key=values.get)


def test_a_pair_is_not_split():
    # A sine without its cosine is larger than the pair's share: heads are 1, 3, 5, ...
    log_eigenvalues, times = gaussian(0.5, 20)
    listed = np.repeat(log_eigenvalues, times) + 1e-13 * np.arange(41)
    cut = Truncation.from_spectrum(listed, eigenfunction_bound=C)
    assert np.all(cut.sizes % 2 == 1)
    scaling = BestScaling(listed, eigenfunction_bound=C)
    assert all(scaling.head(log_n) % 2 == 1 for log_n in np.linspace(0, 60, 40))


def test_measured_scaling_is_the_scaling_where_all_points_are_alike():
    # Columns of a Hadamard matrix are eigenfunctions with values +-1.
    H = np.array([[1.0]])
    for _ in range(4):
        H = np.block([[H, H], [H, -H]])
    lam = np.exp(-0.5 * np.arange(16))
    measured = MeasuredScaling(H * np.sqrt(lam), np.zeros(16), norm=2.0)
    closed = BestScaling(np.log(lam), norm=2.0)
    for power in (1, 2):
        measured = MeasuredScaling(H * np.sqrt(lam), np.zeros(16), norm=2.0, power=power)
        closed = BestScaling(np.log(lam), norm=2.0, power=power)
        assert measured.norm == pytest.approx(closed.norm)
        for radius in closed.norm * np.geomspace(1e-4, 1.1, 20):
            assert measured.log_covering(radius) == pytest.approx(
                closed.log_covering(radius), rel=1e-9
            )


def test_measured_scaling_is_a_scaling_of_the_features():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20, 8)) * np.exp(-0.7 * np.arange(8))
    residual = 1e-4 * rng.random(20)
    weights = np.mean(Z**2, axis=0)
    ball = MeasuredScaling(Z, residual)
    for radius in ball.norm * np.array([0.9, 0.3, 0.2]):
        nats = ball.log_covering(radius)
        # The level that so many balls pay for leaves features short enough for the radius.
        level = brentq(
            lambda t, nats=nats: 0.5 * np.sum(np.log(np.maximum(weights / t, 1.0))) - nats,
            1e-12,
            weights.max(),
            xtol=1e-15,
        )
        reach = np.max((Z**2 * np.minimum(1.0, level / weights)).sum(axis=1) + residual)
        assert 6 * np.sqrt(reach) <= radius * (1 + 1e-9)
    assert ball.log_covering(5 * np.sqrt(residual.max())) == np.inf


def test_decay_counts_twice_for_convex_combinations():
    # Eigenvalues j^-(a + 1): entropy numbers fall as (ln n)^-a, the ball's as its root.
    for a in (1.0, 2.0):
        j = np.arange(1, 200_001)
        tail = np.log(200_000.5**-a / a)
        for power, exponent in ((1, -a / 2), (2, -a)):
            scaling = BestScaling(-(a + 1) * np.log(j), log_tail=tail, power=power)
            slope = (scaling.log_scale(8000.0) - scaling.log_scale(2000.0)) / np.log(4)
            # Stirling: the mean logarithm of the head is that of its end, less 1, but for this.
            head = scaling.head(2000.0)
            beside = power / 2 * (a + 1) * np.log(2 * np.pi * head) / (2 * head) / np.log(4)
            assert slope == pytest.approx(exponent, abs=beside)


def test_spectra_that_are_none_are_refused():
    with pytest.raises(ValueError, match="multiplicity"):
        BestScaling([0.0, 1.0], multiplicity=[1])
    with pytest.raises(ValueError, match="below infinity"):
        BestScaling([np.inf])
    with pytest.raises(ValueError, match="at least one"):
        BestScaling([-np.inf])
