"""The report wires bounds to the audit: each number is the one another computation gives."""

import json

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.datasets import load_concrete
from mercer.inspect.gram import effective_dimension
from mercer.kernels import Gaussian
from mercer_research.risk_bounds import CertifiedSVC, audit, capacity_report, compression_bound
from mercer_research.risk_bounds import capacity as sizes_module
from mercer_research.risk_bounds.all_bounds import N_CLASSIFIER_BOUNDS, ReportSample, ladder
from mercer_research.risk_bounds.capacity import class_size


def moons(n=300, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, y


@pytest.fixture(scope="module")
def report():
    X, y = moons(400)
    machine = SVC(gamma=1.0).fit(X[:250], y[:250])
    return capacity_report(machine, X[:250], y[:250], X[250:], y[250:])


def rung(report, name):
    (found,) = (one for one in report.rungs if one.name == name)
    return found


def test_the_bound_from_held_out_rows_is_the_quantile_of_clopper_and_pearson(report):
    errors, m = round(report.test_error * report.n_test), report.n_test
    exact = beta.ppf(0.95, errors + 1, m - errors)
    assert rung(report, "held-out rows").bound.value == pytest.approx(exact, rel=1e-9)
    assert report.claim is rung(report, "held-out rows")
    assert f"at most {exact:.3g}" in report.sentence()


def test_without_held_out_rows_the_least_bound_from_training_rows_is_claimed():
    X, y = make_moons(2000, noise=0.1, random_state=0)
    found = capacity_report(SVC(gamma=1.0).fit(X, y), X, y, cv=None)
    assert found.test_error is None
    assert rung(found, "held-out rows").status == "not there"
    values = [one.bound.value for one in found.rungs if one.status == "holds"]
    assert len(values) > 1
    assert found.claim.bound.value == min(values)


def test_bounds_from_training_rows_share_delta_and_pay_for_a_search():
    X, y = moons()
    search = GridSearchCV(SVC(gamma=1.0), {"C": [1.0, 10.0, 100.0]}, cv=2).fit(X, y)
    found = capacity_report(search, X, y, cv=None)
    best = search.best_estimator_
    paid = compression_bound(best, X, y, choices=3 * N_CLASSIFIER_BOUNDS).value
    assert rung(found, "compression").bound.value == pytest.approx(paid, rel=1e-12)
    assert "Paid for 3 settings" in rung(found, "compression").why
    assert "Of the machine refitted to the" in rung(found, "compression").why
    alone = compression_bound(best, X, y).value
    assert paid > alone


def test_claims_hold_on_simulated_samples():
    # Labels of a half-plane, one in ten flipped; the risk of a machine is known from 20,000 rows.
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.uniform(-1, 1, (n, 2))
        return X, (X[:, 0] > 0) ^ (rng.random(n) < 0.1)

    X_new, y_new = draw(20_000)
    broken = np.zeros(2, dtype=int)
    draws, delta = 40, 0.2
    for _ in range(draws):
        (X, y), (X_test, y_test) = draw(120), draw(60)
        machine = SVC(gamma=1.0).fit(X, y)
        risk = np.mean(machine.predict(X_new) != y_new)
        found = audit(machine, X, y, X_test, y_test)
        rungs = ladder(machine, ReportSample(X, y, X_test, y_test), found, delta=delta, cv=None)
        held, *training = rungs
        # The machine that compression bounds is a refit; all others bound this one.
        others = [r.bound.value for r in training if r.name != "compression"]
        broken += [risk > held.bound.value, risk > min(others)]
    # Each fails with probability delta at most: more than this has probability below 0.001.
    assert np.all(broken <= binom.ppf(0.999, draws, delta))
    # And the bound from held-out rows is sharp: it does fail now and then.
    assert broken[0] > 0


def test_refused_bounds_show_no_number():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.03)).fit(X[:300], y[:300])
    found = capacity_report(model, X[:300], y[:300], X[300:], y[300:], cv=None)
    refused = rung(found, "PAC-Bayes, prior 0")
    assert refused.status == "refused"
    assert "StandardScaler was fitted to them" in refused.why
    line = next(line for line in str(found).splitlines() if refused.name in line)
    assert line.split() == [*refused.name.split(), "refused"]
    assert f"{refused.bound.value:.3g}" not in found._repr_html_()
    # Compression fits the scaler again, to the support vectors alone.
    assert rung(found, "compression").status != "refused"


