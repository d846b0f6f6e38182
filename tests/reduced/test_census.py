"""The first pass tells rows, weights, classes and a sample, and marks the rows for later."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data import as_source
from mercer.data.base import Block
from mercer.reduced.passes import Passes, mark, take_census

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 50)]
S = np.where(LABELS == "b", 0.0, RNG.uniform(0.5, 2.0, 50))


@pytest.mark.parametrize("rows", [7, 50])
@pytest.mark.parametrize("matrix", [np.asarray, sp.csr_array], ids=["array", "sparse"])
def test_counts(rows: int, matrix: Any) -> None:
    census = take_census(Passes(as_source(matrix(X), LABELS, S), rows=rows), 20, 0, True)
    assert census.n == 50
    values, counts = np.unique(LABELS, return_counts=True)
    assert census.classes.tolist() == values.tolist()
    assert census.counts[:, 0].tolist() == counts.tolist()
    assert census.counts[:, 1].tolist() == [
        n if v != "b" else 0 for v, n in zip(values, counts, strict=True)
    ]
    np.testing.assert_allclose(census.weight, S.sum(), rtol=1e-14)
    np.testing.assert_allclose(census.variance, X.var(), rtol=1e-12)
    assert len(census.pool.keys) == 20


def test_weights_have_to_be_some() -> None:
    with pytest.raises(ValueError, match="zero for all samples"):
        take_census(Passes(as_source(X, LABELS, np.zeros(50))), 20, 0, True)


def test_rows_are_marked_whatever_their_order() -> None:
    def marked(X: Any, y: Any, s: Any) -> int:
        halves = [Block(X[part], y[part], s[part], 0) for part in (slice(0, 20), slice(20, None))]
        return int((mark(halves[0]) + mark(halves[1]))[0])

    y = RNG.normal(size=50)
    order = RNG.permutation(50)
    base = marked(X, y, S)
    assert marked(X[order], y[order], S[order]) == base
    assert marked(sp.csr_array(X), y, S) == base
    changed = X.copy()
    changed[-1, 0] += 1e-9
    others = [
        marked(changed, y, S),
        marked(X, y[order], S),
        marked(X, y, S[order]),
        marked(X, S, y),
        marked(X, LABELS, S),
        marked(X, LABELS[order], S),
        marked(X, np.column_stack([y, y]), S),
    ]
    assert len({base, *others}) == 1 + len(others)


def test_rows_are_marked_only_where_passes_are_kept(tmp_path: Path) -> None:
    kept, other = (Passes(as_source(X, LABELS), directory=d) for d in (tmp_path, None))
    for passes in (kept, other):
        take_census(passes, 10, 0, True)
    assert kept.checkpoint is not None
    assert kept.checkpoint.rows.startswith("50 rows ")
    assert other.checkpoint is None
