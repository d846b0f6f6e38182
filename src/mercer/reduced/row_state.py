r"""What a search over losses with kinks keeps of every row, a block at a time.

Of a row and a problem these are the decision value f, how it changes along a step g, the slope v of
its loss and the slope v0 that the loss is rounded around. A request changes them or asks for sums
over them,

.. math:: F = R A, \qquad R'(c v), \qquad \sum_i d_i\, \phi_i \phi_i', \qquad
          \sum_i c_i\, l_\mu(t_i), \qquad t = f + s g + P b

with R values of the functions of an approximation, which a block keeps if there is room, in float32
where that does, or makes again from its points. Requests are small and so are sums: rows stay where
they are, in this process or on a worker, and a block that was lost is made again by the requests it
had.
"""

from __future__ import annotations

import mmap
import tempfile
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from mercer._native import add_rows, along, fenchel_young, rounded
from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.kernels.points import pieces, take
from mercer.losses.base import QuadraticDualLoss
from mercer.reduced.problem import Problem, Whole, as_rows, columns_of, single_problem

ALL = -1
"""Number of a request that concerns all problems."""

# Features of so many rows are made at once.
FEATURE_ROWS = 4096

# Part of the rows up to which sums over rows that changed are cheaper than those over all.
CHANGED_SHARE = 0.25

# Difference of two weights, in units of the larger, up to which they are the same.
SAME_WEIGHT = 1e-6

# Bytes of a temporary file of what rows keep: a file takes a descriptor of the process.
FILE_BYTES = 2**28

# Part of its weight that a row counts for at least, in the sizes that residuals are compared with.
MIN_SIZE_SHARE = 1e-6


@dataclass(frozen=True)
class Request:
    """Asks a problem for sums over its rows, after changes that were decided meanwhile.

    Parameters
    ----------
    keep : bool
        Take the slopes for the best so far.
    recentre : bool
        Round losses around the slopes from now on.
    advance : float
        Length of the step that is made.
    """

    keep: bool = field(default=False, kw_only=True)
    recentre: bool = field(default=False, kw_only=True)
    advance: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class Values(Request):
    """Computes values ``R A`` at all rows: those of the function, or along a step."""

    A: Array
    step: bool = False


@dataclass(frozen=True)
class Look(Request):
    """Asks for rounded losses, their slopes and curvatures in b and, if wanted, along the step."""

    b: Array
    mu: float
    s: float = 0.0
    along: bool = False


@dataclass(frozen=True)
class Balance(Request):
    """Changes slopes of curved rows by what they have of ``P y``, and asks for the residual."""

    b: Array
    mu: float
    y: Array


@dataclass(frozen=True)
class Slopes(Request):
    """Asks for ``R'(c v)``, for losses and conjugates, and how many curvatures have changed."""

    b: Array
    mu: float


@dataclass(frozen=True)
class Curvature(Request):
    """Asks for products of features, with each other and with free columns, over curved rows.

    With a ratio other than zero it asks for what they differ by from those of the last time, times
    this ratio: most rows that are curved stay so, and weigh as much in units of 1 / mu.
    """

    b: Array
    mu: float
    ratio: float = 0.0


@dataclass(frozen=True)
class Certify(Request):
    """Asks in float64 for what makes value and gap: at coefficients, for the best slopes."""

    A: Array
    b: Array


@dataclass(frozen=True)
class Refine:
    """Has values in float64 from now on."""


@dataclass(frozen=True)
class Pick:
    """Asks for the best slopes of all problems at some rows."""

    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Again:
    """Repeats requests whose sums are known, so that rows have the state they had after them."""

    requests: tuple[dict[int, Any], ...]


