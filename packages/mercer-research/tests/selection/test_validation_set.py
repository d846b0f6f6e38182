"""Choosing by samples put aside: the bound covers, the splits are what they are said to be."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.risk_bounds import hoeffding
from mercer.selection import leave_one_out
from mercer_research.selection.protocols import median_of_five, selection_statistics
from mercer_research.selection.validation_set import holdout, leave_n_out


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, 0)


def test_the_bound_covers():
    # Candidates whose true risk is known, 1/2: guesses. The best of G on m samples is optimistic.
    rng = np.random.default_rng(0)
    G, m, delta, covered, optimistic = 20, 50, 0.2, 0, 0.0
    for _ in range(400):
        risks = rng.binomial(m, 0.5, G) / m
        optimistic += 0.5 - risks.min()
        covered += risks.min() + hoeffding(m, G, delta) >= 0.5
    # 400 trials at 0.8 have a standard deviation of 0.02.
    assert covered / 400 >= 1 - delta - 3 * 0.02
    assert optimistic / 400 > 0.1


def test_coverage_through_holdout():
    X, y = np.zeros((60, 1)), np.arange(60) % 2
    grid = {"random_state": list(range(8))}
    covered = 0
    for seed in range(50):
        found = holdout(
            DummyClassifier(strategy="uniform"),
            grid,
            X,
            y,
            validation=0.5,
            delta=0.1,
            random_state=seed,
        )
        assert found.risk == found.risks.min()
        assert found.upper == pytest.approx(found.risk + np.sqrt(np.log(8 / 0.1) / 60))
        covered += found.upper >= 0.5
    assert covered >= 45


def test_three_parts():
    X, y = sample(120)
    found = holdout(
        SVC(kernel=Gaussian(1.0)), {"C": [0.1, 1.0, 10.0]}, X, y, test=0.25, random_state=1
    )
    assert np.isfinite(found.test_risk)
    assert found.test_upper == pytest.approx(found.test_risk + np.sqrt(np.log(1 / 0.05) / (2 * 30)))
    assert found.upper == pytest.approx(found.risk + np.sqrt(np.log(3 / 0.05) / (2 * 27)))
    # Fitted on training and validation sample: ninety in all.
    assert found.machine.shape_fit_ == (90, 2)
    validated = holdout(
        SVC(kernel=Gaussian(1.0)), [{"C": 1.0}], X, y, validation=np.arange(40), refit=False
    )
    assert validated.machine.shape_fit_ == (80, 2)
    by_hand = SVC(kernel=Gaussian(1.0), C=1.0).fit(X[40:], y[40:])
    assert validated.risk == np.mean(by_hand.predict(X[:40]) != y[:40])


def test_regression_has_no_bound_unless_losses_do():
    X, _ = sample(60)
    y = np.sin(X[:, 0])
    assert holdout(SVR(), {"C": [1.0]}, X, y, random_state=0).upper == np.inf
    clipped = holdout(
        SVR(),
        {"C": [1.0]},
        X,
        y,
        random_state=0,
        bound=4.0,
        loss=lambda t, f: np.minimum((t - f) ** 2, 4.0),
    )
    assert clipped.upper == pytest.approx(clipped.risk + hoeffding(18, 1, 0.05, 4.0))


def test_too_many_parameters_for_too_few_samples():
    X, y = sample(40)
    with pytest.warns(UserWarning, match="cannot tell so many apart"):
        holdout(SVC(), [{"C": 1.0, "gamma": 1.0}], X, y, random_state=0)


@pytest.mark.parametrize("n", [1, 7, None])
def test_leave_n_out_is_unshuffled_folds(n):
    X, y = sample(35)
    grid = {"C": [0.1, 1.0, 10.0]}
    found = leave_n_out(SVC(kernel=Gaussian(1.0)), grid, X, y, n=n)
    if n == 1:
        machine = SVC(kernel=Gaussian(1.0), C=10.0, tol=1e-6).fit(X, y)
        assert found.risks[2] == pytest.approx(leave_one_out(machine, X, y).risk, abs=1e-12)
    if n == 7:
        search = GridSearchCV(SVC(kernel=Gaussian(1.0)), grid, cv=KFold(5), refit=False).fit(X, y)
        assert found.risks == pytest.approx(1 - search.cv_results_["mean_test_score"])
    assert found.params[found.best]["C"] == found.machine.C
    assert found.machine.shape_fit_ == (35, 2)
    with pytest.raises(ValueError, match="less than the 35 samples"):
        leave_n_out(SVC(), grid, X, y, n=35)


def test_statistics_along_a_grid():
    X, y = sample(60)
    X_test, y_test = sample(200, 1)
    widths = np.array([0.05, 0.5, 2.0, 20.0])
    found = selection_statistics(
        SVC(kernel=Gaussian(), tol=1e-6),
        X,
        y,
        "kernel__length_scale",
        widths,
        X_test=X_test,
        y_test=y_test,
    )
    for k, width in enumerate(widths):
        machine = SVC(kernel=Gaussian(width), tol=1e-6).fit(X, y)
        sign = 2.0 * y - 1.0
        margin = sign * machine.decision_function(X)
        assert found.support[k] == pytest.approx(len(machine.support_) / 60)
        assert found.training_error[k] == np.mean(margin <= 0)
        # Decision values of the float32 prediction may differ by a quarter of the tolerance.
        assert found.slack[k] == pytest.approx(np.mean(np.maximum(0, 1 - margin)), abs=1e-5)
        assert found.test_error[k] == np.mean(machine.predict(X_test) != y_test)
        alpha = np.abs(machine.solution_.a)
        assert found.jaakkola_haussler[k] == pytest.approx(np.mean(margin <= alpha), abs=1 / 60)
    # Narrow kernels know every training sample by heart: no training error, chance on the test.
    assert found.training_error[0] == 0.0
    assert found.best()["test_error"] in (0.5, 2.0)
    plain = selection_statistics(SVC(kernel=Gaussian()), X, y, "kernel__length_scale", [1.0])
    assert plain.test_error is None
    assert "test_error" not in plain.best()
    with pytest.raises(ValueError, match="list of numbers"):
        selection_statistics(SVC(), X, y, "C", 1.0)


def test_median_of_five():
    X, y = sample(80)
    splits = list(ShuffleSplit(7, test_size=0.4, random_state=0).split(X))
    grid = {"C": [0.1, 1.0, 10.0], "kernel__length_scale": [0.5, 1.0, 2.0]}
    result = median_of_five(SVC(kernel=Gaussian()), grid, X, y, splits, cv=3)
    assert len(result.chosen) == 5
    for name, values in grid.items():
        assert result.params[name] == np.median([c[name] for c in result.chosen])
        assert result.params[name] in values
    train, test = splits[6]
    machine = SVC(kernel=Gaussian()).set_params(**result.params).fit(X[train], y[train])
    assert result.errors[6] == np.mean(machine.predict(X[test]) != y[test])
    assert result.mean == pytest.approx(result.errors.mean())
    numbers = np.sin(X[:, 0])
    squares = median_of_five(SVR(), {"C": [1.0]}, X, numbers, splits, first=1, cv=3)
    assert squares.errors.shape == (7,)
    machine = SVR(C=1.0).fit(X[train], numbers[train])
    error = np.mean((machine.predict(X[test]) - numbers[test]) ** 2)
    assert squares.errors[6] == pytest.approx(error)
    with pytest.raises(ValueError, match="first 9"):
        median_of_five(SVC(), {"C": [1.0]}, X, y, splits, first=9)
