"""What may be claimed of a machine: bounds that may be quoted, and an audit of their rows."""

from mercer.claims.audit import Audit, audit
from mercer.claims.certified import CertifiedSVC
from mercer.claims.compressed import Compressed, compression_bound, refit_to_support
from mercer.claims.copies import Copies, find_copies
from mercer.claims.ladder import Rung
from mercer.claims.pac_bayes import (
    pac_bayes_bound,
    randomized_machine_bound,
    randomized_regression_bound,
)
from mercer.claims.quotable import (
    cross_validated_estimate,
    error_bound,
    held_out_bound,
    majority_error,
    mean_bound,
)
from mercer.claims.rademacher import local_complexity, rademacher_bound, rademacher_margin_bound
from mercer.claims.record import Assumption, Bound, Constant
from mercer.claims.removal import removal_change, stability_bound
from mercer.claims.report import CapacityReport, capacity_report
from mercer.claims.sizes import ClassSize, class_size
from mercer.claims.tails import binomial_upper, kl_upper
from mercer.claims.thresholds import ControlledThreshold, risk_controlled_threshold
from mercer.claims.weights import Weights, weights_of

__all__ = [
    "Assumption",
    "Audit",
    "Bound",
    "CapacityReport",
    "CertifiedSVC",
    "ClassSize",
    "Compressed",
    "Constant",
    "ControlledThreshold",
    "Copies",
    "Rung",
    "Weights",
    "audit",
    "binomial_upper",
    "capacity_report",
    "class_size",
    "compression_bound",
    "cross_validated_estimate",
    "error_bound",
    "find_copies",
    "held_out_bound",
    "kl_upper",
    "local_complexity",
    "majority_error",
    "mean_bound",
    "pac_bayes_bound",
    "rademacher_bound",
    "rademacher_margin_bound",
    "randomized_machine_bound",
    "randomized_regression_bound",
    "refit_to_support",
    "removal_change",
    "risk_controlled_threshold",
    "stability_bound",
    "weights_of",
]
