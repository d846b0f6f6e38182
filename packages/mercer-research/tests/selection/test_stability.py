"""What leaving samples out does, against refits, and the corners of curves."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.neighbors import KNeighborsClassifier

from mercer import LSSVC, LSSVR, SVC, SVR
from mercer.kernels import Gaussian
from mercer.losses import Huber, Squared
from mercer_research.selection import l_curve
from mercer_research.selection.l_curve import corner
from mercer_research.selection.stability_report import Stability, stability

KERNEL = Gaussian(0.7)


def sinc(n=30, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + noise * rng.standard_normal(n)


def brute_force(machine, X, y, value):
    """Refit without each sample, and return the value that the others give it."""
    out = np.empty(len(y))
    for k in range(len(y)):
        rest = np.arange(len(y)) != k
        out[k] = value(clone(machine).fit(X[rest], y[rest]), X[k : k + 1])[0]
    return out


@pytest.mark.parametrize(
    ("machine", "tol"),
    [
        (LSSVR(KERNEL, C=5.0), 1e-9),
        # Solved to 1e-8 each; decision values of a curvature of C k differ by its root at most.
        (SVR(kernel=KERNEL, C=1.0, tol=1e-8), 1e-4),
        (Ridge(alpha=0.1), 1e-12),
    ],
    ids=lambda value: type(value).__name__,
)
def test_differences_are_those_of_refits(machine, tol):
    X, y = sinc(20)
    machine.fit(X, y)
    found = stability(machine, X, y)
    left_out = y - brute_force(machine, X, y, lambda m, Z: m.predict(Z))
    assert found.residuals == pytest.approx(y - machine.predict(X))
    assert found.left_out == pytest.approx(left_out, abs=tol)
    assert found.alpha == pytest.approx(np.max(np.abs(found.differences)))
    assert found.worst[0] == np.argmax(np.abs(found.residuals - left_out))


@pytest.mark.parametrize("machine", [LSSVC(KERNEL), SVC(kernel=KERNEL, tol=1e-8)])
def test_classes_are_minus_and_plus_one(machine):
    X, y = sinc(24, seed=3)
    labels = np.where(y > 0.1, "b", "a")
    machine.fit(X, labels)
    found = stability(machine, X, labels)
    values = brute_force(machine, X, labels, lambda m, Z: m.decision_function(Z))
    assert found.left_out == pytest.approx(np.where(labels == "b", 1, -1) - values, abs=1e-4)


@pytest.mark.parametrize(
    ("machine", "kept", "tol"),
    [
        (LSSVR(C=10.0), ("gamma='scale'",), 1e-9),
        (LSSVR(kernel="matern"), ("gamma='scale'",), 1e-9),
        (LSSVR(gamma="median", C=10.0), ("gamma='median'",), 1e-9),
        (LSSVR(standardize=True), ("gamma='scale'", "standardize=True"), 1e-9),
        # As above: solved to 1e-8 each.
        (SVR(tol=1e-8), ("gamma='scale'",), 1e-4),
        (LSSVR(gamma=0.5), (), 1e-9),
    ],
    ids=str,
)
def test_what_the_whole_sample_decided_is_kept_and_named(machine, kept, tol):
    """Refits with the kernel and the scaler of the whole sample, and refits with everything."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1.0, 3.0]
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=20)
    machine.fit(X, y)
    found = stability(machine, X, y)
    assert found.kept == kept
    # The kernel of the whole sample holds its scaler too.
    fixed = clone(machine).set_params(kernel=machine.kernel_, gamma="scale", standardize=False)
    with_it = y - brute_force(fixed, X, y, lambda m, Z: m.predict(Z))
    assert found.left_out == pytest.approx(with_it, abs=tol)
    again = stability(machine, X, y, cv=LeaveOneOut())
    refitted = y - brute_force(machine, X, y, lambda m, Z: m.predict(Z))
    assert again.kept == ()
    assert again.left_out == pytest.approx(refitted, abs=1e-12)
    # The two differ where something was kept, so that the test can tell them apart.
    apart = np.max(np.abs(found.left_out - again.left_out))
    assert apart > 10 * tol if kept else apart < tol


