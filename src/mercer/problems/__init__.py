"""The functional, written down."""

from mercer.problems.hulls import NotSeparable
from mercer.problems.risk import Certificate, RegularizedRisk

__all__ = [
    "Certificate",
    "NotSeparable",
    "RegularizedRisk",
]
