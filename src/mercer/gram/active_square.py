"""The kernel values of active samples among each other, on which pairs of coefficients step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._native import mirror_rows
from mercer._threads import map_blocks
from mercer._typing import AnyArray
from mercer.gram.row_store import RowStore
from mercer.kernels.packed_tiles import TILE_ROWS, PackedPoints
from mercer.kernels.points import row_slices

# Slots that belong to one group of samples: the columns of a tile in float32.
PANEL_SLOTS = 32
# Rows of the square at the beginning; then twice as many whenever there is no room left.
FIRST_ROWS = 2048
# Rows whose addresses differ by a multiple of so many values share their places in the cache.
CACHE_VALUES = 2048
# If fewer than this part of the active samples is wanted, the others leave.
WANTED_PART = 0.6
# Slots whose rows are mirrored by one thread at a time.
MIRRORED_SLOTS = 256
# What 16 bits make of a kernel value of one.
WHOLE = 65535.0


class ActiveSquare:
    """Rows and columns of a kernel matrix for samples that come and go, each with a slot.

    Values between 0 and 1 take 16 bits. A sample that is no longer wanted stays until another one
    needs its slot, so that it need not be computed again if it comes back.

    Parameters
    ----------
    points : PackedPoints
        In float32.
    back : (n,) array of int
        The point of each sample.
    group : (n,) array of int
        The group of each sample, from 0 on.
    n_groups : int
    max_rows : int
        Slots that there may be.

    Attributes
    ----------
    samples : (m,) array of int
        The sample of each slot; -1 for none.
    slot : (n,) array of int
        The slot of each sample; -1 for none.
    evaluations : int
        Kernel values computed so far.

    Examples
    --------
    >>> points = PackedPoints(np.array([[0.0, 1.0]], np.float32), np.array([0, 0.5], np.float32), 0)
    >>> square = ActiveSquare(points, np.arange(2), np.zeros(2, int), 1, 64)
    >>> square.admit(np.array([1, 0]))
    >>> (square.values()[:2, :2] / WHOLE).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    def __init__(
        self,
        points: PackedPoints,
        back: NDArray[np.intp],
        group: NDArray[np.intp],
        n_groups: int,
        max_rows: int,
    ) -> None:
        self.points, self.back, self.group, self.n_groups = points, back, group, n_groups
        panels = max(n_groups + 1, max_rows // PANEL_SLOTS)
        self.max_rows = panels * PANEL_SLOTS
        self.slot = np.full(len(back), -1)
        self.evaluations = 0
        # Points of the slots in groups of columns: memory is taken when it is written to.
        self._columns = np.zeros((panels, (points.n_features + 1) * PANEL_SLOTS), np.float32)
        self._dtype = np.dtype(np.uint16 if points.is_bounded else np.float32)
        self._square: AnyArray = np.empty((0, 0), self._dtype)
        self._clear()

    @property
    def is_short(self) -> bool:
        """Whether values take 16 bits."""
        return self._dtype == np.uint16

    @property
    def room(self) -> int:
        """Samples that can be admitted at once: of each group a panel may not be full."""
        return self.max_rows - self.n_groups * PANEL_SLOTS

    def _clear(self) -> None:
        self.slot[:] = -1
        self.samples = np.empty(0, dtype=np.intp)
        self._owner = np.empty(0, dtype=np.intp)  # the group of each panel

    def values(self) -> AnyArray:
        """Return the kernel values of the slots; what no sample has is any number."""
        m = len(self.samples)
        return self._square[:m, :m]

    def exact(self, points: NDArray[np.intp]) -> AnyArray:
        """Return the kernel values of some points among each other in float32."""
        out = np.empty((len(points), len(points)), np.float32)
        rows, columns = (self.points.groups(points, k) for k in (TILE_ROWS, self.points.width))
        self.points.fill_blocks(rows, columns, np.arange(len(points)), out)
        return out

    def runs(self) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """Return where the runs of slots of each group end, and the runs: first and last slots."""
        order = np.argsort(self._owner, kind="stable")
        owner = self._owner[order]
        ends = np.searchsorted(owner, np.arange(self.n_groups), side="right")
        # Neighbouring panels of a group are one run.
        breaks = np.flatnonzero((np.diff(order) != 1) | (np.diff(owner) != 0)) + 1
        first = np.concatenate([[0], breaks]).astype(np.intp)
        last = np.append(breaks, len(order)).astype(np.intp)
        runs = np.stack([order[first], order[last - 1] + 1], axis=1) * PANEL_SLOTS
        return np.searchsorted(last, ends, side="right"), runs.astype(np.uint64)

    def admit(self, wanted: NDArray[np.intp], rows: RowStore | None = None) -> None:
        """Give slots to samples, and compute their kernel values with all others there.

        Parameters
        ----------
        wanted : array of int
            At most :attr:`room` samples.
        rows : RowStore, optional
            Rows that need not be computed again.
        """
        if len(wanted) < WANTED_PART * np.count_nonzero(self.samples >= 0):
            self._clear()
        entering = wanted[self.slot[wanted] < 0]
        if not len(entering):
            return
        places = self._places(entering, wanted)
        if places is None:
            self._clear()
            entering = wanted
            places = self._places(entering, wanted)
            assert places is not None
        leaving = self.samples[places]
        self.slot[leaving[leaving >= 0]] = -1
        self.samples[places], self.slot[entering] = entering, places
        self._grow()
        self._fill(entering, places, rows)
        self._mirror(places)

    def _places(
        self, entering: NDArray[np.intp], wanted: NDArray[np.intp]
    ) -> NDArray[np.intp] | None:
        """Return slots for samples, new ones if need be; None if there are not so many."""
        stays = np.zeros(len(self.samples), dtype=bool)
        inside = self.slot[wanted]
        stays[inside[inside >= 0]] = True
        places = np.empty(len(entering), dtype=np.intp)
        group = self.group[entering]
        for g in range(self.n_groups):
            need = np.flatnonzero(group == g)
            own = np.repeat(self._owner == g, PANEL_SLOTS)
            empty = np.flatnonzero(own & (self.samples[: len(own)] < 0))
            stale = np.flatnonzero(own & (self.samples[: len(own)] >= 0) & ~stays[: len(own)])
            free = np.concatenate([empty, stale])[: len(need)]
            panels = -(-(len(need) - len(free)) // PANEL_SLOTS)
            if panels:
                before = len(self.samples)
                if before + panels * PANEL_SLOTS > self.max_rows:
                    return None
                fresh = np.arange(before, before + panels * PANEL_SLOTS)
                free = np.concatenate([free, fresh])[: len(need)]
                self.samples = np.concatenate([self.samples, np.full(len(fresh), -1)])
                stays = np.concatenate([stays, np.zeros(len(fresh), dtype=bool)])
                self._owner = np.concatenate([self._owner, np.full(panels, g)])
            places[need] = free
        return places

    def _grow(self) -> None:
        m, old = len(self.samples), len(self._square)
        if m <= old:
            return
        rows = min(max(2 * old, -(-m // FIRST_ROWS) * FIRST_ROWS), self.max_rows)
        rows += 0 if rows % CACHE_VALUES else PANEL_SLOTS
        square = np.empty((rows, rows), self._dtype)
        square[:old, :old] = self._square
        self._square = square

    def _fill(
        self, entering: NDArray[np.intp], places: NDArray[np.intp], rows: RowStore | None
    ) -> None:
        points, m = self.back[entering], len(self.samples)
        p = self.points.n_features
        grouped = self._columns.reshape(len(self._columns), p + 1, PANEL_SLOTS)
        panel, lane = np.divmod(places, PANEL_SLOTS)
        grouped[panel, :p, lane] = self.points.columns[:, points].T
        grouped[panel, p, lane] = self.points.half[points]
        out = self._square[:, :m]
        known = np.zeros(len(points), dtype=bool)
        if rows is not None:
            known = rows.has(points)
            columns = self.back[self.samples]
            for k in np.flatnonzero(known):
                values = rows.row(points[k])[columns]
                if self._dtype == np.uint16:
                    values = np.minimum(values, np.float32(1.0)) * np.float32(WHOLE)
                    values += np.float32(0.5)
                out[places[k]] = values
        new = np.flatnonzero(~known)
        if len(new):
            packed = self.points.groups(points[new], TILE_ROWS)
            panels = self._columns[: m // PANEL_SLOTS]
            self.points.fill_blocks(packed, panels, places[new], out)
        self.evaluations += len(new) * m

    def _mirror(self, places: NDArray[np.intp]) -> None:
        """Copy new rows to their columns."""
        among = np.zeros(len(self._square), dtype=bool)
        among[places] = True
        m = len(self.samples)

        def blockwise(part: slice) -> None:
            mirror_rows(self._square, places, among, part.start, part.stop)

        if len(places) < m:
            map_blocks(blockwise, row_slices(m, 1, MIRRORED_SLOTS))
