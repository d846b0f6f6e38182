"""The path from a declaration to its problem and back: what all estimators share.

Exported is what the author of an estimator needs; see *Add an estimator*.
"""

from mercer._lazily import exports_of_stub

__all__, __getattr__, __dir__ = exports_of_stub(__name__, __file__)
