"""Scaling, encoding and filling in, learned from rows in blocks and applied as they are read."""

from mercer.preprocessing.dates import DateEncoder
from mercer.preprocessing.encoder import Encoder
from mercer.preprocessing.imputer import Imputer
from mercer.preprocessing.ranks import RankNormalizer
from mercer.preprocessing.scaler import Scaler
from mercer.preprocessing.table_encoder import TableEncoder

__all__ = ["DateEncoder", "Encoder", "Imputer", "RankNormalizer", "Scaler", "TableEncoder"]
