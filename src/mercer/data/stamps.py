"""How a local file looked when it was opened, so that one that changes under a fit is refused."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mercer.data.table import DataError

__all__ = ["Stamp"]

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Stamp:
    """Size and time of change of a file.

    Parameters
    ----------
    path : str
    size : int
    changed : int
        Nanoseconds.
    host : str
        Machine that looked: on another one, copies of a file may have another time.

    Examples
    --------
    >>> Stamp.of("/dev/null")
    Traceback (most recent call last):
    mercer.data.table.DataError: /dev/null is a device, not a file; a fit reads its rows again ...
    """

    path: str
    size: int
    changed: int
    host: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Stamp:
        """Return the stamp of a file; refuse devices and pipes, which would block or never end.

        Parameters
        ----------
        path : str or path
        """
        name = os.fspath(path)
        try:
            found = os.stat(name)
        except OSError as error:
            link = "is a link that leads to no file" if os.path.islink(name) else "cannot be read"
            raise DataError(f"{name} {link}: {error.strerror}") from error
        except ValueError as error:  # a zero byte in the name
            raise DataError(f"{name!r} is no name of a file: {error}") from error
        if not stat.S_ISREG(found.st_mode):
            kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
            raise DataError(
                f"{name} is {kind}, not a file; a fit reads its rows again and again: write them "
                "to a file first"
            )
        return cls(name, found.st_size, found.st_mtime_ns, platform.node())

    def check(self) -> None:
        """Refuse a file that changed since it was opened."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise DataError(
                f"{self.path} was there when it was opened and is gone: {error.strerror}"
            ) from error
        here = (found.st_size, found.st_mtime_ns)
        if here[0] != self.size or (here[1] != self.changed and self.host == platform.node()):
            raise DataError(
                f"{self.path} changed after it was opened ({self.size} bytes then, {here[0]} now); "
                "open it again when nobody writes to it"
            )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Check before and after reading; of a file that changed, that is the error."""
        self.check()
        try:
            yield
        except DataError:
            self.check()
            raise
        self.check()
