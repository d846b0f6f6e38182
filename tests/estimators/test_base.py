"""What every machine does the same way: warm starts, budgets, refusals, failing without a trace."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from estimators.twins import TOL, agree, sample, slack
from mercer import (
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    solvers,
)
from mercer.estimators import HuberSVR
from mercer.gram import Dense, Tiled
from mercer.kernels import Gaussian
from mercer.losses import Huber
from mercer.solvers import SMO, InteriorPoint, Newton, Status, minimize, minimizing

X, Y, Z, T = sample()
BINARY = np.where(Y == "a", 1, -1)
MACHINES = [
    SVC(),
    NuSVC(nu=0.37),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    HuberSVR(),
    QuantileSVR(),
    KernelRegressor(),
    KernelClassifier(),
    KernelLogisticRegression(),
]
WEIGHTED = [machine for machine in MACHINES if "C" in machine.get_params()]


def kind(machine):
    return type(machine).__name__


def target(machine):
    return Y if "class_weight" in machine.get_params() else Z


def values(machine, points=T):
    decide = getattr(machine, "decision_function", machine.predict)
    return decide(points)


class TestWarmStart:
    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_same_problem_again(self, machine):
        """Nothing is left to do, beyond looking."""
        cold = clone(machine).set_params(tol=1e-8).fit(X, target(machine))
        warm = clone(machine).set_params(tol=1e-8, warm_start=True).fit(X, target(machine))
        first = warm.solution_.n_iter
        warm.fit(X, target(machine))
        # A direct solution takes one step in any case.
        assert warm.solution_.n_iter <= (1 if cold.solution_.solver == "Direct" else 0.2 * first)
        np.testing.assert_allclose(values(warm), values(cold), rtol=0, atol=1e-6)

    @pytest.mark.parametrize("machine", WEIGHTED, ids=kind)
    def test_another_weight(self, machine):
        """Coefficients grow with C: the same machine as from nothing, in fewer steps."""
        machine = clone(machine).set_params(tol=1e-8, C=1.0)
        cold = clone(machine).set_params(C=1.1).fit(X, target(machine))
        warm = machine.set_params(warm_start=True).fit(X, target(machine))
        warm.set_params(C=1.1).fit(X, target(machine))
        assert warm.solution_.n_iter <= cold.solution_.n_iter
        np.testing.assert_allclose(values(warm), values(cold), rtol=0, atol=1e-6)

    def test_path_of_weights(self):
        """Along a path of C decomposition takes less than half the steps."""
        rng = np.random.default_rng(1)
        A = rng.normal(size=(400, 4))
        y = np.where(A[:, 0] + A[:, 1] ** 2 + rng.normal(size=400) > 0.8, 1, -1)
        path = 2.0 + 0.1 * np.arange(8)
        cold = [SVC(C=C, tol=1e-4).fit(A, y).solution_.n_iter for C in path[1:]]
        machine, warm = SVC(C=path[0], tol=1e-4, warm_start=True).fit(A, y), []
        for C in path[1:]:
            machine.set_params(C=C).fit(A, y)
            warm.append(machine.solution_.n_iter)
        assert 2 * sum(warm) <= sum(cold)

    def test_path_of_widths(self):
        """Along a path of widths coefficients are kept as they are."""
        rng = np.random.default_rng(1)
        A = rng.normal(size=(400, 4))
        y = np.where(A[:, 0] + A[:, 1] ** 2 + rng.normal(size=400) > 0.8, 1, -1)
        path = 0.25 * 1.02 ** np.arange(8)
        machine, warm, cold = SVC(gamma=path[0], tol=1e-4, warm_start=True).fit(A, y), [], []
        for gamma in path[1:]:
            machine.set_params(gamma=gamma).fit(A, y)
            fresh = SVC(gamma=gamma, tol=1e-4).fit(A, y)
            warm.append(machine.solution_.n_iter)
            cold.append(fresh.solution_.n_iter)
            # Violations of tol leave a gap of at most tol times the weights, 400 here.
            assert machine.solution_.objective == pytest.approx(fresh.solution_.objective, abs=0.04)
            np.testing.assert_allclose(
                machine.decision_function(A), fresh.decision_function(A), atol=5e-3
            )
        assert 2 * sum(warm) <= sum(cold)

    @pytest.mark.parametrize("C", [0.5, 1.05, 3.0])
    def test_start_is_feasible_and_the_better_of_two(self, monkeypatch, C):
        """The first point keeps the bounds and the equality rows, scaled if that is better."""
        machine = SVC(C=1.0, warm_start=True).fit(X, BINARY)
        old, seen = machine.solution_, []

        def spy(risk, solver, start, **rest):
            seen.append((risk, start))
            return minimize(risk, solver, start, **rest)

        monkeypatch.setattr(minimizing, "minimize", spy)
        machine.set_params(C=C).fit(X, BINARY)
        ((risk, start),) = seen
        K = risk.K.dense()
        # The dual value of the hinge loss, to be minimized, where the box allows both.
        dual = [0.5 * s * s * old.a @ K @ old.a - s * risk.y @ old.a for s in (1.0, C)]
        s = C if C < 1.0 or dual[1] < dual[0] else 1.0
        np.testing.assert_array_equal(start.a, s * old.a)
        np.testing.assert_array_equal(start.b, s * old.b)
        lower, upper = risk.box()
        assert np.all((lower <= start.a) & (start.a <= upper))
        assert risk.residual(start.a) <= risk.residual(old.a) + 1e-15

    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_another_sample(self, machine):
        """Another number of samples or classes starts from nothing."""
        machine = clone(machine).set_params(warm_start=True).fit(X, target(machine))
        machine.fit(X[:40], target(machine)[:40])
        cold = clone(machine).fit(X[:40], target(machine)[:40])
        np.testing.assert_array_equal(values(machine), values(cold))

    def test_off_by_default(self):
        machine = SVC().fit(X, BINARY)
        n_iter = machine.solution_.n_iter
        assert machine.fit(X, BINARY).solution_.n_iter == n_iter > 5


class TestBudget:
    @pytest.mark.parametrize(
        "machine", [SVC(), SVR(), NuSVC(nu=0.37), NuSVR(), OneClassSVM()], ids=kind
    )
    def test_iterations(self, machine):
        machine = clone(machine).set_params(max_iter=2)
        with pytest.warns(ConvergenceWarning, match=r"terminated early .*max_iter=2"):
            machine.fit(X, target(machine))
        assert np.all(np.asarray(machine.n_iter_) <= 2)
        assert machine.fit_status_ == 1
        assert machine.solution_.status is Status.MAX_ITER
        assert np.all(np.isfinite(values(machine)))

    def test_the_warning_is_of_both_libraries(self):
        with pytest.warns(solvers.ConvergenceWarning) as caught:
            SVC(max_iter=1).fit(X, BINARY)
        assert issubclass(caught[0].category, ConvergenceWarning)

    def test_newton_iterations(self):
        with pytest.warns(ConvergenceWarning, match=r"Newton: .*Raise max_iter=1"):
            machine = KernelLogisticRegression(max_iter=1, C=100.0).fit(X, BINARY)
        assert machine.n_iter_ == 1

    def test_time(self):
        A = np.random.default_rng(0).normal(size=(1500, 3))
        y = np.random.default_rng(1).choice([-1, 1], size=1500)
        machine = SVC(C=1e5, gamma=0.1, tol=1e-12, max_time=0.05, solver="smo")
        with pytest.warns(ConvergenceWarning, match=r"max_time=0\.05"):
            machine.fit(A, y)
        assert machine.solution_.status is Status.MAX_TIME
        assert machine.solution_.times["solve"] < 5.0
        assert set(machine.predict(A)) <= {-1, 1}

    def test_each_pair_has_its_own(self):
        with pytest.warns(ConvergenceWarning) as caught:
            machine = SVC(max_iter=3).fit(X, Y)
        assert machine.n_iter_.tolist() == [3, 3, 3]
        assert len(caught) == 3

    def test_a_solver_brings_its_own(self):
        machine = SVC(solver=InteriorPoint(tol=1e-8), tol=1.0, max_iter=1).fit(X, BINARY)
        assert machine.solution_.solver == "InteriorPoint"
        assert machine.solution_.violation <= 1e-8

    @pytest.mark.parametrize("solver", ["smo", "interior_point", "auto"])
    def test_solvers_by_name(self, solver):
        machine = SVC(solver=solver, tol=TOL).fit(X, BINARY)
        other = SVC(solver=SMO(tol=TOL)).fit(X, BINARY)
        agree(values(machine), values(other), slack(machine, other.solution_.gap, 0.0, 1.0))
        assert machine.solution_.reason

    @pytest.mark.parametrize(
        "gram", ["dense", "tiled", "auto", lambda k, A: Tiled(k, A, max_bytes=2**12)]
    )
    def test_grams(self, gram):
        machine = SVR(gram=gram, tol=TOL).fit(X, Z)
        other = SVR(tol=TOL).fit(X, Z)
        agree(values(machine), values(other), slack(machine, other.solution_.gap, 0.0, 1.0))


class TestRefusals:
    """Errors say what to do, and come before any solver starts."""

    @pytest.fixture(autouse=True)
    def _no_solver(self, monkeypatch):
        def never(*args, **kwargs):
            raise AssertionError("a solver was started")

        for door in ("minimize", "minimize_small", "minimize_batch"):
            monkeypatch.setattr(minimizing, door, never)

    @pytest.mark.parametrize(
        ("machine", "message"),
        [
            (SVC(kernel="bump"), "kernel='bump' of SVC is not known. Give .*'rbf'.* a function"),
            (SVC(solver="newtons"), "'solver' parameter .*'interior_point'"),
            (SVC(gram="banded"), "'gram' parameter .*'tiled'"),
            (SVC(gamma="scales"), "'gamma' parameter .*'scale'"),
            (SVC(C=0.0), r"'C' parameter .* range \(0\.0, inf\]"),
            (SVC(tol=0.0), "'tol' parameter"),
            (NuSVC(nu=1.2), r"'nu' parameter .* \(0\.0, 1\.0\]"),
            (SVR(epsilon=-0.1), "'epsilon' parameter"),
            (KernelRegressor("hinge"), "'loss' parameter .*'epsilon_insensitive'"),
            (KernelRegressor(Huber), "'loss' parameter .* instance of 'mercer.losses.base.Loss'"),
            (KernelClassifier("huber"), "'loss' parameter .*'huber_hinge'"),
            (KernelRegressor(null_space="constant"), "'null_space' parameter .*NullSpace"),
            (QuantileSVR(quantile=1.0), "'quantile' parameter"),
            (HuberSVR(delta=0.0), "'delta' parameter"),
        ],
        ids=repr,
    )
    def test_parameters(self, machine, message):
        with pytest.raises(ValueError, match=message):
            machine.fit(X, Y if "class_weight" in machine.get_params() else Z)

    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_data(self, machine):
        y = target(machine)
        holes = X.copy()
        holes[3, 1] = np.nan
        with pytest.raises(ValueError, match="Input X contains NaN"):
            clone(machine).fit(holes, y)
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            clone(machine).fit(X[:, 0], y)
        with pytest.raises(ValueError, match="0 sample"):
            clone(machine).fit(X[:0], y[:0])
        if not isinstance(machine, OneClassSVM):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                clone(machine).fit(X, y[1:])

    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(59), r"incompatible shapes: \(59,\) against 60 samples"),
            (np.ones((60, 2)), "incompatible shapes"),
            (np.full(60, np.nan), "NaN"),
            (np.zeros(60), "sample_weight is zero for all samples"),
            (-np.ones(60), "must be finite and not negative, got -1 for sample 0; use 0 to leave"),
        ],
        ids=["short", "columns", "nan", "zero", "negative"],
    )
    def test_weights(self, machine, weights, message):
        with pytest.raises(ValueError, match=message):
            clone(machine).fit(X, target(machine), sample_weight=weights)

    @pytest.mark.parametrize("machine", [SVC(), NuSVC(), KernelClassifier()], ids=kind)
    def test_one_class(self, machine):
        with pytest.raises(
            ValueError, match=r"number of classes has to be greater than one; got 1"
        ):
            clone(machine).fit(X, np.ones(60))
        with pytest.raises(ValueError, match="continuous"):
            clone(machine).fit(X, Z)

    def test_one_class_with_weight(self):
        with pytest.raises(ValueError, match="same class"):
            SVC().fit(X, BINARY, sample_weight=(BINARY == 1).astype(float))

    def test_infeasible_nu(self):
        with pytest.raises(
            ValueError, match=r"nu is infeasible: nu=0\.9 .* at most twice its share"
        ):
            NuSVC(nu=0.9).fit(X, Y)

    def test_precomputed(self):
        with pytest.raises(ValueError, match=r"must be a square matrix\. Input is a 60x3"):
            SVC(kernel="precomputed").fit(X, Y)
        with pytest.raises(TypeError, match="Sparse precomputed"):
            SVC(kernel="precomputed").fit(sp.csr_array(X @ X.T), Y)

    def test_kernel_function(self):
        with pytest.raises(ValueError, match=r"shape \(60, 3\) for 60 and 60 samples; .* per pair"):
            SVR(kernel=lambda A, B: A).fit(X, Z)
        with pytest.raises(ValueError, match="not finite"):
            SVR(kernel=lambda A, B: np.full((60, 60), np.nan)).fit(X, Z)

    @pytest.mark.parametrize(
        "gram", [lambda k, A: A @ A.T, lambda k, A: Dense(np.eye(2))], ids=["array", "shape"]
    )
    def test_gram_function(self, gram):
        with pytest.raises(ValueError, match=r"gram must make a Gram of shape \(60, 60\)"):
            SVR(gram=gram).fit(X, Z)

    def test_overflow(self):
        with pytest.raises(ValueError, match=r"squares of X overflow\. Scale the inputs"):
            SVR().fit(1e200 * X, Z)
        with pytest.raises(ValueError, match=r"kernel overflows\. Scale the inputs"):
            SVR(kernel="poly", gamma=1.0, degree=5).fit(1e100 * X, Z)


def test_refusals_of_a_fitted_machine():
    machine = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="has 2 features, but SVC is expecting 3 features"):
        machine.predict(T[:, :2])
    with pytest.raises(ValueError, match="sparse input in 'SVC' trained on dense data"):
        machine.predict(sp.csr_array(T))
    with pytest.raises(ValueError, match="25 features, but SVC is expecting 60"):
        SVC(kernel="precomputed").fit(X @ X.T, Y).predict(T @ T.T)
    with pytest.raises(NotFittedError, match="SVC instance is not fitted yet"):
        SVC().predict(T)
    with pytest.raises(AttributeError, match="linear kernel"):
        machine.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="after fit"):
        SVC().n_support_  # noqa: B018


def test_coefficients_that_are_not_finite(monkeypatch):
    def diverge(*args, **kwargs):
        raise FloatingPointError("lower C")

    monkeypatch.setattr(minimizing, "minimize", diverge)
    monkeypatch.setattr(minimizing, "minimize_batch", lambda parts, solver: None)
    with pytest.raises(ValueError, match="not finite: lower C"):
        SVC().fit(X, Y)


class TestFailure:
    """A fit that fails, wherever it fails, leaves the machine what it was."""

    @staticmethod
    def state(machine):
        return {key: value for key, value in vars(machine).items() if key.endswith("_")}

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError], ids=lambda e: e.__name__)
    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_in_the_solver(self, machine, error, monkeypatch):
        machine = clone(machine).fit(X, target(machine))
        before, expected = dict(vars(machine)), values(machine)

        def interrupted(*args, **kwargs):
            raise error

        for door in ("minimize", "minimize_small", "minimize_batch"):
            monkeypatch.setattr(minimizing, door, interrupted)
        y = np.roll(target(machine)[:50], 7)
        with pytest.raises(error):
            machine.fit(X[:50, :2], y)
        assert vars(machine).keys() == before.keys()
        assert all(vars(machine)[key] is before[key] for key in before)
        np.testing.assert_array_equal(values(machine), expected)
        assert machine.n_features_in_ == 3

    def test_at_the_last_moment(self, monkeypatch):
        machine = SVC().fit(X, Y)
        expected = values(machine)
        monkeypatch.setattr(SVC, "_fit_extras", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            machine.fit(X[:, :2], BINARY)
        np.testing.assert_array_equal(values(machine), expected)
        np.testing.assert_array_equal(machine.classes_, ["a", "b", "c"])

    def test_in_the_kernel(self):
        calls = []

        def fickle(A, B):
            calls.append(1)
            if len(calls) > 2:
                raise KeyboardInterrupt
            return A @ B.T

        machine = SVR(kernel=fickle).fit(X, Z)
        expected = machine.predict(T)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X[:30], Z[:30])
        calls.clear()
        np.testing.assert_array_equal(machine.predict(T), expected)

    def test_of_the_first_fit(self):
        machine = SVC(kernel="precomputed")
        before = dict(vars(machine))
        with pytest.raises(ValueError, match="square"):
            machine.fit(X, Y)
        assert vars(machine) == before
        with pytest.raises(NotFittedError):
            machine.predict(T)
        machine.set_params(kernel="rbf").fit(X, Y)
        assert machine.score(X, Y) > 0.8


@pytest.mark.parametrize("machine", [*MACHINES, KernelRegressor(Huber(), Gaussian(0.7))], ids=kind)
def test_pickle_and_copy(machine):
    fitted = clone(machine).fit(X, target(machine))
    expected = values(fitted)
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.copy(fitted), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(values(twin), expected)
        assert twin.solution_.gap == fitted.solution_.gap
    # Refitting a shallow copy leaves the original alone.
    copy.copy(fitted).fit(X[:50], np.roll(target(machine)[:50], 3))
    np.testing.assert_array_equal(values(fitted), expected)


@pytest.mark.parametrize("machine", MACHINES, ids=kind)
def test_fit_twice_is_fit_once(machine):
    machine = clone(machine).fit(X[:50, :2], np.roll(target(machine)[:50], 3))
    machine.fit(X, target(machine))
    fresh = clone(machine).fit(X, target(machine))
    assert vars(machine).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(values(machine), values(fresh))


def test_no_support_vectors():
    """A tube that holds everything: a constant."""
    for A in (X, sp.csr_array(X)):
        machine = SVR(epsilon=10.0, kernel="linear").fit(A, Z)
        assert machine.support_.size == 0
        assert machine.dual_coef_.shape == (1, 0)
        assert machine.n_support_.tolist() == [0]
        assert np.ptp(machine.predict(A)) == 0.0
        assert machine.coef_.shape == (1, 3)


def test_newton_by_instance():
    machine = KernelRegressor(Huber(0.5), solver=Newton(tol=1e-10)).fit(X, Z)
    assert machine.solution_.solver == "Newton"
    assert machine.solution_.violation <= 1e-10
