"""A scheduler of Dask by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client

__all__ = ["connected"]


@contextmanager
def connected(address: str, seconds: float = 10.0) -> Iterator[Client]:
    """Let the workers of a scheduler read files and fit machines, for as long as this is open.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.
    seconds : float, default=10.0
        How long to wait for an answer.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with (
    ...     LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
    ...     connected(cluster.scheduler_address) as client,
    ... ):
    ...     len(client.scheduler_info()["workers"])
    1
    """
    try:
        client = Client(address, timeout=seconds)
    except (OSError, ValueError, TypeError) as error:
        words = " ".join(str(error).split())
        raise ConnectionError(
            f"no scheduler of Dask answers at {address}: {words[:200]}"
        ) from error
    with client:
        yield client
