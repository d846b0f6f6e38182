"""Eight fits at once in one process do not disturb each other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from threadpoolctl import threadpool_limits

from concurrency.workloads import same, tasks


def test_eight_threads_find_what_one_finds(expected):
    start = Barrier(8)

    def fit(task):
        machine, X, y = task
        start.wait()
        return machine.fit(X, y)

    with threadpool_limits(1), ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            fitted = list(pool.map(fit, tasks()))
            assert all(map(same, fitted, expected))


def test_eight_threads_share_one_fitted_machine(expected):
    machine, (_, X, _) = expected[0], tasks()[0]
    with threadpool_limits(1), ThreadPoolExecutor(8) as pool:
        alone = machine.decision_function(X)
        answers = list(pool.map(machine.decision_function, [X] * 16))
    assert all((answer == alone).all() for answer in answers)
