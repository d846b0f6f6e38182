"""Local machines whose leaves are in files, fitted by several processes, within limits."""

import copy
import gc
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from mercer import LSSVC, LSSVR, SVC, SVR
from mercer.data import Arrays
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.local.shelf import Shelf
from mercer.machines import leaf_samples, leaf_settings
from mercer.machines.solving import EarlyStop
from mercer.solvers import Status


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, y, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]


def few_bytes(leaf_size=100, **settings):
    # A kernel matrix of 100 rows takes 80,000 bytes, so all leaves but the first go to files.
    return Local(leaf_size, memory_limit=8 * leaf_size**2, **settings)


@pytest.mark.parametrize("machine", [LSSVR(), SVC(gamma=1.0), LSSVC(class_weight="balanced")])
@pytest.mark.parametrize("blocks", [False, True])
def test_files_do_not_change_a_bit(tmp_path, machine, blocks):
    X, y, labels = sample()
    target = y if isinstance(machine, LSSVR) else labels
    data = (Arrays(X, target),) if blocks else (X, target)
    memory = clone(machine).set_params(approximation=Local(100)).fit(*data)
    files = clone(machine).set_params(approximation=few_bytes(folder=tmp_path)).fit(*data)
    assert isinstance(memory.leaves_, list)
    assert len(list(tmp_path.rglob("*.leaf"))) == len(files.leaves_) == 4
    assert not list(tmp_path.rglob("*.rows"))
    predicted = memory.predict(X)
    for one in (files, copy.copy(files), copy.deepcopy(files), pickle.loads(pickle.dumps(files))):
        np.testing.assert_array_equal(one.predict(X), predicted)
        np.testing.assert_array_equal(one.predict(Arrays(X)), predicted)
    for one, other in zip(files.leaves_, memory.leaves_, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
    assert files.solution_.gap == pytest.approx(memory.solution_.gap, rel=1e-9)
    assert files.solution_.objective == pytest.approx(memory.solution_.objective, rel=1e-12)
    assert files.solution_.n_iter == memory.solution_.n_iter
    assert files.solution_.status is memory.solution_.status is Status.CONVERGED
    assert files.solution_.a.size == files.solution_.f.size == 0
    assert not hasattr(files, "support_")
    # Another fit, and the end of the machine, remove the files.
    files.set_params(approximation=None).fit(X, target)
    del files, one
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_the_certificate_names_the_slowest_and_the_worst_leaf():
    X, y, _ = sample()
    for how in (Local(100), few_bytes()):
        machine = SVR(approximation=how).fit(X, y)
        gaps = [leaf.machine.solution_.gap for leaf in machine.leaves_]
        assert machine.solution_.gap == pytest.approx(sum(gaps))
        assert f"gap that of number {int(np.argmax(gaps))} " in machine.solution_.reason


def test_leaves_beyond_the_limit_are_refused_with_a_size_that_fits():
    X, y, _ = sample()
    with pytest.raises(ValueError, match="leaf_size=100 fits"):
        LSSVR(approximation=Local(200, memory_limit=80_000)).fit(X, y)
    LSSVR(approximation=Local(100, memory_limit=80_000)).fit(X, y)
    with pytest.raises(ValueError, match="leaf_size=70 fits"):
        LSSVR(approximation=Local(100, memory_limit=80_000, n_jobs=2)).fit(X, y)
    # A matrix that is never held need not fit.
    SVR(gram="tiled", approximation=Local(200, memory_limit=80_000, adapt=False)).fit(X, y)


# Jobs ---------------------------------------------------------------------------------------------


def test_several_jobs_do_not_change_a_bit():
    X, y, labels = sample()
    machine = LSSVR(approximation=Local(100))
    for data in ((Arrays(X, y),), (X, y)):
        one, two = (
            clone(machine).set_params(approximation__n_jobs=n_jobs).fit(*data) for n_jobs in (1, 2)
        )
        np.testing.assert_array_equal(two.predict(X), one.predict(X))
        assert two.solution_.gap == one.solution_.gap
    machine = SVC(gamma=1.0, approximation=Local(100))
    one = clone(machine).fit(Arrays(X, labels))
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = clone(machine).fit(Arrays(X, labels))
    np.testing.assert_array_equal(threads.decision_function(X), one.decision_function(X))


def test_warnings_come_back_from_processes():
    X, y, _ = sample()
    how = Local(100, adapt=False, n_jobs=2)
    machine = SVR(C=1e4, max_iter=3, tol=1e-9, approximation=how)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    # Before 1.5, joblib forks, which Python 3.12 advises against.
    ours = [one for one in caught if "fork" not in str(one.message)]
    assert [str(one.message)[:15] for one in ours] == ["4 of 4 leaves: "]


# Many leaves --------------------------------------------------------------------------------------


def test_few_of_many_leaves_choose_for_the_others(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 8, (800, 1))
    y = np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=800)
    machine = LSSVR(kernel=Gaussian(2.0), approximation=Local(50)).fit(X, y)
    every = [float(leaf.machine.kernel_.length_scale) for leaf in machine.leaves_]
    monkeypatch.setattr(leaf_settings, "MAX_EXAMINED_LEAVES", 4)
    some = [float(leaf.machine.kernel_.length_scale) for leaf in machine.fit(X, y).leaves_]
    assert len(some) == len(every) == 16
    assert set(some) <= {0.125, 0.25, 0.5}
    assert max(some, key=some.count) == max(every, key=every.count)


