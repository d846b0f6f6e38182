"""The worst case by elimination against the conic program of the same problem."""

import numpy as np
import pytest

from mercer import losses
from mercer.kernels import Gaussian
from mercer.programs.variation import Part, VariationProblem
from mercer.reduced.nystrom import NystromMap
from mercer_research.programs.worst_case import worst_case

MARGINS = [losses.Hinge(), losses.SquaredHinge(), losses.HuberHinge(0.5)]
RESIDUALS = [
    *(losses.Squared(), losses.Absolute(), losses.EpsilonInsensitive(0.2), losses.Huber(0.5)),
    *(losses.Pinball(0.3), losses.Expectile(0.3), losses.SquaredEpsilonInsensitive(0.1)),
]


def sample(n, d, share, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    parts = []
    for column in X.T:
        there = rng.uniform(size=n) > share
        values = np.unique(column[there])
        functions = NystromMap(Gaussian(1.0), values[:, None])
        index = np.full(n, -1)
        index[there] = np.searchsorted(values, column[there])
        parts.append(Part(functions.features(functions.raw(values[:, None])), index))
    return parts, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("mu", [0.0, 2.0])
@pytest.mark.parametrize("loss", [*MARGINS, *RESIDUALS], ids=lambda loss: type(loss).__name__)
def test_against_the_program(loss, mu):
    parts, y, c = sample(50, 3, 0.1)
    y = np.where(y > 0, 1.0, -1.0) if loss in MARGINS else y
    ours = worst_case(loss.dual_terms(y, c), parts, mu, tol=1e-6)
    twin = VariationProblem(parts, loss, y, c, np.ones((50, 1))).solve(mu, tol=1e-7)
    assert ours.solution.converged
    # Both objectives are at most a millionth above the minimum.
    assert ours.solution.objective == pytest.approx(twin.solution.objective, rel=2e-6)
    assert ours.solution.dual <= twin.solution.objective * (1 + 1e-9)
    # The functional is strongly convex in w: |w - w*|^2 / 2 is at most the two gaps.
    gaps = ours.solution.gap + twin.solution.gap
    distance = np.linalg.norm(np.concatenate(ours.w) - np.concatenate(twin.w))
    assert distance <= 2.0 * np.sqrt(2.0 * gaps) + 1e-6


def test_uneven_sides_of_parabola_and_line_are_refused():
    parts, y, c = sample(20, 2, 0.1)
    terms = losses.Huber(0.5).dual_terms(y, c)
    uneven = type(terms)(**{**vars(terms), "lower": 0.5 * terms.lower})
    with pytest.raises(ValueError, match="no quadratic program"):
        worst_case(uneven, parts)


def test_a_limit_on_steps_is_told():
    parts, y, c = sample(30, 2, 0.1)
    found = worst_case(losses.Squared().dual_terms(y, c), parts, tol=1e-9, max_iter=2)
    assert found.solution.status.value == "stopped at max_iter"
    assert found.solution.gap > 0
