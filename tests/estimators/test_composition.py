"""Machines among scikit-learn's tools: searches, pipelines, routing, frames."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.twins import TOL, agree, sample, slack
from installed import SKLEARN
from mercer import (
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    OneClassSVM,
)
from mercer.kernels import Gaussian, Linear, Matern
from mercer.losses import EpsilonInsensitive, Huber, Logistic, Pinball
from mercer.regularizers import Constant, Polynomial
from mercer.solvers import SMO, Auto

X, Y, Z, T = sample()


class TestComponents:
    def test_clone_copies_them(self):
        machine = KernelRegressor(
            EpsilonInsensitive(np.full(60, 0.1)),
            2.0 * Gaussian([1.0, 2.0, 3.0]) + Linear(),
            null_space=Polynomial(1) + Constant(),
            solver=SMO(tol=1e-5),
        )
        twin = clone(machine)
        for name in ("loss", "kernel", "null_space", "solver"):
            ours, theirs = getattr(machine, name), getattr(twin, name)
            assert ours == theirs
            assert ours is not theirs
        twin.set_params(kernel__left__kernel__length_scale=9.0, loss__epsilon=0.7, solver__tol=1.0)
        assert machine.kernel == 2.0 * Gaussian([1.0, 2.0, 3.0]) + Linear()
        assert machine.loss.epsilon[0] == 0.1
        assert machine.solver.tol == 1e-5

    def test_fit_leaves_parameters_alone(self):
        machine = KernelRegressor(Huber(0.5), Gaussian(0.7), solver=Auto())
        before = clone(machine).get_params()
        machine.fit(X, Z)
        assert machine.get_params() == before

    def test_changing_a_parameter_after_the_fit_changes_no_prediction(self):
        machine = KernelRegressor(Huber(0.5), Gaussian(0.7)).fit(X, Z)
        expected = machine.predict(T)
        machine.set_params(kernel__length_scale=5.0, loss__delta=9.0)
        np.testing.assert_array_equal(machine.predict(T), expected)
        classifier = KernelClassifier(Logistic(), null_space=Polynomial(1)).fit(X, Y)
        expected = classifier.predict_proba(T)
        classifier.set_params(loss="hinge", null_space__degree=2)
        np.testing.assert_array_equal(classifier.predict_proba(T), expected)
        expected = classifier.fit(X, Y).predict(T)
        for kernel in ("precomputed", Linear(), lambda A, B: A @ B.T):
            np.testing.assert_array_equal(classifier.set_params(kernel=kernel).predict(T), expected)

    def test_another_kind_of_kernel(self):
        """Nothing of the last fit is left when the kernel becomes a function."""
        machine = SVR(kernel="linear", tol=TOL).fit(X, Z)
        assert machine.coef_.shape == (1, 3)
        machine.set_params(kernel=Gaussian(2.0).__call__).fit(X, Z)
        assert not hasattr(machine, "coef_")
        assert not hasattr(machine, "kernel_")
        same, f = SVR(kernel=Gaussian(2.0), tol=TOL).fit(X, Z), machine.predict(T)
        agree(f, same.predict(T), slack(machine, same.solution_.gap, 0.0, 1.0))
        np.testing.assert_array_equal(machine.set_params(kernel="rbf").predict(T), f)

    def test_repr(self):
        text = repr(KernelRegressor(Pinball(0.9), Gaussian(0.7), C=3.0))
        assert "Pinball(quantile=0.9)" in text
        assert "Gaussian(length_scale=0.7)" in text
        assert "tol" not in text


class TestSearch:
    def test_nested_parameters(self):
        grid = {
            "kernel__length_scale": [0.01, 1.5],
            "loss__epsilon": [0.1, 50.0],
            "C": [1e-6, 3.0],
        }
        machine = KernelRegressor(EpsilonInsensitive(), Gaussian())
        search = GridSearchCV(machine, grid, cv=3).fit(X, Z)
        assert search.best_params_ == {"kernel__length_scale": 1.5, "loss__epsilon": 0.1, "C": 3.0}
        assert search.best_estimator_.kernel == Gaussian(1.5)
        assert len(search.cv_results_["params"]) == 8
        assert not search.cv_results_["std_fit_time"].max() < 0

    def test_components_as_values(self):
        grid = {"kernel": [Gaussian(0.01), Matern(2.0)], "loss": ["squared", Huber(0.3)]}
        search = GridSearchCV(KernelRegressor(C=5.0), grid, cv=3).fit(X, Z)
        assert search.best_params_["kernel"] == Matern(2.0)

    def test_through_a_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), SVC(kernel=Gaussian()))
        grid = {"svc__kernel__length_scale": [0.001, 2.0], "svc__C": [0.1, 10.0]}
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
        assert search.best_params_ == {"svc__kernel__length_scale": 2.0, "svc__C": 10.0}
        assert search.score(X, Y) > 0.85

    def test_precomputed_kernels_are_split_by_rows_and_columns(self):
        K = Gaussian(1.5)(X)
        folds = {"cv": 3}
        np.testing.assert_allclose(
            cross_val_predict(KernelRegressor(kernel="precomputed"), K, Z, **folds),
            cross_val_predict(KernelRegressor(kernel=Gaussian(1.5)), X, Z, **folds),
            rtol=1e-9,
            atol=1e-12,
        )

    def test_jobs(self):
        alone = cross_validate(SVC(), X, Y, cv=3)["test_score"]
        np.testing.assert_array_equal(
            cross_validate(SVC(), X, Y, cv=3, n_jobs=2)["test_score"], alone
        )


class TestMeta:
    def test_kinds(self):
        assert is_classifier(SVC())
        assert is_classifier(KernelLogisticRegression())
        assert is_regressor(SVR())
        assert is_regressor(KernelRegressor())
        assert is_outlier_detector(OneClassSVM())
        assert not is_regressor(OneClassSVM())

    @pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.4), KernelClassifier()], ids=repr)
    def test_calibration(self, machine):
        calibrated = CalibratedClassifierCV(machine, ensemble=False).fit(X, Y)
        np.testing.assert_allclose(calibrated.predict_proba(T).sum(axis=1), 1.0)

    def test_one_vs_rest(self):
        wrapped = OneVsRestClassifier(SVC()).fit(X, Y)
        own = KernelClassifier("hinge", gamma="scale").fit(X, Y)
        assert np.mean(wrapped.predict(T) == own.predict(T)) == 1.0

    def test_transformed_targets(self):
        machine = TransformedTargetRegressor(SVR(), func=np.sinh, inverse_func=np.arcsinh)
        assert machine.fit(X, Z).score(X, Z) > 0.5


class TestRouting:
    WEIGHT = np.where(Y == "a", 5.0, 0.1)

    @pytest.fixture(autouse=True)
    def _routing(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    @pytest.mark.skipif(SKLEARN < (1, 8), reason="older pipelines route no weights to their score")
    def test_weights_reach_the_machine(self):
        inner = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        search = GridSearchCV(pipeline, {"svc__C": [1.0]}, cv=3).fit(
            X, Y, sample_weight=self.WEIGHT
        )
        scaled = StandardScaler().fit_transform(X)
        expected = SVC().fit(scaled, Y, sample_weight=self.WEIGHT)
        np.testing.assert_array_equal(
            search.decision_function(X), expected.decision_function(scaled)
        )
        assert np.any(expected.predict(scaled) != SVC().fit(scaled, Y).predict(scaled))

    def test_weights_not_asked_for(self):
        with pytest.raises(ValueError, match=r"sample_weight.* not explicitly set"):
            make_pipeline(SVC()).fit(X, Y, sample_weight=self.WEIGHT)

    def test_one_class(self):
        machine = OneClassSVM().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(machine).fit(X, sample_weight=self.WEIGHT)
        np.testing.assert_array_equal(
            pipeline.decision_function(T),
            OneClassSVM().fit(X, sample_weight=self.WEIGHT).decision_function(T),
        )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
class TestFrames:
    COLUMNS = ("first", "second", "third")

    def make(self, frame, A):
        return frame({name: A[:, k] for k, name in enumerate(self.COLUMNS)})

    @pytest.mark.parametrize("machine", [SVC(), SVR(), KernelClassifier(), OneClassSVM()], ids=repr)
    def test_names_and_values(self, machine, frame):
        y = Y if is_classifier(machine) else Z
        fitted = clone(machine).fit(self.make(frame, X), y)
        plain = clone(machine).fit(X, y)
        np.testing.assert_array_equal(fitted.feature_names_in_, self.COLUMNS)
        np.testing.assert_array_equal(fitted.predict(self.make(frame, T)), plain.predict(T))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            fitted.predict(T)
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(self.make(frame, T).rename(**self.renamed(frame)))

    @staticmethod
    def renamed(frame):
        mapping = {"first": "other"}
        return {"columns": mapping} if frame is pd.DataFrame else {"mapping": mapping}

    def test_targets_and_weights_as_series(self, frame):
        series = pd.Series if frame is pd.DataFrame else pl.Series
        weights = np.linspace(0.5, 2.0, 60)
        fitted = SVC().fit(self.make(frame, X), series(Y), sample_weight=series(weights))
        np.testing.assert_array_equal(
            fitted.predict(self.make(frame, T)), SVC().fit(X, Y, sample_weight=weights).predict(T)
        )

    @pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
    def test_probabilities(self, frame):
        fitted = SVC(probability=True).fit(self.make(frame, X), Y)
        assert fitted.predict_proba(self.make(frame, T)).shape == (25, 3)


def test_scorers():
    assert get_scorer("roc_auc")(SVC().fit(X, Y == "a"), X, Y == "a") > 0.9
    assert get_scorer("neg_log_loss")(KernelLogisticRegression().fit(X, Y), X, Y) > -1.0
    assert get_scorer("r2")(SVR().fit(X, Z), X, Z) > 0.8


def test_import_stays_light():
    """Machines need neither a plotting library, nor a cluster, nor the oracles of the tests."""
    code = (
        "import sys, mercer; from mercer import SVC; SVC\\n"
        "heavy = {'matplotlib', 'dask', 'distributed', 'cvxpy'}\\n"
        "print(sorted(heavy & set(sys.modules)))"
    ).replace("\\n", "\n")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
