"""Where a tree cuts, which settings mean something, and how much a shelf keeps in memory."""

import numpy as np
import pytest

from mercer.local import Local
from mercer.local.shelf import Shelf
from mercer.local.tree import _cut, _number_cut


def two_valued(share, n=100):
    """Return a wide feature that can only be cut at a share, beside a narrow one cut anywhere."""
    first = np.where(np.arange(n) < round(share * n), -10.0, 10.0)
    return np.c_[first, np.linspace(0.0, 1.0, n)]


@pytest.mark.parametrize(
    ("left", "share", "feature"),
    # Parts may be half as large as wanted, whichever of the two.
    [
        *[(0.50, 0.5, 0), (0.26, 0.5, 0), (0.24, 0.5, 1), (0.74, 0.5, 0), (0.76, 0.5, 1)],
        *[(0.40, 0.7, 0), (0.34, 0.7, 1), (0.84, 0.7, 0), (0.86, 0.7, 1)],
    ],
)
def test_the_widest_feature_whose_parts_are_not_too_uneven_is_cut(left, share, feature):
    column, cut, codes = _cut(two_valued(left), np.ones(2), (), share, 2)
    assert codes is None
    assert column == feature
    if feature == 0:
        assert cut == 0.0


def test_cuts_are_halfway_between_neighbours():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    for share, cut, left in ((0.2, 1.5, 0.2), (0.45, 3.0, 0.4), (0.9, 12.0, 0.8)):
        assert _number_cut(x, share) == (cut, None, pytest.approx(left))
    assert _number_cut(np.array([-np.inf, 0.0, 1.0]), 0.3)[0] == -np.inf


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2"])
def test_processes_are_counted_by_integers(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be"):
        Local(n_jobs=n_jobs)
    assert [Local(n_jobs=good).n_jobs for good in (None, 1, -1)] == [None, 1, -1]


def test_a_shelf_beyond_its_cache_holds_the_last_object_only(tmp_path):
    shelf = Shelf(0, 1, tmp_path)
    for k in range(4):
        shelf.put(k, np.full(100, float(k)))
    for k in (2, 0, 3):
        assert shelf[k][0] == k
        assert list(shelf._kept) == [k]
    assert shelf._held == shelf.sizes[3]
