"""Every published experiment with few data sets, and with data sets it was not written on."""

import pytest

from papers.outcome import MissingDataError
from papers.places import module_of
from papers.run import EXPERIMENTS

# Where nothing is drawn at random another seed is the same run; of the others one more is drawn.
RANDOM = (
    "alternatives",
    "bias_variance",
    "dirichlet",
    "fourier_machine",
    "haar",
    "jumps",
    "norms",
    "plausible",
    "realization",
    "ridge_fusion",
    "secular",
    "symmetry",
)
RUNS = [(name, 0) for name in EXPERIMENTS] + [(name, 100) for name in RANDOM]


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_what_must_hold_does(name, seed):
    module = module_of(name)
    try:
        result = module.run(short=True, random_state=seed)
    except MissingDataError as reason:
        pytest.skip(str(reason))
    assert result.claims
    assert not [f"{c.what}: {c.ours} not in {c.low} to {c.high}" for c in result.failures]
    # Standard errors of few data sets are large; but something must lie outside of every range.
    assert not [f"{c.what}: {c.certain}" for c in result.claims if c.certain]
