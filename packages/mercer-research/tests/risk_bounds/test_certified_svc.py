"""CertifiedSVC: the contract of scikit-learn, what its bounds rest on, and what they cost."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import parametrize_with_checks

from data import MISSING, table
from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.risk_bounds import CertifiedSVC

FEW = {"Cs": (1.0, 100.0), "widths": (1.0, 4.0)}


@parametrize_with_checks([CertifiedSVC(Cs=(1.0,), widths=(1.0,), shares=(0.5, 1.0), cv=2)])
def test_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, CertifiedSVC(**FEW, cv=3).fit(X, y)


def test_the_bound_of_rows_set_aside_by_hand(cancer):
    """Standardize by the first tenth of the order, fit the first half, count errors on the rest."""
    X, y, _ = cancer
    machine = CertifiedSVC(Cs=[10.0], widths=[2.0], shares=[0.5], cv=None).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    first = X[order[: round(0.1 * len(y))]]
    Z = (X - first.mean(axis=0)) / first.std(axis=0)
    half = np.sort(order[: round(0.5 * len(y))])
    rest = np.setdiff1d(np.arange(len(y)), half)
    svc = SVC(kernel=Gaussian(machine.width_), C=10.0).fit(Z[half], y[half])
    k, m = int(np.sum(svc.predict(Z[rest]) != y[rest])), len(rest)
    assert machine.bounds_["rows set aside"].value == pytest.approx(
        stats.beta.isf(0.05 / 4, k + 1, m - k)
    )
    assert np.array_equal(machine.predict(X), svc.predict(Z))


def test_bounds_are_a_ladder_of_one_machine(cancer):
    machine = cancer[-1]
    values = [bound.value for bound in machine.bounds_.values()]
    assert values == sorted(values)
    assert machine.bound_ is next(iter(machine.bounds_.values()))
    assert machine.bound_.value == min(bound.value for bound in machine.least_bounds_.values())
    assert machine.bound_.value <= machine.cross_validated_["bound"].value
    assert set(machine.least_bounds_) == {
        "rows set aside",
        "compression",
        "PAC-Bayes, prior 0",
        "PAC-Bayes, prior from rows",
        "Rademacher margin",
    }
    assert all(bound.valid for bound in machine.bounds_.values())
    assert machine.accuracy_cost_ < 0.1


def test_more_settings_cost_more(cancer):
    """The machine of one setting has a larger bound if others were tried beside it."""
    X, y, _ = cancer
    alone = CertifiedSVC(Cs=[100.0], widths=[4.0], shares=[1.0], cv=None).fit(X, y)
    beside = CertifiedSVC(Cs=[1e-3, 100.0], widths=[4.0], shares=[1.0], cv=None).fit(X, y)
    assert beside.C_ == alone.C_
    assert beside.bound_.value > alone.bound_.value
    # A prior around 0 does not know C.
    name = "PAC-Bayes, prior 0"
    assert beside.bounds_[name].value == alone.bounds_[name].value


def test_no_row_that_a_bound_counts_reaches_the_scaler(cancer):
    X, y, machine = cancer
    order = np.random.RandomState(0).permutation(len(y))
    moved = X.copy()
    moved[order[round(0.1 * len(y)) :]] *= 3.0
    other = CertifiedSVC(**FEW, cv=None).fit(moved, y)
    assert np.array_equal(other._scale.scale, machine._scale.scale)
    assert other._scale.unit == machine._scale.unit
    moved = X.copy()
    moved[order[:10]] *= 3.0
    assert not np.array_equal(
        CertifiedSVC(**FEW, cv=None).fit(moved, y)._scale.scale, machine._scale.scale
    )


def test_rows_of_the_scaler_are_not_tested_by_small_shares():
    """A share below that of the scaler tests only the rows after the scaler's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    machine = CertifiedSVC(Cs=[1.0], widths=[1.0], shares=[0.05], scaling=0.3, cv=None)
    machine.fit(X, X[:, 0] > 0)
    k = machine.bounds_["rows set aside"].constants["error rate"].value * 280
    assert k == pytest.approx(round(k))


def test_one_class_and_several_classes_are_refused(cancer):
    X, y, _ = cancer
    with pytest.raises(ValueError, match="Only binary classification"):
        CertifiedSVC().fit(X[:60], np.arange(60) % 3)
    with pytest.raises(ValueError, match="shares"):
        CertifiedSVC(shares=[0.0]).fit(X, y)


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_the_bound_says_something_on_banknotes():
    X, y = table("banknote")[:2]
    machine = CertifiedSVC(Cs=[1000.0], widths=[2.0], shares=[1.0], cv=None).fit(X[::2], y[::2])
    assert machine.bound_.value < 0.25
    assert np.mean(machine.predict(X[1::2]) != y[1::2]) < machine.bound_.value


def test_the_bound_is_about_predict_where_the_decision_is_zero():
    # Equal rows, and as many of either label in the fit: the decision is 0 everywhere.
    X, y = np.zeros((200, 1)), np.r_[np.ones(180), np.zeros(20)]
    fits = 0
    for seed in range(30):
        machine = CertifiedSVC(Cs=[1.0], widths=[1.0], shares=[0.01], cv=None, random_state=seed)
        try:
            machine.fit(X, y)
        except ValueError:  # the two rows of the share have one label
            continue
        fits += 1
        assert machine.decision_function(X[:1]) == 0.0
        # All rows are equal, so every row set aside errs or none does.
        order = np.random.RandomState(seed).permutation(200)
        rest = order[20:]
        wrong = int(np.sum(machine.predict(X[rest]) != y[rest]))
        told = machine.bounds_["rows set aside"].constants["error rate"].value
        assert told == wrong / len(rest)
        assert 1 - machine.score(X, y) <= machine.bounds_["rows set aside"].value
    assert fits > 5


def test_shares_of_one_class_are_refused_in_words():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=r"1 of 60 rows are of the smaller class. Add the share 1"):
        CertifiedSVC(shares=[0.5], cv=None).fit(X, np.r_[1, np.zeros(59)])
    with pytest.raises(ValueError, match="at least one value each"):
        CertifiedSVC(Cs=[]).fit(X, np.arange(60) % 2)
