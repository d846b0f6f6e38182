"""joblib's workers, processes and threads, fit what a plain loop fits."""

import joblib
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from concurrency.workloads import same, tasks
from mercer import SVC


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_find_what_a_loop_finds(backend, expected):
    # Machine and data travel to a worker process and the fitted machine travels back.
    with threadpool_limits(1), joblib.parallel_config(backend, n_jobs=2):
        fitted = joblib.Parallel()(joblib.delayed(machine.fit)(X, y) for machine, X, y in tasks())
    assert all(map(same, fitted, expected))


def test_grid_search_in_processes_scores_as_in_a_loop():
    _, X, y = tasks()[0]
    grid = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=3)
    alone, spread = (clone(grid).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    for key in ("mean_test_score", "rank_test_score"):
        assert (alone.cv_results_[key] == spread.cv_results_[key]).all()
