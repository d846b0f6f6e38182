"""Gradient descent with weight decay: against Newton's method, with and without an intercept."""

from itertools import pairwise

import numpy as np
import pytest

from cases import random_risk
from mercer.losses import EpsilonInsensitive, Huber, Logistic, Squared, SquaredHinge
from mercer.solvers import Newton, minimize
from mercer_research.linear import GradientDescent


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Logistic(), SquaredHinge()], ids=repr)
def test_the_minimum_is_that_of_newton(loss):
    risk = random_risk(loss)
    found = minimize(risk, GradientDescent(tol=1e-5))
    expected = minimize(risk, Newton(tol=1e-9))
    assert found.converged
    # Violations of tol leave a gap of at most tol times the weights.
    assert abs(found.objective - expected.objective) <= 1e-5 * np.sum(risk.c)
    assert found.objective >= expected.dual - 1e-9
    np.testing.assert_allclose(found.f, expected.f, atol=1e-2)


def test_it_falls_from_step_to_step_and_starts_where_it_is_told():
    risk = random_risk(Logistic())
    seen = []
    found = minimize(risk, GradientDescent(tol=1e-5), listener=lambda p: seen.append(p.objective))
    assert all(after < before for before, after in pairwise(seen))
    assert minimize(risk, GradientDescent(tol=1e-4), found).n_iter == 0


def test_kinks_are_refused():
    with pytest.raises(ValueError, match="kink"):
        minimize(random_risk(EpsilonInsensitive(0.1)), GradientDescent())
