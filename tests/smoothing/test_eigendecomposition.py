"""One factorization against refits: every closed form of a least-squares machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, ThinPlate
from mercer.smoothing import Spectral
from mercer.smoothing.factored import Factored

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1]]) + 0.1 * RNG.normal(
    size=(25, 2)
)
PLANE = np.column_stack([np.ones(25), X])
TWICE = np.column_stack([np.ones(25), X[:, 0], 1 - 2 * X[:, 0]])
UNEVEN = RNG.uniform(0.2, 3.0, size=25)
ZEROS = np.where(np.arange(25) % 6 == 0, 0.0, UNEVEN)
CASES = {
    "plain": (Gaussian(1.0)(X), None, None),
    "intercept": (Gaussian(1.0)(X), np.ones((25, 1)), None),
    "weights": (Gaussian(0.7)(X), np.ones((25, 1)), UNEVEN),
    "zeros": (Gaussian(0.7)(X), PLANE, ZEROS),
    "conditional": (ThinPlate(2)(X), PLANE, UNEVEN),
    "dependent": (Gaussian(1.0)(X), TWICE, None),
}
every = pytest.mark.parametrize("case", CASES)
# Refits solve systems of a condition of at most about 1e5, so that 1e-8 leaves three digits.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def solved(K, B, s, y, C):
    """Solve the bordered system of the samples with weight by least squares."""
    n = len(K)
    B = np.zeros((n, 0)) if B is None else B
    s = np.ones(n) if s is None else s
    live = s > 0
    m, q = int(live.sum()), B.shape[1]
    M = np.zeros((m + q, m + q))
    M[:m, :m] = K[np.ix_(live, live)] + np.diag(1 / (C * s[live]))
    M[:m, m:], M[m:, :m] = B[live], B[live].T
    z = np.linalg.lstsq(M, np.concatenate([y[live], np.zeros((q, *y.shape[1:]))]), rcond=1e-13)[0]
    a = np.zeros(y.shape)
    a[live] = z[:m]
    return a, z[m:]


def value(K, B, a, b):
    return K @ a + (0.0 if B is None else B @ b)


def without(K, B, s, y, C, left):
    """Return what a machine without some samples predicts for them."""
    s = np.ones(len(K)) if s is None else s.copy()
    s[left] = 0.0
    return value(K, B, *solved(K, B, s, y, C))[left]


@every
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_coefficients_are_those_of_the_bordered_system(case, C):
    K, B, s = CASES[case]
    a, b = solved(K, B, s, Y, C)
    for machine in (Spectral(K, B, s).coefficients(Y, C), Factored(K, B, s, C).coefficients(Y)):
        assert_allclose(machine[0], a, **CLOSE)
        if B is not None and case != "dependent":
            assert_allclose(machine[1], b, **CLOSE)
        assert_allclose(value(K, B, *machine), value(K, B, a, b), **CLOSE)
    assert_allclose(Spectral(K, B, s).fitted(Y, C), value(K, B, a, b), **CLOSE)
    one = Spectral(K, B, s).coefficients(Y[:, 0], C)
    assert_allclose(one[0], a[:, 0], **CLOSE)


@every
def test_leaving_one_out_is_refitting(case):
    K, B, s = CASES[case]
    Cs = np.array([0.3, 20.0])
    spectral = Spectral(K, B, s)
    left = spectral.leave_one_out(Y, Cs)
    assert left.shape == (2, 25, 2)
    for k, C in enumerate(Cs):
        for i in range(25):
            assert_allclose(Y[i] - left[k, i], without(K, B, s, Y, C, [i])[0], **CLOSE)
    assert_allclose(spectral.leave_one_out(Y[:, 1], 20.0), left[1, :, 1], rtol=1e-12, atol=1e-12)


@every
def test_leaving_folds_out_is_refitting(case):
    K, B, s = CASES[case]
    labels = np.arange(25) % 4
    left = Spectral(K, B, s).fold_residuals(Y, 5.0, labels)
    for fold in range(4):
        inside = np.flatnonzero(labels == fold)
        assert_allclose(Y[inside] - left[inside], without(K, B, s, Y, 5.0, inside), **CLOSE)


@every
def test_the_smoother_makes_fitted_values(case):
    K, B, s = CASES[case]
    spectral = Spectral(K, B, s)
    S = spectral.smoother(3.0)
    assert_allclose(S @ Y, spectral.fitted(Y, 3.0), **CLOSE)
    assert_allclose(np.diag(S), spectral.leverages(3.0), **CLOSE)
    assert_allclose(np.trace(S), spectral.degrees_of_freedom(3.0), rtol=1e-9)


@every
def test_freedom_grows_from_the_columns_to_the_sample(case):
    K, B, s = CASES[case]
    spectral = Spectral(K, B, s)
    freedom = spectral.degrees_of_freedom(np.geomspace(1e-9, 1e9, 40))
    assert np.all(np.diff(freedom) >= 0)
    assert_allclose(freedom[0], spectral.rank, atol=1e-6)
    assert freedom[-1] <= (25 if s is None else np.sum(s > 0)) + 1e-9


def test_an_infinite_weight_interpolates():
    K, B, _ = CASES["intercept"]
    assert_allclose(Spectral(K, B).fitted(Y, np.inf), Y, atol=1e-5)


def test_what_the_kernel_cannot_reach_stays_residual():
    """A matrix of rank one explains one direction, whatever the weight."""
    v = np.arange(1.0, 6.0)
    y = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    fitted = Spectral(np.outer(v, v)).fitted(y, np.inf)
    assert_allclose(fitted, v * v[0] / (v @ v), rtol=1e-9)


def test_a_sample_that_alone_carries_a_column_cannot_be_left_out():
    B = np.eye(5)[:, :1]
    left = Spectral(np.eye(5), B).leave_one_out(np.ones(5), 1.0)
    assert np.isinf(left[0])
    assert np.all(np.isfinite(left[1:]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)),), "square"),
        ((np.eye(3), np.ones((2, 1))), "3 samples"),
        ((np.eye(3), None, [1.0, -1.0, 1.0]), "not negative"),
        ((np.diag([1.0, -1.0, 1.0]),), "positive semidefinite"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Spectral(*arguments)


def test_targets_and_weights_of_the_loss_are_checked():
    with pytest.raises(ValueError, match="rows"):
        Spectral(np.eye(3)).coefficients(np.ones(4), 1.0)
    with pytest.raises(ValueError, match="C must be positive"):
        Spectral(np.eye(3)).degrees_of_freedom(0.0)
    with pytest.raises(ValueError, match="fold"):
        Spectral(np.eye(3)).fold_residuals(np.ones(3), 1.0, [0, 1])
    with pytest.raises(ValueError, match="finite"):
        Factored(np.eye(3), C=np.inf)
    with pytest.raises(ValueError, match="lower C"):
        Factored(np.diag([1.0, -1.0, 1.0]), C=10.0)
