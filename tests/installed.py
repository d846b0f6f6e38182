"""Releases of other packages that tests run with."""

from importlib.metadata import version

SKLEARN = tuple(int(part) for part in version("scikit-learn").split(".")[:2])
"""The release of scikit-learn, as (1, 9)."""