@dataclass(frozen=True)
class Held:
    """What blocks keep, the same for all of them.

    Parameters
    ----------
    problem : Problem
    single : bool
        Whether values are in float32 at first.
    values : pair of bool
        Whether values are kept in float64, and in float32.
    points : bool
        Whether points are kept where values are not.
    feature_bytes : float
        Of a row, on average, in which features may be kept.
    in_files : bool
        Whether the numbers of every row are kept in temporary files, which are mapped into memory.
    """

    problem: Problem
    single: bool
    values: tuple[bool, bool]
    points: bool
    feature_bytes: float = 0.0
    in_files: bool = False

    def __getstate__(self) -> dict[str, Any]:
        # Rows make features, wherever they are.
        return vars(self) | {"problem": Whole(self.problem)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"problem": state["problem"].problem})

    def reads(self, single: bool) -> bool:
        """Answer whether rows are read again wherever values are needed."""
        return not (self.values[single] or self.points)


@lru_cache(maxsize=64)
def _constant(value: float, n: int) -> Array:
    """Return n equal numbers: blocks have them in common."""
    return np.full(n, value)


def _compact(values: Array, place: Callable[[Array], Array]) -> Array:
    """Return an array where it is to be, the one that all blocks share if its numbers are equal."""
    values = np.ascontiguousarray(values)
    same = len(values) > 0 and values[0] == values[-1] and bool(np.all(values == values[0]))
    return _constant(float(values[0]), len(values)) if same else place(values)


