"""Passes over a source: counted, shown, and kept in a directory so that no pass is repeated."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import PointsLike
from mercer.data.base import Source, Sums, Work
from mercer.data.sampling import FingerprintSample
from mercer.reduced.checkpoint import CheckpointError, load, save

__all__ = ["CheckpointError", "Labels", "Passes", "Record", "RunningVariance"]

# More different labels than this mean that a number was given for a class.
MAX_LABELS = 10_000


@dataclass
class Passes:
    """A source, with all that is known of the passes over it.

    Parameters
    ----------
    source : Source
    rows : int
        Largest number of rows in a block.
    n_jobs : int, optional
        Threads on this machine.
    directory : path, optional
        Where results of passes are kept. They are taken from there, in order, as long as passes ask
        for the same: a fit that was interrupted goes on at the pass it was at, to the same bits.
    bar : callable, optional
        From the name of a pass and the number of rows, or None, to a context whose value is told
        the rows of every block that is done.
    """

    source: Source
    rows: int = 16384
    n_jobs: int | None = None
    directory: Any = None
    bar: Callable[[str, int | None], AbstractContextManager[Any]] | None = None
    room: float = 0.0
    """Bytes in which rows may be held from one pass to the next."""

    low_memory: bool = False
    """Whether there is no room for a second matrix of m by m numbers in double precision."""

    refusal: str = ""
    """What a problem is refused with that cannot do without."""

    identity: str = ""
    """Of the rows: passes over others are not taken for these."""

    count: int = 0
    """Passes so far."""

    read: int = 0
    """Those that were made, not taken from the directory."""

    n: int | None = None
    """Rows there are, known after the first pass."""

    seconds: float = 0.0
    times: dict[str, float] = field(default_factory=dict)
    _shared: tuple[Any, str] = (None, "")

    def __post_init__(self) -> None:
        if self.n is None:
            self.n = self.source.n_rows
        if self.directory is not None:
            self.directory = Path(self.directory)
            try:
                # Sums of rows tell about the rows.
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise CheckpointError(
                    f"no checkpoint can be kept in {self.directory} ({error.strerror}); give a "
                    "folder that you can write to"
                ) from error

    def __call__(
        self, name: str, work: Work, shared: Any = None, state: Any = None, anew: bool = False
    ) -> Any:
        """Return the sum over all rows, made now or kept from before.

        Parameters
        ----------
        name : str
            Shown to whoever watches.
        work, shared, state :
            As in :meth:`Source.total`. If the result is to be kept, it is :class:`Sums`, and state
            is made of arrays, numbers, texts, and lists and dictionaries of these.
        anew : bool, default=False
            Whether the pass is made even if its result was kept.
        """
        number, self.count = self.count, self.count + 1
        key = self._key(name, work, shared, state)
        kept = None if anew else self._kept(number, key)
        if kept is not None:
            return kept
        done = 0

        def make(told: Callable[[int], object]) -> Any:
            def report(n: int) -> None:
                nonlocal done
                done += n
                told(n)

            return self.source.total(
                work, shared, state, rows=self.rows, report=report, n_jobs=self.n_jobs
            )

        result = self._shown(name, make)
        self.n = done or self.n
        if self.directory is not None and isinstance(result, Sums):
            self._keep(number, key, result)
        return result

    def timed(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what a function returns that goes through all rows by itself: a pass as well.

        Parameters
        ----------
        name : str
        make : callable
        """
        self.count += 1

        def told(report: Callable[[int], object]) -> Any:
            result = make()
            report(self.n or 0)
            return result

        return self._shown(name, told)

    def _shown(self, name: str, make: Callable[[Callable[[int], object]], Any]) -> Any:
        """Make a pass, shown to whoever watches, and count its seconds."""
        start = time.perf_counter()
        with nullcontext() if self.bar is None else self.bar(name, self.n) as bar:
            result = make(lambda n: None if bar is None else bar.update(n))
        elapsed = time.perf_counter() - start
        self.read += 1
        self.seconds += elapsed
        self.times[name] = self.times.get(name, 0.0) + elapsed
        return result

    def _key(self, name: str, work: Work, shared: Any, state: Any) -> str:
        """Return the key of a pass: its rows, its function and its state."""
        if self.directory is None:
            return ""
        if shared is not self._shared[0] or not self._shared[1]:
            self._shared = (shared, digest(shared))
        return digest([self.identity, name, work, self._shared[1], state])

    def _file(self, number: int) -> Path:
        return Path(self.directory) / f"pass-{number:05d}.npz"

    def _kept(self, number: int, key: str) -> Sums | None:
        stored = None if self.directory is None else load(self._file(number))
        if stored is None or str(stored.pop("key", "")) != key:
            return None
        try:
            return Sums(_assembled({name[2:]: value for name, value in stored.items()}))
        except (ValueError, KeyError, TypeError, IndexError):
            return None  # made again, and written over

    def _keep(self, number: int, key: str, result: Sums) -> None:
        arrays = {f"s.{k}": v for k, v in _flat(result).items()}
        self._save(number, {"key": np.array(key)} | arrays)

    def _save(self, number: int, arrays: dict[str, Any]) -> None:
        try:
            save(self._file(number), arrays)
        except OSError as error:
            raise CheckpointError(
                f"pass {number} could not be kept in {self.directory} ({error.strerror}); the "
                f"{number} before it are there: make room and fit again to go on from them."
            ) from error


