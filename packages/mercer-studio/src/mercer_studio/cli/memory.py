"""How much memory a command may take: planned beforehand, and held to by the system.

Plans say how many rows exact machines get. Where a plan is wrong, the system refuses to give more,
and the command ends with a sentence instead of the machine with a crash.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mercer_studio.cli.refusals import Refusal

resource: Any
try:
    import resource
except ImportError:  # on Windows
    resource = None

__all__ = ["Memory"]

STATUS = Path("/proc/self/status")
# What a command needs beyond the interpreter and its libraries, whatever the data.
MIN_FREE_BYTES = 50e6
# Matrices of rows by rows that a fit holds at the same time.
KERNEL_MATRICES = 6


def _held(*names: str) -> float:
    """Return bytes that this process holds, by the names of the system's lines; 0 elsewhere."""
    if not STATUS.exists():
        return 0.0
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return 1024.0 * sum(float(lines.get(name, "0").split()[0]) for name in names)


@dataclass(frozen=True)
class Memory:
    """A limit of the memory of this process.

    Parameters
    ----------
    limit : float, optional
        Bytes; without it three quarters of the machine are planned with, and nothing is enforced.

    Examples
    --------
    >>> small, large = Memory(20e9), Memory(40e9)
    >>> 10_000 < small.exact_rows < large.exact_rows
    True
    """

    limit: float | None = None

    @cached_property
    def free(self) -> float:
        """Bytes that are left for data and machines."""
        if self.limit is None:
            return 0.75 * float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
        return max(self.limit - self.taken, 0.0)

    @cached_property
    def taken(self) -> float:
        """Bytes that were taken before anything was read."""
        return _held("VmData", "RssFile")

    @property
    def table(self) -> float:
        """Bytes that a table may take: it is held once as it was read, once as numbers."""
        return self.free / 4.0

    @property
    def exact_rows(self) -> int:
        """Rows of which a kernel matrix, and what a fit makes of it, has room."""
        return int(np.sqrt(self.free / 2.0 / (8.0 * KERNEL_MATRICES)))

    @contextlib.contextmanager
    def held_to(self) -> Iterator[None]:
        """Let allocations beyond the limit fail while the command runs, where the system can.

        Linux counts private pages; those of libraries' files, which the limit does not see, are
        taken off.
        """
        if self.limit is not None and self.free < MIN_FREE_BYTES:
            raise Refusal(
                f"--memory-limit {self.limit / 1e6:.0f}MB is too little: Python and its libraries "
                f"take {self.taken / 1e6:.0f} MB before anything is read. Give at least "
                f"{(self.taken + 4 * MIN_FREE_BYTES) / 1e6:.0f}MB."
            )
        if self.limit is None or resource is None:
            yield
            return
        kind = resource.RLIMIT_DATA
        soft, hard = resource.getrlimit(kind)
        wanted = int(self.limit - _held("RssFile"))
        bounds = [bound for bound in (wanted, soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(bounds), hard))
        try:
            yield
        finally:
            resource.setrlimit(kind, (soft, hard))
