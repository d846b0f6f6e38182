"""Data as it lives: rows in blocks from memory, files and clusters, and sums over them."""

from mercer.data.arrays import Arrays
from mercer.data.base import Block, Mapped, Source, Sums
from mercer.data.opening import as_source
from mercer.data.sampling import Sample, draw, fingerprints

__all__ = [
    "Arrays",
    "Block",
    "Mapped",
    "Sample",
    "Source",
    "Sums",
    "as_source",
    "draw",
    "fingerprints",
]
