"""The audit catches what was done to the rows, and is silent after honest work."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, PredefinedSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from mercer import SVC
from mercer.datasets import load_haberman, load_house_votes
from mercer.kernels import Gaussian
from mercer.risk_bounds import Assumption, Bound
from mercer.selection import LSSVCCV, tune
from mercer_research.covering import adaptive_margin_bound
from mercer_research.risk_bounds import audit, capacity_report
from mercer_research.risk_bounds.duplicates import find_copies, identify

TEST_BOUND = Bound(0.1, "binomial tail on held-out rows", trivial=0.4)
TRAINING_BOUND = Bound(0.2, "PAC-Bayes", trivial=0.4)


def cancer():
    """Return a split of a real table: training rows and targets, held-out rows and targets."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    return X, y, X_test, y_test


def together(X, y, X_test, y_test):
    return np.concatenate([X, X_test]), np.concatenate([y, y_test])


def violated(found, rows):
    table = found.held_out if rows == "held out" else found.training
    return {topic for topic, known in table.items() if known.status == "violated"}


# Five violations, each seeded in more than one way.


def scaler_outside():
    X, y, X_test, y_test = cancer()
    scaler = StandardScaler().fit(together(X, y, X_test, y_test)[0])
    Z, Z_test = scaler.transform(X), scaler.transform(X_test)
    return SVC(gamma=0.03).fit(Z, y), (Z, y, Z_test, y_test)


def scaler_in_a_pipeline():
    X, y, X_test, y_test = cancer()
    scaler = StandardScaler().fit(together(X, y, X_test, y_test)[0])
    return make_pipeline(scaler, SVC(gamma=0.03).fit(scaler.transform(X), y)), cancer()


def other_scaler_outside():
    X, y, X_test, y_test = cancer()
    scaler = MinMaxScaler().fit(together(X, y, X_test, y_test)[0])
    Z, Z_test = scaler.transform(X), scaler.transform(X_test)
    return SVC(gamma=1.0).fit(Z, y), (Z, y, Z_test, y_test)


def components_of_all_rows():
    X, y, X_test, y_test = cancer()
    pca = PCA(5).fit(together(X, y, X_test, y_test)[0])
    return make_pipeline(pca, SVC(gamma=1e-5).fit(pca.transform(X), y)), cancer()


def searched_on_all_rows():
    search = GridSearchCV(SVC(gamma=1e-4), {"C": [1, 10]}, cv=2).fit(*together(*cancer()))
    return search, cancer()


def searched_on_the_test_rows():
    X, y, X_test, y_test = cancer()
    fold = np.repeat([-1, 0], [len(y), len(y_test)])
    search = GridSearchCV(SVC(gamma=1e-4), {"C": [1, 10]}, cv=PredefinedSplit(fold))
    return search.fit(*together(X, y, X_test, y_test)), cancer()


def searched_without_support_vectors():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1]}
    return GridSearchCV(model, grid, cv=2).fit(*together(*cancer())), cancer()


def selected_on_all_rows():
    X, y, X_test, y_test = cancer()
    chosen = SelectKBest(k=5).fit(*together(X, y, X_test, y_test))
    return make_pipeline(chosen, SVC(gamma=1e-4).fit(chosen.transform(X), y)), cancer()


def copied_across():
    X, y, X_test, y_test = cancer()
    X_test, y_test = np.concatenate([X_test, X[:7]]), np.concatenate([y_test, y[:7]])
    return SVC(gamma=1e-4).fit(X, y), (X, y, X_test, y_test)


def sampled_twice_before_the_split():
    X, y, X_test, y_test = cancer()
    X, y = together(X, y, X_test, y_test)
    rows = np.random.default_rng(0).integers(len(y), size=len(y))
    X, X_test, y, y_test = train_test_split(X[rows], y[rows], random_state=0)
    return SVC(gamma=1e-4).fit(X, y), (X, y, X_test, y_test)


