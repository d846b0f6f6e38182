from collections.abc import Iterator
from contextlib import contextmanager

import dask
import pytest
from distributed import Client, LocalCluster


@contextmanager
def started(n_workers: int = 2, threads: int = 1) -> Iterator[Client]:
    """Yield a client of worker processes that are restarted by their nannies."""
    with (
        # A LocalCluster gives up workers that it misses twice within this time, which these tests
        # kill more often than that; nannies start them again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """Two worker processes that no test harms."""
    with started() as client:
        yield client


@pytest.fixture
def one() -> Iterator[Client]:
    """One worker process, for others to join."""
    with started(1) as client:
        yield client


@pytest.fixture(scope="module")
def harmed() -> Iterator[Client]:
    """Two worker processes that are there to be killed; their nannies start others."""
    with started() as client:
        yield client
