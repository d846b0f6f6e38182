"""A sample of the hostile files of the night: none ends its process or takes too much."""

import sys

import pytest

from hostile_files.data_files import RECIPES as OF_DATA
from hostile_files.model_files import RECIPES as OF_MODELS
from hostile_files.sweep import tried

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads memory in /proc")


@pytest.mark.parametrize(("kind", "first"), [("model", 0), ("data", 0)])
def test_files_made_to_do_harm(kind: str, first: int) -> None:
    count = 2 * len(OF_MODELS) if kind == "model" else len(OF_DATA)
    # 21 cost a gigabyte of columns once, and 179 the process.
    seeds = [*range(first, count), *([] if kind == "model" else [21, 179])]
    ended = tried(kind, seeds)
    assert len(ended) == len(seeds)
    assert not [str(one) for one in ended if not one.right]
    assert {one.end for one in ended} & {"refused"}


def test_a_process_that_ends_is_noticed() -> None:
    """The harness itself: a file that kills its reader, one that takes memory, one that raises."""
    ended = tried("fault", [0, 1, 2, 3])
    assert [one.right for one in ended] == [False, False, False, True]
    assert "status -11" in ended[0].end
    assert ended[1].bytes > 2**27
    assert "KeyError" in ended[2].end
