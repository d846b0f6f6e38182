"""The first pass: how many rows there are, which classes, and some rows to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import ZERO_WEIGHTS, check_weights
from mercer.data.base import Block, Sums
from mercer.data.sampling import GOLDEN, FingerprintSample, fingerprints, sampled
from mercer.data.table import Table
from mercer.reduced.passes import Labels, Passes, RunningVariance

__all__ = ["Census", "take_census"]

# Seed of the fingerprints that tell rows from others.
MARK = 100


@dataclass(frozen=True)
class Census:
    """Results of the first pass over the rows.

    Parameters
    ----------
    n : int
        Number of rows.
    pool : Sample
        Some of them.
    classes : array or None
        Labels, ascending, if they were asked for.
    counts : array or None
        How many rows have them, and how many of these have weight.
    weight : float
        Sum of the weights.
    variance : float
        Of all entries of the inputs.
    """

    n: int
    pool: FingerprintSample
    classes: Any
    counts: Any
    weight: float
    variance: float


def count(block: Block, shared: tuple[int, int, bool, bool], state: None) -> Sums:
    """Return the census of a block."""
    size, seed, labelled, marked = shared
    s = np.ones(block.n) if block.s is None else check_weights(block.s, block.n, block.start)
    found = Sums(
        n=np.array(block.n),
        weight=np.array(s.sum()),
        pool=sampled(block, size, seed),
        spread=RunningVariance.of(block.X),
    )
    if labelled and block.y is not None:
        values, inverse = np.unique(np.asarray(block.y).reshape(-1), return_inverse=True)
        counts = np.zeros((len(values), 2), dtype=np.int64)
        np.add.at(counts, inverse, np.column_stack([np.ones(block.n), s > 0]).astype(np.int64))
        found["labels"] = Labels(values, counts)
    if marked:
        found["mark"] = mark(block)
    return found


def mark(block: Block) -> Any:
    """Return a digest of the rows that does not depend on their order, of shape (1,)."""
    with np.errstate(over="ignore"):
        rows = fingerprints(block.X, MARK)
        for j, part in enumerate((block.y, block.s)):
            if part is not None:
                values: Any = np.asarray(part).reshape(block.n, -1)
                if values.dtype.kind not in "biuf":
                    values = Table({str(i): v.astype(object) for i, v in enumerate(values.T)})
                # A product with an odd number loses nothing, and tells targets from weights.
                rows = rows * GOLDEN + fingerprints(values, MARK + 1 + j)
        return np.sum(rows * (rows | np.uint64(1)), keepdims=True)


def take_census(passes: Passes, size: int, seed: int, labelled: bool) -> Census:
    """Count the rows of a source, and draw some.

    Parameters
    ----------
    passes : Passes
    size : int
        Number of rows to draw.
    seed : int
    labelled : bool
        Whether targets are classes.
    """
    # Before passes are taken from a directory, the rows are read to see that they are the same.
    marked = passes.checkpoint is not None
    found = passes("count", count, (size, seed, labelled, marked), None, anew=True)
    if passes.checkpoint is not None:
        passes.checkpoint.rows = f"{int(found['n'])} rows {int(found['mark'][0]):016x}"
    labels = found.get("labels")
    if not float(found["weight"]) > 0:
        raise ValueError(ZERO_WEIGHTS)
    return Census(
        int(found["n"]),
        found["pool"],
        None if labels is None else labels.values,
        None if labels is None else labels.counts,
        float(found["weight"]),
        found["spread"].variance,
    )
