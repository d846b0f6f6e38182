"""Names that people type, and sentences for those who mistype them."""

import re
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

import mercer
from mercer import (
    LSSVR,
    SVC,
    SVR,
    AdditiveRegressor,
    AutoClassifier,
    AutoRegressor,
    KernelClassifier,
    KernelRegressor,
    OneClassSVM,
)
from mercer.kernels import Gaussian, Laplacian, Polynomial
from mercer.losses import Absolute, Logistic, Pinball, Squared
from mercer.machines.explaining import ScaleWarning
from mercer.preprocessing import TableEncoder
from mercer.reduced import Nystrom, RandomFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(X[:, 0])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gaussian", Gaussian),
        ("RBF", Gaussian),
        ("squared_exponential", Gaussian),
        ("polynomial", Polynomial),
        ("laplace", Laplacian),
        ("exponential", Laplacian),
    ],
)
def test_other_names_of_kernels(name, kind):
    machine = SVR(kernel=name, gamma=0.7).fit(X, Y)
    assert isinstance(machine.kernel_, kind)
    usual = {Gaussian: "rbf", Polynomial: "poly", Laplacian: "laplacian"}[kind]
    np.testing.assert_array_equal(
        machine.predict(X), SVR(kernel=usual, gamma=0.7).fit(X, Y).predict(X)
    )
    tuned = SVR(kernel=name, gamma="tuned").fit(X, Y)
    np.testing.assert_array_equal(
        tuned.predict(X), SVR(kernel=usual, gamma="tuned").fit(X, Y).predict(X)
    )


def test_a_class_of_kernels_has_its_default_parameters():
    machine = LSSVR(kernel=Laplacian).fit(X, Y)
    np.testing.assert_array_equal(
        machine.predict(X), LSSVR(kernel=Laplacian()).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [("nystrom", Nystrom()), (15, Nystrom(15)), ("random_features", RandomFeatures())],
)
def test_approximations_by_name_and_number(given, meant):
    machine = SVR(gamma=1.0, approximation=given).fit(X, Y)
    same = SVR(gamma=1.0, approximation=meant).fit(X, Y)
    np.testing.assert_allclose(machine.predict(X), same.predict(X), rtol=1e-12)
    assert machine.get_params()["approximation"] == given


def test_local_by_name():
    assert len(SVR(gamma=1.0, approximation="local").fit(X, Y).leaves_) == 1
    assert AdditiveRegressor(approximation=10).fit(X, Y).solution_.m <= 20


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("quantile", Pinball()),
        ("mse", Squared()),
        ("mae", Absolute()),
        ("squared_error", Squared()),
    ],
)
def test_other_names_of_losses(name, loss):
    machine, same = (KernelRegressor(loss=one, tol=1e-6).fit(X, Y) for one in (name, loss))
    np.testing.assert_array_equal(machine.predict(X), same.predict(X))


def test_other_names_of_losses_of_labels():
    labels = np.where(Y > 0, "up", "down")
    machine, same = (KernelClassifier(loss=one).fit(X, labels) for one in ("log_loss", Logistic()))
    np.testing.assert_array_equal(machine.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (SVC(kernel="gausian"), "Did you mean 'gaussian'?"),
        (SVC(kernel="rbff"), "Did you mean 'rbf'? Give 'additive', 'anova', 'bspline', 'cauchy', "),
        (SVR(kernel=3), "kernel=3 of SVR is not known. Give 'additive', "),
        (SVR(gamma="scal"), "Did you mean 'scale'?"),
        (LSSVR(solver="newtn"), "Did you mean 'newton'?"),
        (KernelRegressor(loss="hubber"), "Did you mean 'huber'?"),
        (SVR(approximation="Nystroem"), "Did you mean 'nystrom'? Give 'auto', 'local'"),
        (SVR(approximation=0), "a number of landmarks such as 2000"),
    ],
)
def test_mistyped_words_are_met_with_the_right_one(machine, sentence):
    with pytest.raises(InvalidParameterError) as caught:
        machine.fit(X, Y > 0)
    assert sentence in str(caught.value)


def test_kernels_are_listed_by_one_name_each_in_their_order():
    with pytest.raises(InvalidParameterError) as caught:
        SVR(kernel="zzz").fit(X, Y)
    listed = re.findall(r"'(\w+)'", str(caught.value).partition("Give ")[2])
    assert listed == sorted(set(listed))
    assert {"rbf", "poly", "laplacian"} <= set(listed)
    assert not {"RBF", "gaussian", "polynomial"} & set(listed)


