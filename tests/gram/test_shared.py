"""Matrices shared between fits: the same bits, bounded memory, nothing of another sample."""

import os
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.gram import Dense, Tiled
from mercer.gram.make import make
from mercer.gram.shared import (
    BYTES_VARIABLE,
    MAX_SAMPLES,
    SharedMatrices,
    _granted,
    key,
    share_matrices,
    shared,
)
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial


@pytest.fixture
def keeping():
    """Machines that share up to 64 MB, from nothing."""
    before = share_matrices(64 * 2**20)
    yield shared
    share_matrices(before)


def points(seed, n=150, p=4, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, p)).astype(dtype)


def labels(X):
    noise = np.random.default_rng(len(X)).normal(size=len(X))
    return (X[:, 0] * X[:, 1] + 0.3 * noise > 0).astype(int)


class Counted:
    """A function of points that counts its calls."""

    def __init__(self, kernel):
        self.kernel, self.calls = kernel, 0

    def __call__(self, X):
        self.calls += 1
        return self.kernel.symmetric(X)


def test_points_that_come_again_are_computed_twice_and_no_more():
    known, compute = SharedMatrices(1e7), Counted(Gaussian())
    X = points(0)
    found = [known.matrix(Gaussian(), X.copy(), compute) for _ in range(5)]
    assert compute.calls == 2
    assert found[1] is found[4]
    assert np.array_equal(found[4], Gaussian().symmetric(X))


def test_what_is_seen_once_is_not_kept():
    known = SharedMatrices(1e7)
    for seed in range(2 * MAX_SAMPLES):
        known.matrix(Gaussian(), points(seed), Gaussian().symmetric)
    assert known.nbytes == 0


def test_points_seen_before_share_every_further_kernel():
    known, X = SharedMatrices(1e7), points(0)
    known.matrix(Gaussian(), X, Gaussian().symmetric)
    wide = Counted(Gaussian(2.0))
    for _ in range(3):
        known.matrix(Gaussian(2.0), X, wide)
    assert wide.calls == 1


def test_points_changed_in_place_are_other_points():
    known, X, kernel = SharedMatrices(1e7), points(0), Gaussian()
    for _ in range(3):
        known.matrix(kernel, X, kernel.symmetric)
    X[3, 2] = np.nextafter(X[3, 2], np.inf)
    assert np.array_equal(known.matrix(kernel, X, kernel.symmetric), kernel.symmetric(X))
    X[3, 2] += 1.0
    assert np.array_equal(known.matrix(kernel, X, kernel.symmetric), kernel.symmetric(X))


def test_a_checksum_that_collides_is_not_believed(monkeypatch):
    monkeypatch.setattr("mercer.gram.shared.zlib.crc32", lambda X: 0)
    known, kernel = SharedMatrices(1e7), Gaussian()
    for _ in range(3):
        for seed in range(3):
            X = points(seed)
            assert np.array_equal(known.matrix(kernel, X, kernel.symmetric), kernel.symmetric(X))
    assert known.nbytes == 3 * 8 * 150**2


def test_single_and_double_precision_do_not_mix():
    known, kernel = SharedMatrices(1e7), Gaussian()
    for _ in range(3):
        for dtype in (np.float32, np.float64):
            X = points(0, dtype=dtype)
            K = known.matrix(kernel, X, kernel.symmetric)
            assert K.dtype == dtype
            assert np.array_equal(K, kernel.symmetric(X))


def test_two_ways_of_computing_do_not_mix():
    known, X = SharedMatrices(1e7), points(0)
    for _ in range(2):
        first = known.matrix(Gaussian(), X, lambda X: np.zeros((150, 150)))
        second = known.matrix(Gaussian(), X, lambda X: np.ones((150, 150)), how="rows")
    assert not first.any()
    assert second.all()


def test_memory_is_bounded_and_points_that_went_by_make_room():
    size = 8 * 150**2
    known = SharedMatrices(3.5 * size, recent=4)
    X = points(0)
    for _ in range(2):
        for scale in range(1, 9):
            known.matrix(Gaussian(float(scale)), X, Gaussian(float(scale)).symmetric)
            assert known.nbytes <= known.max_bytes
    assert known.nbytes == 3 * size
    for seed in range(1, 5):
        known.matrix(Gaussian(), points(seed), Gaussian().symmetric)
    assert known.nbytes == 0