def counts_copied_across():
    X, y = load_haberman(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    X_test[:40], y_test[:40] = X[:40], y[:40]
    return SVC(gamma=0.01).fit(X, y), (X, y, X_test, y_test)


@pytest.mark.parametrize(
    ("procedure", "topic", "word"),
    [
        (scaler_outside, "table", "over training and held-out rows together"),
        (scaler_in_a_pipeline, "preparation", "StandardScaler counted 569 rows"),
        (other_scaler_outside, "table", "range from 0 to 1"),
        (components_of_all_rows, "preparation", "PCA counted 569 rows"),
        (searched_on_all_rows, "settings", "keeps"),
        (searched_on_the_test_rows, "settings", "keeps"),
        (searched_without_support_vectors, "fit", "training and held-out rows together"),
        (selected_on_all_rows, "features", "SelectKBest was fitted to training and"),
        (copied_across, "independence", "7 held-out rows are copies of training rows"),
        (sampled_twice_before_the_split, "independence", "copies of training rows"),
        (counts_copied_across, "independence", "in a split at random"),
    ],
)
def test_a_bound_from_held_out_rows_is_refused_after(procedure, topic, word):
    model, rows = procedure()
    found = audit(model, *rows)
    assert topic in violated(found, "held out")
    assert word in found.reasons["held out", topic]
    bound = found.judge(TEST_BOUND, "held out")
    assert not bound.valid
    assert any(word in a.text for a in bound.assumptions if a.status == "violated")
    assert any(word in finding for finding in found.findings)


def test_settings_taken_from_a_search_on_the_test_rows_are_caught():
    X, y, X_test, y_test = cancer()
    search = GridSearchCV(SVC(gamma=1e-4), {"C": [1, 10]}, cv=2).fit(X_test, y_test)
    machine = SVC(gamma=1e-4, **search.best_params_).fit(X, y)
    assert violated(audit(machine, X, y, X_test, y_test), "held out") == set()
    found = audit(machine, X, y, X_test, y_test, tuned_by=search)
    assert violated(found, "held out") == {"settings"}
    honest = GridSearchCV(SVC(gamma=1e-4), {"C": [1, 10]}, cv=2).fit(X, y)
    found = audit(machine, X, y, X_test, y_test, tuned_by=[honest])
    assert violated(found, "held out") == set()
    assert violated(found, "training") == {"settings"}


@pytest.mark.parametrize(
    ("tuned", "settings"),
    [
        (lambda X, y: GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=2).fit(X, y), 3),
        (lambda X, y: tune(SVC(gamma=1.0), X, y, budget=2), np.inf),
        (lambda X, y: LSSVCCV(budget=2).fit(X, y), np.inf),
    ],
    ids=["grid", "tune", "CV"],
)
def test_a_bound_from_rows_that_tuned_is_refused_or_paid_for(tuned, settings):
    X, y = make_classification(120, 4, random_state=0)
    found = audit(tuned(X[:80], y[:80]), X[:80], y[:80], X[80:], y[80:])
    assert "settings" in violated(found, "training")
    assert found.n_settings == settings
    assert not found.judge(TRAINING_BOUND, "training").valid
    # Rows that the search never saw may be used.
    assert violated(found, "held out") == set()
    assert found.held_out["fit"].status == "checked"
    # What the search was given is known; where its grid and its choice came from is believed.
    assert found.held_out["settings"].status == "assumed"
    assert found.judge(TEST_BOUND, "held out").valid


def test_a_choice_that_is_paid_for_is_no_violation():
    X, y = make_classification(120, 4, random_state=0)
    search = GridSearchCV(SVC(gamma=0.5), {"C": [1, 10]}, cv=2).fit(X, y)
    found = audit(search, X, y)
    assert found.held_out == {}
    assert not found.judge(TRAINING_BOUND, "training").valid
    assert found.judge(TRAINING_BOUND, "training", free={"settings"}).valid


@pytest.mark.parametrize(
    ("model", "topic", "word"),
    [
        (SVC(gamma="scale"), "kernel", "gamma='scale' of SVC"),
        (SVC(gamma=0.1, standardize=True), "kernel", "standardize=True"),
        (
            make_pipeline(StandardScaler(), SVC(gamma=0.1)),
            "preparation",
            "StandardScaler was fitted to them",
        ),
        (
            make_pipeline(SelectKBest(k=3), SVC(gamma=1e-4)),
            "features",
            "SelectKBest was fitted to them",
        ),
        (SGDClassifier(early_stopping=True, random_state=0), "stopping", "when to stop"),
    ],
    ids=["width", "standardized", "scaler", "selected", "stopped"],
)
def test_a_bound_from_training_rows_is_refused_where_they_made_the_class(model, topic, word):
    X, y, X_test, y_test = cancer()
    found = audit(model.fit(X, y), X, y, X_test, y_test)
    assert topic in violated(found, "training")
    assert word in found.reasons["training", topic]
    assert found.judge(TEST_BOUND, "held out").valid


