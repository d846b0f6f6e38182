"""A report says what was measured, and nothing of what is in the data can change the page."""

import ast
import re
import warnings
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mercer
from mercer import (
    LSSVR,
    SVC,
    SVR,
    AutoClassifier,
    AutoRegressor,
    KernelLogisticRegression,
    OneClassSVM,
    QuantileBand,
)
from mercer.kernels import Gaussian, Matern
from mercer.selection import LSSVRCV, influence, tune
from mercer_research.estimators import MultiOutputSVR
from mercer_studio.reporting.compose import _glance
from mercer_studio.reporting.page import number
from mercer_studio.reporting.script import script_of
from mercer_studio.reporting.sections import held
from mercer_studio.reporting.validation import out_of_fold

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$\\frac$",
    "</style></svg>",
    "日本 & co",
]


class Reader(HTMLParser):
    """What a browser sees: tags, ids, addresses, text."""

    EMPTY = ("meta", "link", "path", "use", "rect", "br")

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.addresses, self.open, self.text = [], [], [], [], []
        self.unnamed, self.heads = 0, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [v for k, v in attrs if k in ("src", "href", "xlink:href", "srcset")]
        self.unnamed += tag == "svg" and not given.get("aria-label")
        self.heads += [given.get("scope")] if tag == "th" else []
        assert not any(name.startswith("on") for name in given)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(report):
    """Return what is on a page that is whole, asks for nothing and runs nothing."""
    page = Reader(report.html)
    assert page.open == []
    assert not {"script", "iframe", "object", "embed", "form", "img"} & set(page.tags)
    assert all(a.startswith("#") or a == "data:," for a in page.addresses)
    assert "http" not in re.sub("<[a-z]+[^>]*http-equiv", "", report.html)
    assert "@import" not in report.html
    assert re.findall(r"url\((?!#)", report.html) == []
    assert len(page.ids) == len(set(page.ids))
    assert {a[1:] for a in page.addresses if a.startswith("#")} <= set(page.ids)
    assert page.unnamed == 0
    return " ".join(" ".join(page.text).split())


def sample(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)


def titles(report):
    return [unescape(t) for t in re.findall(r"<h2[^>]*>(.*?)</h2>", report.html)]


def test_scores_are_those_of_scikit_learns_cross_validation():
    X, y = sample()
    machine = LSSVR(C=20.0).fit(X, y)
    report = mercer.report(machine, X, y, max_time=None)
    splits = KFold(5, shuffle=True, random_state=0)
    expected = np.mean(
        [
            r2_score(y[test], clone(machine).fit(X[train], y[train]).predict(X[test]))
            for train, test in splits.split(X)
        ]
    )
    assert report.scores["R²"] == pytest.approx(expected, rel=1e-9)
    text = read(report)
    assert f"R² {expected:.3g} on rows that the model was not fitted to" in text
    assert "5-fold cross-validation on all rows" in text
    assert "The settings are fixed" in text
    assert "Residuals" in titles(report)


def test_scores_of_classes():
    X, y = sample()
    labels = np.where(y > 0, "yes", "no")
    machine = KernelLogisticRegression(C=1.0).fit(X, labels)
    report = mercer.report(machine, X, labels, target="answer", max_time=None)
    splits = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(clone(machine), X, labels, cv=splits, method="predict_proba")[:, 1]
    areas = [roc_auc_score(labels[test] == "yes", p[test]) for _, test in splits.split(X, labels)]
    assert report.scores["area under ROC"] == pytest.approx(np.mean(areas), rel=1e-9)
    text = read(report)
    # The curve is that of all rows, and the probability is drawn for the second class.
    assert f"ROC curve of answer = yes: area {roc_auc_score(labels == 'yes', p):.4g}" in text
    assert "change of P(answer = yes)" in text
    assert "Calibration" in text


def test_names_in_the_data_stay_words():
    X, y = sample(80)
    table = pd.DataFrame(np.column_stack([X, X**2, X[:, 0]]), columns=HOSTILE)
    table[HOSTILE[3]] = np.where(X[:, 0] > 0, "<b>bold</b>", "a & b")
    labels = pd.Series(np.where(y > 0, "<i>in</i>", "out"), name="<u>target</u>")
    before = make_column_transformer((OneHotEncoder(), [HOSTILE[3]]), remainder=StandardScaler())
    model = make_pipeline(before, SVC(C=3.0)).fit(table, labels)
    report = mercer.report(model, table, labels, title="<h1>title</h1>", cv=2)
    text = read(report)
    for name in (*HOSTILE, "<b>bold</b>", "<i>in</i>", "<u>target</u>", "<h1>title</h1>"):
        assert name.split("\\")[0] in text
    assert "<b>" not in report.html
    assert "<i>" not in report.html
    # In a notebook the page is an attribute of a frame.
    shown = Reader(report._repr_html_())
    assert shown.tags == ["iframe"]


