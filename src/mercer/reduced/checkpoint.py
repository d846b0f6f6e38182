"""Answers of the passes of a fit, kept in a directory: the same fit goes on from there."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from mercer.data.base import Sums


class CheckpointError(OSError):
    """A checkpoint could not be written or belongs to another fit."""


class Checkpoint:
    """A directory with a file for each pass, taken from there as long as requests are the same.

    A file holds arrays and nothing that could be executed: the answer to the request of the pass,
    and those to small requests since the pass before.

    Parameters
    ----------
    directory : path
    """

    def __init__(self, directory: Any) -> None:
        self.directory, self.rows, self.known = Path(directory), "", False
        self.answers: dict[str, Sums] = {}
        """Those since the last pass, by the digests of their requests."""
        self.kept: dict[str, Sums] | None = None
        """Those in the file of the next pass; None before it was read."""
        try:
            # Sums of rows tell about the rows.
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def __call__(
        self, number: int, problem: str, request: Any, make: Callable[[], Sums], ends: bool = True
    ) -> tuple[Sums, bool]:
        """Return an answer, and whether it was made now.

        Parameters
        ----------
        number : int
            Of the pass.
        problem : str
            Digest of what is the same in all requests.
        request : object
        make : callable
            Returns the answer.
        ends : bool, default=True
            Whether the request is the pass, and not one of the small ones before it.
        """
        file, key = self.directory / f"pass-{number:05d}.npz", digest([problem, request])
        kept = self._read(file, problem) if self.kept is None else self.kept
        answer = self.answers[key] = kept[key] if key in kept else make()
        if ends and key not in kept and isinstance(answer, Sums):
            self._write(file, problem)
        self.answers, self.kept = ({}, None) if ends else (self.answers, kept)
        return answer, key not in kept

    def _read(self, file: Path, problem: str) -> dict[str, Sums]:
        answers: dict[str, Sums] = {}
        try:
            with open(file if file.is_file() else os.devnull, "rb") as stream:
                archive = np.load(stream, allow_pickle=False)
                rows, other = map(str, archive["fit"])
                for name in set(archive) - {"fit"}:
                    key, _, own = name.partition("|")
                    answers.setdefault(key, Sums())[own] = archive[name]
        except Exception:  # a missing or damaged file, which is made again
            return {}
        what = "data" if rows != self.rows else "settings"
        if what == "data" or not (self.known or other == problem):
            raise CheckpointError(
                f"the checkpoint in {self.directory} is of other {what}: go on with those it was "
                "made with, or give this fit a folder of its own"
            )
        self.known = True
        return answers

    def _write(self, file: Path, problem: str) -> None:
        items = [(key, *one) for key, sums in self.answers.items() for one in sums.items()]
        arrays = {f"{key}|{name}": value for key, name, value in items}
        new = file.with_suffix(f".{os.getpid()}.tmp")
        try:
            new.unlink(missing_ok=True)
            private = partial(os.open, mode=0o600)
            with open(new, "xb", opener=private) as stream:
                np.savez(stream, fit=[self.rows, problem], **arrays)
                os.fsync(stream.fileno())
            new.replace(file)  # as a whole or not at all
        except OSError as error:
            new.unlink(missing_ok=True)
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"no checkpoint can be kept in {self.directory} ({error.strerror}): make room and fit "
            "again to go on from the passes that are there, or give a folder that you can write to"
        )


class _Pickler(pickle.Pickler):
    """Writes what a value is made of, to be hashed and never read."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, FunctionType):
            return NotImplemented
        # Functions of users may have one name and differ in what they do or have around them.
        code, around = value.__code__, [cell.cell_contents for cell in value.__closure__ or ()]
        constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
        return list, ([value.__module__, value.__qualname__, code.co_code, constants, around],)


def digest(value: Any) -> str:
    """Return a fingerprint of a value made of arrays, numbers, texts, containers and settings.

    Examples
    --------
    >>> digest({"A": np.ones(2)}) == digest({"A": np.ones(2)}) != digest({"A": np.ones((2, 1))})
    True
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream, 5)
    pickler.fast = True  # equal values are written alike, whether or not they are one object
    pickler.dump(value)
    return hashlib.sha256(stream.getbuffer()).hexdigest()