class _TemporaryFiles:
    """Arrays in files without names, mapped into memory: a file goes with its last array."""

    def __init__(self) -> None:
        self.lock, self.used = threading.Lock(), 0
        self.last: Callable[[], mmap.mmap | None] = lambda: None
        self.files: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def __call__(self, values: Array) -> Array:
        """Return a copy of an array that memory need not hold."""
        size = max(1, values.nbytes)
        with self.lock:
            file = self.last()
            if file is None or self.used + size > len(file):
                with tempfile.TemporaryFile() as new:
                    new.truncate(max(size, FILE_BYTES))
                    file = mmap.mmap(new.fileno(), max(size, FILE_BYTES))
                self.last, self.used = weakref.ref(file), 0
                self.files.add(file)
            start, self.used = self.used, self.used + -(-size // 64) * 64
        placed = np.frombuffer(file, values.dtype, values.size, start).reshape(values.shape)
        placed[...] = values
        return placed

    def release(self) -> None:
        """Give memory back: the system reads again what is used again."""
        with self.lock:
            for file in self.files:
                if hasattr(mmap, "MADV_DONTNEED"):
                    file.madvise(mmap.MADV_DONTNEED)


in_file = _TemporaryFiles()


class ProblemRows:
    """What one problem keeps of the rows of a block.

    Parameters
    ----------
    c : (N,) array
        Weights; rows are counted as often as they are seen.
    terms : tuple of six arrays of shape (N,)
        Slopes of the conjugate above and below zero, its curvatures there, and the smallest and the
        largest slope of the loss.
    P : (N, q) array
        Unpenalized columns.
    place : callable
        From an array to the same where it is to be kept.
    """

    def __init__(
        self, c: Array, terms: tuple[Array, ...], P: Array, place: Callable[[Array], Array]
    ) -> None:
        self.place, self.P = place, P
        self.c, *self.terms = (_compact(values, place) for values in (c, *terms))
        self.constant = P.shape[1] == 1 and bool(np.all(P == 1.0))
        """Whether the only unpenalized function is the constant, whose sums loops make."""
        above, below, _, _, low, high = self.terms
        self.f, self.g = (place(np.zeros(len(c))) for _ in range(2))
        # Slopes before any are known: of no loss, or halfway at a kink.
        with np.errstate(invalid="ignore"):  # slopes without an end have no middle
            middle = np.where(np.isfinite(high - low), 0.5 * (low + high), 0.0)
        v0 = np.where(above > below, 0.0, middle)
        self.v0, self.v, self.best = (place(v0.copy()) for _ in range(3))
        self.known: tuple[Array, Array] | None = None
        """Weighted slopes whose sum over raw functions is known, and that sum."""
        self.weights, self.mu = place(np.zeros(len(c), dtype=np.float32)), 0.0
        """Weights of the last curvature, and the width then."""

    def remember(self, u: Array, total: Array) -> None:
        """Keep weighted slopes whose sum over raw functions is known, and that sum."""
        if self.known is None:
            self.known = self.place(u), total
        else:
            self.known[0][:] = u
            self.known = self.known[0], total

    def change(self, one: Request) -> None:
        """Do what was decided since the last request."""
        if one.keep:
            self.best[:] = self.v
        if one.recentre:
            self.v0[:] = self.v
        if one.advance:
            self.f += one.advance * self.g

    def at(self, b: Array, s: float = 0.0) -> Array:
        """Return decision values t."""
        t = s * self.g + self.f if s else self.f.copy()
        if self.constant:
            t += b[0]
        elif len(b):
            t += self.P @ b
        return t

    def round(self, t: Array, mu: float, v: Array) -> tuple[Array, tuple[float, ...]]:
        """Return weighted curvatures and sums; write slopes."""
        bent = np.empty(len(t))
        sums = rounded(t, self.v0, mu, self.c, *self.terms, v, bent)
        return bent, sums

    def look(self, one: Look) -> Sums:
        t = self.at(one.b, one.s)
        bent, (value, slopes, sizes, curvatures, active) = self.round(t, one.mu, self.v)
        if self.constant:
            found = Sums(free=np.array([slopes]), size=np.array([sizes]))
            found["S"] = np.array([[curvatures]])
        else:
            found = self.residual(self.c * self.v)
            found["S"] = (self.P * bent[:, None]).T @ self.P
        found |= {"value": value, "active": float(active)}
        if one.along:
            found["gu"], found["gg"], curvatures = along(self.g, self.c, self.v, bent)
            found["gP"] = np.array([curvatures]) if self.constant else self.P.T @ (bent * self.g)
        return found

    def residual(self, u: Array) -> Sums:
        """Return sums of weighted slopes over unpenalized columns, and their sizes."""
        return Sums(free=self.P.T @ u, size=np.abs(self.P).T @ np.abs(u))

    def balance(self, one: Balance) -> Sums:
        bent, _ = self.round(self.at(one.b), one.mu, np.empty(len(self.v)))
        rows = np.flatnonzero(bent)
        low, high = self.terms[4:]
        moved = self.v[rows] - bent[rows] / self.c[rows] * (self.P[rows] @ one.y)
        self.v[rows] = np.clip(moved, low[rows], high[rows])
        return self.residual(self.c * self.v)

    def losses(self, one: Slopes) -> Sums:
        t = self.at(one.b)
        names = ("loss", "conjugate", "young")
        found = Sums(zip(names, fenchel_young(t, self.v, self.c, *self.terms), strict=True))
        bent, _ = self.round(t, one.mu, np.empty(len(t)))
        found["changed"] = float(len(self.differences(bent, self.mu / one.mu)[0]))
        return found

    def differences(self, bent: Array, ratio: float) -> tuple[NDArray[np.intp], Array]:
        """Return rows whose curvature is not the last one times a ratio, and the differences."""
        each = bent - ratio * self.weights
        rows = np.flatnonzero(np.abs(each) > SAME_WEIGHT * bent)
        return rows, each[rows]


class BlockRows:
    """Rows of a block, with what all problems keep of them.

    Parameters
    ----------
    block : Block
    held : Held
    """

    def __init__(self, block: Block, held: Held) -> None:
        problem = self.problem = held.problem
        X, Y, s, P, loss = problem.admit(block)
        self.start, self.n, self.views = block.start, block.n, problem.views
        self.single, self.values = held.single, held.values
        self.points = X if held.points else None
        self.R: Any = None
        c = np.broadcast_to(s * problem.C, Y.shape)
        place = in_file if held.in_files else np.asarray
        self.own, P = [], place(P)
        for j in range(problem.k):
            one = single_problem(columns_of(loss, np.array([j])))
            assert isinstance(one, QuadraticDualLoss)
            t = one.dual_terms(Y[:, j], np.ones(len(Y)))
            # Coefficients are slopes of the other sign.
            terms = (-t.p_neg, -t.p_pos, t.q_neg, t.q_pos, -t.upper, -t.lower)
            self.own.append(ProblemRows(c[:, j], terms, P, place))
        self.room = int(held.feature_bytes * self.n)
        self._forget_features()

    def _forget_features(self) -> None:
        self.where = np.full(self.n, -1, dtype=np.int32)
        self.kept = np.empty((0, self.problem.map.r), dtype=self.dtype)
        self.used = 0

    @property
    def state_bytes(self) -> float:
        """Bytes that rows take beside points, values and features."""
        own = self.own[0]
        # Weighted slopes whose sum is known come later.
        arrays = [own.f, own.f, own.g, own.v0, own.v, own.best]
        shared = own.c, *own.terms
        arrays += [one for one in shared if one is not _constant(float(one[0]), len(one))]
        arrays.append(own.weights)
        return float(len(self.own) * sum(one.nbytes for one in arrays) + own.P.nbytes)

    @property
    def dtype(self) -> Any:
        """Precision of values and features."""
        return np.float32 if self.single else np.float64

    def answer(self, block: Block | None, asked: dict[int, Any], again: bool = False) -> Sums:
        """Return the sums that problems ask for, by ``"number:name"``.

        What is asked again leaves out products of features, which rows do not keep.
        """
        common = asked.get(ALL)
        found = Sums()
        requests = {j: one for j, one in asked.items() if j != ALL}
        for j, one in requests.items():
            self.own[j].change(one)
        if isinstance(common, Refine):
            self._refine()
            found[f"{ALL}:float64"] = 1.0
        elif isinstance(common, Pick):
            found[f"{ALL}:v"] = self._pick(common.rows)
        X = self.points if self.points is not None else None if block is None else as_rows(block)
        parts = self._certified(X, requests)
        parts |= self._products(X, requests)
        for j, one in requests.items():
            if isinstance(one, Look):
                parts[j] = self.own[j].look(one)
            elif isinstance(one, Balance):
                parts[j] = self.own[j].balance(one)
            elif isinstance(one, Curvature):
                parts[j] = self._curvature(X, self.own[j], one, again)
        for j, sums in parts.items():
            found |= {f"{j}:{name}": value for name, value in sums.items()}
        return found

    def _refine(self) -> None:
        self.single, self.R = False, None
        self._forget_features()
        for own in self.own:
            own.known, own.mu = None, 0.0
            own.weights[:] = 0.0

    def _pick(self, rows: NDArray[np.int64]) -> Array:
        """Return the best slopes (k, len(rows), views), zero at rows of other blocks."""
        found = np.zeros((len(self.own), len(rows), self.views))
        mine = np.flatnonzero((rows >= self.start) & (rows < self.start + self.n))
        for j, own in enumerate(self.own):
            found[j, mine] = own.best.reshape(self.n, self.views)[rows[mine] - self.start]
        return found

    # Values ---------------------------------------------------------------------------------------

    def _raw(self, X: Any, rows: NDArray[np.intp]) -> Array:
        """Return values at some rows, (n, m)."""
        if self.R is not None:
            return np.asarray(self.R[rows])
        return np.asarray(self.problem.map.raw(take(X, rows), self.single))

    def _products(self, X: Any, asked: dict[int, Any]) -> dict[int, Sums]:
        """Answer requests for values and slopes, with all values read or made once."""
        found: dict[int, Sums] = {}
        ahead = {j: one for j, one in asked.items() if isinstance(one, Values)}
        whole: dict[int, Array] = {}
        if self.values[self.single] and self.R is None and X is not None:
            self.R = np.asarray(self.problem.map.raw(X, self.single))
        for j, one in asked.items():
            if not isinstance(one, Slopes):
                continue
            own = self.own[j]
            found[j] = own.losses(one)
            u = (own.c * own.v).reshape(self.n, self.views).sum(axis=1)
            if own.known is not None:
                changed = np.flatnonzero(u != own.known[0])
                if len(changed) <= CHANGED_SHARE * self.n:
                    self._add(X, changed, u[changed] - own.known[0][changed], own.known[1])
                    own.remember(u, own.known[1])
                    found[j]["raw"] = own.known[1].copy()
                    continue
            whole[j] = u
        if not (ahead or whole):
            return found
        none = np.zeros((self.problem.map.m, 0))
        A = np.stack([one.A for one in ahead.values()], axis=1) if ahead else none
        U = np.stack(list(whole.values()), axis=1) if whole else np.zeros((self.n, 0))
        F, raw = self._swept(X, A, U)
        for column, (j, one) in zip(F.T, ahead.items(), strict=True):
            own = self.own[j]
            values = own.g if one.step else own.f
            values[:] = np.repeat(column, self.views)
            found[j] = Sums(columns=own.c @ np.square(own.P))
        for total, (j, u) in zip(raw.T, whole.items(), strict=True):
            self.own[j].remember(u, total.copy())
            found[j]["raw"] = total.copy()
        return found

    def _swept(self, X: Any, A: Array, U: Array) -> tuple[Array, Array]:
        """Return ``R A`` (n, j) and ``R' U`` (m, h)."""
        if self.R is not None:
            R = self.R
            F = _times(R, np.ascontiguousarray(A, dtype=self.dtype))
            raw = _times(R.T, U.astype(self.dtype))
            return np.asarray(F, dtype=np.float64), np.asarray(raw, dtype=np.float64)
        F = np.empty((self.n, A.shape[1]))

        def slopes(f: Array, part: slice, R: Any) -> Array:
            F[part] = f
            return U[part]

        return F, self.problem.map.sweep(X, A, slopes, self.single)

    def _add(self, X: Any, rows: NDArray[np.intp], weights: Array, total: Array) -> None:
        """Add values of some rows, ascending, times weights, to a sum (m,) in float64."""
        if self.R is not None:
            flat = self.R.reshape(-1)
            add_rows(total, flat, rows * self.R.shape[1], weights)
            return
        for part in pieces(0, len(rows), FEATURE_ROWS):
            R = self._raw(X, rows[part])
            total += np.asarray(weights[part].astype(R.dtype) @ R, dtype=np.float64)

    def _certified(self, X: Any, asked: dict[int, Any]) -> dict[int, Sums]:
        """Answer requests for certificates, with values in float64."""
        some = {j: one for j, one in asked.items() if isinstance(one, Certify)}
        if not some:
            return {}
        A = np.stack([one.A for one in some.values()], axis=1)
        G = np.stack([self.own[j].c * self.own[j].best for j in some], axis=1)
        seen = G.reshape(self.n, self.views, -1).sum(axis=1)
        if self.R is not None and not self.single:
            F, raw = self._swept(X, A, seen)
        else:
            F = np.empty((self.n, A.shape[1]))

            def slopes(f: Array, part: slice, R: Any) -> Array:
                F[part] = f
                return np.asarray(seen[part])

            raw = self.problem.map.sweep(X, A, slopes)
        found = {}
        for column, (j, one) in enumerate(some.items()):
            own = self.own[j]
            t = np.repeat(F[:, column], self.views) + own.P @ one.b
            loss, _, young = fenchel_young(t, own.best, own.c, *own.terms)
            size = np.maximum(np.abs(G[:, column]), MIN_SIZE_SHARE * own.c)
            found[j] = Sums(
                raw=raw[:, column].copy(),
                free=own.P.T @ G[:, column],
                size=np.abs(own.P).T @ size,
                loss=float(loss),
                young=float(young),
            )
        return found

    # Features -------------------------------------------------------------------------------------

    def _curvature(self, X: Any, own: ProblemRows, one: Curvature, again: bool) -> Sums:
        """Return sums of products of features over curved rows, in the lower triangle."""
        r, q = self.problem.map.r, own.P.shape[1]
        bent, _ = own.round(own.at(one.b), one.mu, np.empty(len(own.v)))
        rows, weights = own.differences(bent, one.ratio)
        own.weights[:], own.mu = bent, one.mu
        columns = weights[:, None] * own.P[rows]
        if self.views > 1:
            rows, place = np.unique(rows // self.views, return_inverse=True)
            weights = np.asarray(np.bincount(place, weights), dtype=float)
            columns = np.stack([np.bincount(place, column) for column in columns.T], axis=1)
        self._prepare(X, rows)
        if again:
            return Sums()
        H: Any = np.zeros((r, r), dtype=self.dtype, order="F")
        h = np.zeros((r, q))
        for sign in (1.0, -1.0):
            mine = np.flatnonzero(sign * weights > 0.0)
            roots = np.sqrt(sign * weights[mine]).astype(self.dtype)[:, None]
            for piece in pieces(0, len(mine), FEATURE_ROWS):
                Z = self._features(X, rows[mine[piece]])
                h += np.asarray(Z.T @ columns[mine[piece]].astype(self.dtype), dtype=np.float64)
                H = self._add_products(sign, Z * roots[piece], H)
        return Sums(H=H, h=h)

    def _add_products(self, sign: float, Z: Array, H: Any) -> Any:
        add = ssyrk if self.single else dsyrk
        return add(sign, Z.T, lower=1, beta=1.0, c=H, overwrite_c=1)

    def _prepare(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Make features of some rows, ascending, and keep them while there is room."""
        phi = self.problem.map
        new = rows[self.where[rows] < 0]
        new = new[: max(0, self.room // (np.dtype(self.dtype).itemsize * phi.r) - self.used)]
        if not len(new):
            return
        if self.used + len(new) > len(self.kept):
            size = max(self.used + len(new), int(1.5 * len(self.kept)))
            grown = np.empty((min(size, self.n), phi.r), dtype=self.dtype)
            grown[: self.used] = self.kept[: self.used]
            self.kept = grown
        for piece in pieces(0, len(new), FEATURE_ROWS):
            place = slice(self.used + piece.start, self.used + piece.stop)
            self.kept[place] = phi.features(self._raw(X, new[piece]), self.single)
        self.where[new] = self.used + np.arange(len(new))
        self.used += len(new)

    def _features(self, X: Any, rows: NDArray[np.intp]) -> Array:
        """Return features of some rows, ascending, (n, r)."""
        where = self.where[rows]
        missing = np.flatnonzero(where < 0)
        if not len(missing):
            return np.asarray(self.kept[where])
        found: Any = np.empty((len(rows), self.problem.map.r), dtype=self.dtype)
        found[where >= 0] = self.kept[where[where >= 0]]
        found[missing] = self.problem.map.features(self._raw(X, rows[missing]), self.single)
        return np.asarray(found)


def _times(R: Any, A: Any) -> Array:
    """Return a product, by the faster routine for a matrix and a vector where A is a column."""
    product: Array = (R @ A[:, 0])[:, None] if A.shape[1] == 1 else R @ A
    return product


def answer(
    block: Block | None, held: Held, asked: dict[int, Any] | Again, kept: BlockRows | None
) -> tuple[Sums, BlockRows]:
    """Answer what searches ask of a block, and return what it keeps for the next requests."""
    rows = kept
    if rows is None:
        assert block is not None  # the first request reads
        rows = BlockRows(block, held)
    sums = Sums()
    if isinstance(asked, Again):
        for one in asked.requests:
            rows.answer(block, one, again=True)
    else:
        sums = rows.answer(block, asked)
    if held.in_files:
        in_file.release()
    return sums, rows
