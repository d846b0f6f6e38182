"""The one table that defines the quadratic-dual family, and what follows from it."""

from dataclasses import dataclass
from inspect import isabstract, isclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute import printed, supremum
from cases import CLASSIFICATION, LOSSES, REGRESSION, targets
from mercer import losses as room
from mercer.losses import (
    Conjugate,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    MarginLoss,
    PiecewisePolynomial,
    Pinball,
    PolynomialLoss,
    PowerHinge,
    QuadraticDualLoss,
    ResidualLoss,
    Several,
    Squared,
    SquaredHinge,
)
from mercer.losses.interval import within
from mercer.losses.stacked import stack
from mercer.problems.constrained import Between
from oracles.conic import expression

QUADRATIC = [loss for loss in LOSSES if isinstance(loss, QuadraticDualLoss)]


@given(
    tilt=st.floats(-1, 1),
    kink=st.floats(0, 1),
    quad=st.floats(0.1, 3),
    quad_negative=st.one_of(st.none(), st.floats(0.1, 3)),
    lower=st.floats(-2, 0),
    upper=st.floats(0, 2),
    s=st.floats(-5, 5),
)
def test_value_is_the_supremum_over_slopes(tilt, kink, quad, quad_negative, lower, upper, s):
    table = Conjugate(tilt, kink, quad, lower, upper, quad_negative)
    negative = quad if quad_negative is None else quad_negative

    def printed(u):
        return tilt * u + kink * abs(u) + 0.5 * (quad if u > 0 else negative) * u * u

    best = supremum(lambda u: s * u - printed(u), lower, upper)
    assert table.value(np.array(s)) == pytest.approx(best, abs=1e-12)
    u = float(table.slope(np.array(s)))
    assert lower <= u <= upper
    assert s * u - printed(u) == pytest.approx(best, abs=1e-12)  # the slope attains it


def test_a_wall_without_bound_costs_infinitely_much():
    wall = Conjugate(kink=0.5)  # no curvature, no bound: the conjugate of "|s| <= 1/2 or infinite"
    np.testing.assert_array_equal(
        wall.value(np.array([-0.6, -0.5, 0.0, 0.5, 0.6])), [np.inf, 0.0, 0.0, 0.0, np.inf]
    )


def test_curvature_follows_the_pieces():
    table = Conjugate(kink=0.5, quad=2.0, quad_negative=4.0, lower=-0.25, upper=0.5)
    # Straight beyond 1.5 and -1.5, flat inside the dead zone, curved between.
    s = np.array([-1.6, -1.4, -0.6, -0.4, 0.0, 0.4, 0.6, 1.4, 1.6])
    np.testing.assert_array_equal(
        table.curvature(s), [0.0, 0.25, 0.25, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0]
    )
    assert Conjugate(quad=2.0).curvature(np.array(0.0)) == 0.5  # a parabola at its vertex


def test_the_domain_forgives_rounding_only():
    table = Conjugate(quad=1.0, lower=-1.0 / 3.0, upper=0.7)
    c = 0.1
    u = np.array([(0.7 * c) / c, ((-1.0 / 3.0) * c) / c, 0.7 * (1 + 1e-14), -(1 + 1e-14) / 3.0])
    assert np.all(np.isfinite(table.dual(u)))
    low, high = table.interval(u)
    np.testing.assert_array_equal(high[[0, 2]], np.inf)
    np.testing.assert_array_equal(low[[1, 3]], -np.inf)
    for outside in (0.7 * (1 + 1e-9), -(1 + 1e-9) / 3.0, np.inf, -np.inf):
        assert table.dual(np.array(outside)) == np.inf
        assert table.interval(np.array(outside)) == (np.inf, -np.inf)


def test_an_end_at_zero_is_exact():
    hinge = SquaredHinge().terms()
    assert hinge.dual(np.array(0.0)) == 0.0
    assert hinge.dual(np.array(1e-300)) == np.inf


@pytest.mark.parametrize("loss", QUADRATIC, ids=repr)
def test_interval_is_where_the_slope_is(loss):
    table = loss.terms()
    s = np.linspace(-3, 3, 121)
    u = table.slope(s)
    low, high = table.interval(u)
    assert np.all(low <= s + 1e-14)
    assert np.all(s <= high + 1e-14)


class Everything:
    """All six numbers of the table at once, as no loss of the package has them."""

    def terms(self):
        return Conjugate(tilt=0.3, kink=0.4, quad=0.5, lower=-1.5, upper=2.5, quad_negative=0.7)


