"""The functional and its certificate, against formulas written out here."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.dictionary import DenseDictionary
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Squared
from mercer.problems import RegularizedRisk
from mercer.problems.sparse_risk import SparseRisk


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return rng, Gaussian(1.0)(X), rng.normal(size=30), rng.uniform(0.5, 2.0, 30)


def test_values_are_the_printed_formulas(data):
    rng, K, y, c = data
    B = np.column_stack([np.ones(30), rng.normal(size=30)])
    d = np.array([0.3, -0.2])
    risk = RegularizedRisk(EpsilonInsensitive(0.1), Dense(K), y, c, B, d)
    a, b = rng.uniform(-1, 1, 30) * c, rng.normal(size=2)
    certificate = risk.certificate(a, b)
    f = K @ a + B @ b
    loss = np.maximum(0.0, np.abs(y - f) - 0.1)
    assert certificate.primal == pytest.approx(0.5 * a @ K @ a + c @ loss + d @ b)
    conjugate = -y @ a + 0.1 * np.abs(a).sum()
    assert certificate.dual == pytest.approx(-0.5 * a @ K @ a - conjugate)
    np.testing.assert_allclose(certificate.f, f)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.2), Huber(0.5)])
def test_gap_is_primal_minus_dual_where_the_rows_hold(data, loss):
    rng, K, y, c = data
    B = np.ones((30, 1))
    risk = RegularizedRisk(loss, Dense(K), y, c, B, np.array([0.7]))
    a = rng.uniform(-0.3, 0.3, 30) * c
    a += (0.7 - a.sum()) / 30
    certificate = risk.certificate(a, np.array([0.4]))
    assert certificate.residual < 1e-15
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, rel=1e-10)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), Huber(0.5), Logistic()])
def test_an_uncertain_product_is_certified_for_its_worst_case(data, loss):
    rng, K, y, c = data
    y = np.sign(y) if isinstance(loss, (Hinge, Logistic)) else y
    risk = RegularizedRisk(loss, Dense(K), y, c, np.ones((30, 1)))
    low, high = risk.box()
    a = np.where(rng.random(30) < 0.5, 0.0, rng.uniform(0.1, 0.9, 30)) * np.where(y > 0, high, low)
    a = np.clip(a, -1.0, 1.0)
    b, Ka, error = np.array([0.1]), K @ a, rng.uniform(0.0, 0.3, 30)
    worst = risk.certificate(a, b, Ka, error)
    for _ in range(200):
        product = Ka + error * rng.uniform(-1.0, 1.0, 30)
        certificate = risk.certificate(a, b, product)
        assert certificate.primal <= worst.primal + 1e-12
        assert certificate.dual >= worst.dual - 1e-12
        assert certificate.gap <= worst.gap + 1e-12
        assert certificate.violation <= worst.violation + 1e-12
    # And no worse than that: the ends of the intervals are taken.
    ends = [risk.certificate(a, b, Ka + side * error) for side in (-1.0, 1.0)]
    assert worst.violation == pytest.approx(max(end.violation for end in ends))


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(2.0)])
def test_only_samples_that_feel_an_error_change_the_certificate(data, loss):
    rng, K, y, c = data
    y = np.sign(y) if isinstance(loss, Hinge) else y
    risk = RegularizedRisk(loss, Dense(K), y, c)
    a, b = np.zeros(30), np.empty(0)
    a[:10] = 0.3 * np.where(y[:10] > 0, 1.0, -1.0)
    f, error = 3.0 * rng.normal(size=30), np.full(30, 0.5)
    feels = risk.feels(a, f, error)
    assert feels[:10].all()
    assert 0 < np.count_nonzero(~feels) < 20
    exact = risk.certificate(a, b, f)
    worst = risk.certificate(a, b, f, np.where(feels, 0.0, error))
    assert worst.gap == exact.gap
    assert worst.primal == exact.primal
    assert worst.dual == exact.dual
    assert risk.feels(a, f, np.full(30, np.inf)).all()


def test_residual_is_relative_to_its_terms(data):
    _, K, y, c = data
    risk = RegularizedRisk(Squared(), Dense(K), y, c, np.ones((30, 1)))
    a = np.zeros(30)
    a[:2] = [1.0, -0.5]
    assert risk.residual(a) == pytest.approx(0.5 / 1.5, rel=1e-4)  # the others count a millionth
    assert risk.residual(np.zeros(30)) == 0.0


def test_outside_the_box_nothing_is_certified(data):
    _, K, y, c = data
    risk = RegularizedRisk(EpsilonInsensitive(0.1), Dense(K), y, c)
    a = np.zeros(30)
    a[3] = 1.001 * c[3]
    certificate = risk.certificate(a, np.empty(0))
    assert certificate.gap == np.inf
    assert certificate.dual == -np.inf


def test_a_sample_without_weight_is_free_at_zero_and_forbidden_elsewhere(data):
    _, K, y, c = data
    c = c.copy()
    c[5] = 0.0
    for loss in (Squared(), EpsilonInsensitive(0.1)):
        risk = RegularizedRisk(loss, Dense(K), y, c)
        lower, upper = risk.box()
        assert lower[5] == upper[5] == 0.0
        a = np.zeros(30)
        assert np.isfinite(risk.certificate(a, np.empty(0)).gap)
        a[5] = 1e-3
        assert risk.certificate(a, np.empty(0)).gap == np.inf


def test_box_follows_the_slopes(data):
    _, K, y, c = data
    labels = np.where(y > 0, 1.0, -1.0)
    for loss in (Hinge(), Logistic()):
        lower, upper = RegularizedRisk(loss, Dense(K), labels, c).box()
        np.testing.assert_array_equal(lower, np.where(labels > 0, 0.0, -c))
        np.testing.assert_array_equal(upper, np.where(labels > 0, c, 0.0))


def test_take_restricts_everything(data):
    rng, K, y, c = data
    width = rng.uniform(0.0, 0.3, 30)
    risk = RegularizedRisk(EpsilonInsensitive(width), Dense(K), y, c, np.ones((30, 1)))
    index = np.array([3, 7, 11])
    part = risk.take(index, Dense(K[np.ix_(index, index)]))
    np.testing.assert_array_equal(part.loss.epsilon, width[index])
    assert (part.n, part.q) == (3, 1)


@pytest.mark.parametrize(
    "change", [{"y": np.ones(4)}, {"B": np.ones((4, 1))}, {"d": np.ones(2), "B": np.ones((5, 1))}]
)
def test_shapes_are_checked(change):
    arguments = {"y": np.ones(5), "c": 1.0} | change
    with pytest.raises(ValueError, match="needs y of shape"):
        RegularizedRisk(Squared(), Dense(np.eye(5)), **arguments)


@pytest.mark.parametrize("c", [-1.0, np.nan, np.inf])
def test_weights_are_checked(c):
    with pytest.raises(ValueError, match="weights c"):
        RegularizedRisk(Squared(), Dense(np.eye(3)), np.ones(3), c)


def test_slopes_are_coefficients_over_weights():
    risk = RegularizedRisk(Squared(), Dense(np.eye(5)), np.ones(5), [2.0, 0.5, 0.0, 0.0, 0.0])
    found = risk.slope(np.array([1.0, -1.0, 0.0, 3.0, -2.0]))
    # Without weight no slope makes a coefficient but zero.
    np.testing.assert_array_equal(found, [-0.5, 2.0, 0.0, -np.inf, np.inf])


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_size_of_one_sample_is_its_product_with_the_kernel(unit):
    risk = RegularizedRisk(Squared(), Dense(np.array([[3.0 * unit]])), np.zeros(1), 1.0)
    a = np.array([5.0 / unit])
    assert risk.size(a, np.zeros(0), np.zeros(1)) == pytest.approx(15.0)


def test_values_are_bounded_by_roots_of_the_diagonal():
    Z = np.random.default_rng(0).normal(size=(40, 3))
    risk = RegularizedRisk(Squared(), Dense(Z @ Z.T), np.zeros(40), 1.0)
    np.testing.assert_allclose(risk.roots, np.linalg.norm(Z, axis=1), rtol=1e-14)


@pytest.mark.parametrize("n", [3, 130])
@pytest.mark.parametrize("largest", [(0, 1), (-1, -2)])
@pytest.mark.parametrize("diagonal", ["zero", "one zero"])
def test_values_without_a_diagonal_are_bounded_by_the_largest(n, largest, diagonal):
    """Like those of minus a distance; of 130 rows every third is read, the first and last too."""
    K = np.full((n, n), -0.01)
    np.fill_diagonal(K, 0.0 if diagonal == "zero" else 0.005)
    K[1, 1] = 0.0
    K[largest] = K[largest[::-1]] = -0.09
    risk = RegularizedRisk(Squared(), Dense(K), np.zeros(n), 1.0)
    np.testing.assert_allclose(risk.roots, np.full(n, 0.3), rtol=1e-14)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [-1.0, 1.0], [1.0], [np.nan, 1.0]])
def test_weights_of_functions_are_positive(weights):
    y = np.ones(3)
    with pytest.raises(ValueError, match="weights must be 2 positive numbers"):
        SparseRisk(Absolute(), DenseDictionary(np.ones((3, 2))), y, y, weights=weights)


def test_the_violation_is_that_of_the_worst_sample(data):
    rng, K, y, c = data
    a = rng.normal(size=30)
    certificate = RegularizedRisk(Squared(), Dense(K), y, c).certificate(a, np.zeros(0))
    # A squared loss is optimal where the coefficient is the weight times the residual.
    apart = np.abs(a / c - (y - K @ a))
    assert apart.min() < 0.5 * apart.max()
    assert certificate.violation == pytest.approx(apart.max(), rel=1e-10)