def test_a_table_scaled_with_all_rows_leaves_nothing_to_claim():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    machine = SVC(gamma=0.03).fit(X[:300], y[:300])
    found = capacity_report(machine, X[:300], y[:300], X[300:], y[300:], cv=None)
    assert found.claim is None
    assert found.sentence().startswith("Nothing may be claimed")
    assert {one.status for one in found.rungs} == {"refused"}


def test_copies_are_left_out_and_the_bound_is_that_of_the_rest():
    X, y = moons()
    X_test, y_test = np.concatenate([X[200:], X[:50]]), np.concatenate([y[200:], y[:50]])
    machine = SVC(gamma=1.0).fit(X[:200], y[:200])
    found = capacity_report(machine, X[:200], y[:200], X_test, y_test, cv=None)
    plain = capacity_report(machine, X[:200], y[:200], X[200:], y[200:], cv=None)
    held = rung(found, "held-out rows")
    assert held.bound.value == rung(plain, "held-out rows").bound.value
    assert held.why == "50 copies among the held-out rows were left out."
    assert held.status == "holds"


def test_copies_among_training_rows_are_left_out():
    X, y = moons()
    twice = np.r_[np.arange(200), np.arange(100)]
    machine = SVC(gamma=1.0).fit(X[twice], y[twice])
    found = capacity_report(machine, X[twice], y[twice], cv=None)
    prior = rung(found, "PAC-Bayes, prior 0")
    assert "100 copies among the training rows were left out." in prior.why
    assert prior.bound.valid
    # The same machine, judged on the distinct rows alone.
    rows = ladder(
        machine, ReportSample(X[:200], y[:200]), audit(machine, X[:200], y[:200]), cv=None
    )
    (again,) = (one for one in rows if one.name == "PAC-Bayes, prior 0")
    assert prior.bound.value == again.bound.value


def test_a_machine_that_certifies_itself_brings_its_bounds():
    X, y = moons(400)
    machine = CertifiedSVC(Cs=[10.0], widths=[0.5], cv=None).fit(X[:250], y[:250])
    found = capacity_report(machine, X[:250], y[:250], X[250:], y[250:], cv=None)
    assert found.name == "CertifiedSVC"
    assert found.audit.held_out["fit"].status == "checked"
    assert {one.name: one.bound.value for one in found.rungs[1:]} == {
        name: bound.value for name, bound in machine.bounds_.items()
    }
    assert all(one.bound.valid for one in found.rungs)
    assert found.test_error == np.mean(machine.predict(X[250:]) != y[250:])
    on_all = CertifiedSVC(Cs=[10.0], widths=[0.5], shares=[1.0], cv=None).fit(X, y)
    seen = audit(on_all, X[:250], y[:250], X[250:], y[250:])
    assert seen.held_out["fit"].status == "violated"


def test_rows_in_another_order_do_not_make_a_compression():
    X, y = moons()
    machine = SVC(gamma=1.0).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    found = capacity_report(machine, X[order], y[order], cv=None)
    assert rung(found, "compression").status == "not there"
    assert "in this order" in rung(found, "compression").why
    assert rung(found, "PAC-Bayes, prior 0").bound is not None


