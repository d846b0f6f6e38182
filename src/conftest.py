"""Leave the examples of a module aside where the package that it stands on is not installed."""

import sys
from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("torch") else ["mercer/reduced/tensors.py"]


@pytest.fixture(autouse=True)
def no_figures():
    """Close what an example has drawn: pyplot keeps figures, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