class EverythingOfTheResidual(Everything, ResidualLoss):
    pass


class EverythingOfTheMargin(Everything, MarginLoss):
    pass


@pytest.mark.parametrize(
    "loss",
    [*QUADRATIC, EverythingOfTheResidual(), EverythingOfTheMargin()],
    ids=lambda loss: type(loss).__name__,
)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_dual_terms_are_the_weighted_conjugate(loss, C):
    rng = np.random.default_rng(0)
    n = 60
    y, c = targets(loss, n, rng), C * rng.uniform(0.1, 2.0, n)
    y = np.sign(y) if isinstance(loss, MarginLoss) else y
    c[:5] = 0.0
    terms = loss.dual_terms(y, c)
    low, high = loss.slopes(y)
    positive = c > 0
    np.testing.assert_array_equal(terms.lower[positive], -c[positive] * high[positive])
    np.testing.assert_array_equal(terms.upper[positive], -c[positive] * low[positive])
    for name in ("p_pos", "p_neg", "q_pos", "q_neg", "lower", "upper"):
        array = getattr(terms, name)
        assert array.shape == (n,)
        assert array.flags.c_contiguous
        assert not np.any(np.isnan(array))
    # A sample without weight may only be zero.
    assert not np.any(terms.lower[~positive])
    assert not np.any(terms.upper[~positive])
    for fraction in (0.0, 0.3, 0.99, 1.0):
        for sign in (-1.0, 1.0):
            end = terms.lower if sign < 0 else terms.upper
            a = fraction * np.where(np.isfinite(end), end, sign * 2.0 * c)
            p = np.where(a > 0, terms.p_pos, terms.p_neg)
            q = np.where(a > 0, terms.q_pos, terms.q_neg)
            got = p * a + 0.5 * q * a * a
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = np.where(positive, c * loss.conjugate(y, -a / c), 0.0)
            scale = C * (np.abs(y) + 3.0)
            np.testing.assert_allclose(got / scale, expected / scale, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_integer_labels_have_real_slopes(loss):
    y = np.array([1, -1, 1])
    low, high = loss.slopes(y)
    assert low.dtype == high.dtype == np.float64
    assert np.all(low <= 0)
    assert np.all(high >= 0)


PER_SAMPLE = [
    (EpsilonInsensitive, "epsilon", [0.0, 0.1, 0.5, 1.0]),
    (Huber, "delta", [0.1, 0.5, 1.0, 9.0]),
    (Pinball, "quantile", [0.1, 0.5, 0.9, 1.0]),
    (Expectile, "expectile", [0.1, 0.5, 0.9, 0.99]),
    (Hinge, "margin", [0.0, 0.5, 1.0, 2.0]),
    (HuberHinge, "delta", [0.1, 0.5, 1.0, 2.0]),
    (PiecewisePolynomial, "sigma", [0.1, 0.5, 1.0, 2.0]),
    (PolynomialLoss, "epsilon", [0.0, 0.1, 0.5, 1.0]),
]
per_sample = pytest.mark.parametrize(
    ("cls", "name", "values"), PER_SAMPLE, ids=lambda x: getattr(x, "__name__", None)
)


@per_sample
def test_a_parameter_per_sample_is_one_loss_per_sample(cls, name, values):
    together = cls(**{name: np.array(values)})
    y, f = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.3, 0.4, -1.5, 2.5])
    v = 0.5 * together.gradient(y, f)
    low, high = together.slopes(y)
    for i, value in enumerate(values):
        alone = cls(**{name: value})
        at = (y[i], f[i])
        for method in ("value", "gradient", "curvature"):
            got, expected = getattr(together, method)(y, f)[i], getattr(alone, method)(*at)
            assert got == expected, method
        for method in ("conjugate", "conjugate_gradient", "conjugate_curvature"):
            with np.errstate(divide="ignore"):
                got, expected = (
                    getattr(together, method)(y, v)[i],
                    getattr(alone, method)(y[i], v[i]),
                )
            assert got == expected, method
        assert together.violation(y, f, v)[i] == alone.violation(*at, v[i])
        assert (low[i], high[i]) == tuple(float(x) for x in alone.slopes(y[i]))


