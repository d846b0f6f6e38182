"""Files of object stores and other machines, found through Arrow's file systems."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch

import pyarrow.fs as fs

from mercer.data.table import DataError

__all__ = ["found"]


def found(
    path: str, filesystem: fs.FileSystem | None, looks_like_data: Callable[[str], bool]
) -> tuple[list[str], fs.FileSystem]:
    """Return the files that a path or pattern means, and the file system they are in.

    Parameters
    ----------
    path : str
        A path in the file system, or a URI without one.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
    looks_like_data : callable
        Whether a file in a folder is meant, by its path in that folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("x")
    >>> names, _ = found(folder.as_uri() + "/*.csv", None, lambda name: True)
    >>> len(names)
    1
    """
    base, star, _ = path.partition("*")
    root = base.rpartition("/")[0] if star else path
    if filesystem is None:
        filesystem, root_path = fs.FileSystem.from_uri(root)
        pattern = root_path + path[len(root) :]
    else:
        if not isinstance(filesystem, fs.FileSystem):
            filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
        root_path, pattern = root.rstrip("/"), path
    info = filesystem.get_file_info(root_path)
    if info.type == fs.FileType.File:
        return [root_path], filesystem
    if info.type == fs.FileType.NotFound:
        return [], filesystem
    if info.type != fs.FileType.Directory:
        raise DataError(f"{path} is neither a file nor a folder; write its rows to a file first")
    listed = filesystem.get_file_info(fs.FileSelector(root_path, recursive=True))
    files = [item.path for item in listed if item.type == fs.FileType.File]
    if star:
        return [p for p in files if fnmatch(p, pattern)], filesystem
    prefix = len(root_path.rstrip("/")) + 1
    return [p for p in files if looks_like_data(p[prefix:])], filesystem
