"""Passes are counted and shown, and those that were kept are known by what was asked."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data import as_source
from mercer.data.base import Block, Sums
from mercer.kernels import Gaussian, Matern
from mercer.reduced import CheckpointError
from mercer.reduced.checkpoint import digest
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Labels, Passes

X = np.random.default_rng(0).normal(size=(10, 2))


def total(block: Block, shared: Any, state: Any) -> Sums:
    return Sums(x=state * np.asarray(block.X).sum(axis=0), n=np.array(block.n))


def test_they_are_counted_and_shown() -> None:
    shown: list[Any] = []

    @contextmanager
    def bar(name: str, n: int | None) -> Any:
        shown.append((name, n))
        yield SimpleNamespace(update=shown.append)

    passes = Passes(as_source(X), rows=4, n_jobs=1, bar=bar)
    np.testing.assert_allclose(passes("twice", total, None, 2.0)["x"], 2 * X.sum(axis=0))
    assert shown == [("twice", 10), 4, 4, 2]
    assert (passes.count, passes.read, passes.n) == (1, 1, 10)
    assert set(passes.times) == {"twice"}


def test_only_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    def asked(
        name: str, state: float, shared: Any = None, anew: bool = False, rows: str = ""
    ) -> int:
        passes = Passes(as_source(X), n_jobs=1, directory=tmp_path)
        assert passes.checkpoint is not None
        passes.checkpoint.rows = rows
        result = passes(name, total, shared, state, anew=anew)
        np.testing.assert_allclose(result["x"], state * X.sum(axis=0))
        return passes.read

    assert asked("sum", 1.0) == 1
    assert asked("sum", 1.0) == 0
    assert asked("sum", 1.0, anew=True) == 1
    assert asked("sum", 2.0) == 1
    assert asked("other", 2.0) == 1
    with pytest.raises(CheckpointError, match=r"is of other settings: .* a folder of its own"):
        asked("other", 2.0, Gaussian(1.0))
    with pytest.raises(CheckpointError, match="is of other data"):
        asked("other", 2.0, rows="other rows")
    assert asked("other", 2.0) == 0


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
        *(shifted(1), shifted(2), lambda x: x * 2, lambda x: x * 3, total, shifted),
        *(NystromMap(Gaussian(1.0), X), NystromMap(Gaussian(1.0), X[:5])),
    ]
    marks = [digest(value) for value in values]
    assert len(set(marks)) == len(values)
    assert marks == [digest(value) for value in values]
    assert digest(Setting(X.copy())) == digest(Setting(X))


def test_more_labels_than_classes() -> None:
    one = Labels(np.arange(9000.0), np.ones((9000, 2), dtype=int))
    with pytest.raises(ValueError, match="use a machine of regression"):
        _ = one + Labels(np.arange(9000.0) + 0.5, np.ones((9000, 2), dtype=int))
    both = Labels(np.array([1, 2]), np.array([[3, 2], [1, 1]])) + Labels(
        np.array([2, 3]), np.array([[4, 4], [5, 0]])
    )
    assert both.values.tolist() == [1, 2, 3]
    assert both.counts.tolist() == [[3, 2], [5, 5], [5, 0]]