def test_the_search_for_hostile_tags_can_fail():
    class Bad:
        html = "<p><script>alert(1)</script></p>"

    with pytest.raises(AssertionError):
        read(Bad)


def test_nested_validation_repeats_the_tuning():
    X, y = sample()
    model = LSSVRCV(budget=4).fit(X, y)
    report = mercer.report(model, X, y, cv=3, max_time=None)
    expected = [
        r2_score(y[test], clone(model).fit(X[train], y[train]).predict(X[test]))
        for train, test in KFold(3, shuffle=True, random_state=0).split(X)
    ]
    assert report.scores["R²"] == pytest.approx(np.mean(expected), rel=1e-6)
    text = read(report)
    assert "The validation is nested" in text
    assert f"{len(model.tuning_.trials_)} trials" in text
    assert "What was tried in tuning" in titles(report)
    assert "share inside intervals" in report.scores


def test_a_result_of_tune_is_reported_with_its_trials():
    X, y = sample(60)
    found = tune(LSSVR(), X, y, budget=3)
    report = mercer.report(found, X, y, cv=None)
    assert report.scores == {}
    assert "What was tried in tuning" in titles(report)
    assert "rows of the fit, which look better than new ones" in read(report)


def test_a_search_of_scikit_learn_and_several_classes():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(standardize=True), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    report = mercer.report(search, X, y, cv=3, max_time=None)
    text = read(report)
    assert "2 settings, judged by cross-validation" in text
    assert "observed \\ predicted" in text
    assert "Confusion" in titles(report)
    counts = [int(c) for c in re.findall(r'class="n shade"[^>]*>(\d+)<', report.html)]
    assert sum(counts) == len(y)
    # Folds are equally large, so that the mean of their accuracies is the share of the diagonal.
    assert report.scores["accuracy"] == pytest.approx(sum(counts[::4]) / len(y))


def test_automatic_machines_explain_themselves():
    X, y = sample(50)
    table = pd.DataFrame(X, columns=["a", "b"])
    table["kind"] = np.where(X[:, 1] > 0, "x", None)
    model = AutoRegressor(members=["gaussian"]).fit(table, y)
    report = mercer.report(model, table, y, cv=None)
    text = read(report)
    assert "Machines and their weights" in text
    assert f"{int(np.sum(X[:, 1] <= 0))} missing cells" in text
    assert "gaussian: the value reached is" in text
    left = model.left_out_predictions_
    assert "out of fold" in text
    assert f"{r2_score(y, left):.4g}" in text


def test_trees_have_no_certificate_and_no_kernel():
    X, y = sample(60)
    model = AutoClassifier(members=["squares-gaussian", "matern", "forest"]).fit(
        X, y > np.median(y)
    )
    # As if trees counted most.
    model.weights_ = np.array([0.2, 0.3, 5.0])
    text = read(mercer.report(model, X, y > np.median(y), cv=None))
    share = model.explain().kinds["trees"]
    assert 0.0 < share < 1.0
    assert f"No certificate for {share:.0%} of the weight: forest." in text
    assert "All 2 machines with a certificate are at most" in text
    assert "the cause is not the optimization" not in text
    best = max(model.members_[:2], key=lambda one: model.weights_[model.members_.index(one)])
    assert f"The kernel of the kernel machine with the largest weight, {best.name}, is" in text
    trees = AutoClassifier(members=["forest"]).fit(X, y > np.median(y))
    text = read(mercer.report(trees, X, y > np.median(y), cv=None))
    assert "no certificate of its own" in text
    assert "What the kernel keeps" not in text


def test_memory_of_trees_is_counted():
    X, y = sample(60)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    states = [one.tree_.__getstate__() for one in forest.estimators_]
    nodes = sum(state["nodes"].nbytes + state["values"].nbytes for state in states)
    assert nodes <= held(forest) < 1.1 * nodes + 1000


