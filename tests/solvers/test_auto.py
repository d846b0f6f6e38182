"""The chooser: which solver, why, and that it says so."""

import numpy as np
import pytest

from mercer._deadline import deadline
from mercer.gram import Dense, Tiled
from mercer.kernels import Gaussian
from mercer.losses import (
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    PolynomialLoss,
    Squared,
)
from mercer.problems import RegularizedRisk
from mercer.solvers import SOLVERS, Auto, ConjugateGradient, Direct, minimize


def risk(loss, n=20, q=1):
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return RegularizedRisk(loss, Dense(np.eye(n)), y, 1.0, np.ones((n, q)))


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (risk(Squared()), "Direct"),
        (risk(Squared(), q=2), "Direct"),
        (risk(Huber()), "Newton"),
        (risk(Logistic()), "Newton"),
        (risk(Expectile(0.3)), "Newton"),
        (risk(Hinge()), "SMO"),
        (risk(EpsilonInsensitive()), "SMO"),
        (risk(EpsilonInsensitive(), q=2), "SMO"),
        (risk(PolynomialLoss(1.5)), "InteriorPoint"),
    ],
)
def test_choice(problem, name):
    solver, reason = Auto().choose(problem)
    assert type(solver).__name__ == name
    assert str(problem.n) in reason


def test_large_samples_go_where_memory_is_bounded():
    small = Auto(max_dense=10)
    assert type(small.choose(risk(Squared()))[0]).__name__ == "ConjugateGradient"
    assert type(small.choose(risk(Huber()))[0]).__name__ == "SMO"
    assert type(small.choose(risk(Logistic()))[0]).__name__ == "Newton"


def test_large_weights_are_factorized_while_a_factor_fits():
    """A thin factor does not help where no direction of K is small beside the shift."""

    def choice(n, C):
        X = np.linspace(0.0, 1.0, n)[:, None]
        problem = RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X), X[:, 0], C)
        solver, reason = Auto().choose(problem)
        return type(solver).__name__, getattr(solver, "preconditioner", ""), str(n) in reason

    assert choice(8_000, 1.0) == ("ConjugateGradient", "auto", True)
    assert choice(8_000, 100.0) == ("ConjugateGradient", "auto", True)
    assert choice(8_000, 1e3) == ("Direct", "", True)
    assert choice(20_000, 1e4) == ("ConjugateGradient", "cholesky", True)
    assert choice(40_000, 1e4) == ("ConjugateGradient", "auto", True)


def test_memory_of_conjugate_gradients_follows_the_cache():
    def memory(cache_bytes):
        X = np.linspace(0.0, 1.0, 8000)[:, None]
        problem = RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X), X[:, 0], 1.0)
        return Auto(cache_bytes=cache_bytes).choose(problem)[0].max_bytes

    assert [memory(size) for size in (1e6, 2e8, 1e9, 8e9)] == [2e7, 4e9, 4e9, 8e9]


def test_weights_that_make_pairs_creep_go_to_the_interior_point():
    hard = RegularizedRisk(Hinge(), Dense(np.eye(60)), np.ones(60), 1e6, np.ones((60, 1)))
    solver, reason = Auto().choose(hard)
    assert type(solver).__name__ == "InteriorPoint"
    assert "1e+06" in reason
    assert type(Auto(max_stiff=10).choose(hard)[0]).__name__ == "SMO"


def test_settings_reach_the_solver_picked():
    solver, _ = Auto(tol=1e-5, max_iter=7, max_time=3.0, cache_bytes=1e6).choose(risk(Hinge()))
    assert solver.get_params() == {
        "tol": 1e-5,
        "max_iter": 7,
        "max_time": 3.0,
        "cache_bytes": 1e6,
    }


def test_the_solution_says_what_was_picked():
    solution = minimize(risk(Squared()), Auto())
    assert solution.solver == "Direct"
    assert "one linear system of 20 samples" in solution.reason


def test_names_cover_all_solvers():
    assert {cls.__name__ for cls in SOLVERS.values()} == {
        "Auto",
        "ConjugateGradient",
        "CoordinateDescent",
        "Direct",
        "InteriorPoint",
        "Newton",
        "SMO",
        "ThinInteriorPoint",
    }


def test_a_factorization_that_time_is_lacking_for_is_not_begun():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    problem = RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X), X[:, 0], 1e5)
    assert isinstance(Auto().choose(problem)[0], Direct)
    with deadline(1e4):
        assert isinstance(Auto().choose(problem)[0], Direct)
    with deadline(1e-3):
        solver, reason = Auto().choose(problem)
        assert isinstance(solver, ConjugateGradient)
        assert "no time for a factorization" in reason
        few = RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X[:500]), X[:500, 0], 1.0)
        assert isinstance(Auto().choose(few)[0], Direct)
    assert isinstance(Auto(max_time=1e-3).choose(problem)[0], ConjugateGradient)
