"""The one door to linear programs: optima at a vertex, refusals that say which, one tolerance."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from mercer import _linear_program
from mercer._linear_program import NoOptimumError, linear_program

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "mercer", ROOT / "packages" / "mercer-research" / "src")


def test_rows_hold_to_the_tolerance():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(30, 60)), rng.uniform(size=60)
    found = linear_program(rng.uniform(size=60), A_eq=A, b_eq=A @ x, bounds=(0, None))
    np.testing.assert_allclose(A @ found.x, A @ x, rtol=0, atol=1e-10)
    assert found.x.min() >= -1e-10
    # At a vertex there are as many numbers as rows.
    assert np.count_nonzero(found.x > 1e-9) <= 30


@pytest.mark.parametrize("methods", [("highs",), ("highs-ds", "highs-ipm")])
def test_an_infeasible_program_is_told_from_an_unbounded_one(methods):
    with pytest.raises(NoOptimumError, match="has no answer") as infeasible:
        linear_program([1.0], A_ub=[[1.0]], b_ub=[-1.0], bounds=(0, None), methods=methods)
    assert infeasible.value.infeasible
    with pytest.raises(NoOptimumError) as unbounded:
        linear_program([-1.0], bounds=(0, None), methods=methods)
    assert not unbounded.value.infeasible


@pytest.mark.parametrize(("relax", "attempts"), [(True, 3), (False, 2)])
def test_methods_are_tried_in_turn_and_then_the_last_with_fewer_digits(
    relax, attempts, monkeypatch
):
    asked = []
    solve = _linear_program.linprog

    def watched(cost, *, method, options, **rest):
        asked.append((method, options.get("primal_feasibility_tolerance")))
        return solve(cost, method=method, options=options, **rest)

    monkeypatch.setattr(_linear_program, "linprog", watched)
    with pytest.raises(NoOptimumError):
        linear_program([-1.0], methods=("highs-ds", "highs-ipm"), relax=relax)
    expected = [("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ipm", None)]
    assert asked == expected[:attempts]


def test_a_method_that_cycles_is_left_after_iterations_in_proportion_to_the_program(monkeypatch):
    iterations = []
    solve = _linear_program.linprog

    def watched(cost, *, method, options, **rest):
        answer = solve(cost, method=method, options=options | {"maxiter": 1}, **rest)
        iterations.append((options["maxiter"], answer.nit, answer.status))
        return answer

    monkeypatch.setattr(_linear_program, "linprog", watched)
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(30, 60)), rng.uniform(size=60)
    with pytest.raises(NoOptimumError, match="limit"):
        linear_program(rng.uniform(size=60), A_eq=A, b_eq=A @ x, bounds=(0, None))
    assert [limit for limit, _, _ in iterations] == [1000 + 50 * 90] * 2
    assert all(nit <= 2 and status == 1 for _, nit, status in iterations)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_rows_that_overflowed_are_refused(wrap):
    for entry in (np.inf, 2e15):
        with pytest.raises(FloatingPointError, match="A_ub"):
            linear_program([1.0, 1.0], A_ub=wrap([[entry, 1.0]]), b_ub=[1.0])


def test_no_module_opens_a_door_of_its_own():
    users = {
        str(path.relative_to(source))
        for source in SOURCES
        for path in source.rglob("*.py")
        if "linprog(" in path.read_text(encoding="utf-8")
    }
    assert users == {"_deadline.py", "_linear_program.py"}
