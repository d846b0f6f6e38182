"""How a machine is divided into local ones."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from mercer._params import Params, is_integer
from mercer.data.memory import parse

__all__ = ["Local"]


@dataclass(eq=False)
class Local(Params):
    r"""Divide the rows by a balanced tree, and fit an exact machine in every leaf.

    The tree cuts the feature that the kernel sees furthest apart, at a quantile, until leaves have
    as many rows as one machine should have. Each leaf is the whole machine of its own rows, solved
    and certified as ever; a point is predicted by the leaf that it falls into. A fit costs
    :math:`n\,m^2` operations for n rows in leaves of m, and memory for one leaf a job.

    Parameters
    ----------
    leaf_size : int, default=4000
        Rows of a leaf: at most as many and not less than half of it, but for rows that no feature
        tells apart. Of rows in blocks, beyond 100,000, it is the mean size: leaves are a few per
        cent larger or smaller.
    overlap : float, default=0.0
        Share of the rows on either side of a cut that machines on both sides are fitted to.
    blend : bool, default=False
        Predict points among these rows by both sides, with weights that change linearly, so that
        predictions have no jump at the cut.
    adapt : bool, default=True
        Choose the width of the kernel in each leaf, and C where the loss is squared, by exact
        leave-one-out errors of least squares on a piece of the leaf; leaves are drawn to each
        other, since what suits all rows of a large sample seldom suits a dense part of it. Of more
        than 256 leaves, 256 are looked at, and the others take what most of them take.
    random_state : int, default=0
        Which rows the tree is grown from.
    memory_limit : str, int or float, default="2GB"
        Largest memory of the fit beside what was there before: bytes, a text, or a share of the
        machine's memory. Where fitted leaves would take more than two fifths of it, they are
        written to files: ``leaves_`` then is a sequence that reads them, ``solution_`` has sums but
        no coefficients, and there is no ``support_``.
    folder : str or path, optional
        Where rows and leaves are written, in folders of their own that are removed with the fit and
        with the machine; that of temporary files by default.
    n_jobs : int, optional
        Number of processes that fit leaves, by joblib: one by default, unless
        :func:`joblib.parallel_config` says otherwise. On a cluster its workers do.

    See Also
    --------
    mercer.reduced.Nystrom : one low-rank machine of all rows.

    References
    ----------
    D. Beaglehole, D. Holzmueller, A. Radhakrishnan and M. Belkin, *xRFM: accurate, scalable and
    interpretable feature learning models for tabular data*, 2025; P. Thomann, I. Blaschzyk, M.
    Meister and I. Steinwart, *Spatial decompositions for large scale SVMs*, AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.local import Local
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 2))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    >>> machine = LSSVR(gamma=1.0, approximation=Local(leaf_size=500)).fit(X, y)
    >>> len(machine.leaves_)
    4
    """

    leaf_size: int = 4000
    _: KW_ONLY
    overlap: float = 0.0
    blend: bool = False
    adapt: bool = True
    random_state: int = 0
    memory_limit: str | int | float = "2GB"
    folder: Any = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not (is_integer(self.leaf_size) and int(self.leaf_size) >= 2):
            raise ValueError(f"leaf_size must be a number of rows from 2, got {self.leaf_size!r}.")
        if not 0.0 <= self.overlap <= 0.5:
            raise ValueError(f"overlap must be a share between 0 and 0.5, got {self.overlap!r}.")
        if self.blend and not self.overlap:
            raise ValueError(
                "blend needs rows that both sides of a cut know: give an overlap, such as 0.1."
            )
        parse(self.memory_limit)
        if not (self.n_jobs is None or (is_integer(self.n_jobs) and self.n_jobs != 0)):
            raise ValueError(f"n_jobs must be a number of processes or None, got {self.n_jobs!r}.")
