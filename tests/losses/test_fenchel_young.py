"""Formulas of the Fenchel-Young inequality, for arrays and compiled for numbers."""

import itertools

import numpy as np
import pytest
from numba import config

from mercer._compile_numba import compile_formula
from mercer.losses.fenchel_young import conjugate_slopes, loss_value, violation, young_gap

# p_pos, p_neg, q_pos, q_neg, lower, upper: a tube, a hinge, a parabola, none, two curvatures.
TERMS = [
    (0.5, -0.5, 0.0, 0.0, -2.0, 3.0),
    (-1.0, -1.0, 0.0, 0.0, 0.0, 2.0),
    (-0.7, -0.7, 0.5, 0.5, -np.inf, np.inf),
    (0.3, 0.1, 0.0, 0.0, 0.0, 0.0),
    (0.4, -0.2, 0.5, 2.0, -1.0, np.inf),
]
VALUES = np.array([-4.0, -1.0, -0.5, 0.0, 0.2, 0.7, 3.0])


@pytest.mark.parametrize("terms", TERMS)
def test_the_loss_is_the_supremum_over_coefficients(terms):
    *parabolas, lower, upper = terms
    a = np.append(np.linspace(max(lower, -20.0), min(upper, 20.0), 400_000), 0.0)
    conjugate, left, right = conjugate_slopes(a, *parabolas)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = loss_value(VALUES, *terms)
    brute = [np.max(-a * f - conjugate) for f in VALUES]
    np.testing.assert_allclose(found, brute, rtol=0, atol=1e-7)
    for f, value in zip(VALUES, found, strict=True):
        gaps = young_gap(value, conjugate, a, f)
        off = violation(f, left, right, a <= lower, a >= upper)
        # By convexity the gap is below the violation times the way to the best coefficient.
        assert np.min(gaps) <= 1e-7
        assert np.all(gaps <= off * np.abs(a - a[np.argmin(gaps)]) + 1e-7)


@pytest.mark.skipif(config.DISABLE_JIT, reason="numba compiles nothing")
@pytest.mark.parametrize("terms", TERMS)
def test_numbers_are_compiled_to_the_same(terms):
    *parabolas, lower, upper = terms
    options = {"error_model": "numpy"}
    slopes, value, off, gap = (
        compile_formula(formula, **options)
        for formula in (conjugate_slopes, loss_value, violation, young_gap)
    )
    coefficients = np.clip([-2.0, -1.0, 0.0, 0.4, 2.0, 3.0], lower, upper)
    for a, f in itertools.product(coefficients.tolist(), VALUES.tolist()):
        plain = conjugate_slopes(np.float64(a), *parabolas)
        np.testing.assert_array_equal(slopes(a, *parabolas), plain)
        conjugate, left, right = map(float, plain)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = float(loss_value(np.float64(f), *map(np.float64, terms)))
        assert value(f, *terms) == loss
        assert gap(loss, conjugate, a, f) == young_gap(loss, conjugate, a, f)
        ends = a <= lower, a >= upper
        assert off(f, left, right, *ends) == violation(f, left, right, *ends)