def test_mistyped_members_are_met_with_the_right_one():
    with pytest.raises(ValueError, match="Did you mean 'matern'"):
        AutoRegressor(members=["matrn"]).fit(X, Y)


@pytest.mark.parametrize("machine", [SVC(), KernelClassifier(), AutoClassifier()])
def test_numbers_for_classes_lead_to_a_regressor(machine):
    with pytest.raises(ValueError, match=r"numbers such as .* such as SVR or AutoRegressor"):
        machine.fit(X, Y)


@pytest.mark.parametrize("classes", [Y > 0, (Y > 0).astype(int)])
def test_two_numbers_for_a_regression_lead_to_a_classifier(classes):
    rows, y = np.repeat(X, 2, axis=0), np.repeat(classes, 2)
    with pytest.warns(UserWarning, match="y has two values, 0 and 1: .* AutoClassifier") as caught:
        machine = AutoRegressor(members=["gaussian"]).fit(rows, y)
    assert str(caught[0].message) in machine.notes_


def test_missing_cells_of_a_machine_without_targets():
    with pytest.raises(ValueError, match=r"NaN .* Fill them in first") as caught:
        OneClassSVM().fit([[np.nan, 1.0], [0.0, 2.0]])
    assert "Regressor" not in str(caught.value)


def test_what_is_wrong_without_a_near_word_is_as_before():
    with pytest.raises(InvalidParameterError, match=r"Got -1.0 instead\.$"):
        SVR(C=-1.0).fit(X, Y)


def test_missing_cells_name_their_columns_and_who_takes_them():
    pd = pytest.importorskip("pandas")
    holes = X.copy()
    holes[3, 1] = np.nan
    for given, named in ((holes, "(1)"), (pd.DataFrame(holes, columns=["age", "bmi"]), "('bmi')")):
        with pytest.raises(ValueError, match="MissingInputRegressor") as caught:
            SVR().fit(given, Y)
        assert f"NaN in 1 of 2 columns {named}" in str(caught.value)
    with pytest.raises(ValueError, match="contains NaN"):
        SVR().fit(sp.csr_array(holes), Y)
    # Targets are another matter.
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SVR().fit(X, np.where(np.arange(40) == 3, np.nan, Y))


def test_words_and_dates_say_who_takes_them():
    pd = pytest.importorskip("pandas")
    words = pd.DataFrame({"x": X[:, 0], "city": ["Rome", "Oslo"] * 20})
    dates = pd.DataFrame({"x": X[:, 0], "day": pd.date_range("2020-01-01", periods=40)})
    for table, name in ((words, "'city'"), (dates, "'day'")):
        with pytest.raises((ValueError, TypeError), match="AutoRegressor") as caught:
            SVR().fit(table, Y)
        assert f"Columns {name} hold words, categories or dates" in str(caught.value)


def test_what_the_sentence_about_dates_says_is_true():
    """The three ways that it names take the table; lengths of time have another way."""
    table = pd.DataFrame({"x": X[:, 0], "day": pd.date_range("2020-01-01", periods=40)})
    with pytest.raises(TypeError, match=r"make_pipeline\(TableEncoder\(\), SVC\(\)\)"):
        SVC().fit(table, Y > 0)
    mercer.AutoClassifier(members=["gaussian"]).fit(table, Y > 0)
    make_pipeline(TableEncoder(), StandardScaler(), SVC()).fit(table, Y > 0)
    table["day"] -= table["day"].iloc[0]
    with pytest.raises(TypeError, match=r"hold lengths of time.*total_seconds") as caught:
        SVC().fit(table, Y > 0)
    assert ".dt.year" not in str(caught.value)