def test_machines_with_intervals_of_their_own():
    X, y = sample(80)
    report = mercer.report(QuantileBand().fit(X, y), X, y, cv=2, max_time=None)
    assert 0.5 < report.scores["share inside intervals"] <= 1.0
    assert "Prediction intervals" in read(report)


def test_places_of_a_known_shape_are_no_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, size=(40, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(40)
    model = mercer.ShapeConstrainedRegressor({0: 1}, gamma=3.0, C=100.0).fit(X, y)
    assert np.max(model.support_) >= 40  # the shape holds the curve somewhere
    page = mercer.report(model, X, y, cv=None)
    assert "Most influential rows" in page.html


def test_the_most_influential_row_is_named():
    X, y = sample(60)
    y[17] += 8.0
    machine = LSSVR(C=5.0).fit(X, y)
    size = influence(machine, X, y).size / len(y)
    assert np.argmax(size) == 17
    report = mercer.report(machine, X, y, cv=None)
    part = report.html.split('id="influence"')[1].split("</section>")[0]
    first = re.search(r"<tbody><tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", part)
    assert first[1] == "17"
    assert float(first[2]) == pytest.approx(size[17], rel=1e-3)


def test_held_out_rows_give_a_guarantee():
    X, y = sample(200)
    labels = y > 0
    machine = SVC(C=3.0).fit(X[:100], labels[:100])
    test = X[100:], labels[100:]
    report = mercer.report(machine, X[:100], labels[:100], *test, cv=None)
    text = read(report)
    assert "100 rows were kept apart as a test" in text
    assert "With probability 95 %" in text


def test_the_quantile_of_test_errors_is_safe():
    """The share of new rows within the reported error is as promised, in 19 of 20 samples."""
    rng = np.random.default_rng(0)
    m, misses = 50, 0
    promised = 0.9 - np.sqrt(np.log(20.0) / (2 * m))
    for _ in range(400):
        error = rng.uniform(size=m)
        misses += np.quantile(error, 0.9, method="inverted_cdf") < promised
    assert misses <= 0.05 * 400


def test_the_effective_dimension_is_the_trace_of_the_smoother():
    X, y = sample(50)
    machine = LSSVR(Gaussian(1.0), C=2.0).fit(X, y)
    # Fitted values are linear in y; less one for the constant, which is not penalized.
    columns = [clone(machine).fit(X, e).predict(X) for e in np.eye(50)]
    trace = float(np.trace(np.array(columns))) - 1.0
    text = read(mercer.report(machine, X, y, cv=None))
    assert f"about {trace:,.0f} are kept (effective dimension)" in text


@pytest.mark.parametrize(
    "model",
    [
        LSSVR(Matern(np.array([1.0, 2.0]), nu=2.5), C=3.0),
        make_pipeline(StandardScaler(), SVR(C=7.0, epsilon=0.05)),
        GridSearchCV(SVR(), {"C": [0.1, 1.0]}, cv=KFold(3)),
    ],
    ids=["kernel", "pipeline", "search"],
)
def test_the_script_makes_the_same_predictions(model):
    X, y = sample(60)
    model.fit(X, y)
    given = {"X": X, "y": y}
    exec(script_of(model), given)
    np.testing.assert_array_equal(given["model"].predict(X), model.predict(X))


def test_a_function_in_the_settings_is_noticed():
    X, y = sample(40)
    machine = SVR(kernel=lambda a, b: a @ b.T).fit(X, y)
    text = read(mercer.report(machine, X, y, cv=None))
    assert "Some settings have no text that Python reads" in text
    with pytest.raises(SyntaxError):
        ast.parse(script_of(machine))


def test_sparse_matrices_and_frames_of_polars():
    sparse = pytest.importorskip("scipy.sparse")
    polars = pytest.importorskip("polars")
    X, y = sample(60)
    for table in (sparse.csr_array(X), polars.DataFrame(X)):
        machine = SVR(C=3.0).fit(table, y)
        assert "What moves the prediction" in titles(mercer.report(machine, table, y, cv=None))


def test_splits_in_the_order_of_time():
    X, y = sample(60)
    report = mercer.report(LSSVR().fit(X, y), X, y, cv=TimeSeriesSplit(3), max_time=None)
    assert "3-fold cross-validation on 45 of 60 rows" in read(report)


def test_rows_are_drawn_where_there_are_many():
    X, y = sample(5000)
    labels = np.where(y > 1.2, "rare", "usual")
    machine = SVC(C=1.0, approximation=50).fit(X, labels)
    text = read(mercer.report(machine, X, labels, max_rows=400, max_time=None))
    assert "5-fold cross-validation on 400 of 5,000 rows, drawn at random" in text
    assert "more than a fold has" in text
    assert (
        "Rows that the models of the cross-validation, which do not know them, predict worst"
        in text
    )


def test_warnings_of_folds_are_told():
    X, y = sample(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SVR(C=1e4, max_iter=3).fit(X, y)
    text = read(mercer.report(machine, X, y, cv=2))
    assert "A fit of the validation warned" in text
    assert "Until the fit converges" in text
    assert "Nothing may be claimed of a fit that has not converged" in text


def test_what_is_refused_is_refused_with_a_sentence():
    X, y = sample(40)
    machine = LSSVR().fit(X, y)
    with pytest.raises(ValueError, match="OneClassSVM is neither"):
        mercer.report(OneClassSVM().fit(X), X, y)
    with pytest.raises(ValueError, match="one target at a time"):
        mercer.report(MultiOutputSVR().fit(X, np.c_[y, y]), X, np.c_[y, y])
    with pytest.raises(ValueError, match="give X_test and y_test together"):
        mercer.report(machine, X, y, X)
    with pytest.raises(ValueError, match="X has 40 rows and y has 30"):
        mercer.report(machine, X, y[:30])


def test_the_page_is_saved_and_is_the_same_twice(tmp_path):
    X, y = sample(50)
    machine = LSSVR().fit(X, y)
    first, second = (mercer.report(machine, X, y, max_time=None, cv=None) for _ in range(2))

    def timeless(page):
        return re.sub(r"[\d.]+ (ms|s|min)\b", "", page.html)

    assert timeless(first) == timeless(second)
    path = first.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == first.html
    assert first.title in repr(first)


def pipeline_of_words():
    X, y = sample()
    table = pd.DataFrame({"size": X[:, 0], "age": X[:, 1], "kind": np.where(X[:, 1] > 0, "a", "b")})
    table.loc[3, "age"] = np.nan
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((numbers, ["size", "age"]), (OneHotEncoder(), ["kind"]))
    return make_pipeline(columns, SVR(C=10.0)).fit(table, y), table, y


def test_effects_come_first_and_one_measure_ranks_the_inputs():
    X, y = sample()
    table = pd.DataFrame(X, columns=["large", "small"])
    machine = AutoRegressor(members=["gaussian"]).fit(table, y)
    report = mercer.report(machine, table, y, cv=None, target="height")
    assert titles(report)[0] == "What moves the prediction"
    text = read(report)
    assert "What moves height most: large, small." in text
    assert text.count("Size of each effect on height") == 1
    assert "How much inputs matter" not in text


def test_what_happens_to_rows_is_told_in_words():
    model, table, y = pipeline_of_words()
    text = read(mercer.report(model, table, y, cv=None)).rpartition("The script that repeats it")[0]
    assert (
        "Before the machine sees a row: size, age: gaps are filled with the median, numbers are "
        "centred and divided by their standard deviation; kind: every category becomes a column "
        "of 0 and 1."
    ) in text
    assert "It is the last step of a pipeline" in text
    for written in ("ColumnTransformer(", "Pipeline(", "stands inside", "StandardScaler()"):
        assert written not in text


def test_columns_that_pass_are_not_told():
    X, y = sample()
    table = pd.DataFrame(X, columns=["a", "b"])
    columns = make_column_transformer(("passthrough", ["a", "b"]))
    model = make_pipeline(columns, SVR()).fit(table, y)
    assert "The machine sees the columns as they are." in read(
        mercer.report(model, table, y, cv=None)
    )


def subject_of(y, classes, **attributes):
    """Return what a report reads of a model that left rows out while it was fitted."""
    return SimpleNamespace(
        n=len(y), y=y, classes=classes, classifies=classes is not None, found=attributes.get
    )


def test_left_out_numbers_are_those_of_rows_that_have_one():
    y = np.arange(3.0)
    found = out_of_fold(subject_of(y, None, left_out_predictions_=np.array([5.0, np.nan, 6.0])))
    np.testing.assert_array_equal(found.y, [0.0, 2.0])
    np.testing.assert_array_equal(found.predicted, [5.0, 6.0])
    assert found.probabilities is None
    # Of another sample, of several targets, of no row, or none at all.
    for values in (np.ones(2), np.ones((3, 1)), np.full(3, np.nan), None):
        assert out_of_fold(subject_of(y, None, left_out_predictions_=values)) is None


@pytest.mark.parametrize("classes", ["ab", "abc"])
def test_left_out_probabilities_are_those_of_rows_that_have_them(classes):
    k, y = len(classes), np.array(["a", "b", "a", "b"])
    shares = np.full((4, k), 0.1)
    shares[[0, 1, 2, 3], [0, 0, 1, k - 1]] = 1.1 - 0.1 * k
    shares[2, 0] = np.nan
    names = np.array(list(classes))
    found = out_of_fold(subject_of(y, names, left_out_probabilities_=shares))
    rows = [0, 1, 3]
    np.testing.assert_array_equal(found.y, y[rows])
    np.testing.assert_array_equal(found.predicted, ["a", "a", classes[-1]])
    np.testing.assert_array_equal(found.probabilities, shares[rows])
    if k == 2:
        np.testing.assert_array_equal(found.decision, shares[rows, 1])
    else:
        assert found.decision is None
    for values in (shares[:2], shares[:, :1], np.full((4, k), np.nan), None):
        assert out_of_fold(subject_of(y, names, left_out_probabilities_=values)) is None


@pytest.mark.parametrize("left", [None, np.zeros(3)])
def test_tiles_are_the_first_scores(left):
    subject = subject_of(np.zeros(3), None, left_out_predictions_=left)
    subject.names, subject.machine = ["a", "b"], None
    how = "cross-validated" if left is None else "out of fold"
    few = [("rows", "3"), ("inputs", "2")]
    assert _glance(subject, {}) == few
    scores = {"R²": 0.75, "RMSE": 0.5, "mean absolute error": 0.4}
    few += [(f"R², {how}", "0.75"), ("RMSE", "0.5")]
    assert _glance(subject, scores) == few
    scores |= {"share inside intervals": 0.87, "log loss": 3.0}
    assert _glance(subject, scores) == [*few, ("inside 90 % intervals", "87 %")]


def test_left_out_rows_of_the_fit_are_those_that_the_command_line_prints():
    X, y = sample()
    table = pd.DataFrame(X, columns=["a", "b"])
    columns = make_column_transformer(("passthrough", ["a", "b"])).set_output(transform="pandas")
    model = make_pipeline(columns, AutoRegressor(members=["gaussian"])).fit(table, y)
    text = read(mercer.report(model, table, y, cv=None))
    assert f"out of fold rows of the fit without inputs R² {number(model[-1].left_out_score_)} " in text  # fmt: skip  # noqa: E501
    assert "'mercer fit' and the studio have the same numbers" in text


@pytest.mark.parametrize("cls", [AutoRegressor, AutoClassifier])
def test_the_first_score_is_that_of_all_rows_out_of_fold(cls):
    """Not that of two folds of some rows: what the fit has of each row costs nothing."""
    X, y = sample(60)
    y = y if cls is AutoRegressor else y > 0
    model = cls(members=["gaussian"]).fit(X, y)
    report = mercer.report(model, X, y, cv=2, max_time=None)
    name, score = next(iter(report.scores.items()))
    assert name == ("R²" if cls is AutoRegressor else "accuracy")
    assert score == pytest.approx(model.left_out_score_, rel=1e-12)
    assert f"{name}, out of fold" in report.html
    if cls is AutoClassifier:
        P = model.left_out_probabilities_
        assert report.scores["log loss"] == pytest.approx(log_loss(y, P), rel=1e-12)
        assert report.scores["area under ROC"] == pytest.approx(roc_auc_score(y, P[:, 1]))
    # Of another sample the fit has no predictions.
    other = mercer.report(model, X[:50], y[:50], cv=2, max_time=None)
    assert "cross-validated" in other.html
    assert "out of fold" not in other.html


def test_rows_that_are_predicted_worst_have_the_predictions_of_the_folds():
    X, y = sample()
    report = mercer.report(AutoRegressor(members=["gaussian"]).fit(X, y), X, y, max_time=None)
    part = report.html.split('id="influence"')[1].split("</section>")[0]
    rows = re.findall(r'<tr><th scope="row">.*?</th>(.*?)</tr>', part)
    for row in rows:
        error, observed, predicted = (
            float(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)[:3]
        )
        # Four digits of each.
        assert error == pytest.approx(abs(observed - predicted), abs=2e-3)
    assert len(rows) == 10
