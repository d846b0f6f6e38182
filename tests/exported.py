"""Machines that the library exports, for suites that run over all of them.

A suite that gives some machines settings of their own takes the others from here, so that a new
machine is in all of them without being named.
"""

from collections.abc import Collection

from mercer.machines.base import KernelMachine
from unchanged.signatures import estimators

__all__ = ["unlisted"]


def unlisted(listed: Collection[str]) -> dict[str, KernelMachine]:
    """Return machines with their defaults that a suite does not list, by their public names."""
    return {
        names[0].removeprefix("mercer."): cls()
        for cls, names in estimators().items()
        if issubclass(cls, KernelMachine) and cls.__name__ not in listed
    }