def test_a_grid_that_is_too_large_keeps_what_fits():
    # A store that makes room for the next matrix would find none of them again.
    known = SharedMatrices(2.5 * 8 * 150**2)
    X, kernels = points(0), [Counted(Gaussian(float(scale))) for scale in range(1, 6)]
    for _ in range(6):
        for compute in kernels:
            known.matrix(compute.kernel, X, compute)
    # The first is only seen, the next two are kept, and three are computed every time.
    assert [compute.calls for compute in kernels] == [6, 1, 1, 6, 6]


def test_nothing_is_kept_without_memory_and_of_few_points():
    for known, n in ((SharedMatrices(0), 150), (SharedMatrices(1e7), 50)):
        compute = Counted(Gaussian())
        for _ in range(3):
            known.matrix(Gaussian(), points(0, n), compute)
        assert compute.calls == 3


def test_arrays_of_the_user_are_not_held():
    known, X = SharedMatrices(1e7), points(0)
    freed = threading.Event()

    class Held(np.ndarray):
        def __del__(self):
            freed.set()

    base = np.array(X).view(Held)
    plain = np.asarray(base)
    for _ in range(3):
        known.matrix(Gaussian(), plain, Gaussian().symmetric)
    assert known.nbytes
    del base, plain
    assert freed.is_set()


def test_keys_tell_parameters_apart_and_doubt_kernels_of_users():
    class Own(Gaussian):
        pass

    different = [
        Gaussian(1.0),
        Gaussian(2.0),
        Gaussian(np.array([1.0, 2.0])),
        Gaussian(np.array([1.0, 3.0])),
        Laplacian(1.0),
        Polynomial(2),
        Polynomial(3),
        2.0 * Gaussian(1.0),
        3.0 * Gaussian(1.0),
        Gaussian(1.0) + Linear(),
        Gaussian(1.0) * Linear(),
        Gaussian(1.0).on([0]),
        Gaussian(1.0).on([1]),
    ]
    assert len({key(kernel) for kernel in different} - {None}) == len(different)
    assert key(Own()) is None
    assert key(Own() + Gaussian()) is None


def test_a_kernel_of_a_user_may_say_that_it_is_pure():
    class Pure(Gaussian):
        pure = True

    class Later(Pure):
        pass

    assert key(Pure(2.0)) == key(Pure(2.0))
    assert len({key(Pure(2.0)), key(Pure(3.0)), key(Gaussian(2.0))}) == 3
    assert key(Pure(2.0) + Linear()) is not None
    assert key(Later(2.0)) is None  # what it computes is not what its base computes
    assert key(mercer.kernels.callable.Callable(np.dot)) is None


