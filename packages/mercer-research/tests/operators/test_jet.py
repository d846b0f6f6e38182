"""Truncated power series against closed forms and complex contour integrals."""

import numpy as np
import pytest

from mercer_research.operators._jet import Jet, variable

ORDER = 8
AT = np.array([0.3, 1.7])

# Functions with complex values where they are analytic within 0.25 of the points (no cbrt there).
FUNCTIONS = {
    "polynomial": lambda t: 3.0 - t * (2.0 - t) ** 3,
    "quotient": lambda t: (1.0 + t) / (2.0 + t**2),
    "reciprocal": lambda t: np.reciprocal(t) - 1.0 / (1.0 + t),
    "exp": lambda t: np.exp(-0.5 * t) + np.exp2(t) + np.expm1(t),
    "log": lambda t: t * np.log(t) + np.log1p(t) + np.log2(t) - np.log10(1.0 + t),
    "roots": lambda t: np.sqrt(1.0 + t) + t ** (1.0 / 3.0) + t**1.5,
    "hyperbolic": lambda t: np.tanh(t) + np.sinh(t) * np.cosh(0.5 * t),
    "trigonometric": lambda t: np.sin(2.0 * t) - np.cos(t) ** 2,
    "powers": lambda t: np.power(t, 2.5) + 2.0**t + (1.0 + t) ** t,
    "other order": lambda t: np.subtract(1.0, np.multiply(2.0, t)) + np.divide(1.0, np.add(t, 1.0)),
    "unary": lambda t: np.negative(np.positive(+t)) + np.square(t),
}


def taylor(function, at, order, radius=0.2, nodes=64):
    """Cauchy's integral on a circle: the trapezoidal rule converges geometrically."""
    angle = 2.0 * np.pi * np.arange(nodes) / nodes
    z = np.exp(1j * angle)
    values = function(at + radius * z)
    return np.array([(values * z**-n).mean() / radius**n for n in range(order + 1)]).real


@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients_are_the_derivatives(name):
    function = FUNCTIONS[name]
    jet = function(variable(AT, ORDER, step=1.0))
    expected = np.stack([taylor(function, at, ORDER) for at in AT], axis=1)
    # Aliasing of the contour is (0.2/0.3)^64 = 5e-12 of the coefficient's scale 0.3^-n.
    scale = 0.25 ** -np.arange(ORDER + 1.0)[:, None]
    assert (np.abs(jet.c - expected) <= 1e-9 * scale).all()
    assert (np.abs(jet.c) <= jet.majorant * (1.0 + 1e-12)).all()


def test_cube_root_and_absolute_value():
    t = variable(AT, 3)
    assert np.cbrt(t).c == pytest.approx((t ** (1.0 / 3.0)).c)
    assert abs(-t).c == pytest.approx(t.c)
    with pytest.raises(TypeError, match="changes sign"):
        np.abs(t - 1.0)


def test_majorant_sees_cancellation():
    t = variable(np.array([1.0]), 4)
    difference = (t + 1e8) - 1e8 - t
    assert difference.c[0, 0] == 0.0
    assert difference.majorant[0, 0] > 1e8


@pytest.mark.parametrize("function", [lambda t: np.maximum(t, 1.0), lambda t: np.floor(t)])
def test_what_has_no_derivatives_is_refused(function):
    with pytest.raises(TypeError):
        function(variable(AT, 3))


def test_logarithm_and_powers_refuse_the_wrong_side():
    with pytest.raises(ValueError, match="positive"):
        np.log(variable(-AT, 3))
    with pytest.raises(ValueError, match="base"):
        np.sqrt(variable(np.zeros(1), 3, step=1.0))


def test_a_constant_is_lifted():
    assert isinstance(2.0 - variable(AT, 2), Jet)
    assert (2.0 / variable(AT, 2)).c[0] == pytest.approx(2.0 / AT)