def test_missing_cells_of_pandas_are_missing_cells():
    cells = [1.0, None] * 20
    for column in (pd.array(cells, dtype="Float64"), pd.Series([1.0, pd.NA] * 20, dtype=object)):
        table = pd.DataFrame({"a": column, "b": X[:, 0]})
        with pytest.raises(ValueError, match=r"NaN in 1 of 2 columns \('a'\)") as caught:
            SVC().fit(table, Y > 0)
        assert "MissingInputClassifier" in str(caught.value)
        assert "SimpleImputer(), SVC()" in str(caught.value)
        with pytest.raises(ValueError, match=r"NaN in 1 of 2 columns \(0\).*MissingInputRegressor"):
            SVR().fit(X, Y).predict(table.to_numpy())
    few = pd.array([None, *X[1:, 0]], dtype="Float64")
    mercer.MissingInputRegressor(C=100.0).fit(pd.DataFrame({"a": few, "b": X[:, 1]}), Y)
    with pytest.raises(ValueError, match="Input y contains NaN in 20 of 40 rows"):
        SVR().fit(X, pd.Series([1.0, pd.NA] * 20, dtype=object))


@pytest.mark.parametrize("lost", [None, np.nan, pd.NA])
@pytest.mark.parametrize("labels", ["words", "numbers", "nullable", "categories"])
def test_missing_classes_are_named(lost, labels):
    """Whatever their type is: not as labels of several kinds, to be turned into words."""
    y = {"words": ["u", "v"] * 20, "numbers": [0.0, 1.0] * 20}.get(labels, [0, 1] * 20)
    y = pd.Series(y, dtype=object)
    y[[3, 8]] = lost
    y = y.astype({"nullable": "Int64", "categories": "category"}.get(labels, object))
    sentence = (
        r"^Input y contains NaN in 2 of 40 rows, the first of which is row 3 \(counted from 0\)\. "
        r"Leave out the rows without a target"
    )
    for machine in (SVC(), mercer.AutoClassifier()):
        with pytest.raises(ValueError, match=sentence):
            machine.fit(X, y)
    if labels == "numbers" and lost is np.nan:
        with pytest.raises(ValueError, match=sentence):
            mercer.AutoRegressor().fit(X, y.astype(float))


