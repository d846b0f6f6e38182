"""What workers keep of their rows between requests: the same bits whoever is lost on the way."""

import itertools
import signal

import dask.array as da
import numpy as np
import pytest

from cluster_work import walked
from mercer import SVC, SVR
from mercer.data import Arrays
from mercer.distributed import as_source, keeping
from mercer.reduced import Nystrom

N, P = 960, 3
X = np.random.default_rng(0).normal(size=(N, P))
FACTORS = (0.5, 1.3, -0.7, 2.1, 0.9)


def source_of(client, **how):
    rows = da.from_array(X, chunks=(80, P)).map_blocks(np.array)
    return as_source(rows, rows.sum(axis=1), client=client, **how)


def walk(source, files=(), before=None):
    """Return the answers to all requests, the file of a trap beside some of them."""
    found = []
    with source.keeping(walked, np.ones(3), rows=40) as ask:
        for i, (factor, file) in enumerate(itertools.zip_longest(FACTORS, files, fillvalue="")):
            if before is not None:
                before(i, ask)
            found.append(ask((factor, str(file)), read=not i))
    return found


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.fixture(scope="module")
def undisturbed(harmed):
    return walk(source_of(harmed))


def test_answers_are_those_of_rows_in_memory(undisturbed):
    here = walk(Arrays(X))
    for one, other in zip(undisturbed, here, strict=True):
        np.testing.assert_allclose(one["cubes"], other["cubes"], rtol=1e-10)
        assert one["n"] == other["n"] == N


@pytest.mark.parametrize("number", [0, 1, 4])
def test_a_worker_killed_in_the_middle_of_a_request(harmed, undisturbed, tmp_path, number):
    harmed.wait_for_workers(2)
    file = tmp_path / "trap"
    file.write_text(str(int(signal.SIGKILL)))
    same(walk(source_of(harmed), [""] * number + [file]), undisturbed)
    assert not file.exists()


def test_a_frozen_worker_is_restarted(harmed, undisturbed, tmp_path):
    harmed.wait_for_workers(2)
    file = tmp_path / "trap"
    file.write_text(str(int(signal.SIGSTOP)))
    same(walk(source_of(harmed, patience=2.0), ["", "", file]), undisturbed)
    assert not file.exists()


def test_what_workers_lost_is_made_again_by_the_log(harmed, undisturbed):
    harmed.wait_for_workers(2)
    kept = []

    def forget(i, ask):
        if i == 3:
            harmed.run(keeping.forget, ask.name)
        kept.append(harmed.run(count_of, ask.name))

    same(walk(source_of(harmed), before=forget), undisturbed)
    # Twelve partitions, on two workers, from the first request on and again after the fourth.
    assert [sum(one.values()) for one in kept] == [0, 12, 12, 0, 12]


def test_an_answer_that_was_lost_on_the_way_is_repeated(harmed, undisturbed):
    """A request that is asked again must not be done again."""
    harmed.wait_for_workers(2)

    def ask_twice(i, ask):
        if i == 2:
            ask((FACTORS[2], ""))
            ask.log.pop()

    same(walk(source_of(harmed), before=ask_twice), undisturbed)


def test_nothing_is_kept_when_a_fit_is_over(harmed, undisturbed):
    assert set(harmed.run(number_of_fits).values()) == {0}


def count_of(name):
    return len(keeping._fits.get(name, ()))


def number_of_fits():
    return len(keeping._fits)


@pytest.mark.parametrize("machine", [SVC, SVR])
def test_losses_with_kinks_are_minimized_on_the_workers(harmed, machine):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(3000, 3))
    y = np.sign(inputs[:, 0] * inputs[:, 1] + 0.3 * rng.normal(size=3000))
    rows = da.from_array(inputs, chunks=(300, 3)).map_blocks(np.array)
    targets = da.from_array(y, chunks=300).map_blocks(np.array)
    there = machine(approximation=Nystrom(30)).fit(rows, targets).solution_
    here = machine(approximation=Nystrom(30)).fit(inputs, y).solution_
    assert there.solver == here.solver == "method of multipliers"
    assert there.status is here.status
    assert abs(there.objective - here.objective) <= max(there.gap, here.gap)
    assert there.gap <= 2e-4 * there.objective
