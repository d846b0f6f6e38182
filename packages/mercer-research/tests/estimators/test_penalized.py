"""Penalties of basis functions that are no penalties."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research.estimators.penalized import PenalizedMap


def test_one_negative_direction_of_a_penalty_is_refused():
    Z = np.arange(3.0)[:, None]
    PenalizedMap(Gaussian(), Z, np.diag([0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        PenalizedMap(Gaussian(), Z, np.diag([-0.5, 1.0, 2.0]))
