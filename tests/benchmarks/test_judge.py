"""The judge of the benchmark against closed forms, dense linear algebra and LIBSVM's own rules."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.contenders.judge import disagreement, judge, kernel_times
from benchmarks.contenders.machines import Problem
from data import Sample

MACHINES = [
    Problem("SVC", "hastie", 300, 0, 0.1, {"C": 1.0}),
    Problem("SVC", "digits", 300, 0, 1 / 64, {"C": 10.0}),
    Problem("NuSVC", "breast_cancer", 300, 0, 1 / 30, {"nu": 0.1}),
    Problem("SVR", "friedman1", 300, 0, 0.1, {"C": 1.0, "epsilon": 0.1}),
    Problem("NuSVR", "friedman1", 300, 0, 0.1, {"C": 1.0, "nu": 0.5}),
    Problem("OneClassSVM", "hastie", 300, 0, 0.1, {"nu": 0.2}),
]


def learned(problem: Problem, sample: Sample, tol: float) -> dict[str, np.ndarray]:
    parameters = problem.parameters() | {"tol": tol}
    machine = getattr(sklearn.svm, problem.machine)(**parameters).fit(sample.X, sample.y)
    names = ("support_", "dual_coef_", "intercept_", "classes_")
    return {name: getattr(machine, name) for name in names if hasattr(machine, name)}


def test_product_is_that_of_the_kernel_matrix():
    rng = np.random.default_rng(0)
    # Far from the origin, where an expanded square loses digits if the rows are not centred.
    X, a = 100.0 + rng.standard_normal((70, 3)), rng.standard_normal(70)
    a[::3] = 0.0
    expected = rbf_kernel(X - 100.0, gamma=0.7) @ a
    np.testing.assert_allclose(kernel_times(X, a, 0.7), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_two_points_have_a_closed_form(share):
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    problem = Problem("SVC", "", 2, 0, 1.0, {"C": 10.0})
    k = np.exp(-1.0)
    # D(a) = a^2 (1 - k) - 2 a for coefficients (-a, a) has its minimum at 1 / (1 - k).
    a = share / (1.0 - k)
    model = {
        "support_": np.array([0, 1]),
        "dual_coef_": np.array([[-a, a]]),
        "intercept_": np.zeros(1),
        "classes_": np.array([0.0, 1.0]),
    }
    verdict = judge(problem, Sample(X, y, X, y), model)
    assert verdict.objective == pytest.approx(a**2 * (1 - k) - 2 * a)
    assert verdict.violation == pytest.approx(2 * (1 - share), abs=1e-12)
    assert verdict.infeasibility == 0.0


@pytest.mark.parametrize("problem", MACHINES, ids=lambda p: f"{p.machine}-{p.data}")
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_libsvm_stops_where_it_says(problem, tol):
    sample = problem.sample()
    verdict = judge(problem, sample, learned(problem, sample, tol))
    # Rows of the kernel are float32 there: 300 entries of at most C, each known to 6e-8.
    assert verdict.violation <= tol + 300 * 10 * 6e-8
    # It stops as soon as it may, so a judge that saw too little would be far below.
    assert verdict.violation >= 0.02 * tol
    assert verdict.infeasibility <= 1e-12


@pytest.mark.parametrize("problem", MACHINES, ids=lambda p: f"{p.machine}-{p.data}")
def test_objectives_of_two_tolerances_agree_and_of_two_problems_do_not(problem):
    sample = problem.sample()
    rough, fine = (judge(problem, sample, learned(problem, sample, tol)) for tol in (1e-2, 1e-6))
    assert rough.objective >= fine.objective - 1e-9 * abs(fine.objective)
    assert disagreement(rough, fine) <= 1
    moved = fine._replace(objective=1.01 * fine.objective)
    assert disagreement(moved, fine) > 1


def test_what_breaks_a_constraint_is_seen():
    problem = MACHINES[0]
    sample = problem.sample()
    model = learned(problem, sample, 1e-3)
    above = model | {"dual_coef_": model["dual_coef_"] * 1.5}
    assert judge(problem, sample, above).infeasibility > 1e-4
    lopsided = model["dual_coef_"].copy()
    lopsided[0, 0] = 0.0
    assert judge(problem, sample, model | {"dual_coef_": lopsided}).infeasibility > 1e-4


def test_rounded_coefficients_are_judged_as_such():
    problem = MACHINES[2]
    sample = problem.sample()
    model = learned(problem, sample, 1e-3)
    rounded = model | {"dual_coef_": model["dual_coef_"].astype(np.float32)}
    exact, near = (judge(problem, sample, m) for m in (model, rounded))
    assert near.violation == pytest.approx(exact.violation, abs=1e-4)
