"""Arguments that cannot be: contradicted by the data at hand, or no numbers of their kind."""

import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer_research.risk_bounds import capacity_report, compression_bound, randomized_machine_bound
from mercer_research.risk_bounds.capacity import class_size
from mercer_research.risk_bounds.concentration import check_margins
from mercer_research.risk_bounds.pac_bayes import pac_bayes_bound, randomized_regression_bound
from mercer_research.risk_bounds.rademacher import (
    local_complexity,
    rademacher_bound,
    rademacher_margin_bound,
)
from mercer_research.risk_bounds.weight_vector import weights_of

NAN, INF = np.nan, np.inf
LOSSES = np.full(100, 0.1)


# Cauchy and Schwarz -------------------------------------------------------------------------------


def coins():
    """Return y f of a machine that knows the label of every row by heart: its risk is 1/2."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.choice([-1, 1], 400)
    machine = SVC(C=100, kernel=Gaussian(0.3)).fit(X, y)
    return machine, X, y, y * machine.decision_function(X)


def test_values_that_were_not_divided_by_the_norm():
    machine, X, y, f = coins()
    assert f.max() > 1 + 1e-5
    for call in (
        lambda: randomized_machine_bound(1.5 * f),
        lambda: randomized_machine_bound(f),
        lambda: rademacher_margin_bound(3 * f, size=1.0),
        lambda: rademacher_margin_bound(np.full(4000, 3.0), size=1.0),
        lambda: rademacher_margin_bound(np.full(4000, -3.0), size=1.0),
        lambda: randomized_machine_bound([0.5, INF]),
    ):
        with pytest.raises(ValueError, match=r"margins reach .* \(Cauchy and Schwarz\)"):
            call()
    # Divided by the norm, the same machine is bounded, and not below its risk.
    t = weights_of(machine).margins(X, y)
    for bound in (randomized_machine_bound(t), rademacher_margin_bound(t, size=1.0)):
        assert bound.valid
        assert bound.value >= 0.5


def test_margins_in_the_units_of_the_size():
    assert rademacher_margin_bound(np.full(400, 3.0), size=3.0).valid
    with pytest.raises(ValueError, match="margins reach 3"):
        rademacher_margin_bound(np.full(400, 3.0), size=2.9)


def test_the_trace_bounds_the_sum_of_squared_margins():
    """For norm 1 the squared values sum to at most the largest eigenvalue, below the trace."""
    rng = np.random.default_rng(0)
    K = Gaussian(1.0)(rng.normal(size=(50, 2)))
    values, vectors = np.linalg.eigh(K)
    # The function of norm 1 with the largest sum of squares has the values sqrt(lambda_1) u_1.
    largest = np.sqrt(values[-1]) * vectors[:, -1]
    assert largest @ largest <= np.trace(K)
    assert rademacher_margin_bound(largest, trace=float(np.trace(K))).valid
    for factor in (1.0 + 1e-6, 3.0):
        scaled = factor * largest * np.sqrt(np.trace(K) / values[-1])
        with pytest.raises(ValueError, match="trace of K"):
            rademacher_margin_bound(scaled, trace=float(np.trace(K)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_contradiction(dtype):
    """Half the digits of the type of the margins are allowed for, and no more."""
    half = np.sqrt(np.finfo(dtype).eps)
    above = np.full(10, 1 + 0.5 * half, dtype=dtype)
    assert above.max() > 1
    assert np.array_equal(check_margins(above), above)
    with pytest.raises(ValueError, match="margins reach"):
        check_margins(np.full(10, 1 + 2 * half, dtype=dtype))


def test_labels_are_signs():
    machine, X, y, _ = coins()
    with pytest.raises(ValueError, match="labels -1 and 1, got 0"):
        weights_of(machine).margins(X, (y + 1) // 2)


# Numbers of another kind --------------------------------------------------------------------------

MACHINE = SVR().fit(np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20))
X20, Y20 = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20)

# What is refused, by a call and the name of the argument that the message begins with.
REFUSED = {
    "norm": (lambda v: rademacher_bound(LOSSES, norm=v, size=1.0), (-5.0, NAN, INF, "2", True)),
    "size": (lambda v: rademacher_bound(LOSSES, norm=1.0, size=v), (-1.0, 0.0, NAN, INF)),
    "trace": (lambda v: rademacher_bound(LOSSES, norm=1.0, trace=v), (-5.0, 0.0, NAN, INF)),
    "lipschitz": (
        lambda v: rademacher_bound(LOSSES, norm=1.0, size=1.0, lipschitz=v),
        (-3.0, NAN, INF),
    ),
    "largest": (
        lambda v: rademacher_bound(LOSSES, norm=1.0, size=1.0, largest=v),
        (-1.0, 0.0, NAN, INF),
    ),
    "size ": (lambda v: rademacher_margin_bound(LOSSES, size=v), (-1.0, 0.0, NAN, INF)),
    "trace ": (lambda v: rademacher_margin_bound(LOSSES, trace=v), (-1.0, 0.0, NAN, INF)),
    "radius": (lambda v: local_complexity([0.1], 10, radius=v), (-1.0, NAN)),
    "norm ": (lambda v: local_complexity([0.1], 10, radius=1.0, norm=v), (-1.0, NAN, INF)),
    "n_samples": (lambda v: local_complexity([0.1], v, radius=1.0), (0, -1, 2.5, NAN)),
    "eigenvalues": (lambda v: local_complexity([v], 10, radius=1.0), (NAN, INF)),
    "divergence": (lambda v: pac_bayes_bound(0.1, v, 100), (-1.0, NAN)),
    "cosine": (lambda v: randomized_machine_bound(LOSSES, cosine=v), (1.5, -1.5, NAN)),
    "prior_scales": (
        lambda v: randomized_machine_bound(LOSSES, cosine=0.5, prior_scales=[1.0, v]),
        (-1.0, 0.0, NAN, INF),
    ),
    "unit": (
        lambda v: randomized_regression_bound(weights_of(MACHINE), X20, Y20, largest=1.0, unit=v),
        (-1.0, 0.0, NAN),
    ),
    "precision": (lambda v: class_size(Gaussian(), X20, 1.0, precision=v), (-1.0, 0.0, NAN)),
    "C": (lambda v: class_size(Gaussian(), X20, 1.0, precision=1.0, C=v), (-1.0, 0.0, NAN)),
    "largest ": (lambda v: capacity_report(MACHINE, X20, Y20, largest=v), (-1.0, 0.0, NAN)),
    "given": (
        lambda v: compression_bound(SVC().fit(X20, Y20 > 0.5), X20, Y20 > 0.5, given=v),
        ([-1], [20], [0.5]),
    ),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, many) in REFUSED.items() for value in many]
)
def test_impossible_arguments(name, value):
    with pytest.raises(ValueError, match=rf"^{name.strip()}\b"):
        REFUSED[name][0](value)
