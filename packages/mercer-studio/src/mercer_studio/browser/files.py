"""Files that may be opened: in the folder of the start, or sent by the browser."""

from __future__ import annotations

import re
from pathlib import Path

from mercer_studio.cli.refusals import Refusal

__all__ = ["ENDINGS", "MAX_UPLOAD", "inside", "listed", "stored"]

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather")
"""Endings of tables."""

MAX_UPLOAD = 64_000_000
"""Bytes of a file that is sent by the browser; larger ones are opened from the folder."""

MAX_LISTED = 300
"""Files of a folder that are offered."""


def listed(folder: Path) -> list[str]:
    """Return the tables in a folder and two levels below it, as names relative to it.

    Parameters
    ----------
    folder : Path
        Where to look. What begins with a dot is not looked at.
    """
    found = []
    for pattern in ("*", "*/*", "*/*/*"):
        for path in sorted(folder.glob(pattern)):
            name = path.relative_to(folder)
            hidden = any(part.startswith(".") for part in name.parts)
            if not hidden and path.suffix.lower() in ENDINGS and path.is_file():
                found.append(name.as_posix())
            if len(found) >= MAX_LISTED:
                return found
    return found


def inside(folder: Path, name: str) -> Path:
    """Return the file of a name, if it is a table in the folder, whatever links lead to.

    Parameters
    ----------
    folder : Path
        Where files may be opened.
    name : str
        Relative to it, or absolute.

    Examples
    --------
    >>> inside(Path("."), "../secret.csv")
    Traceback (most recent call last):
    mercer_studio.cli.refusals.Refusal: ../secret.csv is not in the folder that the studio ...
    """
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise Refusal(f"{name} is not in the folder that the studio was started in.")
    if path.suffix.lower() not in ENDINGS:
        raise Refusal(f"{name} is no table: its name must end in {', '.join(ENDINGS)}.")
    if not path.is_file():
        raise Refusal(f"there is no file {name}.")
    return path


def stored(folder: Path, name: str, content: bytes) -> Path:
    """Write what a browser sent into a folder of its visitor, and return the file.

    Parameters
    ----------
    folder : Path
        Of the visitor.
    name : str
        As the browser says; only its last part and plain signs are kept.
    content : bytes
        The file.
    """
    if len(content) > MAX_UPLOAD:
        raise Refusal(
            f"the file has {len(content) / 1e6:.0f} MB; at most {MAX_UPLOAD / 1e6:.0f} can be "
            "sent. Put it into the folder of the studio and choose it there."
        )
    plain = re.sub(r"[^\w.-]", "_", Path(name.replace("\\", "/")).name)[-80:] or "table.csv"
    if Path(plain).suffix.lower() not in ENDINGS:
        raise Refusal(f"{plain} is no table: its name must end in {', '.join(ENDINGS)}.")
    path = folder / plain.lstrip(".")
    path.write_bytes(content)
    return path