class Record:
    """Answers of blocks that keep state between requests, in the directory of some passes.

    An answer depends on all requests before it, and so does its key. Requests that go through all
    values count as passes: the file of such a pass has its answer, and those to the small requests
    since the pass before it.

    Parameters
    ----------
    passes : Passes
    shared : object
        What is the same in all requests.
    """

    def __init__(self, passes: Passes, shared: Any) -> None:
        self.passes = passes
        self.key = "" if passes.directory is None else digest([passes.identity, shared])
        self.window: dict[str, Sums] = {}
        """Answers that are not in a file yet, or were taken from the next one, by their keys."""
        self.kept: dict[str, Sums] | None = None
        """Answers in the file of the next pass; None before it was read."""

    def __call__(self, name: str, request: Any, make: Callable[[], Sums]) -> tuple[Sums, bool]:
        """Return an answer, and whether it was made now.

        Parameters
        ----------
        name : str
            Of the pass; empty for a request that is none.
        request : object
        make : callable
            Returns the answer.
        """
        passes = self.passes
        if passes.directory is None:
            return passes.timed(name, make) if name else make(), True
        self.key = digest([self.key, request])
        number = passes.count
        if self.kept is None:
            self.kept = _answers(load(passes._file(number)))
        made = self.key not in self.kept
        if made:
            answer = passes.timed(name, make) if name else make()
        else:
            answer = self.kept[self.key]
            passes.count += bool(name)
        self.window[self.key] = answer
        if name:
            if made:
                passes._save(number, _arrays(self.window))
            self.window, self.kept = {}, None
        return answer, made


def _arrays(answers: dict[str, Sums]) -> dict[str, Any]:
    """Return answers by their keys as arrays by name."""
    return {"keys": np.array(list(answers))} | {
        f"{j}|{name}": value
        for j, answer in enumerate(answers.values())
        for name, value in answer.items()
    }


def _answers(stored: dict[str, Any] | None) -> dict[str, Sums]:
    """Undo :func:`_arrays`; nothing of a file that is missing, or that has something else."""
    if stored is None or "keys" not in stored:
        return {}
    answers = {str(key): Sums() for key in np.ravel(stored.pop("keys"))}
    numbered = dict(enumerate(answers.values()))
    try:
        for place, value in stored.items():
            j, _, name = place.partition("|")
            numbered[int(j)][name] = value
    except (ValueError, KeyError):
        return {}
    return answers


def _flat(result: Sums) -> dict[str, Any]:
    """Return sums as arrays by name, those of a sample and of a sparse matrix after its own."""
    arrays: dict[str, Any] = {}
    for name, value in result.items():
        if dataclasses.is_dataclass(value):
            parts = {k: v for k, v in vars(value).items() if v is not None}
            arrays |= {f"{name}.{k}": v for k, v in _flat(Sums(parts)).items()}
        elif sp.issparse(value):
            parts = {k: getattr(value, k) for k in ("data", "indices", "indptr", "shape")}
            arrays |= {f"{name}.{k}": np.asarray(v) for k, v in parts.items()}
        else:
            arrays[name] = value
    return arrays


