"""Memory as a parameter: sizes in words, and how many rows they are good for."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import numpy as np

__all__ = ["block_rows", "machine_bytes", "parse", "resident", "show"]

BYTES_PER_UNIT = {"": 1, "B": 1} | {
    prefix + end: base**power
    for power, prefix in enumerate("KMGTP", start=1)
    for end, base in (("B", 1000), ("iB", 1024), ("", 1000))
}
"""Bytes in a unit: decimal as in kB, MB, GB; binary as in KiB, MiB, GiB."""

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux tells a container how much memory it may use."""

MAX_BLOCK_ROWS = 65_536
"""Rows of the largest block: beyond that, larger blocks are not faster."""


def machine_bytes() -> int:
    """Return the memory of this machine, or of the container we run in.

    Examples
    --------
    >>> machine_bytes() > 2**20
    True
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            total = min(total, int(Path(file).read_text()))
    return total


def resident() -> int:
    """Return the memory that this process occupies now; 0 where the system does not tell.

    Examples
    --------
    >>> resident() >= 0
    True
    """
    with suppress(OSError, ValueError, IndexError):
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def parse(size: str | float) -> int:
    """Return a size in bytes.

    Parameters
    ----------
    size : str or number
        ``"2GB"``, ``"512 MiB"``; a number of bytes; or a fraction of the machine, below 1.

    Examples
    --------
    >>> parse("2GB"), parse("1.5 KiB"), parse(4096)
    (2000000000, 1536, 4096)
    >>> parse(0.5) == machine_bytes() // 2
    True
    """
    if not isinstance(size, str):
        if not isinstance(size, bool) and 0 < size < 1:
            return int(size * machine_bytes())
        if not isinstance(size, bool) and 1 < size < np.inf:
            return int(size)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", size, re.IGNORECASE)
        units = {unit.lower(): factor for unit, factor in BYTES_PER_UNIT.items()}
        if match and match[2].lower() in units and float(match[1]) > 0:
            return int(float(match[1]) * units[match[2].lower()])
    raise ValueError(
        f"a size of memory is written '2GB', '512MiB', a number of bytes, or a fraction of the "
        f"machine such as 0.5; got {size!r}"
    )


def show(size: float) -> str:
    """Return a number of bytes as one reads it.

    Parameters
    ----------
    size : float

    Examples
    --------
    >>> show(2e9), show(1234)
    ('2 GB', '1.23 kB')
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{int(size)} bytes"


def block_rows(
    limit: str | float,
    work: float,
    threads: int = 1,
    fixed: float = 0.0,
    data: float = 0.0,
    largest: int = MAX_BLOCK_ROWS,
) -> int:
    r"""Return how many rows a block may have for a pass to stay within a limit.

    A pass on t threads works on t blocks, while t more wait, one is read and one is what it is cut
    from, so that

    .. math:: \text{fixed} + r\,(t\,\text{work} + (2t + 2)\,\text{data}) \le \text{limit}.

    Parameters
    ----------
    limit : str or float
        Bytes, in any form that :func:`parse` takes.
    work : float
        Bytes a row that computing on a block takes, beside the block.
    threads : int, default=1
    fixed : float, default=0
        Bytes that are taken whatever the number of rows: centres, factors, and if the limit is one
        for the process, what is :func:`resident`.
    data : float, default=0
        Bytes of a row of the data.
    largest : int
        Most rows.

    Examples
    --------
    >>> block_rows("1MB", work=800, fixed=200_000)
    1000
    >>> block_rows("1MB", work=800, fixed=2_000_000)
    Traceback (most recent call last):
    ValueError: memory_limit is 1 MB, but 2 MB are needed before the first row; ...
    """
    size = parse(limit)
    a_row = threads * work + (2 * threads + 2) * data
    rows = int((size - fixed) // a_row) if size > fixed else 0
    if rows < 1:
        needed = fixed if size <= fixed else fixed + a_row
        what = "before the first row" if size <= fixed else "for a single row"
        raise ValueError(
            f"memory_limit is {show(size)}, but {show(needed)} are needed {what}; raise the limit, "
            "or take fewer centres, threads or features"
        )
    return min(rows, largest)
