"""Passes are counted and shown, and those that were kept are known by what was asked."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data import as_source
from mercer.data.base import Block, Sums
from mercer.data.sampling import sampled
from mercer.kernels import Gaussian, Matern
from mercer.reduced import CheckpointError
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Labels, Passes, digest

X = np.random.default_rng(0).normal(size=(10, 2))


def total(block: Block, shared: Any, state: Any) -> Sums:
    return Sums(x=state * np.asarray(block.X).sum(axis=0), n=np.array(block.n))


def drawn(block: Block, shared: Any, state: Any) -> Sums:
    labels = Labels(np.array(["a"]), np.array([[block.n, block.n]]))
    return Sums(pool=sampled(block, 4, 0), labels=labels)


def test_they_are_counted_and_shown() -> None:
    shown: list[Any] = []

    @contextmanager
    def bar(name: str, n: int | None) -> Any:
        shown.append((name, n))
        yield shown.append

    passes = Passes(as_source(X), rows=4, n_jobs=1, bar=bar)
    np.testing.assert_allclose(passes("twice", total, None, 2.0)["x"], 2 * X.sum(axis=0))
    assert shown == [("twice", 10), 4, 4, 2]
    assert (passes.count, passes.read, passes.n) == (1, 1, 10)
    assert set(passes.times) == {"twice"}


@pytest.mark.parametrize("matrix", [np.asarray, sp.csr_array], ids=["array", "sparse"])
def test_samples_and_labels_are_kept_whole(matrix: Any, tmp_path: Path) -> None:
    source = as_source(matrix(X), np.arange(10.0), np.ones(10))
    made = Passes(source, rows=4, n_jobs=1, directory=tmp_path)("draw", drawn)
    again = Passes(source, rows=4, n_jobs=1, directory=tmp_path)
    kept = again("draw", drawn)
    assert again.read == 0
    for name in ("keys", "y", "s", "rows", "n", "size"):
        np.testing.assert_array_equal(getattr(kept["pool"], name), getattr(made["pool"], name))
    points = [part["pool"].X for part in (kept, made)]
    points = [p.toarray() if sp.issparse(p) else p for p in points]
    np.testing.assert_array_equal(*points)
    assert kept["labels"].values.tolist() == ["a"]
    assert kept["labels"].counts.tolist() == [[10, 10]]


def test_only_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    def passes(identity: str = "") -> Passes:
        return Passes(as_source(X), n_jobs=1, directory=tmp_path, identity=identity)

    passes()("sum", total, None, 1.0)
    same = passes()
    same("sum", total, None, 1.0)
    assert same.read == 0
    anew = passes()
    anew("sum", total, None, 1.0, anew=True)
    assert anew.read == 1
    for name, shared, state, identity in (
        ("sum", None, 2.0, ""),
        ("sum", Gaussian(1.0), 1.0, ""),
        ("other", None, 1.0, ""),
        ("sum", None, 1.0, "other rows"),
    ):
        other = passes(identity)
        other(name, total, shared, state)
        assert other.read == 1


@dataclass
class Setting:
    """Something to tell apart."""

    value: Any


def shifted(k: int) -> Any:
    return lambda x: x + k


def test_fingerprints_tell_values_apart() -> None:
    values: list[Any] = [
        *(1, 1.0, "1", None, [1], (1, 1), {"a": 1}, {"b": 1}, [[1], 1], [1, [1]]),
        *(np.ones(2), np.ones((2, 1)), np.ones(2, dtype=np.float32), np.array(["a", "b"])),
        *(np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)),
        *(sp.csr_array(np.eye(2)), sp.csr_array(np.eye(3))),
        *(Gaussian(1.0), Gaussian(2.0), Matern(length_scale=1.0), Setting(1), Setting(X)),
        *(shifted(1), shifted(2), lambda x: x * 2, lambda x: x * 3, total, drawn),
        *(NystromMap(Gaussian(1.0), X), NystromMap(Gaussian(1.0), X[:5])),
    ]
    marks = [digest(value) for value in values]
    assert len(set(marks)) == len(values)
    assert marks == [digest(value) for value in values]
    assert digest(Setting(X.copy())) == digest(Setting(X))


def test_a_directory_that_cannot_be_read(tmp_path: Path) -> None:
    passes = Passes(as_source(X), n_jobs=1, directory=tmp_path)
    (tmp_path / "pass-00000.npz").mkdir()
    with pytest.raises(CheckpointError, match=r"pass-00000\.npz is not a file"):
        passes("sum", total, None, 1.0)


def test_more_labels_than_classes() -> None:
    one = Labels(np.arange(9000.0), np.ones((9000, 2), dtype=int))
    with pytest.raises(ValueError, match="use a machine of regression"):
        _ = one + Labels(np.arange(9000.0) + 0.5, np.ones((9000, 2), dtype=int))
    both = Labels(np.array([1, 2]), np.array([[3, 2], [1, 1]])) + Labels(
        np.array([2, 3]), np.array([[4, 4], [5, 0]])
    )
    assert both.values.tolist() == [1, 2, 3]
    assert both.counts.tolist() == [[3, 2], [5, 5], [5, 0]]