# Honest procedures: no held-out row took part in anything.

HONEST = {
    "machine": SVC(gamma=1e-4),
    "scaled inside": make_pipeline(StandardScaler(), SVC()),
    "components inside": make_pipeline(StandardScaler(), PCA(5), SVC()),
    "selected inside": make_pipeline(SelectKBest(k=5), StandardScaler(), SVC()),
    "searched inside": GridSearchCV(
        make_pipeline(MinMaxScaler(), SVC()), {"svc__C": [1, 10]}, cv=2
    ),
    "other machine": make_pipeline(StandardScaler(), LogisticRegression()),
    "columns": make_pipeline(
        make_column_transformer((StandardScaler(), [0, 1, 2]), remainder="passthrough"),
        SVC(gamma=1e-4),
    ),
    "fixed function": make_pipeline(FunctionTransformer(np.log1p), SVC(gamma=0.1)),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_procedures_pass(name):
    X, y, X_test, y_test = cancer()
    found = audit(HONEST[name].fit(X, y), X, y, X_test, y_test)
    assert violated(found, "held out") == set()
    assert found.held_out["fit"].status == "checked"
    assert found.judge(TEST_BOUND, "held out").valid


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("load", [load_iris, load_haberman, load_house_votes])
def test_equal_rows_of_discrete_tables_are_no_alarm(load, seed):
    X, y = load(return_X_y=True)
    X = np.nan_to_num(np.asarray(X, dtype=float), nan=-1.0)
    X, X_test, y, y_test = train_test_split(X, y, random_state=seed)
    found = audit(SVC(gamma=0.1).fit(X, y), X, y, X_test, y_test)
    assert violated(found, "held out") == set()
    assert violated(found, "training") == set()


def test_a_machine_with_everything_fixed_may_be_bounded_from_its_own_rows():
    X, y, X_test, y_test = cancer()
    found = audit(SVC(gamma=1e-4).fit(X, y), X, y, X_test, y_test)
    bound = found.judge(TRAINING_BOUND, "training")
    assert bound.valid
    unknown = {topic for topic, known in found.training.items() if known.status == "assumed"}
    assert unknown == {"table", "features", "kernel", "settings", "stopping", "independence"}


def test_a_table_that_was_scaled_before_it_was_published_is_seen():
    # Squares of each column add up to one over all 442 rows, as its authors say.
    X, y = load_diabetes(return_X_y=True)
    found = audit(SVC(gamma=1.0).fit(X[:300], y[:300] > 140), X[:300], y[:300] > 140, X[300:])
    assert violated(found, "held out") == {"table"}


def test_a_grid_of_points_is_not_taken_for_scaled():
    axis = np.linspace(-1, 1, 21)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    y = X[:, 0] > X[:, 1]
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:300], rows[300:]
    found = audit(SVC(gamma=1.0).fit(X[train], y[train]), X[train], y[train], X[test], y[test])
    assert violated(found, "held out") == set()


def test_copies_within_training_are_counted_and_left_out():
    X, y, _, _ = cancer()
    X = np.concatenate([X, X[:5]])
    copies = find_copies(X)
    np.testing.assert_array_equal(np.flatnonzero(copies.train), len(y) + np.arange(5))
    found = audit(SVC(gamma=1e-4).fit(X, np.concatenate([y, y[:5]])), X, np.concatenate([y, y[:5]]))
    assert violated(found, "training") == {"independence"}
    assert found.distinct.sum() == len(y)


def test_rows_are_the_same_in_sparse_form_and_whatever_the_sign_of_zero():
    rows = np.array([[0.0, 2.0], [-0.0, 2.0], [1.0, 0.0]])
    dense, sparse = identify(rows)[0], identify(csr_matrix(rows))[0]
    np.testing.assert_array_equal(dense, [0, 0, 1])
    np.testing.assert_array_equal(sparse, [0, 0, 1])


