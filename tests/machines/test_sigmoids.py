"""Probabilities from decision values, against scikit-learn's calibration and its folds."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration
from sklearn.datasets import make_blobs
from sklearn.model_selection import StratifiedKFold

from mercer import SVC
from mercer.machines.sigmoids import Sigmoids, fit_sigmoid, fold_numbers


@pytest.mark.parametrize("seed", range(8))
def test_sigmoids_are_the_likeliest(seed):
    rng = np.random.default_rng(seed)
    f = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=80)
    positive = f + np.std(f) * rng.normal(size=80) * (seed % 3) > np.std(f)
    a, b = fit_sigmoid(f, positive)
    peer = _SigmoidCalibration().fit(f, positive.astype(float))
    t = np.where(positive, (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2))

    def unlikeliness(a, b):
        r = -(a * f + b)
        return np.sum(np.logaddexp(0.0, r) - t * r)

    # The function is convex: no other point, scikit-learn's among them, is below.
    here = unlikeliness(a, b)
    assert here <= unlikeliness(peer.a_, peer.b_) + 1e-9
    for da, db in 1e-3 * rng.normal(size=(20, 2)):
        assert here <= unlikeliness(a * (1 + da), b + db) + 1e-12
    np.testing.assert_allclose(1 / (1 + np.exp(a * f + b)), peer.predict(f), atol=1e-4)


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_are_stratified_as_in_scikit_learn(folds):
    y = np.random.default_rng(folds).integers(4, size=97)
    number = fold_numbers(y, folds)
    for j, (_, out) in enumerate(StratifiedKFold(folds).split(y, y)):
        np.testing.assert_array_equal(np.flatnonzero(number == j), out)


def test_classes_without_a_chance_share_it():
    p = Sigmoids(np.array([1e3, 1e3, 1e3]), np.zeros(3))(np.full((1, 3), 10.0))
    np.testing.assert_allclose(p, 1.0 / 3.0)


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_folds_over_one_matrix_are_those_of_the_calibration(classes, kernel):
    X, y = make_blobs(90, 3, centers=classes, cluster_std=4.0, random_state=1)
    y = np.array(["d", "b", "a", "c"])[y]
    given = X @ X.T if kernel == "precomputed" else X
    settings = {"kernel": kernel, "gamma": 0.05, "C": 0.5, "tol": 1e-6}
    machine = SVC(probability=True, **settings).fit(given, y)
    assert isinstance(machine._calibrated, Sigmoids)
    peer = CalibratedClassifierCV(SVC(**settings), ensemble=False).fit(given, y)
    new = given if kernel == "precomputed" else X + 0.1
    np.testing.assert_allclose(machine.predict_proba(new), peer.predict_proba(new), atol=1e-4)
    weighted = SVC(probability=True, **settings).fit(given, y, np.linspace(0.5, 2.0, 90))
    assert isinstance(weighted._calibrated, CalibratedClassifierCV)
