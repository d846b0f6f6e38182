"""Data as it lives: rows in blocks from memory, files and clusters, and sums over them."""

from mercer.data.arrays import Arrays
from mercer.data.base import Block, Mapped, Source, Sums
from mercer.data.categories import Categories, categories
from mercer.data.checks import Check, Places
from mercer.data.files import open
from mercer.data.moments import Moments, moments
from mercer.data.opening import as_source, is_source
from mercer.data.predicting import predict
from mercer.data.quantiles import Sketch, Sketches, quantiles, sketches
from mercer.data.sampling import Sample, draw, fingerprints
from mercer.data.streams import Chain, Stream
from mercer.data.table import DataError, Table

__all__ = [
    "Arrays",
    "Block",
    "Categories",
    "Chain",
    "Check",
    "DataError",
    "Mapped",
    "Moments",
    "Places",
    "Sample",
    "Sketch",
    "Sketches",
    "Source",
    "Stream",
    "Sums",
    "Table",
    "as_source",
    "categories",
    "draw",
    "fingerprints",
    "is_source",
    "moments",
    "open",
    "predict",
    "quantiles",
    "sketches",
]