def test_the_summary_has_a_line_for_every_need():
    X, y, X_test, y_test = cancer()
    found = audit(HONEST["scaled inside"].fit(X, y), X, y, X_test, y_test)
    text = str(found)
    assert "violated  the model's transformers were there before the training rows" in text
    assert "checked  the machine was fitted without the held-out rows" in text
    assert "assumed  the rows were split before anything was fitted to them" in text
    assert text.count("\n") + 1 == 2 + 2 * len(list(found))


def test_judging_keeps_what_a_bound_rests_on_already():
    X, y, X_test, y_test = cancer()
    own = Assumption("the loss lies in [0, 1]", "checked")
    found = audit(SVC(gamma=1e-4).fit(X, y), X, y, X_test, y_test)
    bound = found.judge(Bound(0.1, "tail", assumptions=(own,)), "held out")
    assert bound.assumptions[0] == own
    # One more: whether norms and radii were measured on the rows.
    assert len(bound.assumptions) == 1 + len(found.held_out) + 1


def test_a_radius_measured_on_the_rows_is_a_violation():
    X, y, _, _ = cancer()
    kernel = Gaussian(70.0)
    machine = SVC(kernel=kernel).fit(X, y)
    found = audit(machine, X, y)
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    signs, K = np.where(y == 1, 1.0, -1.0), kernel(X)
    measured = found.judge(adaptive_margin_bound(K, signs, a), "training")
    assert any("measured on them" in a.text for a in measured.assumptions if a.status == "violated")
    fixed = found.judge(adaptive_margin_bound(K, signs, a, size=1.0), "training")
    assert not any("measured on them" in a.text for a in fixed.assumptions)


# Fitted to coins: the risk is one half, and rows of the fit are known by heart.

SEED = {"random_state": 0}
MEMORIZE = {
    "forest": RandomForestClassifier(50, **SEED),
    "tree": DecisionTreeClassifier(**SEED),
    "extra trees": ExtraTreesClassifier(20, **SEED),
    "numbers": RandomForestRegressor(20, **SEED),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 20, **SEED),
    "boosting": HistGradientBoostingClassifier(min_samples_leaf=2, max_iter=30, **SEED),
    "search": GridSearchCV(RandomForestClassifier(20, **SEED), {"max_depth": [9, 10]}, cv=2),
}


def coins():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 5)), rng.integers(0, 2, 400)


@pytest.mark.parametrize("name", MEMORIZE)
def test_a_machine_that_knows_the_held_out_rows_by_heart_is_refused(name):
    X, y = coins()
    rows = (X[:200], y[:200], X[200:], y[200:])
    found = audit(MEMORIZE[name].fit(X, y), *rows)
    assert found.held_out["fit"].status == "violated"
    report = capacity_report(MEMORIZE[name], *rows, cv=None)
    assert report.claim is None
    assert report.sentence().startswith("Nothing may be claimed")
    # The same machine of the training rows is proved to be one.
    assert audit(MEMORIZE[name].fit(X[:200], y[:200]), *rows).held_out["fit"].status == "checked"


def test_without_a_fixed_random_state_nothing_is_proved_and_the_sentence_says_so():
    X, y = coins()
    machine = RandomForestClassifier(30).fit(X, y)
    report = capacity_report(machine, X[:200], y[:200], X[200:], y[200:], cv=None)
    assert report.audit.held_out["fit"].status == "unknown"
    assert "no fixed random_state" in report.audit.reasons["held out", "fit"]
    assert report.rungs[0].status == "unproved"
    assert report.sentence().startswith("Not proved: ")
    assert "if the machine was fitted without the held-out rows, which is unknown" in (
        report.sentence()
    )
    assert "if the machine was fitted without" in str(report.rungs[0].bound)


TRANSFORM = {
    "bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "splines": SplineTransformer(n_knots=4, extrapolation="constant"),
    "tree": SelectFromModel(DecisionTreeClassifier(random_state=0)),
    "neighbours": KNNImputer(),
}


