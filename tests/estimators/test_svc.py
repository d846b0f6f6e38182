"""Classification by pairs: the same machine as scikit-learn's, whatever the parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from estimators.twins import SINGLE, TOL, agree, name_of, sample, slack, votes
from mercer import SVC, NuSVC

X, Y, _, T = sample()
BINARY = Y == "a"
# Some samples do not count.
WEIGHT = np.where((np.arange(60) % 7 == 0) | (np.arange(60) % 11 == 0), 0.0, 1.5)


def rbf(A, B):
    return rbf_kernel(A, B, gamma=0.4)


def matrix(machine, A, B):
    return (machine.kernel_ if hasattr(machine, "kernel_") else machine.kernel)(A, B)


def soft_margin(machine, K, y, c, kept):
    """Evaluate the objective of a soft-margin machine, summed over its pairs."""
    total = 0.0
    for rows, sign, a, b in votes(machine, y, kept):
        g = K[np.ix_(rows, rows)] @ a
        total += 0.5 * a @ g + np.sum(c[rows] * np.maximum(0.0, 1.0 - sign * (g + b)))
    return total


def nu_margin(machine, K, y, nu):
    """Evaluate the objective of a nu-machine before it was divided by its margins, and those."""
    total, margins = 0.0, []
    for rows, sign, a, b in votes(machine, y, np.arange(len(y))):
        f = K[np.ix_(rows, rows)] @ a
        linear = np.sum(np.maximum(0.0, 1.0 - sign * (f + b))) - nu * len(rows)
        rho = -linear / (a @ f)  # the best multiple of the machine
        total += 0.5 * rho**2 * (a @ f) + rho * linear
        margins.append(rho)
    return total, margins


def same_attributes(ours, theirs, kept):
    np.testing.assert_array_equal(ours.support_, kept[theirs.support_])
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.support_vectors_.shape[0] in (0, len(ours.support_))
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert hasattr(ours, "coef_") == hasattr(theirs, "coef_")


PARAMETERS = [
    {},
    {"C": 0.1},
    {"C": 5.0},
    {"gamma": "auto"},
    {"gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "poly", "degree": 3, "gamma": 0.2},
    {"kernel": rbf},
    {"class_weight": "balanced"},
    {"class_weight": {"a": 2.0, "c": 0.5}},
    {"shrinking": False},
    {"cache_size": 0.01},
]


@pytest.mark.parametrize("weights", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize("parameters", PARAMETERS, ids=name_of)
@pytest.mark.parametrize("y", [Y, BINARY], ids=["three", "two"])
def test_svc_equals_scikit_learn(y, parameters, weights):
    if y is BINARY and isinstance(parameters.get("class_weight"), dict):
        parameters = {"class_weight": {True: 2.0, False: 0.5}}
    both = {"decision_function_shape": "ovo", "tol": TOL, **parameters}
    ours = SVC(**both).fit(X, y, sample_weight=weights)
    if parameters.get("kernel") is rbf:  # with which scikit-learn errs if a sample has no weight
        both |= {"kernel": "rbf", "gamma": 0.4}
    theirs = sklearn.svm.SVC(**both).fit(X, y, sample_weight=weights)

    s = np.ones(60) if weights is None else np.maximum(weights, 0.0)
    c = ours.C * s * ours.class_weight_[np.unique(y, return_inverse=True)[1]]
    K, kept = matrix(ours, X, X), np.flatnonzero(s)
    objective = soft_margin(ours, K, y, c, np.arange(60))
    assert objective == pytest.approx(ours.solution_.objective, rel=1e-12)
    excess = soft_margin(theirs, K, y, c, kept) - (objective - ours.solution_.gap)
    mass, kmax = np.sum(np.abs(theirs.dual_coef_)), np.max(np.diag(matrix(ours, T, T)))
    room = slack(ours, excess, mass, kmax)

    agree(ours.decision_function(T), theirs.decision_function(T), room)
    agree(ours.intercept_, theirs.intercept_, room, size=np.max(np.abs(ours.decision_function(T))))
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
    same_attributes(ours, theirs, kept)
    if hasattr(theirs, "coef_"):
        # |w - w'| is the norm of the difference of two linear functions.
        agree(ours.coef_, theirs.coef_, room)


@pytest.mark.parametrize("nu", [0.37, 0.53])
@pytest.mark.parametrize("gamma", [1.0, 2.0])
@pytest.mark.parametrize("y", [Y, BINARY], ids=["three", "two"])
def test_nu_svc_equals_scikit_learn(y, gamma, nu):
    both = {"decision_function_shape": "ovo", "tol": TOL, "gamma": gamma, "nu": nu}
    theirs, ours = sklearn.svm.NuSVC(**both).fit(X, y), NuSVC(**both).fit(X, y)
    K = ours.kernel_(X)
    objective, margins = nu_margin(ours, K, y, nu)
    assert objective == pytest.approx(ours.solution_.objective, rel=1e-9)
    excess = nu_margin(theirs, K, y, nu)[0] - (objective - ours.solution_.gap)
    # Dividing by the margin multiplies the difference, and moves the margin itself as much.
    grown = 2 / min(margins) * slack(ours, excess, len(y), 1.0)
    grown *= np.max(np.abs(theirs.decision_function(T)))
    agree(ours.decision_function(T), theirs.decision_function(T), grown)
    agree(ours.intercept_, theirs.intercept_, grown, size=1.0)
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
    same_attributes(ours, theirs, np.arange(60))


def test_coefficients_equal_scikit_learn():
    r"""Where K is regular on the free samples, coefficients are as determined as decision values.

    :math:`K_{FF} \Delta a_F + \Delta b` is at most two tolerances and the rounding of LIBSVM's
    kernel values, and :math:`1'\Delta a_F = 0`.
    """
    both = {"gamma": 2.0, "tol": TOL}
    theirs, ours = sklearn.svm.SVC(**both).fit(X, BINARY), SVC(**both).fit(X, BINARY)
    free = X[ours.support_[np.abs(ours.dual_coef_[0]) < 1.0]]
    smallest = np.linalg.eigvalsh(rbf_kernel(free, gamma=2.0))[0]
    error = 2 * TOL + SINGLE * np.sum(np.abs(theirs.dual_coef_))
    assert len(free) > 5
    agree(ours.dual_coef_, theirs.dual_coef_, error * np.sqrt(len(free)) / smallest)
    np.testing.assert_array_equal(ours._dual_coef_, -ours.dual_coef_)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])


def test_hard_margin():
    """C = inf separates with margin one, by the smallest norm."""
    Z, y = make_blobs(n_samples=60, centers=[[-3, 0], [3, 0]], random_state=0)
    theirs = sklearn.svm.SVC(C=np.inf, kernel="linear", tol=TOL).fit(Z, y)
    ours = SVC(C=np.inf, kernel="linear", tol=TOL).fit(Z, y)
    assert np.min((2 * y - 1) * ours.decision_function(Z)) >= 1 - TOL
    # Scaled by its smallest margin, LIBSVM's machine is feasible: half its squared norm is its P.
    feasible = theirs.coef_ / np.min((2 * y - 1) * theirs.decision_function(Z))
    # So is ours by its own, and the dual value bounds both from below: no gap of C = inf is asked
    # for, in which rounding of a margin has any price. Half a squared norm is strongly convex.
    w = ours.coef_ / np.min((2 * y - 1) * ours.decision_function(Z))
    dual = np.sum(np.abs(ours.dual_coef_)) - 0.5 * np.sum(ours.coef_**2)
    bound = sum(np.sqrt(2.0 * (0.5 * np.sum(v**2) - dual)) for v in (w, feasible))
    agree(w, feasible, bound)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("cls", [SVC, NuSVC], ids=lambda cls: cls.__name__)
def test_decision_function_shape(cls, shape):
    machine = cls(decision_function_shape=shape).fit(X, Y)
    twin = getattr(sklearn.svm, cls.__name__)(decision_function_shape=shape).fit(X, Y)
    f = machine.decision_function(T)
    assert f.shape == twin.decision_function(T).shape == (25, 3)
    if shape == "ovr":
        # A function of the pairs alone: put ours into the twin's place.
        pairs = machine.set_params(decision_function_shape="ovo").decision_function(T)
        twin._decision_function = lambda _: pairs
        np.testing.assert_array_equal(f, twin.decision_function(T))


def test_ties_are_broken_by_decision_values():
    """On a ring of three classes some points get one vote for each."""
    Z, y = make_blobs(n_samples=90, centers=[[0, 2], [-2, -1], [2, -1]], random_state=1)
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 60), np.linspace(-4, 4, 60)), -1).reshape(-1, 2)
    both = {"kernel": "linear", "tol": TOL}
    first, broken = SVC(**both).fit(Z, y), SVC(break_ties=True, **both).fit(Z, y)
    twin = sklearn.svm.SVC(break_ties=True, **both).fit(Z, y)
    assert np.any(first.predict(grid) != broken.predict(grid))
    np.testing.assert_array_equal(broken.predict(grid), twin.predict(grid))
    np.testing.assert_array_equal(
        first.predict(grid), sklearn.svm.SVC(**both).fit(Z, y).predict(grid)
    )


def test_precomputed_equals_the_kernel():
    machine = SVC(kernel=rbf, tol=TOL).fit(X, Y)
    precomputed = SVC(kernel="precomputed", tol=TOL).fit(rbf(X, X), Y)
    np.testing.assert_array_equal(
        precomputed.decision_function(rbf(T, X)), machine.decision_function(T)
    )
    assert precomputed.support_vectors_.shape == machine.support_vectors_.shape == (0, 0)
    # Only the columns of the support are read.
    columns = np.full((25, 60), 1e300)
    columns[:, precomputed.support_] = rbf(T, X)[:, precomputed.support_]
    np.testing.assert_array_equal(
        precomputed.decision_function(columns), machine.decision_function(T)
    )


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_array", "coo_array", "lil_array"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_input(kernel, kind):
    sparse = getattr(sp, kind)
    both = {"kernel": kernel, "gamma": 0.5, "decision_function_shape": "ovo", "tol": TOL}
    dense, machine = SVC(**both).fit(X, Y), SVC(**both).fit(sparse(X), Y)
    room = slack(dense, machine.solution_.gap, 0.0, np.max(dense.kernel_.diag(T)))
    agree(machine.decision_function(sparse(T)), dense.decision_function(T), room)
    np.testing.assert_array_equal(
        machine.decision_function(T), machine.decision_function(sparse(T))
    )
    np.testing.assert_array_equal(machine.support_, dense.support_)
    theirs = sklearn.svm.SVC(**both).fit(sparse(X), Y)
    for attribute in ("support_vectors_", "dual_coef_"):
        ours, twin = getattr(machine, attribute), getattr(theirs, attribute)
        assert type(ours) is type(twin)
        assert ours.shape == twin.shape
    if kernel == "linear":
        assert type(machine.coef_) is type(theirs.coef_)
        agree(machine.coef_.toarray(), dense.coef_, room)


def test_single_precision_is_read_as_double():
    single = X.astype(np.float32)
    machine = SVC().fit(single, Y)
    same = SVC().fit(single.astype(np.float64), Y)
    assert machine.support_vectors_.dtype == machine.dual_coef_.dtype == np.float64
    points = T.astype(np.float32)
    np.testing.assert_array_equal(
        machine.decision_function(points), same.decision_function(points.astype(np.float64))
    )


def test_nu_svc_weighs_classes():
    """Where scikit-learn ignores class_weight: balanced classes make every nu feasible."""
    y = np.arange(60) < 6
    with pytest.raises(ValueError, match=r"nu=0\.5 .* choose nu at most twice its share"):
        NuSVC(nu=0.5).fit(X, y)
    machine = NuSVC(nu=0.5, class_weight="balanced").fit(X, y)
    weights = np.where(y, 60 / 12, 60 / 108)
    np.testing.assert_array_equal(
        NuSVC(nu=0.5).fit(X, y, sample_weight=weights).decision_function(T),
        machine.decision_function(T),
    )


@pytest.mark.parametrize("cls", [SVC, NuSVC])
class TestProbabilities:
    def test_absent_by_default(self, cls):
        machine = cls().fit(X, BINARY)
        assert not hasattr(machine, "predict_proba")
        assert not hasattr(machine, "predict_log_proba")

    def test_deprecated_path_is_scikit_learns_calibration(self, cls):
        with pytest.warns(FutureWarning, match="probability"):
            machine = cls(probability=True, gamma=0.3).fit(X, Y)
        p = machine.predict_proba(T)
        calibrated = CalibratedClassifierCV(cls(gamma=0.3), ensemble=False).fit(X, Y)
        # Its folds are solved each to a tolerance, and its sigmoids to 1e-6 of their gradient.
        np.testing.assert_allclose(p, calibrated.predict_proba(T), rtol=0, atol=1e-3)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(machine.predict_log_proba(T), np.log(p))
        # Decisions stay those of the machine.
        np.testing.assert_array_equal(machine.predict(T), cls(gamma=0.3).fit(X, Y).predict(T))

    @pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
    def test_asked_for_after_the_fit(self, cls):
        machine = cls(probability=False).fit(X, BINARY).set_params(probability=True)
        with pytest.raises(NotFittedError, match="probability=False"):
            machine.predict_proba(T)

    @pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
    @pytest.mark.parametrize("smallest", [1, 3])
    def test_small_classes(self, cls, smallest):
        """Fewer samples than folds, down to one of a class."""
        y = np.arange(10) < smallest
        p = cls(probability=True, **({} if cls is SVC else {"nu": 0.1})).fit(X[:10], y)
        assert p.predict_proba(T).shape == (25, 2)