def _assembled(arrays: dict[str, Any]) -> dict[str, Any]:
    """Undo :func:`_flat`."""
    result = {name: value for name, value in arrays.items() if "." not in name}
    for group in {name.partition(".")[0] for name in arrays if "." in name}:
        rest = {n[len(group) + 1 :]: v for n, v in arrays.items() if n.startswith(f"{group}.")}
        parts = _assembled(rest)
        if "indptr" in parts:
            n, p = (int(k) for k in parts.pop("shape"))
            made = sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=(n, p))
            made.check_format(full_check=True)  # compiled loops trust its indices
            result[group] = made
        elif "counts" in parts:
            result[group] = Labels(**parts)
        elif "square" in parts:
            result[group] = RunningVariance(
                *(float(parts[name]) for name in ("n", "mean", "square"))
            )
        else:
            numbers = {name: int(parts.pop(name)) for name in ("size", "n")}
            result[group] = FingerprintSample(**{"y": None, "s": None} | parts | numbers)
    return result


@dataclass(frozen=True)
class Labels:
    """Labels and how often they occur, in rows and in rows with weight.

    Parameters
    ----------
    values : array
    counts : (k, 2) array
    """

    values: Any
    counts: Any

    def __add__(self, other: Labels) -> Labels:
        values, inverse = np.unique(
            np.concatenate([self.values, other.values]), return_inverse=True
        )
        if len(values) > MAX_LABELS:
            raise ValueError(
                f"more than {MAX_LABELS:,} different classes; for numbers use a machine of "
                "regression."
            )
        counts = np.zeros((len(values), 2), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return Labels(values, counts)


@dataclass(frozen=True)
class RunningVariance:
    """Mean and variance of numbers, gathered without loss of digits.

    Parameters
    ----------
    n : float
        How many there are.
    mean : float
    square : float
        Sum of squared differences from the mean.

    Examples
    --------
    >>> (RunningVariance.of(np.array([1.0, 2.0])) + RunningVariance.of(np.array([3.0]))).variance
    0.6666666666666666
    """

    n: float
    mean: float
    square: float

    @classmethod
    def of(cls, X: PointsLike) -> RunningVariance:
        """Return what is to be said of all entries of an array or sparse matrix."""
        size = float(np.prod(X.shape))
        values = X.data if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        mean = float(values.sum() / size) if size else 0.0
        zeros = size - float(values.size)
        with np.errstate(over="ignore"):
            # Squares that overflow are infinite, which whoever reads the variance refuses.
            square = np.sum((values - mean) ** 2) + zeros * np.square(mean)
        return cls(size, mean, float(square))

    @property
    def variance(self) -> float:
        """Mean squared difference from the mean."""
        return self.square / self.n

    def __add__(self, other: RunningVariance) -> RunningVariance:
        n = self.n + other.n
        step = other.mean - self.mean
        share = other.n / n if n else 0.0
        with np.errstate(over="ignore"):
            between = float(np.square(step)) * self.n * share
        return RunningVariance(n, self.mean + step * share, self.square + other.square + between)


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | np.generic)


def digest(value: Any) -> str:
    """Return a fingerprint of a value made of arrays, numbers, texts, containers and settings.

    Parameters
    ----------
    value : object
        What is not one of these counts as what it would be pickled as.

    Examples
    --------
    >>> digest({"A": np.ones(2)}) == digest({"A": np.ones(2)}) != digest({"A": np.ones((2, 1))})
    True
    """
    h = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype != object:
            h.update(f"{value.dtype}{value.shape}".encode())
            h.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, dict):
            add([part for key in sorted(value, key=repr) for part in (key, value[key])])
        elif isinstance(value, list | tuple | np.ndarray):
            h.update(f"[{len(value)}".encode())
            for item in value:
                add(item)
        elif _plain(value):
            h.update(f"{type(value).__name__} {value!r};".encode())
        elif hasattr(value, "__qualname__"):
            # Functions of users may have one name and differ in what they do or have around them.
            code, around = (getattr(value, k, None) for k in ("__code__", "__closure__"))
            numbers = [] if code is None else [c for c in code.co_consts if _plain(c)]
            add([f"{value.__module__}.{value.__qualname__}", numbers])
            h.update(b"" if code is None else code.co_code)
            add([cell.cell_contents for cell in around or ()])
        else:
            parts = value.__reduce_ex__(4)
            add(parts if isinstance(parts, str) else [*parts[:3]])

    add(value)
    return h.hexdigest()
