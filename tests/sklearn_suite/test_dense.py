"""scikit-learn's tests of its support vector machines, run against ours."""

import pytest

from sklearn_suite.shim import load

SUITE = "test_svm"

# scikit-learn's own run does not turn these into errors either.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

globals().update(load(SUITE))
