"""A Dask cluster below the same machines: rows stay on their workers, sums come back."""

from mercer.distributed.opening import as_source, connected
from mercer.distributed.partitions import Partitions
from mercer.distributed.prediction import predict

__all__ = [
    "Partitions",
    "as_source",
    "connected",
    "predict",
]