@pytest.mark.parametrize("name", TRANSFORM)
def test_a_transformer_of_all_rows_is_refused(name):
    X, y = coins()
    X[np.arange(400), np.arange(400) % 5] = np.nan if name == "neighbours" else 0.5
    step = TRANSFORM[name].fit(X, y)
    model = make_pipeline(step, RandomForestClassifier(5, random_state=0))
    model.steps[-1][1].fit(step.transform(X[:200]), y[:200])
    found = audit(model, X[:200], y[:200], X[200:], y[200:])
    assert {"preparation", "features"} & violated(found, "held out")
    proper = audit(model.fit(X[:200], y[:200]), X[:200], y[:200], X[200:], y[200:])
    assert proper.held_out["preparation"].status == "checked"
    # Who left columns out before the table was made is not known.
    assert proper.held_out["features"].status == "assumed"


class Remembering(StandardScaler):
    """Somebody's scaler, which keeps the first rows that it ever saw."""

    kept: dict = {}  # noqa: RUF012 - that it outlives a clone is the point

    def fit(self, X, y=None):
        super().fit(self.kept.setdefault("rows", X))
        return self


def centred_by_all():
    X, _ = coins()
    mean = X.mean(axis=0)
    return FunctionTransformer(lambda rows: rows - mean)


def frozen_by_all():
    X, y = coins()
    return SelectFromModel(FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(X, y)))


def remembered():
    Remembering.kept.clear()
    Remembering().fit(coins()[0])
    return Remembering()


@pytest.mark.parametrize("make", [centred_by_all, frozen_by_all, remembered])
def test_what_a_clone_carries_along_is_never_checked(make):
    X, y = coins()
    model = make_pipeline(make(), DecisionTreeClassifier(random_state=0)).fit(X[:200], y[:200])
    found = audit(model, X[:200], y[:200], X[200:], y[200:])
    assert found.held_out["preparation"].status in ("unknown", "violated")


def test_a_split_made_after_the_fit_is_not_checked():
    # Refitted to its support vectors the machine is the same, and all other rows are right.
    X, y = coins()
    machine = SVC(gamma=0.1, C=10.0).fit(X, y)
    kept = np.isin(np.arange(400), machine.support_)
    found = audit(machine, X[kept], y[kept], X[~kept], y[~kept])
    assert found.held_out["fit"].status in ("unknown", "violated")
    # Even the refit itself is proved only as far as the split is believed.
    machine = SVC(gamma=0.1, C=10.0).fit(X[kept], y[kept])
    report = capacity_report(machine, X[kept], y[kept], X[~kept], y[~kept], cv=None)
    assert report.audit.held_out["fit"].status == "checked"
    assert report.audit.held_out["split"].status == "assumed"
    assert "assuming that the rows were split before anything was fitted" in report.sentence()


def test_settings_tuned_on_the_held_out_rows_are_not_checked():
    X, y = coins()
    search = GridSearchCV(SVC(gamma=0.1), {"C": [1, 10, 100]}, cv=2).fit(X[200:], y[200:])
    machine = search.best_estimator_.fit(X[:200], y[:200])
    found = audit(machine, X[:200], y[:200], X[200:], y[200:])
    assert found.held_out["settings"].status == "assumed"
    assert "settings were chosen without the held-out rows" in str(
        found.judge(TEST_BOUND, "held out")
    )


def test_weights_and_another_order_of_rows_are_not_called_honest():
    X, y = coins()
    rows = (X[:200], y[:200], X[200:], y[200:])
    weighted = SVC(gamma=0.1).fit(X[:200], y[:200], sample_weight=1.0 + y[:200])
    assert audit(weighted, *rows).held_out["fit"].status == "unknown"
    forest = RandomForestClassifier(5, random_state=0).fit(X[:200][::-1], y[:200][::-1])
    assert audit(forest, *rows).held_out["fit"].status == "unknown"


def test_what_is_paid_for_leaves_something_to_believe():
    X, y = coins()
    found = audit(SVC(gamma=0.1).fit(X, y), X, y)
    bound = found.judge(TRAINING_BOUND, "training", free={"settings", "independence"})
    assert "the settings that could have been chosen were fixed before" in str(bound)
    assert "independent draws once copies are left out" in str(bound)