def test_the_report_says_how_to_bound_a_regression():
    X, y = load_concrete(return_X_y=True)
    X = X / np.median(np.abs(X[:100]) + 1.0, axis=0)
    machine = SVR(gamma=0.1, C=30.0).fit(X[:400], y[:400])
    unknown = capacity_report(machine, X[:400], y[:400], X[400:], y[400:], cv=None)
    assert "give largest" in rung(unknown, "compression").why
    assert rung(unknown, "held-out rows").status == "holds"
    known = capacity_report(machine, X[:400], y[:400], X[400:], y[400:], largest=30.0, cv=None)
    assert rung(known, "compression").status != "refused"
    assert "absolute error (clipped at 30)" in known.sentence()
    errors = np.minimum(np.abs(machine.predict(X[400:]) - y[400:]), 30.0)
    assert known.test_error == pytest.approx(errors.mean())


@pytest.mark.parametrize(
    ("model", "load"),
    [(SVC(gamma=0.5), load_iris), (RandomForestClassifier(10, random_state=0), load_iris)],
    ids=["three classes", "forest"],
)
def test_machines_that_are_no_function_of_a_kernel_have_fewer_bounds(model, load):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X[rows], y[rows]
    found = capacity_report(model.fit(X[:90], y[:90]), X[:90], y[:90], X[90:], y[90:])
    assert found.size is None
    assert rung(found, "held-out rows").status == "holds"
    assert rung(found, "PAC-Bayes, margins").status == "not there"
    assert rung(found, "cross-validation").status == "estimate"


def test_a_report_is_text_a_table_and_json(report):
    loaded = json.loads(report.to_json(allow_nan=False))
    assert loaded["claim"] == report.sentence()
    assert [one["bound"] for one in loaded["bounds"]] == [one.name for one in report.rungs]
    frame = report.to_frame()
    assert list(frame["bound"]) == [one.name for one in report.rungs]
    assert frame["value"].dtype.kind == "f"
    assert report.sentence() in report._repr_html_()
    text = str(report)
    assert max(map(len, text.splitlines())) <= 100
    assert "to compare kernels and widths by, not a risk" in text


def test_held_out_rows_come_with_their_targets():
    X, y = moons(60)
    with pytest.raises(ValueError, match="together"):
        capacity_report(SVC().fit(X, y), X, y, X)


# Sizes of classes.


def test_sizes_are_those_of_the_whole_matrix():
    X, _ = moons(120)
    kernel, n = Gaussian(0.7), 120
    K = kernel(X)
    size = class_size(kernel, X, 4.0, precision=1.0, C=10.0)
    values = np.linalg.eigvalsh(K)[::-1] / n
    k = len(size.eigenvalues)
    np.testing.assert_allclose(size.eigenvalues, values[:k], atol=1e-13)
    assert size.effective_rank == pytest.approx(values.sum() ** 2 / np.sum(values**2), rel=1e-9)
    low, high = size.effective_dimension
    exact = effective_dimension(K, penalty=0.1)
    assert low <= exact * (1 + 1e-9) <= high * (1 + 2e-9)
    assert high - low < 1e-6
    assert size.fat_dimension == pytest.approx(16.0)


def test_many_rows_give_bounds_of_the_same_numbers(monkeypatch):
    X, _ = moons(300)
    kernel = Gaussian(1.0)
    exact = class_size(kernel, X, 4.0, precision=1.0, C=1.0)
    monkeypatch.setattr(sizes_module, "MAX_ROWS_DECOMPOSED", 100)
    monkeypatch.setattr(sizes_module, "BLOCK_BYTES", 2048 * 50)
    size = class_size(kernel, X, 4.0, precision=1.0, C=1.0)
    # Directions of some rows hold no more than the principal ones.
    assert np.all(size.eigenvalues[:10] <= exact.eigenvalues[:10] * (1 + 1e-8))
    np.testing.assert_allclose(size.eigenvalues[:10], exact.eigenvalues[:10], rtol=1e-3)
    low, high = size.effective_dimension
    assert low <= exact.effective_dimension[0] * (1 + 1e-6)
    assert exact.effective_dimension[1] <= high * (1 + 1e-6)
    # From 100 of 300 rows, whose pairs are drawn without bias.
    assert size.effective_rank == pytest.approx(exact.effective_rank, rel=0.1)