@pytest.mark.parametrize("overlap", [0.0, 0.1])
def test_branches_of_many_leaves_are_cut_later(monkeypatch, overlap):
    monkeypatch.setattr(leaf_samples, "MAX_TREE_ROWS", 600)
    X, y, labels = sample(2000)
    how = Local(50, overlap=overlap, blend=overlap > 0)
    for machine, target in ((LSSVR(), y), (SVC(), labels)):
        machine.set_params(kernel=Gaussian(1.0), approximation=how).fit(Arrays(X, target))
        sizes = [len(leaf.rows) for leaf in machine.leaves_]
        assert machine.tree_.leaves == len(sizes)
        assert machine.score(X, target) > 0.9
        assert f"{len(sizes)} leaves" in machine.solution_.reason
        for k, rows, _ in machine.tree_.parts(X, overlap > 0):
            np.testing.assert_array_equal(rows, np.sort(machine.leaves_[k].rows))
        order = np.random.default_rng(1).permutation(len(X))
        again = clone(machine).fit(Arrays(X[order], target[order]))
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
        if not overlap:
            # Three branches of 667 rows, each cut by all its rows: not by 600 points in all.
            assert sum(sizes) == 2000
            assert max(sizes) - min(sizes) <= 8
            assert len(sizes) in (39, 40, 41)


# Time, and the keyboard ---------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [False, True])
def test_leaves_that_time_is_lacking_for_have_one_machine_of_few_rows(blocks, monkeypatch):
    X, y, labels = sample()
    for machine, target in ((SVR(), y), (SVC(), labels)):
        data = (Arrays(X, target),) if blocks else (X, target)
        how = few_bytes(adapt=False) if blocks else Local(100, adapt=False)
        machine.set_params(approximation=how)
        whole = clone(machine).fit(*data)
        # By this clock time ends after the machine of few rows and two of four leaves.
        clock = iter([9.0, 9.0, 0.0])
        monkeypatch.setattr("mercer.machines.leaves.time_left", lambda clock=clock: next(clock))
        with pytest.warns(EarlyStop, match="50% of the tree was fitted; there one machine of 100"):
            machine.set_params(max_time=1e6).fit(*data)
        monkeypatch.undo()
        assert machine.solution_.status is Status.MAX_TIME
        assert machine.solution_.gap == np.inf
        assert machine.fit_status_ == 1
        coarse = machine.leaves_[3]
        alone = clone(machine).set_params(approximation=None, kernel=whole.kernel_)
        alone.fit(X[coarse.rows], target[coarse.rows])
        leaf, told = machine.tree_.route(X), machine.predict(X)
        np.testing.assert_array_equal(told[leaf < 2], whole.predict(X)[leaf < 2])
        np.testing.assert_array_equal(told[leaf >= 2], alone.predict(X)[leaf >= 2])


def test_leaves_take_what_was_given_where_examining_them_takes_too_long(monkeypatch):
    X, y, _ = sample()
    # Of 8 s the first leaf takes 1.1: four of them would take more than half.
    clock = iter([8.0, 6.9])
    monkeypatch.setattr("mercer.machines.leaf_settings.time_left", lambda: next(clock))
    hurried = LSSVR(C=1e5, approximation=Local(100)).fit(X, y)
    plain = LSSVR(C=1e5, approximation=Local(100, adapt=False)).fit(X, y)
    np.testing.assert_array_equal(hurried.predict(X), plain.predict(X))


def test_an_interrupt_leaves_no_files(tmp_path, monkeypatch):
    X, y, _ = sample()
    machine = LSSVR(approximation=few_bytes(folder=tmp_path)).fit(Arrays(X, y))
    before, put = machine.predict(X), Shelf.put

    def interrupted(self, k, item):
        if k == (3, 0):
            raise KeyboardInterrupt
        put(self, k, item)

    monkeypatch.setattr(Shelf, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(Arrays(X, -y))
    np.testing.assert_array_equal(machine.predict(X), before)
    assert len(list(tmp_path.iterdir())) == 1  # of the first fit


def test_a_bar_ends(capsys):
    X, y, _ = sample()
    LSSVR(verbose=True, approximation=Local(100)).fit(Arrays(X, y))
    lines = capsys.readouterr().err.splitlines()
    ended = [line for line in lines if "100%" in line and "400/400" in line]
    assert any(line.startswith("LSSVR, sort rows to leaves") for line in ended)
    assert ended[-1].startswith("LSSVR, fit leaves")
    assert lines[-1].startswith("LSSVR: converged: ")
