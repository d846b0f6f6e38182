"""The functional, written down."""

from mercer.problems.box_qp import BoxQP
from mercer.problems.nu import (
    Machine,
    nu_classification,
    nu_classification_back,
    nu_regression,
    nu_regression_back,
    one_class,
)
from mercer.problems.risk import Certificate, RegularizedRisk

__all__ = [
    "BoxQP",
    "Certificate",
    "Machine",
    "RegularizedRisk",
    "nu_classification",
    "nu_classification_back",
    "nu_regression",
    "nu_regression_back",
    "one_class",
]
