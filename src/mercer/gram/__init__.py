"""How K is held and multiplied."""

from mercer.gram.base import Gram
from mercer.gram.dense import Dense
from mercer.gram.tiled import Tiled

__all__ = [
    "Dense",
    "Gram",
    "Tiled",
]
