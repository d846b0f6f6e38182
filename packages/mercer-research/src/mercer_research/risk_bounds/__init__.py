"""Research: may change without notice.

Bounds on the risk from the rows of the fit, all bounds of a machine in one report, and an audit of
what was done to the rows. Bounds from rows that were held out are in :mod:`mercer.risk_bounds`.
"""

from mercer_research.risk_bounds.assumptions import Audit, audit
from mercer_research.risk_bounds.capacity_report import CapacityReport, capacity_report
from mercer_research.risk_bounds.certified_svc import CertifiedSVC
from mercer_research.risk_bounds.pac_bayes import randomized_machine_bound
from mercer_research.risk_bounds.sample_compression import compression_bound

__all__ = [
    "Audit",
    "CapacityReport",
    "CertifiedSVC",
    "audit",
    "capacity_report",
    "compression_bound",
    "randomized_machine_bound",
]
