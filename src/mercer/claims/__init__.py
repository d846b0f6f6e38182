"""What may be claimed of a machine: bounds that may be quoted, and an audit of their rows."""

from mercer.claims.audit import Audit, audit
from mercer.claims.certified import CertifiedSVC
from mercer.claims.compressed import compression_bound
from mercer.claims.pac_bayes import randomized_machine_bound
from mercer.claims.quotable import cross_validated_estimate, error_bound, held_out_bound, mean_bound
from mercer.claims.record import Bound
from mercer.claims.report import CapacityReport, capacity_report
from mercer.claims.thresholds import ControlledThreshold, risk_controlled_threshold

__all__ = [
    "Audit",
    "Bound",
    "CapacityReport",
    "CertifiedSVC",
    "ControlledThreshold",
    "audit",
    "capacity_report",
    "compression_bound",
    "cross_validated_estimate",
    "error_bound",
    "held_out_bound",
    "mean_bound",
    "randomized_machine_bound",
    "risk_controlled_threshold",
]
