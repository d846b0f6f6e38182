"""Paths of one value and samples without weight, each on its own."""

import numpy as np

from mercer import SVC
from mercer.gram import Dense
from mercer.losses import SquaredHinge
from mercer.problems import RegularizedRisk
from mercer_research.selection import svm_path
from mercer_research.selection.hypergradient import _free


def test_a_path_of_one_value_is_the_machine_of_that_value():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] + 0.3 * X[:, 1] > 0
    path = svm_path(SVC(gamma=1.0), X, y, Cs=[2.0], exact=True)
    machine = SVC(gamma=1.0, C=2.0, tol=1e-8).fit(X, y)
    a = np.zeros(30)
    a[machine.support_] = np.ravel(machine.dual_coef_)
    assert path.coefs.shape == (1, 30)
    np.testing.assert_allclose(path.coefs[0], a, atol=1e-4)


def test_samples_without_weight_are_not_free():
    y, c = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 2.0, 0.5, 0.0])
    risk = RegularizedRisk(SquaredHinge(), Dense(np.eye(4)), y, c)
    free, curvature = _free(risk, np.array([0.0, -0.3, 0.2, 0.0]))
    np.testing.assert_array_equal(free, c > 0)
    # The conjugate of half a squared hinge bends by 1 over the weight.
    np.testing.assert_allclose(curvature[free], 1.0 / c[c > 0])
