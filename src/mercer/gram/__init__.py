"""How K is held and multiplied."""

from mercer.gram.base import Gram
from mercer.gram.cache import RowCache
from mercer.gram.dense import Dense
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.gram.make import make
from mercer.gram.precomputed import Precomputed
from mercer.gram.tiled import Tiled

__all__ = ["Dense", "Gram", "Indexed", "LowRank", "Precomputed", "RowCache", "Tiled", "make"]
