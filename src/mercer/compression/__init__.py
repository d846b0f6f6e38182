"""Fitted machines with fewer terms: prediction made fast, with a certificate."""

from mercer.compression.compress import compress
from mercer.compression.precision import with_precision
from mercer.compression.pursuit import project

__all__ = [
    "compress",
    "project",
    "with_precision",
]