def test_threads_find_the_same_values():
    known, kernels = SharedMatrices(1e7), [Gaussian(1.0), Gaussian(2.0)]
    samples = [points(seed) for seed in range(3)]
    wrong, begin = [], threading.Barrier(8)

    def look(first):
        begin.wait()
        for k in range(first, first + 60):
            kernel, X = kernels[k % 2], samples[k % 3]
            if not np.array_equal(known.matrix(kernel, X, kernel.symmetric), kernel.symmetric(X)):
                wrong.append(k)

    threads = [threading.Thread(target=look, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert known.nbytes == 6 * 8 * 150**2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_lacks():
    known, X = SharedMatrices(1e7), points(0)
    with known._lock:
        child = os.fork()
        if not child:
            known.matrix(Gaussian(), X, Gaussian().symmetric)
            os._exit(17)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_grams_share_only_if_asked(keeping):
    X = points(0)
    plain = [make(Gaussian(), X) for _ in range(3)]
    assert keeping.nbytes == 0
    assert plain[1].K is not plain[2].K
    given = [make(Gaussian(), X, shared=True) for _ in range(3)]
    assert isinstance(given[0], Dense)
    assert given[1].K is given[2].K
    assert np.array_equal(given[2].K, plain[0].K)


def test_all_rows_of_a_tiled_matrix_are_shared_in_their_precision(keeping):
    X = points(0, 600)
    tiled = Tiled(Gaussian(), X)
    for _ in range(3):
        made = make(Gaussian(), X, shared=True)
        assert np.array_equal(made.single().every_row(), tiled.single().every_row())
        assert np.array_equal(made.every_row(), tiled.every_row())
        assert np.array_equal(made.dense(), tiled.dense())
    # In float32 first seen twice; in float64 the rows of the second round, and the whole.
    assert keeping.nbytes == (4 + 8 + 8) * 600**2


MACHINES = [
    mercer.SVC(C=3.0),
    mercer.SVC(C=3.0, warm_start=True),
    mercer.SVC(C=3.0, tol=1e-6, solver="smo"),
    mercer.SVC(C=3.0, solver="interior_point"),
    mercer.NuSVC(nu=0.4),
    mercer.SVR(C=3.0, epsilon=0.05),
    mercer.NuSVR(nu=0.4),
    mercer.OneClassSVM(nu=0.2),
    mercer.LSSVC(),
    mercer.LSSVR(),
    mercer.SVC(kernel="poly", degree=2),
    mercer.SVC(kernel=Gaussian(2.0) + 0.1 * Linear()),
]


# The larger sample has a matrix that is held on demand, and rows in float32.
@pytest.mark.parametrize(
    ("machine", "n"),
    [(machine, 150) for machine in MACHINES]
    + [(mercer.SVC(C=3.0), 540), (mercer.SVR(C=3.0, solver="interior_point"), 540)],
)
def test_machines_are_the_same_bit_by_bit_and_write_to_no_shared_matrix(keeping, machine, n):
    X = points(1, n)
    y = labels(X)
    found = []
    for max_bytes in (0, 64 * 2**20):
        share_matrices(max_bytes)
        for _ in range(3):
            model = clone(machine).fit(X, y)
            found.append((model.dual_coef_, model.intercept_, model.predict(X[:20])))
    assert keeping.nbytes
    for place, K in [one for some in keeping._known.values() for one in some.items()]:
        if place[2] == "symmetric":
            assert np.array_equal(K, model.kernel_.symmetric(X.astype(K.dtype)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert np.array_equal(one, two)


def test_a_grid_search_is_the_same_bit_by_bit_and_computes_a_matrix_once_a_fold(
    keeping, monkeypatch
):
    X = points(2, 240)
    y = labels(X)
    calls = []
    plain = Gaussian.symmetric

    def counted(self, X):
        calls.append(len(X))
        return plain(self, X)

    monkeypatch.setattr(Gaussian, "symmetric", counted)
    grid = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": [0.03, 0.3]}
    tables, numbers = [], []
    for max_bytes in (0, 64 * 2**20):
        share_matrices(max_bytes)
        calls.clear()
        search = GridSearchCV(make_pipeline(StandardScaler(), mercer.SVC()), grid, cv=3)
        tables.append(search.fit(X, y).cv_results_)
        numbers.append(sum(n < 240 for n in calls))
    # Three folds at the first setting are only seen, not kept.
    assert numbers == [24, 6 + 3]
    for name in ("mean_test_score", "split0_test_score", "rank_test_score"):
        assert np.array_equal(tables[0][name], tables[1][name])


def test_the_bound_is_checked_and_returned(keeping):
    assert share_matrices(1000.0) == 64 * 2**20
    assert share_matrices(64 * 2**20) == 1000.0
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="at least 0"):
            share_matrices(wrong)


@pytest.mark.parametrize(("given", "granted"), [("0", 0.0), ("1e6", 1e6), ("inf", np.inf)])
def test_the_environment_grants_memory(given, granted, monkeypatch):
    monkeypatch.setenv(BYTES_VARIABLE, given)
    assert _granted() == granted


@pytest.mark.parametrize("given", ["much", "64MB", "-1", "nan", ""])
def test_an_environment_without_a_number_of_bytes_is_refused(given, monkeypatch):
    monkeypatch.setenv(BYTES_VARIABLE, given)
    with pytest.raises(ValueError, match=f"MERCER_SHARED_BYTES='{given}'.* or 0 to keep"):
        _granted()
