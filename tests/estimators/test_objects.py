"""Machines over things that are not rows of numbers: strings, and sets of points."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import SVC, KernelLogisticRegression, KernelRegressor, OneClassSVM
from mercer.kernels import Gaussian, SetKernel, StringSpectrum, Subsequence

RNG = np.random.default_rng(0)


def word(vowels):
    """Draw a word in which every other letter comes from `vowels`."""
    letters = RNG.choice(list("bdgkmnprst"), 6)
    letters[::2] = RNG.choice(list(vowels), 3)
    return "".join(letters)


WORDS = [word("aou") for _ in range(40)] + [word("ei") for _ in range(40)]
LABELS = np.repeat(["dark", "bright"], 40)


@pytest.mark.parametrize("kernel", [Subsequence(2, 0.5), StringSpectrum(1)], ids=repr)
@pytest.mark.parametrize("layout", [list, np.array, pd.Series, lambda w: np.array(w, dtype=object)])
def test_words_as_they_come(kernel, layout):
    objects = np.array(WORDS, dtype=object)
    machine = SVC(kernel=kernel).fit(layout(WORDS), LABELS)
    twin = SVC(kernel="precomputed").fit(kernel(objects), LABELS)
    np.testing.assert_array_equal(machine.support_, twin.support_)
    np.testing.assert_allclose(machine.dual_coef_, twin.dual_coef_, rtol=0, atol=1e-12)
    new = ["banana", "kiwi"]
    expected = twin.decision_function(kernel(np.array(new, dtype=object), objects))
    np.testing.assert_allclose(machine.decision_function(layout(new)), expected, rtol=0, atol=1e-9)
    assert list(machine.predict(layout(new))) == ["dark", "bright"]
    assert all(isinstance(kept, str) for kept in machine.support_vectors_)


def test_more_words_than_a_matrix_is_computed_for_at_once():
    many = [word("aou") for _ in range(400)] + [word("ei") for _ in range(400)]
    labels = np.repeat([1, -1], 400)
    machine = SVC(kernel=StringSpectrum(1), cache_size=1).fit(many, labels)
    assert machine.solution_.converged
    assert machine.score(many, labels) == 1.0
    assert KernelLogisticRegression(kernel=StringSpectrum(1)).fit(many, labels).score(
        many, labels
    ) == pytest.approx(1.0)


def test_the_habits_of_scikit_learn():
    search = GridSearchCV(SVC(kernel=StringSpectrum(1)), {"kernel__length": [1, 3]}, cv=4)
    search.fit(np.array(WORDS, dtype=object), LABELS)
    assert search.best_params_["kernel__length"] == 1
    machine = clone(search.best_estimator_).fit(WORDS, LABELS)
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(copy.predict(WORDS), machine.predict(WORDS))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(machine).fit(WORDS[:3], LABELS)
    inside = OneClassSVM(kernel=StringSpectrum(1), nu=0.2).fit(WORDS).predict(WORDS)
    assert np.mean(inside == 1) >= 0.75


def test_clouds_of_points():
    clouds = [RNG.normal(size=(RNG.integers(3, 9), 2)) + shift for shift in np.linspace(0, 3, 60)]
    shifts = np.linspace(0, 3, 60)
    machine = KernelRegressor(kernel=SetKernel(Gaussian(1.0)), C=100.0).fit(clouds, shifts)
    assert machine.score(clouds, shifts) > 0.8
