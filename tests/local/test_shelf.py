"""A shelf is a list, whether its objects are in memory or in files."""

import copy
import gc
import os
import pickle

import numpy as np
import pytest

from mercer.local.shelf import Shelf

ITEMS = [np.arange(100.0) + k for k in range(12)]


def filled(limit, cache=2000, folder=None, order=range(12)):
    shelf = Shelf(limit, cache, folder)
    for k in order:
        shelf.put(k, ITEMS[k])
    return shelf


@pytest.mark.parametrize("limit", [1e9, 3000.0, 0.0])
@pytest.mark.parametrize("order", [range(12), [*range(6, 12), *range(6)]])
def test_a_shelf_is_a_list(tmp_path, limit, order):
    shelf = filled(limit, folder=tmp_path, order=order)
    assert shelf.on_disk == (limit < 1e6)
    assert len(list(tmp_path.rglob("*.leaf"))) == 12 * shelf.on_disk
    for read in (shelf, copy.copy(shelf), copy.deepcopy(shelf), pickle.loads(pickle.dumps(shelf))):
        assert len(read) == 12
        np.testing.assert_array_equal(list(read), ITEMS)
        np.testing.assert_array_equal(read[3:9:2], ITEMS[3:9:2])
        np.testing.assert_array_equal(read[-1], ITEMS[-1])
        np.testing.assert_array_equal(list(reversed(read)), ITEMS[::-1])
        for k in (12, -13):
            with pytest.raises(IndexError, match="12 leaves"):
                read[k]


def test_objects_that_were_read_are_kept_within_bounds():
    shelf = filled(0.0, cache=3000)
    size = len(pickle.dumps(ITEMS[0], protocol=pickle.HIGHEST_PROTOCOL))
    for _ in range(2):
        list(shelf)
        assert len(shelf._kept) == 3000 // size
        assert shelf._held == size * len(shelf._kept)
    assert shelf[11] is shelf[11]


def test_files_go_with_the_last_copy(tmp_path):
    shelf = filled(0.0, folder=tmp_path)
    other = copy.deepcopy(shelf)
    del shelf
    gc.collect()
    np.testing.assert_array_equal(other[0], ITEMS[0])
    del other
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_forked_child_leaves_the_files_of_its_parent(tmp_path):
    shelf = filled(0.0, folder=tmp_path)
    child = os.fork()
    if not child:
        try:
            shelf.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    np.testing.assert_array_equal(shelf[5], ITEMS[5])
