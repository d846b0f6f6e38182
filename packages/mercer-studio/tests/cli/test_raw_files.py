"""The script that tries the command line on ten real sets, on the smallest of them."""

import runpy
from pathlib import Path

import pytest

from data import MISSING

SCRIPT = Path(__file__).with_name("raw_files.py")


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_real_set_from_its_raw_file():
    script = runpy.run_path(str(SCRIPT))
    assert len(script["SETS"]) == 10
    (line,) = script["lines"](["iris"], "1s")
    assert line["status"] == 0, line
    assert line["task"] == "classification"
    assert line["accuracy"] > 0.85
