"""Formulas of the Fenchel-Young inequality."""

import numpy as np
import pytest

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
