"""Let the tests of this folder import the modules beside them: its name is that of a module."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from io_everything import fitted


@pytest.fixture(scope="session")
def everything():
    """Return every exported estimator, fitted, with the methods to ask and the points."""
    return list(fitted())
