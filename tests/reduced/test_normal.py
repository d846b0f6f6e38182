"""Normal equations against dense smoothers, scikit-learn, and refits of every kind."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from mercer.data import as_source, draw
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import Hinge, Squared
from mercer.reduced import Newton
from mercer.reduced.normal_equations import NormalEquations
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Codes, Problem, Values, Whole, held_out
from mercer.reduced.random_features import random_features
from mercer.regularizers.null_space import Constant, Empty, Polynomial
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import GCV, Evidence

N, CS = 120, np.geomspace(1e-2, 1e3, 7)

# Sums of n products and an eigendecomposition err by some n eps, kernel features by the root of the
# condition number of K_ZZ, 1e6 at most, times eps. All of this is far below:
TIGHT = {"rtol": 1e-7, "atol": 1e-9}

# B'a is zero up to eps for each of the n summed numbers, whose sizes add up to the sum of c |r|: no
# more than some ten times the objective here.
ROUNDING = 10 * N * np.finfo(float).eps


def sample(d=1, p=2, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    Y = np.sin(3 * X[:, :1]) * np.arange(1, d + 1) + X[:, 1:2] ** 2
    s = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    return X, Y + 0.2 * rng.standard_normal((n, d)), s


def equations(X, Y, s, phi, space, rows=37, targets=None, **more):
    source = as_source(X, Y, s)
    passes = Passes(source, rows=rows)
    targets = Values(Y.shape[1]) if targets is None else targets
    problem = Problem(phi, space, targets, Squared(), np.ones(targets.k), X.shape[1], **more)
    return NormalEquations.gather(problem, passes), passes


CASES = {
    "one": (1, Constant(), Gaussian(0.7), True),
    "no weights": (1, Constant(), Gaussian(0.7), False),
    "outputs": (3, Constant(), Gaussian(0.7), True),
    "nothing free": (2, Empty(), Gaussian(0.7), True),
    "polynomials": (2, Polynomial(2), Gaussian(0.7), True),
    "thin plate": (1, Polynomial(1), ThinPlate(), True),
}


@pytest.fixture(params=CASES)
def case(request):
    d, space, kernel, weighted = CASES[request.param]
    X, Y, s = sample(d)
    phi = NystromMap(kernel, X[:25])
    s = s if weighted else None
    found, passes = equations(X, Y, s, phi, space)
    Phi, P = phi.features(phi.raw(X)), space(X)
    spectral = Spectral(Phi @ Phi.T, P, s)
    return found, passes, Y, s, Phi, P, spectral


def test_machine_is_that_of_the_dense_matrix(case):
    found, passes, Y, s, Phi, P, spectral = case
    W, b = found.coefficients(CS)
    assert passes.count == 1
    assert W.shape == (7, Phi.shape[1], Y.shape[1])
    f = Phi @ W + P @ b
    np.testing.assert_allclose(f, spectral.fitted(Y, CS), **TIGHT)
    a, _ = spectral.coefficients(Y, CS)
    np.testing.assert_allclose(W, Phi.T @ a, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.coefficients(2.0)[0], found.coefficients([2.0])[0][0])
    weights = np.ones(N) if s is None else s
    rss = np.einsum("n,cnk->ck", weights, (Y - f) ** 2)
    np.testing.assert_allclose(found.residual_sum(CS), rss, **TIGHT)
    objective = 0.5 * np.sum(W**2, axis=1) + 0.5 * CS[:, None] * rss
    np.testing.assert_allclose(found.objective(CS), objective, **TIGHT)
    freedom = spectral.degrees_of_freedom(CS)
    np.testing.assert_allclose(found.degrees_of_freedom(CS)[:, 0], freedom, **TIGHT)


def test_criteria_are_those_of_the_dense_matrix(case):
    found, _, Y, s, _, P, spectral = case
    live = N if s is None else int(np.sum(s > 0))
    evidence = -found.log_evidence(CS) / (live - P.shape[1])
    for j in range(Y.shape[1]):
        y = Y[:, j]
        for criterion, values in [
            (GCV(), found.gcv(CS)),
            (Evidence(), evidence),
        ]:
            np.testing.assert_allclose(values[:, j], criterion.curve(spectral, y, CS), **TIGHT)


def test_classes_that_weigh_rows_differently_have_systems_of_their_own():
    X, Y, s = sample()
    labels = np.digitize(Y[:, 0], [0.0, 0.8])
    book = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]])
    targets = Codes(np.arange(3), book, np.array([1.0, 2.0, 0.5]))
    phi = NystromMap(Gaussian(0.7), X[:15])
    found, _ = equations(X, labels, s, phi, Constant(), targets=targets)
    assert found.G.shape[0] == 3
    W, b = found.coefficients(CS)
    gcv = found.gcv(CS)
    for j in range(3):
        code = book[labels, j]
        weights = s * np.array([1.0, 2.0, 0.5])[labels] * (code != 0)
        alone, _ = equations(X, code[:, None], weights, phi, Constant())
        one, free = alone.coefficients(CS)
        np.testing.assert_allclose(W[:, :, j], one[:, :, 0], **TIGHT)
        np.testing.assert_allclose(b[:, :, j], free[:, :, 0], **TIGHT)
        np.testing.assert_allclose(gcv[:, j], alone.gcv(CS)[:, 0], **TIGHT)


def test_objective_is_that_of_a_pass_without_a_gap():
    X, Y, s = sample(2)
    phi = NystromMap(Gaussian(0.7), X[:20])
    found, passes = equations(X, Y, s, phi, Constant())
    W, b = found.coefficients(5.0)
    found.problem.C[:] = 5.0
    value = Oracle(found.problem, passes, draw(passes.source, 60, 0)).evaluate(W, b, curved=False)
    primal = found.objective(5.0)
    np.testing.assert_allclose(primal, value.primal, rtol=1e-10)
    assert np.all(value.gap < ROUNDING * primal)


def test_newton_ends_where_the_equations_do():
    X, Y, s = sample(2)
    phi = NystromMap(Gaussian(0.7), X[:20])
    found, passes = equations(X, Y, s, phi, Polynomial(1))
    found.problem.C[:] = 4.0
    start = np.zeros((phi.r, 2)), np.zeros((3, 2))
    newton = Newton(tol=1e-12).minimize(
        Oracle(found.problem, passes, draw(passes.source, 60, 0)), *start
    )
    W, b = found.coefficients(4.0)
    np.testing.assert_allclose(newton.W, W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(newton.b, b, rtol=1e-5, atol=1e-6)


def test_random_features():
    X, Y, s = sample()
    phi = random_features(Gaussian(0.7), 2, 40)
    found, _ = equations(X, Y, s, phi, Constant())
    refit = Ridge(alpha=1 / 3.0).fit(np.asarray(phi.raw(X)), Y[:, 0], sample_weight=s)
    W, b = found.coefficients(3.0)
    np.testing.assert_allclose(W[:, 0], refit.coef_, **TIGHT)
    np.testing.assert_allclose(b[0, 0], refit.intercept_, **TIGHT)


def test_held_out_rows_do_not_enter():
    X, Y, s = sample()
    phi = NystromMap(Gaussian(0.7), X[:10])
    found, _ = equations(X, Y, s, phi, Constant(), held_out=0.3)
    outside = held_out(X, 0, 0.3)
    rest, _ = equations(X[~outside], Y[~outside], s[~outside], phi, Constant())
    assert 0 < outside.sum() < N
    np.testing.assert_allclose(found.gcv(CS), rest.gcv(CS), **TIGHT)


def test_blocks_and_threads_do_not_matter():
    X, Y, s = sample(2)
    phi = NystromMap(Gaussian(0.7), X[:20])
    one, _ = equations(X, Y, s, phi, Constant(), rows=1000)
    order = np.random.default_rng(1).permutation(N)
    other, _ = equations(X[order], Y[order], s[order], phi, Constant(), rows=7)
    np.testing.assert_allclose(one.gcv(CS), other.gcv(CS), rtol=1e-10)
    source = as_source(X, Y, s)
    sums = [
        NormalEquations.gather(one.problem, Passes(source, rows=7, n_jobs=jobs)).G
        for jobs in (1, 3)
    ]
    assert np.array_equal(*sums)


def test_a_large_map_travels_with_its_factor(monkeypatch):
    X, *_ = sample()
    phi = NystromMap(Gaussian(0.7), X[:20])
    problem = Problem(phi, Constant(), Values(), Squared(), np.ones(1), 2)
    monkeypatch.setattr("mercer.reduced.base.MAX_DENSE_FEATURES", 5)
    assert pickle.loads(pickle.dumps(problem)).map.R is None
    there = pickle.loads(pickle.dumps(Whole(problem))).problem.map
    np.testing.assert_array_equal(there.features(there.raw(X)), phi.features(phi.raw(X)))


@pytest.mark.parametrize("criterion", ["gcv", "evidence"])
def test_choice_is_least(criterion):
    X, Y, s = sample(2)
    found, _ = equations(X, Y, s, NystromMap(Gaussian(0.4), X[:40]), Constant())

    def value(C):
        return np.sum(found.gcv(C) if criterion == "gcv" else -found.log_evidence(C), axis=-1)

    C, values = found.choose(criterion), value(found.Cs)
    assert value(np.array([C]))[0] <= np.min(values)
    inside = 0 < np.argmin(values) < len(found.Cs) - 1
    assert inside, "the range of weights is wide enough for noise of a fifth of the signal"


def test_range_of_weights_follows_scales():
    X, Y, _ = sample()
    freedoms = []
    for kernel, s in [(Gaussian(0.7), 1.0), (100.0 * Gaussian(0.7), 1.0), (Gaussian(0.7), 0.01)]:
        found, _ = equations(X, Y, np.full(N, s), NystromMap(kernel, X[:20]), Constant())
        freedoms.append(found.degrees_of_freedom(found.Cs)[:, 0])
    for freedom in freedoms[1:]:
        np.testing.assert_allclose(freedom, freedoms[0], rtol=1e-4)
    assert freedoms[0][0] < 1.1
    assert freedoms[0][-1] > 20.5


def test_dependent_free_columns_count_once():
    X, Y, s = sample()
    phi = NystromMap(Gaussian(0.7), X[:10])
    one, _ = equations(X, Y, s, phi, Polynomial(1))
    twice, _ = equations(X, Y, s, phi, Polynomial(1) + Constant())
    assert twice.systems[0][0].rank == 3
    np.testing.assert_allclose(twice.gcv(CS), one.gcv(CS), **TIGHT)


def test_refusals():
    X, Y, s = sample()
    phi = NystromMap(Gaussian(0.7), X[:5])
    found, passes = equations(X, Y, s, phi, Constant())
    problem = Problem(phi, Constant(), Values(), Hinge(), np.ones(1), 2)
    with pytest.raises(ValueError, match="squared loss"):
        NormalEquations.gather(problem, passes)
    with pytest.raises(ValueError, match="positive"):
        found.coefficients(-1.0)