def test_balanced_weights_of_classes_are_kept():
    X, y = sinc(24, seed=3)
    labels = y > 0.1
    machine = LSSVC(KERNEL, class_weight="balanced").fit(X, labels)
    assert stability(machine, X, labels).kept == ("class_weight='balanced'",)
    assert stability(machine, X, labels, cv=4).kept == ()


def test_folds_are_left_out_together():
    X, y = sinc(20)
    machine = LSSVR(KERNEL, C=5.0).fit(X, y)
    found = stability(machine, X, y, cv=KFold(4))
    for train, test in KFold(4).split(X):
        again = clone(machine).fit(X[train], y[train])
        assert found.left_out[test] == pytest.approx(y[test] - again.predict(X[test]), abs=1e-9)


def test_several_outputs_and_weights():
    X, y = sinc(15)
    Y, s = np.c_[y, y**2], np.linspace(0.5, 2.0, 15)
    machine = LSSVR(KERNEL).fit(X, Y, s)
    found = stability(machine, X, Y, cv=5, sample_weight=s)
    columns = [
        stability(LSSVR(KERNEL).fit(X, t, s), X, t, cv=5, sample_weight=s).left_out for t in Y.T
    ]
    np.testing.assert_allclose(found.left_out, np.transpose(columns), atol=1e-10)
    assert sorted(found.worst) == list(range(15))


def test_classes_without_residuals_are_refused():
    X, _ = sinc(12)
    labels = np.arange(12) % 3
    with pytest.raises(ValueError, match="two classes"):
        stability(LSSVC().fit(X, labels), X, labels)
    with pytest.raises(ValueError, match="decision function"):
        stability(KNeighborsClassifier().fit(X, labels > 1), X, labels > 1)


def test_the_change_of_a_loss_and_the_bound_by_it():
    rng = np.random.default_rng(0)
    e, left_out = rng.standard_normal((2, 50))
    found = Stability(e, left_out)
    # A loss with slopes of at most one cannot change by more than the residual.
    assert found.beta() == np.max(np.abs(np.abs(e) - np.abs(left_out))) <= found.alpha
    assert found.beta(Huber(1.0)) <= found.alpha
    assert found.beta(Squared()) == pytest.approx(np.max(np.abs(e**2 - left_out**2)) / 2)
    beta, n, M = found.beta(), 50, 4.0
    by_hand = np.mean(np.abs(e)) + 2 * beta + (4 * n * beta + M) * np.sqrt(np.log(10) / (2 * n))
    assert found.bound(0.1, largest=M) == pytest.approx(by_hand)
    assert found.bound(0.1) < found.bound(0.01)
    with pytest.raises(ValueError, match="probability"):
        found.bound(0.0)


def test_the_corner_of_a_known_curve():
    # y = x^-1 + 1 in logarithmic axes has the curvature w(1-w) / (1+w^2)^1.5 with w = 1/(1+x),
    # largest where its derivative in w vanishes.
    w = np.linspace(0.01, 0.99, 100001)
    best = w[np.argmax(w * (1 - w) / (1 + w**2) ** 1.5)]
    x = np.geomspace(1e-3, 1e3, 601)
    found = corner(x, 1 / x + 1)
    assert abs(np.log(x[found] / (1 / best - 1))) < 2 * np.log(x[1] / x[0])
    with pytest.raises(ValueError, match="three points"):
        corner([1.0, 2.0], [1.0, 2.0])


def test_the_classical_curve_is_that_of_fitted_machines():
    X, y = sinc(25)
    curve = l_curve(KERNEL(X), y, [0.1, 1.0, 10.0], np.ones((25, 1)))
    assert list(curve.C) == [10.0, 1.0, 0.1]
    for C, e, norm in zip(curve.C, curve.residuals, curve.norms, strict=True):
        machine = LSSVR(KERNEL, C=C).fit(X, y)
        a = np.zeros(25)
        a[machine.support_] = machine.dual_coef_.ravel()
        assert e == pytest.approx(np.linalg.norm(y - machine.predict(X)))
        assert norm == pytest.approx(np.sqrt(a @ KERNEL(X) @ a))
    assert curve.best == 1.0
