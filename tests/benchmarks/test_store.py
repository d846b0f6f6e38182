"""Where results are kept, and processes that are ended when they take too much."""

import json
import time

import pytest

from benchmarks import store
from benchmarks.store import NoAnswerError, Store, Worker, in_turn

ABOUT = {"date": "today", "commit": "abc", "versions": {}, "conditions": {}}
CASE = {"set": "moons", "rows": 10}


def test_a_run_goes_on_where_it_was_cut_short(tmp_path):
    path = tmp_path / "suite.jsonl"
    first = Store(path)
    first.put(CASE, "mercer", {"seconds": 1.5}, ABOUT)
    again = Store(path)
    assert again.known(CASE, "mercer")
    assert not again.known(CASE, "peer")
    assert not again.known(CASE | {"rows": 11}, "mercer")
    again.put(CASE, "mercer", {"seconds": 2.5}, ABOUT | {"commit": "def"})
    (record,) = Store(path).records()
    assert (record["seconds"], record.about["commit"]) == (2.5, "def")


def test_tidy_keeps_what_counts_and_nothing_else(tmp_path):
    path = tmp_path / "suite.jsonl"
    kept = Store(path)
    kept.put(CASE, "mercer", {"seconds": 9.0}, ABOUT | {"commit": "old"})
    for k, seconds in enumerate((1.0, 1 / 3, 2.0)):
        values = {"seconds": seconds, "objective": 1 / 3} | ({"note": "x"} if k == 1 else {})
        kept.put(CASE, "mercer", values, ABOUT, repeat=k)
    kept.put(CASE, "peer", {"failure": "over 3 s"}, ABOUT)
    kept.tidy()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("contender", "about") for line in lines] == ["about", "mercer", "peer"]
    ours, peer = Store(path).records()
    assert ours.all("seconds") == [1.0, 0.3333333, 2.0]
    assert ours.all("objective") == [1 / 3] * 3
    assert ours.all("note") == [None, "x", None]
    assert (peer["failure"], peer.about) == ("over 3 s", ABOUT)
    kept.tidy()
    assert [json.loads(line) for line in path.read_text().splitlines()] == lines


def test_repetitions_end_at_a_gap(tmp_path):
    kept = Store(tmp_path / "suite.jsonl")
    for k in (0, 1, 3):
        kept.put(CASE, "mercer", {"error": float(k)}, ABOUT, repeat=k)
    kept.put(CASE, "peer", {"error": 1.0}, ABOUT, repeat=1)
    (record,) = kept.records()
    assert record.all("error") == [0.0, 1.0]


def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = Store(None)
    kept.put(CASE, "mercer", {"seconds": 1.0}, ABOUT)
    kept.tidy()
    assert kept.known(CASE, "mercer")
    assert list(tmp_path.iterdir()) == []


def test_a_run_says_where_and_with_what():
    about = store.environment(("numpy", "no-such-package"), threads=1)
    assert set(about["versions"]) == {"numpy"}
    assert about["conditions"] == {"threads": 1}
    assert about["commit"]
    assert about["cores"] >= 1


def test_calls_take_turns_and_the_first_round_does_not_count():
    order = []
    times = in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert [len(values) for values in times.values()] == [3, 3]


class Subject:
    """What a worker of the tests is asked."""

    def __init__(self, word):
        self.word = word

    def say(self, other):
        print("what is printed is no answer")
        return f"{self.word} {other}"

    def fail(self):
        raise ValueError("no")

    def burn(self):
        while True:
            pass

    def hold(self):
        kept = bytearray(300_000_000)
        time.sleep(60)
        return len(kept)


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(store.ROOT))
    made = Worker("tests.benchmarks.test_store:Subject", "hello")
    yield made
    made.close()


def test_a_worker_answers_and_says_what_failed(worker):
    assert worker.ask("say", "there") == "hello there"
    with pytest.raises(NoAnswerError, match="ValueError: no"):
        worker.ask("fail")
    assert worker.ask("say", "again") == "hello again"


def test_a_worker_that_takes_too_long_is_ended(worker):
    worker.ask("say", "there")
    with pytest.raises(NoAnswerError, match="over 1 s"):
        worker.ask("burn", seconds=1.0)
    assert worker.process.poll() is not None
    with pytest.raises(NoAnswerError, match="ended"):
        worker.ask("say", "there")


def test_a_worker_that_holds_too_much_is_ended(worker):
    worker.ask("say", "there")
    with pytest.raises(NoAnswerError, match="over 0 GB"):
        worker.ask("hold", most=2.5e8)


def test_a_worker_without_its_module_says_so():
    lost = Worker("benchmarks.no_such_module:Subject")
    with pytest.raises(NoAnswerError, match="ModuleNotFoundError"):
        lost.ask("say", "there")
    lost.close()
