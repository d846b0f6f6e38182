"""The functional, written down."""

from mercer.problems.box_qp import BoxQP
from mercer.problems.constrained import Between, SampleLosses, Shaped, chebychev
from mercer.problems.copied_samples import fold, unfold
from mercer.problems.hulls import HullCertificate, NotSeparable
from mercer.problems.mixed import mixed, mixed_back
from mercer.problems.non_crossing import ordered, ordered_back
from mercer.problems.nu import (
    Machine,
    nu_classification,
    nu_classification_back,
    nu_regression,
    nu_regression_back,
    one_class,
)
from mercer.problems.parametric_tube import ParametricTube, parametric_tube, parametric_tube_back
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.problems.sparse_risk import SparseRisk
from mercer.problems.support_vector_tube import Walls, tube, tube_back

__all__ = [
    "Between",
    "BoxQP",
    "Certificate",
    "HullCertificate",
    "Machine",
    "NotSeparable",
    "ParametricTube",
    "RegularizedRisk",
    "SampleLosses",
    "Shaped",
    "SparseRisk",
    "Walls",
    "chebychev",
    "fold",
    "mixed",
    "mixed_back",
    "nu_classification",
    "nu_classification_back",
    "nu_regression",
    "nu_regression_back",
    "one_class",
    "ordered",
    "ordered_back",
    "parametric_tube",
    "parametric_tube_back",
    "tube",
    "tube_back",
    "unfold",
]
