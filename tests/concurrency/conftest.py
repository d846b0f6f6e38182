from typing import Any

import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from concurrency.workloads import tasks


@pytest.fixture(scope="session")
def expected() -> list[Any]:
    """Fit one task after the other, with as many threads of BLAS as a worker has: rounding too."""
    with threadpool_limits(1):
        return [clone(machine).fit(X, y) for machine, X, y in tasks()]
