"""Fixtures of the examples in docstrings."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_figures():
    """Close what an example has drawn: pyplot keeps figures, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
