"""Machines among few functions take what other machines take, and refuse the rest in words."""

import io
import re
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    Nystrom,
    QuantileSVR,
    RandomFeatures,
)
from mercer.data import as_source
from mercer.estimators import HuberSVR
from mercer.reduced.solve import open_passes
from mercer.solvers import Status

N, M = 200, 20
CLASSIFIERS = [SVC, LSSVC, KernelLogisticRegression, KernelClassifier]
REGRESSORS = [SVR, LSSVR, QuantileSVR, HuberSVR, KernelRegressor]


def sample(n: int = N, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def case(kind: Any, classes: int = 2) -> tuple[Any, Any]:
    X, f = sample()
    if kind in REGRESSORS:
        return X, f
    return X, np.array(["a", "b", "c"])[np.digitize(f, [0.0] if classes == 2 else [-0.7, 0.7])]


def decision(machine: Any, X: Any) -> Any:
    return getattr(machine, "decision_function", machine.predict)(X)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_every_kind_of_rows_gives_one_machine(kind: Any, tmp_path: Path) -> None:
    X, y = case(kind, 3)
    y = np.searchsorted(np.unique(y), y) if kind in CLASSIFIERS else y
    s = np.random.default_rng(1).uniform(0.2, 1.0, N)
    machine = kind(gamma=0.5, approximation=Nystrom(M))
    plain = clone(machine).fit(X, y, s)
    assert plain.solution_.status is Status.CONVERGED
    assert len(plain.support_vectors_) == M
    expected = decision(plain, X)
    # Above the exact machine, and by no more than it says.
    exact = kind(gamma=0.5, tol=1e-6).fit(X, y, s)
    objective = sum(np.atleast_1d(getattr(exact.solution_, "objective", np.nan)))
    bound = plain.solution_.gap + plain.solution_.approximation_cost
    if kind in REGRESSORS:
        excess = plain.solution_.objective - objective
        assert -1e-6 * objective <= excess <= bound
    np.save(tmp_path / "X.npy", X)
    frame = pd.DataFrame(X, columns=list("abc"))
    same: dict[str, Any] = {
        "source": (as_source(X, y, s),),
        "memory map": (np.load(tmp_path / "X.npy", mmap_mode="r"), y, s),
        "frame": (frame, y, s),
        "frame as source": (as_source(frame, y, s),),
    }
    for name, given in same.items():
        other = clone(machine).fit(*given)
        values = decision(other, frame if "frame" in name else X)
        np.testing.assert_array_equal(values, expected, err_msg=name)
        assert hasattr(other, "feature_names_in_") == ("frame" in name)
    sparse = clone(machine).fit(sp.csr_array(X), y, s)
    atol = 1e-7
    if sparse.solution_.solver == "method of multipliers":
        # Values in float32 are others in their last digits, so that steps end at another point.
        # Half of the squared distance of a function from the minimizer is at most its gap, and
        # k(x, x) is one; intercepts are compared by the objective only.
        atol = sum(np.sqrt(2.0 * one.solution_.gap) for one in (sparse, plain))
        assert abs(sparse.solution_.objective - plain.solution_.objective) <= max(
            sparse.solution_.gap, plain.solution_.gap
        )
    values = decision(sparse, sp.csr_array(X)) - sparse.intercept_
    np.testing.assert_allclose(values, expected - plain.intercept_, rtol=0, atol=atol)
    np.testing.assert_array_equal(decision(plain, as_source(X)), expected)
    np.testing.assert_array_equal(plain.predict(as_source(X)), plain.predict(X))


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("how", ["auto", RandomFeatures(40)], ids=["auto", "random"])
def test_other_approximations_predict_as_well(kind: Any, how: Any) -> None:
    X, y = case(kind)
    exact = kind(gamma=0.5).fit(X, y)
    machine = kind(gamma=0.5, approximation=how).fit(X, y)
    # Fewer functions than rows lose something, but not this much.
    assert machine.score(X, y) > exact.score(X, y) - 0.2 > 0.5


def test_single_precision_rows() -> None:
    X, y = case(SVR)
    X32 = X.astype(np.float32)
    machine = SVR(gamma=0.5, approximation=Nystrom(M))
    expected = machine.fit(X32.astype(np.float64), y).predict(X)
    # The same rows to the last bit, so the same centres.
    np.testing.assert_allclose(machine.fit(X32, y).predict(X), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("weight", ["balanced", {"a": 1.0, "b": 5.0, "c": 0.2}], ids=str)
def test_class_weights_are_weights_of_rows(kind: Any, weight: Any) -> None:
    X, y = case(kind, 3)
    y = np.where(np.arange(N) < 60, "a", y)
    labels, counts = np.unique(y, return_counts=True)
    factors = dict(zip(labels, N / (3 * counts), strict=True)) if weight == "balanced" else weight
    machine = kind(gamma=0.5, approximation=Nystrom(M))
    by_rows = clone(machine).fit(X, y, np.array([factors[label] for label in y]))
    for given in ((X, y), (as_source(X, y),)):
        by_class = clone(machine).set_params(class_weight=weight).fit(*given)
        # Weights multiply in another order.
        np.testing.assert_allclose(
            decision(by_class, X), decision(by_rows, X), rtol=0, atol=1e-4 * 5
        )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_without_weight_are_as_if_not_there(kind: Any) -> None:
    X, y = case(kind, 3)
    s = (y != "b").astype(float)
    machine = kind(gamma=0.5, approximation=Nystrom(M)).fit(as_source(X, y, s))
    assert set(machine.predict(X)) <= {"a", "c", "b"}
    assert np.mean(machine.predict(X[s > 0]) == y[s > 0]) > 0.8


def test_columns_are_fits_of_their_own() -> None:
    X, f = sample()
    Y = np.column_stack([f, X[:, 2] ** 2])
    for kind in (LSSVR, KernelRegressor):
        machine = kind(gamma=0.5, approximation=Nystrom(M))
        both = clone(machine).fit(as_source(X, Y)).predict(X)
        each = [clone(machine).fit(X, y).predict(X) for y in Y.T]
        np.testing.assert_allclose(both, np.column_stack(each), rtol=1e-9, atol=1e-9)


def test_the_same_functions_as_scikit_learn() -> None:
    X, y = sample()
    centres = X[:M]
    machine = LSSVR(gamma=0.5, C=10.0, approximation=Nystrom(centres=centres))
    other = Nystroem(gamma=0.5, n_components=M, random_state=0)
    other.fit(centres)  # all of them, in another order
    ridge = Ridge(alpha=0.1).fit(other.transform(X), y)
    # Their inverse root leaves out what is below 1e-12 of the largest eigenvalue.
    np.testing.assert_allclose(
        machine.fit(X, y).predict(X), ridge.predict(other.transform(X)), rtol=0, atol=1e-6
    )


def test_parameters_are_reached_and_searched() -> None:
    X, y = sample()
    machine = LSSVR(approximation=Nystrom(5))
    assert clone(machine).set_params(approximation__m=9).approximation.m == 9
    assert machine.approximation.m == 5
    search = GridSearchCV(
        make_pipeline(StandardScaler(), machine), {"lssvr__approximation__m": [2, 40]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"lssvr__approximation__m": 40}
    assert "Nystrom" in repr(machine)


def test_support_says_which_rows_are_centres() -> None:
    X, y = sample()
    machine = LSSVR(approximation=Nystrom(M)).fit(X, y)
    np.testing.assert_array_equal(X[machine.support_], machine.support_vectors_)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_what_is_refused(kind: Any) -> None:
    X, y = case(kind)
    how = Nystrom(M)
    for kernel in ("precomputed", lambda a, b: a @ b.T):
        with pytest.raises(ValueError, match="evaluates the kernel at new pairs of points"):
            kind(kernel=kernel, approximation=how).fit(X @ X.T, y)
    broken = X.copy()
    broken[117, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 117: feature 1 is missing"):
        kind(approximation=how).fit(as_source(broken, y))
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        kind(approximation=how).fit(as_source(X))
    with pytest.raises(ValueError, match=r"memory_limit is 1 MB, but .* are needed"):
        kind(approximation=Nystrom(M, memory_limit="1MB")).fit(X, y)
    if kind in CLASSIFIERS:
        for given in ((X, np.zeros(N)), (as_source(X, np.zeros(N)),)):
            with pytest.raises(ValueError, match="greater than one; got 1 class"):
                kind(approximation=how).fit(*given)


@pytest.mark.parametrize(("m", "limit"), [(8000, "2GB"), (3000, "200MB"), (900, "50MB")])
def test_a_refusal_names_the_largest_number_that_fits(m: int, limit: str) -> None:
    X, y = case(SVR)

    def refusal(number: int) -> str:
        how = Nystrom(number, memory_limit=limit, n_jobs=1)
        try:
            open_passes(as_source(X, y), how, number, 1, 1000)
        except ValueError as error:
            return str(error)
        return ""

    found = re.search(r"; (\d+) centres or random features fit", refusal(m))
    assert found is not None
    most = int(found[1])
    assert 100 < most < m
    assert refusal(most) == ""
    assert refusal(most + 1).endswith(f"; {most} centres or random features fit")


def test_what_else_is_refused() -> None:
    X, y = case(SVC)
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        SVC(probability=True, approximation=Nystrom(M)).fit(X, y)
    machine = LSSVC(approximation=Nystrom(M)).fit(X, y)
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError, match="samples left out"):
        _ = machine.loo_decision_
    with pytest.raises(ValueError, match="Did you mean 'nystrom'"):
        SVC(approximation="nystroem").fit(X, y)
    with pytest.raises(ValueError, match="2 features but the rows have 3"):
        SVC(approximation=Nystrom(centres=X[:5, :2])).fit(X, y)
    with pytest.raises(ValueError, match="m must be a positive number"):
        Nystrom(0)
    with pytest.raises(ValueError, match="centres must be one of"):
        Nystrom(3, "nearest")
    with pytest.raises(ValueError, match="zero for all samples"):
        SVC(approximation=Nystrom(M)).fit(as_source(X, y, np.zeros(N)))


def test_verbose_shows_a_line_for_every_pass() -> None:
    X, y = case(SVC)
    err = io.StringIO()
    with redirect_stderr(err):
        machine = LSSVR(verbose=True, approximation=Nystrom(M)).fit(*case(LSSVR))
    lines = [line for line in err.getvalue().splitlines() if "rows/s" in line]
    ended = [line for line in lines if "left" not in line]
    assert len(ended) == machine.solution_.passes
    assert "100%" in ended[0]
    assert f"{N}/{N}" in ended[0]
    err = io.StringIO()
    with redirect_stderr(err):
        SVC(approximation=Nystrom(M)).fit(X, y)
    assert not err.getvalue()
