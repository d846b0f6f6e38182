"""How K is held and multiplied."""

from mercer.gram.base import Gram
from mercer.gram.combined import Extended, extend
from mercer.gram.dense import Dense
from mercer.gram.dictionary import Arranged, Dictionary, KernelColumns, Table
from mercer.gram.held import Held
from mercer.gram.indexed import Indexed
from mercer.gram.levels import Levels
from mercer.gram.low_rank import LowRank
from mercer.gram.make import make
from mercer.gram.precomputed import Precomputed
from mercer.gram.projected import Projected
from mercer.gram.remembered import Remembered
from mercer.gram.row_store import RowStore
from mercer.gram.shared import share_matrices
from mercer.gram.sparse import Sparse
from mercer.gram.tiled import Tiled
from mercer.gram.whitened import Whitened, whiten

__all__ = [
    "Arranged",
    "Dense",
    "Dictionary",
    "Extended",
    "Gram",
    "Held",
    "Indexed",
    "KernelColumns",
    "Levels",
    "LowRank",
    "Precomputed",
    "Projected",
    "Remembered",
    "RowStore",
    "Sparse",
    "Table",
    "Tiled",
    "Whitened",
    "extend",
    "make",
    "share_matrices",
    "whiten",
]