@per_sample
def test_take_restricts_parameters_with_the_sample(cls, name, values):
    index = np.array([2, 0, 2])
    taken = cls(**{name: np.array(values)}).take(index)
    np.testing.assert_array_equal(getattr(taken, name), np.array(values)[index])
    np.testing.assert_array_equal(
        getattr(cls(**{name: values}).take(index), name), np.array(values)[index]
    )
    assert cls(**{name: values[1]}).take(index) == cls(**{name: values[1]})


def test_dual_terms_of_per_sample_parameters():
    epsilon, y, c = np.array([0.0, 0.5]), np.array([1.0, 2.0]), np.array([1.0, 3.0])
    terms = EpsilonInsensitive(epsilon).dual_terms(y, c)
    np.testing.assert_array_equal(terms.p_pos, epsilon - y)
    np.testing.assert_array_equal(terms.p_neg, -epsilon - y)
    np.testing.assert_array_equal(terms.upper, c)
    terms = Huber(np.array([0.5, 2.0])).dual_terms(y, c)
    np.testing.assert_array_equal(terms.q_pos, 1.0 / c)
    np.testing.assert_array_equal(terms.lower, [-0.5, -6.0])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_slope_that_no_value_has(loss):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    v = np.array([np.inf, np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(loss.conjugate(y, v), np.full(4, np.inf))
    np.testing.assert_array_equal(loss.violation(y, np.zeros(4), v), np.full(4, np.inf))


def test_losses_compare_by_value():
    assert Huber(2.0) == Huber(2.0)
    assert Huber(2.0) != Huber(3.0)
    assert Squared() != Logistic()
    assert EpsilonInsensitive(np.array([0.1, 0.2])) == EpsilonInsensitive(np.array([0.1, 0.2]))


def test_every_loss_of_the_package_has_a_case():
    exported = {getattr(room, name) for name in room.__all__}
    concrete = {x for x in exported if isclass(x) and issubclass(x, Loss) and not isabstract(x)}
    # Made of functions or of other losses, these have tests of their own.
    concrete -= {room.Custom, room.Several}
    missing = concrete - {type(loss) for loss in REGRESSION + CLASSIFICATION}
    assert not missing, (
        f"add an instance of each to REGRESSION or CLASSIFICATION in tests/cases.py: {missing}"
    )


def test_a_loss_with_a_side_has_to_say_how_it_is_mirrored():
    @dataclass(eq=False)
    class Lopsided(ResidualLoss):
        def terms(self):
            return Conjugate(lower=-1.0, upper=3.0)

    with pytest.raises(TypeError, match=r"Lopsided treats .* needs a method mirrored\(\)"):
        Lopsided().mirrored()


def test_losses_made_of_losses_are_mirrored_member_by_member():
    y, f = np.array([0.3, -1.0, 2.0]), np.array([1.0, 0.5, -0.4])
    made = [
        within(Pinball(0.3), 0.1, np.inf),
        stack([Pinball(0.3), Squared()], [2, 1]),
        Several([Expectile(0.8), within(Huber(), 0.2, 0.0)], [1.0, 2.0]),
        Between(0.2, 0.0, 1.0),
    ]
    for loss in made:
        np.testing.assert_allclose(
            loss.mirrored().value(y, f), loss.value(-y, -f), rtol=1e-15, atol=1e-15
        )
        assert np.any(np.abs(loss.value(y, f) - loss.value(-y, -f)) > 1e-3)


def test_losses_without_a_formula_are_refused_with_a_sentence():
    class Unheard(Squared):
        pass

    y = np.zeros(2)
    for formula_of in (printed, expression):
        with pytest.raises(AssertionError, match=r"Unheard .* FORMULAS in tests/brute.py"):
            formula_of(Unheard(), y, y)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Huber, "delta"),
        (HuberHinge, "delta"),
        (Hinge, "margin"),
        (EpsilonInsensitive, "epsilon"),
        (Pinball, "quantile"),
        (Expectile, "expectile"),
        (PolynomialLoss, "power"),
        (PowerHinge, "power"),
        (lambda value: PiecewisePolynomial(2.0, value), "sigma"),
        (lambda value: within(Squared(), value), "below"),
        (lambda value: within(Squared(), 0.0, value), "above"),
        (lambda value: Several([Squared()], [value]), "weights"),
    ],
)
@pytest.mark.parametrize("value", ["a", None, object()], ids=["text", "none", "object"])
def test_parameters_that_are_no_numbers(make, name, value):
    with pytest.raises(TypeError, match=f"{name} must be a number, or one number per sample, got"):
        make(value)
