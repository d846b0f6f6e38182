"""Powers of the slack: their limits, and what they are not."""

import numpy as np
import pytest

from brute import supremum
from mercer.losses import Hinge, PowerHinge, SquaredHinge

Y = np.where(np.arange(40) % 2, 1.0, -1.0)
F = np.linspace(-3, 3, 40)


def test_between_the_hinge_and_its_square():
    two = PowerHinge(2.0)
    for name in ("value", "gradient", "curvature"):
        np.testing.assert_allclose(
            getattr(two, name)(Y, F), getattr(SquaredHinge(), name)(Y, F), atol=1e-15
        )
    v = -Y * np.linspace(0, 3, 40)
    np.testing.assert_allclose(two.conjugate(Y, v), SquaredHinge().conjugate(Y, v), atol=1e-13)
    # |s^p / p - s| <= (p - 1) s (1 + s log s) for s up to 4.
    near = PowerHinge(1.0 + 1e-6)
    np.testing.assert_allclose(near.value(Y, F), Hinge().value(Y, F), atol=1e-6 * 4 * 7)


@pytest.mark.parametrize("power", [1.2, 1.5, 3.0])
def test_its_conjugate_is_the_supremum(power):
    loss, v = PowerHinge(power), -Y * np.linspace(0, 2, 40)
    # A slope of two is reached at a slack of 2^5 = 32 for the smallest power.
    best = supremum(lambda f: v * f - loss.value(Y, f), np.full(40, -40.0), np.full(40, 40.0))
    np.testing.assert_allclose(loss.conjugate(Y, v), best, atol=1e-11)
    assert np.all(np.isinf(loss.conjugate(Y, Y * 0.1)))
    assert np.all(np.isinf(loss.violation(Y, F, Y * 0.1)) | loss.smooth)


@pytest.mark.parametrize("power", [1.0, 0.5, np.inf])
def test_powers_without_convex_loss_are_refused(power):
    with pytest.raises(ValueError, match="exceed 1"):
        PowerHinge(power)
