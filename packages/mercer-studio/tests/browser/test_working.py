"""Processes: results, refusals, warnings, cancelling, and what travels once."""

import os
import time
import warnings

import pytest

from mercer_studio.browser.working import CachedValue, Cancelled, Worker
from mercer_studio.cli.text import Refusal


@pytest.fixture(scope="module")
def worker():
    with Worker() as made:
        yield made


def shout(n):
    for k in range(n):
        print(f"iteration {k}, gap {10.0 ** (2 - k):.2e}")
        time.sleep(0.03)  # more than the worker leaves between two lines
    warnings.warn("this is told", stacklevel=1)
    return n


def refuse():
    raise Refusal("not this way.")


def break_down():
    raise RuntimeError("two\nlines")


def sleep():
    time.sleep(600)


def die():
    os._exit(3)


def same(value, other):
    return value is other


def length(value):
    return len(value)


def test_lines_gaps_and_warnings_are_heard(worker):
    job = worker.submit("shouting", shout, 4)
    assert job.result() == 4
    assert job.shown.values[0] == 100.0
    assert job.shown.values[-1] < 1.0
    assert job.notes == ["this is told"]


def test_what_is_not_possible_is_a_sentence(worker):
    with pytest.raises(Refusal, match="not this way"):
        worker.submit("", refuse).result()
    with pytest.raises(Refusal, match="RuntimeError: two lines"):
        worker.submit("", break_down).result()
    assert worker.submit("", sum, [1, 2]).result() == 3


def test_a_call_can_be_ended_and_those_after_it_work(worker):
    job = worker.submit("", sleep)
    while not worker.cancel():
        time.sleep(0.01)
    with pytest.raises(Cancelled):
        job.result()
    assert not worker.cancel()
    assert worker.submit("", sum, [1, 2]).result() == 3


def test_calls_that_wait_are_ended_too(worker):
    jobs = [worker.submit("", sleep) for _ in range(3)]
    assert worker.cancel()
    for job in jobs:
        with pytest.raises(Cancelled):
            job.result()
    assert worker.submit("", sum, [1, 2]).result() == 3


def test_a_process_that_dies_is_told_and_replaced(worker):
    with pytest.raises(Refusal, match="the process that worked on this ended: status 3"):
        worker.submit("", die).result()
    assert worker.submit("", sum, [2, 2]).result() == 4


def test_kept_values_travel_once(worker):
    value = list(range(1000))
    assert worker.submit("", same, CachedValue("a", value), CachedValue("a", value)).result()
    # The second time the key alone is sent: another value under it is not seen.
    assert worker.submit("", length, CachedValue("a", [])).result() == 1000
    for k in range(8):
        worker.submit("", length, CachedValue(k, [0])).result()
    assert worker.submit("", length, CachedValue("a", [1, 2])).result() == 2  # it was forgotten


def test_calls_wait_for_those_before(worker):
    jobs = [worker.submit("", sum, [k, 1]) for k in range(5)]
    assert sorted(job.result() for job in jobs) == [1, 2, 3, 4, 5]


def test_a_closed_worker_answers_nothing():
    worker = Worker()
    worker.close()
    with pytest.raises(Cancelled):
        worker.submit("", sum, [1]).result()
