"""Structural risk minimization: shares, order, vacuous bounds, and what it chooses."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.regularizers import Empty
from mercer_research.covering import (
    FiniteClass,
    finite_classes,
    fit_within_norm,
    real_valued_classes,
    share_delta,
    structural_risk,
)
from mercer_research.diagnostics.risk import norm_of
from periodic_gaussian import PeriodicGaussian

CLASSES = [FiniteClass(np.log(size)) for size in (10, 1000, 10**9)]


def test_shares_sum_to_no_more_than_delta():
    assert np.sum(share_delta(0.05, 7)) == pytest.approx(0.05)
    for n in (1, 10, 10_000):
        assert np.sum(share_delta(0.05, n, open_ended=True)) <= 0.05
    # The open-ended list uses all of it in the end: the rest is 6 / (pi^2 n).
    assert np.sum(share_delta(0.05, 10_000, open_ended=True)) >= 0.05 * (1 - 1e-4)
    with pytest.raises(ValueError, match="delta"):
        share_delta(0.0, 3)


def test_the_least_sum_wins():
    risks, m = [0.30, 0.12, 0.11], 1000
    choice = structural_risk(CLASSES, risks, finite_classes(), m, 0.06)
    widths = [np.sqrt(np.log(2 * size / 0.02) / (2 * m)) for size in (10, 1000, 10**9)]
    assert choice.widths == pytest.approx(widths)
    assert choice.best == int(np.argmin(np.add(risks, widths))) == 1
    assert choice.bound is choice.bounds[1]
    assert choice.bound.value == pytest.approx(0.12 + widths[1])
    assert choice.bound.constants["delta"].value == pytest.approx(0.02)
    assert not choice.vacuous
    assert "1         0.1200" in str(choice)


def test_shares_may_be_told_and_are_checked():
    uneven = structural_risk(
        CLASSES, [0.3, 0.12, 0.11], finite_classes(), 1000, deltas=[0.001, 0.001, 0.048]
    )
    even = structural_risk(CLASSES, [0.3, 0.12, 0.11], finite_classes(), 1000)
    assert uneven.widths[2] < even.widths[2]
    assert uneven.widths[0] > even.widths[0]
    for wrong in ([0.05, 0.05, 0.05], [0.01, 0.01], [0.05, 0.0, 0.0]):
        with pytest.raises(ValueError, match="shares"):
            structural_risk(CLASSES, [0.3, 0.12, 0.11], finite_classes(), 1000, deltas=wrong)
    with pytest.raises(ValueError, match="do not match"):
        structural_risk(CLASSES, [0.3], finite_classes(), 1000)


def test_nothing_is_chosen_where_all_bounds_say_nothing():
    choice = structural_risk(CLASSES, [0.30, 0.12, 0.11], finite_classes(), 5)
    assert choice.vacuous
    assert choice.best is None
    assert choice.bound is None
    assert "cross-validation" in str(choice)
    assert structural_risk(CLASSES, [0.3, 0.12, 0.11], finite_classes(), 5, force=True).best == 0


def test_disorder_is_reported():
    with pytest.warns(UserWarning, match=r"class 1 contains class 0.*converged"):
        structural_risk(CLASSES, [0.1, 0.2, 0.1], finite_classes(), 1000)
    with pytest.warns(UserWarning, match=r"class 1 contains class 0.*in order"):
        structural_risk(CLASSES[1::-1], [0.3, 0.2], finite_classes(), 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        structural_risk(CLASSES, [0.3, 0.2, 0.2], finite_classes(), 1000)
        structural_risk(CLASSES[::-1], [0.1, 0.2, 0.3], finite_classes(), 1000, nested=False)


WIDTHS, NORMS = (0.05, 0.1, 0.2, 0.4, 0.8), (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
TARGETS = {
    "waves": lambda x: 0.35 * np.sin(4 * x),
    "step": lambda x: 0.3 * np.tanh(3 * x) + 0.1 * np.cos(7 * x),
}


def errors(x, y, x_new, y_new):
    """Return clipped errors of ridge fits in every class, on the sample and on new rows."""
    seen, new = [], []
    for width in WIDTHS:
        K, K_new = (np.exp(-0.5 * ((z[:, None] - x) / width) ** 2) for z in (x, x_new))
        values, U = np.linalg.eigh(K)
        values, c = np.maximum(values, 0.0), U.T @ y
        for norm in NORMS:

            def excess(t, values=values, c=c, norm=norm):
                return np.sum(values * (c / (values + np.exp(t))) ** 2) - norm**2

            t = brentq(excess, -25, 20) if excess(-25) > 0 else -25
            a = U @ (c / (values + np.exp(t)))
            seen.append(np.mean(np.minimum(np.abs(y - K @ a), 1)))
            new.append(np.mean(np.minimum(np.abs(y_new - K_new @ a), 1)))
    return np.array(seen), np.array(new)


@pytest.mark.parametrize(
    ("target", "best", "covering", "rademacher"),
    [("waves", 0.0252, 0.2006, 0.0258), ("step", 0.0253, 0.2072, 0.0592)],
)
def test_covering_numbers_choose_badly(target, best, covering, rademacher):
    # Worked medians are those of ten samples; 500 new rows tell an error to 2.5 %, twice that.
    m, found = 500, []
    classes = [PeriodicGaussian(width).scaled(norm) for width in WIDTHS for norm in NORMS]
    norms = np.tile(NORMS, len(WIDTHS))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1.5, 1.5, 2 * m)
        y = TARGETS[target](x) + rng.uniform(-0.05, 0.05, 2 * m)
        seen, new = errors(x[:m], y[:m], x[m:], y[m:])
        rule = real_valued_classes()
        assert structural_risk(classes, seen, rule, m, nested=False).best is None
        choice = structural_risk(classes, seen, rule, m, nested=False, force=True)
        # The fit is thrown away: always the smallest norm on offer.
        assert norms[choice.best] == 0.1
        other = np.argmin(seen + 2 * norms / np.sqrt(m))
        assert norms[other] in (0.5, 1.0)
        found.append((np.min(new), new[choice.best], new[other]))
    assert np.median(found, axis=0) == pytest.approx([best, covering, rademacher], rel=0.05)


def test_fits_keep_to_the_norm():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (40, 1))
    y = np.sinc(X[:, 0])
    machine = SVR(kernel=Gaussian(1.0), epsilon=0.01, null_space=Empty())
    risks = []
    for norm in (0.3, 0.6, 0.9):
        fitted = fit_within_norm(machine, X, y, norm)
        f = fitted.predict(X)
        assert norm * 0.999 <= norm_of(fitted, f) <= norm
        risks.append(np.mean(EpsilonInsensitive(0.01).value(y, f)))
    assert np.all(np.diff(risks) < 0)
    labels = np.where(y > 0.3, 1, -1)
    classifier = SVC(kernel=Gaussian(1.0), null_space=Empty())
    fitted = fit_within_norm(classifier, X, labels, 1.5)
    assert norm_of(fitted, fitted.decision_function(X)) == pytest.approx(1.5, rel=1e-3)


def test_the_constrained_fit_is_optimal():
    # Among functions of the same norm none has a smaller loss: perturb and scale back.
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (25, 1))
    y = np.sinc(X[:, 0])
    machine = SVR(kernel=Gaussian(1.0), epsilon=0.05, null_space=Empty(), tol=1e-8)
    fitted = fit_within_norm(machine, X, y, 0.5)
    K, loss = Gaussian(1.0)(X), EpsilonInsensitive(0.05)
    a = np.zeros(25)
    a[fitted.support_] = np.ravel(fitted.dual_coef_)
    size = np.sqrt(a @ K @ a)
    least = np.mean(loss.value(y, K @ a))
    for _ in range(200):
        b = a + rng.standard_normal(25) * 10.0 ** rng.uniform(-4, 0)
        b *= size / np.sqrt(b @ K @ b)
        assert np.mean(loss.value(y, K @ b)) >= least * (1 - 1e-6)


def test_norms_that_cannot_be_kept_to():
    X, y = np.linspace(-1, 1, 10)[:, None], np.zeros(10)
    with pytest.raises(ValueError, match="unpenalized"):
        fit_within_norm(SVR(), X, y + np.linspace(0, 1, 10), 1.0)
    with pytest.raises(ValueError, match="norm"):
        fit_within_norm(SVR(null_space=Empty()), X, y, 0.0)
    # A norm that no function needs: the largest weight of the loss is taken.
    easy = fit_within_norm(SVR(null_space=Empty(), epsilon=0.2), X, np.full(10, 0.3), 100.0)
    assert norm_of(easy, easy.predict(X)) < 1.0
