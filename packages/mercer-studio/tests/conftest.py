"""Settings shared with the tests of the library."""

from conftest import no_cluster, pytest_collection_modifyitems

__all__ = ["no_cluster", "pytest_collection_modifyitems"]
