"""Real data, found as the tests find them: beside the repository or in MERCER_DATA."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))

from data import MISSING
from data import load as read_table
from papers.outcome import MissingDataError

__all__ = ["MISSING", "frame", "load"]


def load(name: str, **options: Any) -> Any:
    """Return a data set as arrays, with its published partitions where it has some."""
    if MISSING:
        raise MissingDataError(MISSING)
    return read_table(name, **options)


def frame(name: str) -> Any:
    """Return a data set as a data frame."""
    return load(name).frame
