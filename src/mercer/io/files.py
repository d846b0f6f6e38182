"""Models in files: written by skops, bounded before they are read, trusted by their types."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import secrets
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import scipy
import sklearn

from mercer._optional import plugin
from mercer._typing import AnyArray
from mercer._version import __version__
from mercer.io.bounds import MANIFEST, SCHEMA, check_archive, open_archive, read_json
from mercer.io.errors import ModelFileError
from mercer.io.fitted import check_fitted
from mercer.io.trust import is_trusted

__all__ = ["FORMAT", "ModelFile", "describe", "digest", "load", "save"]

FORMAT = 1
"""Version of the layout of a file: raised when older versions of the library cannot read it."""

MAX_FILE_BYTES = 2.0**32


@dataclass(frozen=True)
class ModelFile:
    """What a file says of its model, without reading the model.

    Parameters
    ----------
    model : str
        Class of the model.
    format : int
        Version of the layout.
    versions : dict
        Versions of the libraries that the model was saved with.
    settings : dict
        Parameters of the model, each as its text.
    settings_sha256 : str
        Digest of the parameters.
    data_sha256 : str or None
        Digest of the training data, if it was given.
    """

    model: str
    format: int
    versions: dict[str, str]
    settings: dict[str, str]
    settings_sha256: str
    data_sha256: str | None

    def __str__(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        data = self.data_sha256[:16] if self.data_sha256 else "not given"
        return (
            f"{self.model}, saved by mercer {self.versions['mercer']}\n"
            f"settings {self.settings_sha256[:16]}: {settings}\n"
            f"training data: {data}"
        )


def save(
    model: Any, path: str | os.PathLike[str] | BinaryIO, *, data: Sequence[Any] | None = None
) -> None:
    """Write a fitted model to a file that :func:`load` reads without running anything in it.

    The file is a zip archive in the format of skops: a tree of types and attributes in JSON, arrays
    in NumPy's format, and a manifest with versions, settings and digests. Unlike a pickle it holds
    no code. Pipelines of scikit-learn travel with their machines.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library, or a pipeline or search around it.
    path : str, path or binary file
        Where to write, usually ``"name.skops"``.
    data : sequence of arrays, optional
        The training data, such as ``(X, y)``, of which only the digest is kept: with it,
        :func:`digest` tells later whether a model was fitted to given data.

    Examples
    --------
    >>> import tempfile, os
    >>> from mercer import SVR
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]
    >>> path = os.path.join(tempfile.mkdtemp(), "model.skops")
    >>> save(SVR(C=10.0).fit(X, y), path, data=(X, y))
    >>> load(path).predict([[1.0]]) == SVR(C=10.0).fit(X, y).predict([[1.0]])
    array([ True])
    """
    skops = plugin("skops")
    try:
        written = skops.dumps(model)
    except Exception as error:  # whatever an attribute of any type raises
        raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}") from error
    _check_named(skops.get_untrusted_types(data=written), type(model).__name__)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(buffer, "w") as new:
        new.writestr(MANIFEST, json.dumps(_manifest(model, data, skops), indent=2))
        for info in old.infolist():
            content = old.read(info)
            if info.filename == SCHEMA:  # two thirds of which are spaces
                content = json.dumps(json.loads(content), separators=(",", ":")).encode()
            elif info.filename.endswith(".npz"):
                content = _stored(content)
            new.writestr(info.filename, content)
    if hasattr(path, "write"):
        path.write(buffer.getbuffer())
        return
    target = Path(path)
    # A name that nobody can guess: in a folder of others, a link could wait under it.
    other = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        other.write_bytes(buffer.getbuffer())
        other.replace(target)
    finally:
        other.unlink(missing_ok=True)


def load(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    trusted: Sequence[str] = (),
    max_bytes: float = MAX_FILE_BYTES,
) -> Any:
    """Read a model that :func:`save` wrote, constructing types of this library only.

    A file is refused, with the reason, if it is no such archive, is cut off or damaged, would
    become larger than its size, comes from a later layout, or names a type that is not trusted.
    What is refused is not constructed.

    Parameters
    ----------
    path : str, path or binary file
        The file.
    trusted : sequence of str, default=()
        Names of further types and functions to trust, such as those of your own kernels; see
        :func:`trusted_types` for those that need no mention.
    max_bytes : float, default=2**32
        Size from which a file is not read.

    Returns
    -------
    estimator
        The model, whose predictions are those of the model that was saved, to the last bit.

    Examples
    --------
    >>> import io
    >>> load(io.BytesIO(b"no model"))
    Traceback (most recent call last):
    ...
    mercer.io.errors.ModelFileError: the file is not a model that mercer.io.save wrote...
    """
    skops = plugin("skops")
    with _opened(path) as (file, name):
        try:
            with open_archive(file, name, max_bytes) as archive:
                _read_manifest(archive, name)
                check_archive(archive, read_json(archive, SCHEMA, name), name)
            model = _construct(skops, file, name, trusted)
            check_fitted(model)
            return model
        except ModelFileError:
            raise
        except Exception as error:  # a damaged archive, header or tree can fail in any way
            raise ModelFileError(f"{name} is damaged: {type(error).__name__}, {error}.") from error


def describe(path: str | os.PathLike[str] | BinaryIO) -> ModelFile:
    """Return what a file says of its model, without reading the model.

    Parameters
    ----------
    path : str, path or binary file
        The file.

    Examples
    --------
    >>> import io
    >>> from mercer import SVR
    >>> file = io.BytesIO()
    >>> save(SVR(C=10.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]), file)
    >>> found = describe(file)
    >>> found.model, found.settings["C"], found.format
    ('mercer.estimators.svr.SVR', '10.0', 1)
    """
    with _opened(path) as (file, name), open_archive(file, name, np.inf) as archive:
        return _read_manifest(archive, name)


def digest(*arrays: Any) -> str:
    """Return the SHA-256 of arrays, which does not depend on their layout in memory.

    Parameters
    ----------
    *arrays : array-like or sparse array
        Such as X and y; tables count with the names of their columns.

    Examples
    --------
    >>> digest([[1.0, 2.0]], [3.0])[:8] == digest([[1.0, 2.0]], [3.5])[:8]
    False
    """
    total = hashlib.sha256()
    for array in arrays:
        for part in _parts(array):
            total.update(f"{part.dtype.str}{part.shape}".encode())
            if part.dtype.hasobject:
                total.update(repr(part.tolist()).encode())
            else:
                total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()


def _parts(array: Any) -> Iterator[AnyArray]:
    if hasattr(array, "tocsr"):
        rows = array.tocsr(copy=True)
        rows.sort_indices()
        yield from (np.asarray(rows.shape), rows.data, rows.indices, rows.indptr)
        return
    if hasattr(array, "columns"):
        yield np.asarray([str(name) for name in array.columns])
    yield np.asarray(array)


@contextmanager
def _opened(path: Any) -> Iterator[tuple[BinaryIO, str]]:
    if hasattr(path, "read"):
        yield path, getattr(path, "name", "the file")
        return
    name = os.fspath(path)
    try:
        file = open(name, "rb")  # noqa: SIM115, closed below
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror}.") from error
    with file:
        yield file, name


def _construct(skops: ModuleType, file: BinaryIO, name: str, trusted: Sequence[str]) -> Any:
    # Not its bytes: with them the entries and the arrays, a model would take three times its size.
    wanted = skops.get_untrusted_types(file=file)
    strangers = [one for one in wanted if not (is_trusted(one) or one in trusted)]
    if strangers:
        raise ModelFileError(
            f"{name} wants types that are not of mercer: {', '.join(strangers)}. If you know them, "
            f"load it with trusted={strangers}."
        )
    return skops.load(file, trusted=wanted)


def _read_manifest(archive: zipfile.ZipFile, name: str) -> ModelFile:
    found = read_json(archive, MANIFEST, name)
    try:
        file = ModelFile(**found)
    except TypeError as error:
        raise ModelFileError(f"{name} has a manifest that mercer did not write.") from error
    texts = [file.model, file.settings_sha256, *([file.data_sha256] if file.data_sha256 else [])]
    for part in (file.versions, file.settings):
        texts += [*part, *part.values()] if isinstance(part, dict) else [part]
    if not all(isinstance(text, str) for text in texts) or "mercer" not in file.versions:
        raise ModelFileError(f"{name} has a manifest that mercer did not write.")
    if type(file.format) is not int or file.format < 1:
        raise ModelFileError(f"{name} says that its layout is {file.format!r}; the first was 1.")
    if file.format > FORMAT:
        raise ModelFileError(
            f"{name} was saved by mercer {file.versions.get('mercer')} in layout {file.format}; "
            f"mercer {__version__} reads layouts up to {FORMAT}. Install a later version."
        )
    return file


def _manifest(model: Any, data: Sequence[Any] | None, skops: ModuleType) -> dict[str, Any]:
    params = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    settings = {key: " ".join(repr(value).split())[:500] for key, value in params.items()}
    of_settings = json.dumps(settings, sort_keys=True).encode()
    return {
        "model": f"{type(model).__module__}.{type(model).__name__}",
        "format": FORMAT,
        "versions": {
            "mercer": __version__,
            "skops": sys.modules["skops"].__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "settings": settings,
        "settings_sha256": hashlib.sha256(of_settings).hexdigest(),
        "data_sha256": None if data is None else digest(*data),
    }


def _check_named(names: Sequence[str], model: str) -> None:
    """Refuse to write what could not be found again by its name, as a lambda."""
    for name in names:
        module, _, word = name.rpartition(".")
        if not (is_trusted(name) or hasattr(sys.modules.get(module), word)):
            raise ModelFileError(
                f"{model} cannot be saved: it holds {name}, which has no name to be found by. "
                "Define functions and classes at the top of a module."
            )


def _stored(npz: bytes) -> bytes:
    """Return a sparse array as its arrays uncompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(npz)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    return buffer.getvalue()
