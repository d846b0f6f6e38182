"""Data as it lives: rows in blocks from memory, files and clusters, and sums over them."""

from mercer.data.arrays import Arrays
from mercer.data.base import Source
from mercer.data.opening import as_source, open
from mercer.data.parts import Parts, map_blocks
from mercer.data.predicting import predict
from mercer.data.sampling import draw, quantiles
from mercer.data.statistics import Categories, Moments, categories, moments
from mercer.data.table import DataError

__all__ = [
    "Arrays",
    "Categories",
    "DataError",
    "Moments",
    "Parts",
    "Source",
    "as_source",
    "categories",
    "draw",
    "map_blocks",
    "moments",
    "open",
    "predict",
    "quantiles",
]
