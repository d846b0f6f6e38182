"""Criteria against refits and formulas, and their slopes against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import Huber, Logistic, Squared
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import (
    AIC,
    BIC,
    GCV,
    CrossValidation,
    Evidence,
    LeaveOneOut,
    MallowsCp,
)
from mercer.smoothing.factored import Factored

RNG = np.random.default_rng(1)
N = 22
X = RNG.normal(size=(N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.2 * RNG.normal(size=(N, 2))
SIGNS = np.where(Y > 0, 1.0, -1.0)
ONES, PLANE = np.ones((N, 1)), np.column_stack([np.ones(N), X])
WEIGHTS = RNG.uniform(0.3, 2.0, size=N)
LABELS = np.arange(N) % 5
PROBLEMS = {
    "plain": (Gaussian(1.0), None, None),
    "intercept": (Gaussian(1.2), ONES, None),
    "weights": (Gaussian(0.8), PLANE, WEIGHTS),
    "conditional": (ThinPlate(2), PLANE, None),
}
CRITERIA = {
    "loo": (LeaveOneOut(), Y),
    "huber": (LeaveOneOut(Huber(0.2)), Y),
    "logistic": (LeaveOneOut(Logistic()), SIGNS),
    "folds": (CrossValidation(LABELS), Y),
    "gcv": (GCV(), Y),
    "cp": (MallowsCp(0.04), Y),
    "aic": (AIC(corrected=False), Y),
    "aicc": (AIC(), Y),
    "bic": (BIC(), Y),
    "evidence": (Evidence(), Y),
}


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_both_factorizations_agree(name, problem):
    criterion, y = CRITERIA[name]
    kernel, B, s = PROBLEMS[problem]
    K = kernel(X)
    one = criterion.value(Spectral(K, B, s).at(y, 3.0))
    other = criterion.value(Factored(K, B, s, C=3.0).fit(y))
    assert_allclose(one, other, rtol=1e-10)
    assert_allclose(criterion.gradient(Factored(K, B, s, C=3.0), y)[0], one, rtol=1e-10)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_slopes_are_differences(name, problem):
    criterion, y = CRITERIA[name]
    kernel, B, s = PROBLEMS[problem]
    K = kernel(X)
    _, G, slope = criterion.gradient(Factored(K, B, s, C=3.0), y)
    assert_allclose(G, G.T, atol=1e-14)

    def value(K, C):
        return criterion.value(Factored(K, B, s, C=C).fit(y))

    # Central differences err by h^2 and by rounding over h, which balance near 1e-10 of the value.
    h = 1e-5
    change = RNG.normal(size=(N, N))
    change = change @ change.T / N  # positive definite, so that both sides stay so
    up, down = value(K + h * change, 3.0), value(K - h * change, 3.0)
    assert_allclose(np.sum(G * change), (up - down) / (2 * h), rtol=1e-6, atol=1e-8)
    up, down = value(K, 3.0 * np.exp(h)), value(K, 3.0 * np.exp(-h))
    assert_allclose(slope, (up - down) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_slopes_at_a_constant_ratio_are_differences(name, problem):
    criterion, y = CRITERIA[name]
    kernel, B, s = PROBLEMS[problem]
    K = kernel(X)
    _, G, slope = criterion.gradient(Factored(K, B, s, ratio=7.0), y, at_ratio=True)
    assert_allclose(G, G.T, atol=1e-14)

    def value(K, ratio):
        return criterion.value(Factored(K, B, s, ratio=ratio).fit(y))

    def difference(along):
        # Extrapolated from two steps, so that the error is that of the fourth power of a step.
        wide, narrow = ((along(h) - along(-h)) / (2 * h) for h in (1e-4, 5e-5))
        return (4.0 * narrow - wide) / 3.0

    change = RNG.normal(size=(N, N))
    change = change @ change.T / N
    by_K = difference(lambda h: value(K + h * change, 7.0))
    assert_allclose(np.sum(G * change), by_K, rtol=1e-6, atol=1e-8)
    by_ratio = difference(lambda h: value(K, 7.0 * np.exp(h)))
    assert_allclose(slope, by_ratio, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_evidence_is_that_of_contrasts(problem):
    kernel, B, s = PROBLEMS[problem]
    root = np.ones(N) if s is None else np.sqrt(s)
    M = kernel(X) * np.outer(root, root) + np.eye(N) / 3.0
    WB = root[:, None] * (np.zeros((N, 0)) if B is None else B)
    Z = np.linalg.svd(WB, full_matrices=True)[0][:, WB.shape[1] :] if WB.size else np.eye(N)
    z, V, m = Z.T @ (root[:, None] * Y), Z.T @ M @ Z, Z.shape[1]
    square = float(np.sum(z * np.linalg.solve(V, z))) / (2 * m)
    expected = np.log(2 * np.pi * np.e * square) + np.linalg.slogdet(V)[1] / m
    assert_allclose(Evidence().gradient(Factored(kernel(X), B, s, C=3.0), Y)[0], expected)


def test_a_kernel_matrix_is_kept_unless_it_may_be_overwritten():
    K = Gaussian(1.0)(X)
    before = K.copy()
    kept = Factored(K, ONES, WEIGHTS, C=3.0).coefficients(Y)[0]
    assert_allclose(K, before, rtol=0, atol=0)
    assert_allclose(Factored(K, ONES, WEIGHTS, C=3.0, overwrite=True).coefficients(Y)[0], kept)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_curve_is_its_values(name, problem):
    criterion, y = CRITERIA[name]
    kernel, B, s = PROBLEMS[problem]
    spectral, Cs = Spectral(kernel(X), B, s), np.array([0.5, 2.0, 30.0])
    values = [criterion.value(spectral.at(y, C)) for C in Cs]
    assert_allclose(criterion.curve(spectral, y, Cs), values, rtol=1e-12)


def test_leave_one_out_is_the_mean_loss_of_refits():
    K, loss = Gaussian(0.8)(X), Huber(0.3)
    total = 0.0
    for i in range(N):
        s = WEIGHTS.copy()
        s[i] = 0.0
        f = Spectral(K, PLANE, s).fitted(Y, 2.0)[i]
        total += WEIGHTS[i] * float(np.sum(loss.value(Y[i], f)))
    found = LeaveOneOut(loss).value(Spectral(K, PLANE, WEIGHTS).at(Y, 2.0))
    assert_allclose(found, total / WEIGHTS.sum(), rtol=1e-10)


def test_cross_validation_is_the_mean_loss_of_refits():
    K, total = Gaussian(0.8)(X), 0.0
    for fold in range(5):
        inside = fold == LABELS
        f = Spectral(K, ONES, (~inside).astype(float)).fitted(Y, 2.0)[inside]
        total += float(np.sum(Squared().value(Y[inside], f)))
    found = CrossValidation(LABELS).value(Spectral(K, ONES).at(Y, 2.0))
    assert_allclose(found, total / N, rtol=1e-10)


def test_penalized_criteria_are_their_formulas():
    K = Gaussian(1.0)(X)
    spectral = Spectral(K, ONES)
    S, y = spectral.smoother(4.0), Y[:, 0]
    error, freedom = np.mean((y - S @ y) ** 2), np.trace(S)
    fit = spectral.at(y, 4.0)
    assert_allclose(GCV().value(fit), error / (1 - freedom / N) ** 2, rtol=1e-10)
    assert_allclose(MallowsCp(0.3).value(fit), error + 0.6 * freedom / N, rtol=1e-10)
    assert_allclose(AIC(False).value(fit), np.log(error) + 2 * freedom / N, rtol=1e-10)
    assert_allclose(BIC().value(fit), np.log(error) + np.log(N) * freedom / N, rtol=1e-10)
    corrected = np.log(error) + 1 + 2 * (freedom + 1) / (N - freedom - 2)
    assert_allclose(AIC().value(fit), corrected, rtol=1e-10)


def test_evidence_is_the_restricted_likelihood():
    """Against the density of contrasts that know nothing of the columns."""
    K, C, y = Gaussian(1.0)(X), 5.0, Y[:, 0]
    Z = np.linalg.svd(PLANE.T)[2][3:].T
    V, z, m = Z.T @ (K + np.eye(N) / C) @ Z, Z.T @ y, N - 3
    scale = z @ np.linalg.solve(V, z) / m
    log_density = -0.5 * (m * np.log(2 * np.pi * scale) + np.linalg.slogdet(V)[1] + m)
    found = Evidence().value(Spectral(K, PLANE).at(y, C))
    assert_allclose(found, -log_density / m, rtol=1e-10)


def test_a_perfect_fit_is_no_reason_to_fail():
    fit = Spectral(np.eye(4), np.eye(4)[:, :2]).at(np.array([1.0, 2.0, 0.0, 0.0]), 1.0)
    assert AIC(False).value(fit) == -np.inf
    assert BIC().value(fit) == -np.inf
    assert Evidence().value(fit) == -np.inf
    assert AIC().value(Spectral(100 * np.eye(4)).at(np.ones(4), 100.0)) == np.inf


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="fold"):
        CrossValidation()
    with pytest.raises(ValueError, match="fold"):
        CrossValidation([0, 1]).value(Spectral(np.eye(3)).at(np.ones(3), 1.0))
    with pytest.raises(ValueError, match="negative"):
        MallowsCp(-1.0)


@pytest.mark.parametrize("columns", [0, 1])
def test_evidence_of_several_weights_is_that_of_factorizations(columns):
    rng = np.random.default_rng(0)
    x, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    K, B, s = Gaussian(1.0)(x), np.ones((40, columns)), rng.uniform(0.5, 2.0, size=40)
    s[3] = 0.0
    Cs = np.geomspace(0.01, 1e4, 7)
    each = [Evidence().value(Factored(K, B, s, C).fit(Y)) for C in Cs]
    assert_allclose(Evidence().curve(Spectral(K, B, s), Y, Cs), each, rtol=1e-9)
