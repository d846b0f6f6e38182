"""Dask's workers, threads of this process or a cluster of processes, fit what a loop fits."""

import pytest
from threadpoolctl import threadpool_limits

from concurrency.workloads import same, tasks

distributed = pytest.importorskip("distributed")


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_dask_workers_find_what_a_loop_finds(processes, expected):
    workers = {"n_workers": 2, "threads_per_worker": 1} if processes else {"threads_per_worker": 2}
    with (
        threadpool_limits(1),
        distributed.LocalCluster(processes=processes, dashboard_address=None, **workers) as cluster,
        distributed.Client(cluster) as client,
    ):
        futures = [client.submit(machine.fit, X, y, pure=False) for machine, X, y in tasks()]
        fitted = client.gather(futures)
    assert all(map(same, fitted, expected))
