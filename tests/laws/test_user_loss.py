"""A convex loss written outside of the package is a loss like any other."""

from dataclasses import dataclass

import numpy as np
import pytest

from brute import supremum
from cases import random_risk
from mercer.losses import Loss, Squared
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, Auto, Direct, InteriorPoint, Newton, minimize


@dataclass(eq=False)
class Sharp(Loss):
    """log cosh r, without telling anyone that it is smooth."""

    scale: float = 1.0

    def value(self, y, f):
        r = np.abs(y - f) / self.scale
        return r + np.log1p(np.exp(-2 * r)) - np.log(2)

    def gradient(self, y, f):
        return -np.tanh((y - f) / self.scale) / self.scale

    def curvature(self, y, f):
        return 1 / np.cosh((y - f) / self.scale) ** 2 / self.scale**2

    def conjugate(self, y, v):
        u = np.clip(self.scale * v, -1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = [np.where(x > 0, x * np.log(x), 0.0) for x in (1 + u, 1 - u)]
        inside = np.abs(self.scale * v) <= 1 + 1e-12
        return np.where(inside, u * y / self.scale + 0.5 * sum(terms), np.inf)

    def conjugate_gradient(self, y, v):
        return y + self.scale * np.arctanh(self.scale * v)

    def conjugate_curvature(self, y, v):
        return self.scale**2 / (1 - (self.scale * v) ** 2)

    def slopes(self, y):
        bound = np.full(np.shape(y), 1 / self.scale)
        return -bound, bound


class Smooth(Sharp):
    """The same loss, said to be smooth."""

    @property
    def smooth(self):
        return True


def risk_of(loss, seed=0, C=5.0):
    risk = random_risk(Squared(), seed=seed, C=C)
    return RegularizedRisk(loss, risk.K, risk.y, risk.c, risk.B)


def test_its_conjugate_is_the_supremum():
    loss, y = Smooth(0.5), np.full(9, 0.3)
    v = np.linspace(-1.9, 1.9, 9)
    best = supremum(lambda f: v * f - loss.value(y, f), np.full(9, -20.0), np.full(9, 20.0))
    np.testing.assert_allclose(loss.conjugate(y, v), best, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 5.0, 1e3])
def test_general_solvers_take_it(C):
    risk = risk_of(Smooth(0.5), C=C)
    newton, interior = minimize(risk, Newton(tol=1e-9)), minimize(risk, InteriorPoint(tol=1e-9))
    assert newton.converged
    assert interior.converged
    assert newton.relative_gap <= 1e-8
    gap = newton.gap + interior.gap + 1e-12 * (1 + abs(newton.objective))
    assert abs(newton.objective - interior.objective) <= gap
    assert minimize(risk, Auto()).converged


def test_special_solvers_refuse_it():
    assert not SMO().accepts(risk_of(Smooth()))
    assert not Direct().accepts(risk_of(Smooth()))
    assert not Newton().accepts(risk_of(Sharp()))
    assert InteriorPoint().accepts(risk_of(Sharp()))
