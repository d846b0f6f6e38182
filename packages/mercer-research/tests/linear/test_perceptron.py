"""Perceptrons against the table they come from, and their mistakes against the theorem."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Gaussian, Linear
from mercer_research.linear import KernelPerceptron, LpMarginSVC, mistake_bound


def apart(n=40, seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, 3)), rng.normal(size=3)
    y = np.where(X @ w + 0.3 > 0, 1, -1)
    return X + shift * y[:, None] * w / np.linalg.norm(w), y


def table(X, y, eta, epochs=1000):
    """Return weights, constant and the mistakes of the printed algorithm, one by one."""
    w, b, made, averages = np.zeros(X.shape[1]), 0.0, [], []
    for _ in range(epochs):
        before = len(made)
        for i in range(len(y)):
            if y[i] * (X[i] @ w + b) <= 0:
                w, b = w + eta * y[i] * X[i], b + eta * y[i]
                made.append(i)
            averages.append(np.append(w, b))
        if len(made) == before:
            break
    return w, b, made, np.mean(averages, axis=0)


@pytest.mark.parametrize("eta", [0.1, 1.0, 7.0])
def test_the_linear_kernel_is_the_printed_algorithm(eta):
    X, y = apart()
    w, b, made, mean = table(X, y, eta)
    last = KernelPerceptron(eta=eta, output="last").fit(X, y)
    assert last.n_updates_ == len(made)
    assert last.converged_
    np.testing.assert_allclose(last.dual_coef_ @ last.support_vectors_, w, atol=1e-10)
    assert last.intercept_ == pytest.approx(b)
    averaged = KernelPerceptron(eta=eta, output="mean").fit(X, y)
    np.testing.assert_allclose(averaged.dual_coef_ @ averaged.support_vectors_, mean[:-1])
    assert averaged.intercept_ == pytest.approx(mean[-1])


@pytest.mark.parametrize("seed", range(4))
def test_mistakes_keep_to_the_theorem(seed):
    X, y = apart(seed=seed, shift=0.3)
    plane = LpMarginSVC(2.0, C=np.inf).fit(X, y)
    radius = np.max(np.linalg.norm(X, axis=1))
    margin = plane.margins_[0]
    bound = mistake_bound(margin, plane.intercept_[0] * margin, radius)
    # (1 + b^2) (R^2 + 1) / margin^2: the theorem without offset, in one dimension more.
    assert mistake_bound(0.5, 2.0, 3.0) == pytest.approx((1 + 4) * (9 + 1) / 0.25)
    for order in range(3):
        for eta in (0.01, 1.0):
            model = KernelPerceptron(
                eta=eta, output="last", shuffle=True, random_state=order, max_epochs=100000
            ).fit(X, y)
            assert model.converged_
            assert 0 < model.n_updates_ <= bound
            assert model.score(X, y) == 1.0


def test_votes_are_those_of_all_functions_on_the_way():
    X, y = apart(seed=1, shift=-0.1)
    model = KernelPerceptron(output="vote", max_epochs=3).fit(X, y)
    Z = np.random.default_rng(5).normal(size=(20, 3))
    w, b, votes, shown = np.zeros(3), 0.0, np.zeros(20), 0
    for _ in range(3):
        for i in range(len(y)):
            if y[i] * (X[i] @ w + b) <= 0:
                w, b = w + y[i] * X[i], b + y[i]
            votes += np.sign(Z @ w + b)
            shown += 1
    np.testing.assert_allclose(model.decision_function(Z), votes / shown, atol=1e-12)


def test_overlap_warns_of_the_last_function_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X += 0.7 * y[:, None]
    with pytest.warns(ConvergenceWarning, match="overlap"):
        last = KernelPerceptron(Gaussian(1.0), output="last", max_epochs=5).fit(X, y)
    mean = KernelPerceptron(Gaussian(1.0), max_epochs=5).fit(X, y)
    assert not mean.converged_
    assert last.mistakes_ == mean.mistakes_
    assert mean.score(X, y) > 0.6


def test_a_budget_is_kept():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    X += 2.0 * y[:, None]
    model = KernelPerceptron(
        Gaussian(1.0), output="last", budget=10, max_epochs=3, shuffle=True, random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert len(model.support_) == 10
    assert model.n_updates_ > 10
    coef = np.where(y == 1, 1, -1) * model.counts_
    f = (Gaussian(1.0)(X) + 1.0) @ coef
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-12)
    wide = KernelPerceptron(Linear(), output="last", budget=80).fit(*apart())
    free = KernelPerceptron(Linear(), output="last").fit(*apart())
    np.testing.assert_array_equal(wide.counts_, free.counts_)


def test_refusals():
    X, y = apart()
    with pytest.raises(ValueError, match="output='last'"):
        KernelPerceptron(budget=3).fit(X, y)
    with pytest.raises(ValueError, match="binary"):
        KernelPerceptron().fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="separable"):
        mistake_bound(0.0, 0.0, 1.0)
