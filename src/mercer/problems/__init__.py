"""The functional, written down."""

from mercer.problems.risk import Certificate, RegularizedRisk

__all__ = [
    "Certificate",
    "RegularizedRisk",
]