def test_many_classes_are_one_warning():
    """Of scikit-learn, which gives it for every tree; floats and integers are the same classes."""
    y = np.arange(40) % 27
    fits = []
    for labels in (y, y.astype(float)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fits.append(mercer.AutoClassifier(members=["forest"]).fit(X, labels))
        said = [str(one.message) for one in caught]
        assert sum("number of unique classes" in line for line in said) == 1
        assert len(said) <= 2  # another one where nothing is better than frequencies
    np.testing.assert_array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_targets_of_the_wrong_kind_are_met_with_a_way():
    with pytest.raises(ValueError, match="labels in y are of several kinds: numbers and words"):
        SVC().fit(X, np.array(["a", 1] * 20, dtype=object))
    words = ["u", "v"] * 20
    for machine in (SVR(), mercer.AutoRegressor()):
        for y in (words, np.array(words), np.array(words, dtype=object), pd.Series(words)):
            says = f"y holds words such as 'u', and {type(machine).__name__} predicts numbers"
            with pytest.raises(ValueError, match=says):
                machine.fit(X, y)
    with pytest.raises(ValueError, match=r"y holds words such as '1,5'.*decimal=','"):
        SVR().fit(X, ["1,5"] * 40)
    # A word in X is not one of y.
    with pytest.raises(ValueError, match="could not convert string to float: 'Rome'"):
        SVR().fit(np.full((40, 2), "Rome", dtype=object), Y)


def test_two_columns_of_one_name_are_named():
    twice = pd.DataFrame(X, columns=["a", "a"])
    machines = [mercer.AutoRegressor(), SVR()]
    with suppress(ValueError):
        svm.SVR().fit(twice, Y)
        machines.pop()  # older releases of scikit-learn take them as they are, and so does SVR
    for machine in machines:
        with pytest.raises(ValueError, match="'a' occurs more than once; rename or drop"):
            machine.fit(twice, Y)


def test_known_words_are_listed_in_order():
    with pytest.raises(InvalidParameterError) as caught:
        KernelRegressor(loss="nothing like it").fit(X, Y)
    words = re.search(r"\{('.*?')\}", str(caught.value))[1].split(", ")
    assert words == sorted(words)
    assert len(words) > 10


def test_few_rows_are_refused_with_their_number():
    with pytest.raises(ValueError, match="at least 5 rows, got n_samples=3"):
        mercer.AutoRegressor().fit(X[:3], Y[:3])


def test_names_of_other_libraries_lead_to_ours():
    with pytest.raises(AttributeError, match=r"Use OneClassSVM, the same with a Gaussian kernel\."):
        _ = mercer.SVDD
    with pytest.raises(AttributeError, match=r"Did you mean 'QuantileSVR'\?"):
        _ = mercer.QuantilSVR
    with pytest.raises(AttributeError, match=r"It is in mercer\.io: from mercer\.io import load\."):
        _ = mercer.load
    with pytest.raises(AttributeError, match=r"from mercer\.kernels import Matern\."):
        _ = mercer.Matern
    with pytest.raises(AttributeError, match=r"'blue'\.$"):
        _ = mercer.blue


def test_intervals_around_a_classifier_are_refused():
    with pytest.raises(ValueError, match="and SVC predicts classes; for these take probabilities"):
        mercer.ConformalRegressor(SVC()).fit(X, Y > 0)


def test_a_solution_is_printed_as_sentences():
    machine = SVR(gamma=1.0, epsilon=0.01).fit(X, Y)
    s = machine.solution_
    first, second, third = str(s).splitlines()
    assert first.startswith(f"converged: objective {s.objective:.6g}, certified within")
    assert second.startswith("solver SMO (quadratic dual, 40 samples: SMO with a 200 MiB cache)")
    assert third.startswith(f"{len(machine.support_)} support vectors of 40 samples")
    assert repr(s).startswith("Solution(converged, objective=")
    assert s._repr_html_().count("<br>") == 2
    few = SVR(gamma=1.0, approximation=Nystrom(20)).fit(X, Y).solution_
    assert "20 functions for 40 rows" in str(few)
    assert "of the optimum of the exact machine" in str(few)
    none = replace(few, total_gap=0.99 * few.objective)
    assert str(none).endswith("compare the score on new rows with that of 40 functions")
    assert "99 %" not in str(none)


@pytest.mark.parametrize("C", [1.0, 1e6])  # pairs of classes together, and one by one
def test_a_solution_counts_the_rows_that_were_given(C):
    machine = SVC(C=C).fit(*load_iris(return_X_y=True))
    assert len(machine.solution_.a) == 300
    told = str(machine.solution_).splitlines()[2]
    assert told.startswith(f"{len(machine.support_)} support vectors of 150 samples")


def test_a_solution_of_several_problems_over_all_rows_counts_them_once():
    machine = KernelClassifier().fit(*load_iris(return_X_y=True))
    told = str(machine.solution_).splitlines()[2]
    assert told.startswith(f"{len(machine.support_)} support vectors of 150 samples")


def test_a_gap_of_rounding_is_called_so():
    solution = LSSVR().fit(X, Y).solution_
    assert 0.0 < solution.relative_gap < 1e-12
    assert str(solution).splitlines()[0].endswith("certified within rounding of the optimum")


@pytest.mark.parametrize("estimator", [SVR, SVC])
def test_features_of_other_scales_are_met_with_a_warning(estimator):
    X = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 1.0, 3000.0, 500.0]
    y = X[:, 0] > 0
    with pytest.warns(ScaleWarning, match=r"2 of 4 features \(0, 1\) .* than feature 2") as found:
        estimator().fit(X, y)
    assert f"{estimator.__name__}(standardize=True)" in str(found[0].message)
    frame = pd.DataFrame(X, columns=["age", "income", "rooms", "people"])
    with pytest.warns(ScaleWarning, match=r"\('age', 'income'\) .* than feature 'rooms'"):
        estimator().fit(frame, y)


@pytest.mark.parametrize(
    ("machine", "data"),
    [
        (SVC(standardize=True), [1.0, 1.0, 3000.0, 500.0]),
        (SVC(kernel=Gaussian([1.0, 1.0, 3000.0, 500.0])), [1.0, 1.0, 3000.0, 500.0]),
        (SVC(gamma=0.1), [1.0, 1.0, 3000.0, 500.0]),
        (SVC(), [1.0, 5.0, 12.0, 15.0]),
        (SVC(), [0.0, 1.0, 1.0, 1.0]),
    ],
)
def test_no_warning_where_scales_are_known_or_alike(machine, data):
    X = np.random.default_rng(0).normal(size=(40, 4)) * data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(X, X[:, 1] > 0)


def test_a_few_narrow_features_among_many_are_left_alone():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X[:300], y[:300])
