"""Requests to blocks that keep what they know of their rows."""

from itertools import pairwise

import numpy as np
import pytest

from mercer.data import Arrays
from mercer.data.base import Part, Sums, kept_sums

X = np.random.default_rng(0).normal(size=(700, 2))
CUTS = [0, 130, 130, 300, 700]


def counted(block, shared, request, kept):
    """Sum what was kept of every row times its input, and keep one more."""
    x, times = (block.X[:, 0], np.zeros(block.n)) if kept is None else kept
    return Sums(total=np.array([times @ x])), (x, times + request)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_request_leaves_beside_rows_is_there_in_the_next(n_jobs):
    source = Arrays(X).map(lambda block: block._replace(X=2.0 * block.X))
    with source.keeping(counted, None, rows=40, n_jobs=n_jobs) as ask:
        for k in range(3):
            found = ask(1.0, read=k != 1)["total"][0]
            # 700 terms of some units, in another order.
            assert found == pytest.approx(2 * k * X[:, 0].sum(), abs=700 * 20 * 2**-52)
        assert sorted(ask.kept[0])[:3] == [0, 40, 80]
    assert ask.kept == [{}]


def test_parts_have_sums_of_their_own_and_empty_ones_none():
    parts = [
        Part(Arrays(X[a:b]) if a < b else None, i, a) for i, (a, b) in enumerate(pairwise(CUTS))
    ]
    kept = [{} for _ in parts]
    how = {"rows": 40, "n_jobs": 1}
    first = dict(kept_sums(counted, parts, None, 1.0, kept, read=True, **how))
    again = dict(kept_sums(counted, parts, None, 1.0, kept, read=False, **how))
    assert first[1] is again[1] is None
    for i in (0, 2, 3):
        assert first[i]["total"][0] == 0.0
        mine = X[CUTS[i] : CUTS[i + 1], 0]
        assert again[i]["total"][0] == pytest.approx(mine.sum(), abs=1e-12)
    assert sorted(kept[3])[:2] == [300, 340]


def test_a_source_without_rows_is_refused():
    with (
        Arrays(X[:0]).keeping(counted, None, rows=40) as ask,
        pytest.raises(ValueError, match="no rows"),
    ):
        ask(1.0, read=True)
