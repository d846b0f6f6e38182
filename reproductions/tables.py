"""Real data, found as the tests find them: beside the repository or in MERCER_DATA."""

import sys
from pathlib import Path
from typing import Any

from reproductions.outcome import MissingDataError

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from data import MISSING, load


def frame(name: str) -> Any:
    """Return a data set as a data frame."""
    return bunch(name).frame


def bunch(name: str) -> Any:
    """Return a data set as arrays, with its published partitions where it has some."""
    if MISSING:
        raise MissingDataError(MISSING)
    return load(name)
