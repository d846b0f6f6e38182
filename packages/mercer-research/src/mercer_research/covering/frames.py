"""A sample measured in orthonormal directions of feature space, by passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mercer._params import check_integer, check_positive
from mercer._typing import PointsLike
from mercer.data.base import Block, Source, Sums
from mercer.data.opening import as_source
from mercer.data.sampling import draw
from mercer.inspect.bands import check_stationary
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.reduced.base import FeatureMap
from mercer.reduced.centres import choose
from mercer.reduced.nystrom import NystromMap
from mercer.risk_bounds import Assumption
from mercer_research.covering.spectra import Spectrum

ROWS = 4096
"""Rows of a block: with 256 directions it takes 8 MB, and a handful of blocks are held at once."""

POOL = 20
"""Rows drawn for every direction, of which the pivots are chosen."""


@dataclass(frozen=True, eq=False)
class MeasuredFrame:
    r"""How far a sample reaches in each of k orthonormal directions, and beyond them.

    With the coordinates :math:`z_{si} = \langle e_i, \Phi(x_s)\rangle` of the sample in directions
    :math:`e_1, \dots, e_k` and what they leave,
    :math:`q_{st}^2 = k(x_s, x_s) - \sum_{i \le t} z_{si}^2`,

    .. math:: c_i = \max_s |z_{si}|, \qquad
              \rho_t^2 = \max_s \sum_{i \le t} z_{si}^2 / c_i^2, \qquad
              \tau_t = \max_s q_{st} .

    Any orthonormal directions are allowed, and bad ones only make bounds loose, provided that
    coordinates and what they leave are computed from the same directions. Every number here is a
    sum or a maximum over rows, so that rows can come in blocks.

    Parameters
    ----------
    axes : (k,) array
        The :math:`c_i`.
    rest : (k + 1,) array
        The :math:`\tau_t`, from t = 0, where it is the largest norm of a point.
    spread : (k + 1,) array
        The :math:`\rho_t`, from t = 0, where it is 0.
    outer_spread : (k + 1,) array
        The largest :math:`(\sum_{i \le t} z_{si}^2/r_i^2 + q_{st}^2/\tau_t^2)^{1/2}` with
        :math:`r_i = \max(c_i, \tau_t)`.
    mean_squares : (k,) array
        Means of :math:`z_{si}^2` over the sample, and
    mean_norm : float
        the mean of k(x, x).
    n_samples : int
    data_dependent : bool
    assumptions : tuple of Assumption

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 8.4, where maxima along the axes are
    taken for an ellipsoid: they are a box, and :math:`\rho` is what is missing.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> frame = MeasuredFrame.from_data(Gaussian(), X, n_directions=20)
    >>> frame.axes[:4].round(2), frame.rest[[0, 5, 10, 20]].round(3)
    (array([0.97, 0.68, 0.67, 0.43]), array([1.   , 0.363, 0.166, 0.021]))
    """

    axes: Array
    rest: Array
    spread: Array
    outer_spread: Array
    mean_squares: Array
    mean_norm: float
    n_samples: int
    data_dependent: bool = True
    assumptions: tuple[Assumption, ...] = ()

    @property
    def size(self) -> float:
        """The largest norm of a point in feature space."""
        return float(self.rest[0])

    @classmethod
    def from_gram(cls, K: Array) -> MeasuredFrame:
        """Measure the principal directions of a sample, by its whole kernel matrix.

        Parameters
        ----------
        K : (n, n) array
        """
        K = np.asarray(K, dtype=float)
        values, U = np.linalg.eigh(0.5 * (K + K.T))
        values, U = np.maximum(values[::-1], 0.0), U[:, ::-1]
        kept = values > len(K) * np.finfo(float).eps * values[0]
        Z = U[:, kept] * np.sqrt(values[kept])
        reach = _reach(Z, np.diagonal(K))
        return _assemble(reach, _widths(Z, np.diagonal(K), _radii(reach)), values[kept])

    @classmethod
    def from_data(
        cls,
        kernel: Kernel,
        X: PointsLike,
        n_directions: int = 256,
        *,
        centres: Any = "pivoted",
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> MeasuredFrame:
        """Measure directions spanned by the kernel at some rows, by four passes over all rows.

        Rows are drawn, some of them become centres (Nystrom), and the directions are principal
        directions of all rows within the span of the kernel at the centres. Memory does not grow
        with the number of rows.

        Parameters
        ----------
        kernel : Kernel
        X : (n, p) array, Source, or anything that :func:`mercer.data.as_source` takes
        n_directions : int, default=256
            The most directions.
        centres : str or (m, p) points, default="pivoted"
            How centres are chosen among the rows drawn: "pivoted" takes those that the others
            leave most of, which makes the largest remainder small; "uniform", "rpcholesky",
            "leverage" and "kmeans" as in :class:`mercer.reduced.Nystrom`.
        n_jobs : int, optional
            Threads, those of the machine by default; each holds a block.
        random_state : int, default=0
        """
        check_integer("n_directions", n_directions, 1)
        source = as_source(X)
        pool = draw(source, POOL * n_directions, random_state, n_jobs=n_jobs)
        chosen = choose(centres, kernel, pool, n_directions, seed=random_state)
        phi = NystromMap(kernel, chosen.Z, chosen.index)
        how: dict[str, Any] = {"rows": ROWS, "n_jobs": n_jobs}
        moments = source.total(_moments, (kernel, phi), **how)
        values, V = np.linalg.eigh(moments["squares"] / moments["weight"])
        V = np.ascontiguousarray(V[:, ::-1])
        reach = source.total(_block_reach, (kernel, phi), V, **how)
        widths = source.total(_block_widths, (kernel, phi), (V, _radii(reach)), **how)
        frame = _assemble(reach, widths, np.maximum(values[::-1], 0.0) * reach.n)
        return replace(frame, mean_norm=float(moments["trace"] / moments["weight"]))

    @classmethod
    def on_domain(
        cls,
        kernel: Kernel,
        lower: Sequence[float] | Array,
        upper: Sequence[float] | Array,
        spacing: float | Sequence[float],
        n_directions: int = 256,
        *,
        centres: Any = "pivoted",
        n_jobs: int | None = None,
    ) -> MeasuredFrame:
        r"""Measure a whole box, by a grid and a safety margin.

        No point of the box is further than half a cell from one of the grid, so that
        :math:`\|\Phi(x) - \Phi(x')\| \le \delta = \max_u \sqrt{2(k(0) - k(u))}` over half a cell.
        The margin :math:`\delta` is added to all maxima. What follows holds for all points of the
        box, and no data went in; rough kernels need fine grids, with about as many points a side as
        the inverse square of the precision for an exponential kernel.

        Parameters
        ----------
        kernel : Kernel
            Stationary.
        lower, upper : (p,) arrays
            Corners of the box.
        spacing : float or (p,) array
            Sides of a cell, at most.
        n_directions, centres, n_jobs :
            As in :meth:`from_data`.
        """
        check_stationary(kernel)
        grid = _Grid(np.atleast_1d(lower), np.atleast_1d(upper), spacing)
        frame = cls.from_data(kernel, grid, n_directions, centres=centres, n_jobs=n_jobs)
        # Inside the cell too, because a kernel need not fall everywhere.
        shares = list(product(np.linspace(0.0, 1.0, 9), repeat=grid.n_features))
        u = np.array(shares) * grid.cell / 2.0
        origin = np.zeros((1, grid.n_features))
        drop = kernel.diag(origin)[0] - kernel(u, origin)[:, 0]
        margin = float(np.sqrt(2.0 * max(drop.max(), 0.0)))
        axes, rest = frame.axes + margin, frame.rest + margin
        lowest = np.minimum.accumulate(axes)
        spread = np.minimum(
            np.sqrt(np.arange(1, len(axes) + 1)), frame.spread[1:] + margin / lowest
        )
        fact = Assumption("the kernel falls most within half a cell where it was evaluated")
        return replace(
            frame,
            axes=axes,
            # The norm of a point is the same everywhere: a maximum that needs no margin.
            rest=np.r_[frame.rest[0], rest[1:]],
            spread=np.r_[0.0, spread],
            outer_spread=np.r_[1.0, frame.outer_spread[1:] + margin / rest[1:]],
            data_dependent=False,
            assumptions=(fact,),
        )

    def first(self, n_directions: int) -> MeasuredFrame:
        """Return the frame of the first directions alone."""
        k = n_directions
        return replace(
            self,
            axes=self.axes[:k],
            rest=self.rest[: k + 1],
            spread=self.spread[: k + 1],
            outer_spread=self.outer_spread[: k + 1],
            mean_squares=self.mean_squares[:k],
        )

    @property
    def sup_norms(self) -> Array:
        """The largest values of the eigenfunctions on the sample, whose mean squares are 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.axes / np.sqrt(self.mean_squares))

    def spectrum(self, volume: float = 1.0, most: int | None = None) -> Spectrum:
        r"""Return the sample's estimate of the eigenvalues of the kernel (Nystrom).

        With the uniform measure on a set of the given volume, :math:`\lambda_i` is the volume times
        the mean of :math:`z_{si}^2`. An estimate and no bound: the constant C is the largest value
        of an eigenfunction on the sample.

        Parameters
        ----------
        volume : float, default=1.0
        most : int, optional
            How many directions are used; those above 1e-12 of the first by default, since
            eigenfunctions of less are noise.
        """
        kept = self.mean_squares > 1e-12 * self.mean_squares[0]
        k = int(kept.sum()) if most is None else min(most, int(kept.sum()))
        left = max(self.mean_norm - float(self.mean_squares[:k].sum()), 0.0)
        with np.errstate(divide="ignore"):
            return Spectrum(
                np.log(volume * self.mean_squares[:k]),
                None,
                float(np.log(volume * left)),
                float(self.sup_norms[:k].max() / np.sqrt(volume)),
                None,
                (Assumption("eigenvalues of the sample stand for those of the kernel"),),
            )


class _Reach(NamedTuple):
    """Maxima over rows that need no others, squared; the sum of two is the maximum of both."""

    axes: Array
    rest: Array
    below: Array
    trace: float
    n: int

    def __add__(self, other: _Reach) -> _Reach:  # type: ignore[override]
        return _Reach(
            np.maximum(self.axes, other.axes),
            np.maximum(self.rest, other.rest),
            np.maximum(self.below, other.below),
            self.trace + other.trace,
            self.n + other.n,
        )


class _Widths(NamedTuple):
    """Maxima over rows in units of others, squared."""

    spread: Array
    outer: Array

    def __add__(self, other: _Widths) -> _Widths:  # type: ignore[override]
        return _Widths(np.maximum(self.spread, other.spread), np.maximum(self.outer, other.outer))


def _left(Z: Array, diagonal: Array) -> Array:
    """Return what the first directions leave of each row, squared, (n, k + 1)."""
    rest = np.empty((len(Z), Z.shape[1] + 1))
    rest[:, 0] = diagonal
    np.cumsum(Z**2, axis=1, out=rest[:, 1:])
    np.subtract(rest[:, :1], rest[:, 1:], out=rest[:, 1:])
    return rest


def _reach(Z: Array, diagonal: Array) -> _Reach:
    rest = _left(Z, diagonal)
    return _Reach(
        np.max(Z**2, axis=0),
        np.maximum(rest.max(axis=0), 0.0),
        np.maximum(-rest.min(axis=0), 0.0),
        float(diagonal.sum()),
        len(Z),
    )


def _radii(reach: _Reach) -> tuple[Array, Array]:
    """Return squared axes and squared remainders, with what rounding took below zero added."""
    return reach.axes, reach.rest + reach.below


def _widths(Z: Array, diagonal: Array, radii: tuple[Array, Array]) -> _Widths:
    axes, rest = radii
    k = len(axes)
    with np.errstate(divide="ignore"):
        inner = np.where(axes > 0, 1.0 / axes, 0.0)
        outer = np.where(rest > 0, 1.0 / rest, 0.0)
    squares = Z**2
    spread = np.zeros(k + 1)
    spread[1:] = np.cumsum(squares * inner, axis=1).max(axis=0)
    # One over the squared radius of direction i for each number t > i of directions.
    weights = np.minimum(inner[:, None], outer[None, :])
    weights[np.arange(k)[:, None] >= np.arange(k + 1)[None, :]] = 0.0
    total = squares @ weights + np.maximum(_left(Z, diagonal), 0.0) * outer
    return _Widths(spread, total.max(axis=0))


def _assemble(reach: _Reach, widths: _Widths, values: Array) -> MeasuredFrame:
    axes, rest = _radii(reach)
    return MeasuredFrame(
        np.sqrt(axes),
        np.sqrt(rest),
        np.sqrt(widths.spread),
        np.sqrt(widths.outer),
        np.asarray(values) / reach.n,
        reach.trace / reach.n,
        reach.n,
    )


def _coordinates(block: Block, shared: tuple[Kernel, FeatureMap]) -> tuple[Array, Array]:
    kernel, phi = shared
    features = phi.features(phi.raw(block.X))
    return features, np.asarray(kernel.diag(block.X), dtype=float)


def _moments(block: Block, shared: tuple[Kernel, FeatureMap], state: None) -> Sums:
    F, diagonal = _coordinates(block, shared)
    s = np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=float)
    return Sums(squares=F.T @ (s[:, None] * F), weight=s.sum(), trace=float(s @ diagonal))


def _block_reach(block: Block, shared: tuple[Kernel, FeatureMap], V: Array) -> _Reach:
    F, diagonal = _coordinates(block, shared)
    return _reach(F @ V, diagonal)


def _block_widths(
    block: Block, shared: tuple[Kernel, FeatureMap], state: tuple[Array, tuple[Array, Array]]
) -> _Widths:
    F, diagonal = _coordinates(block, shared)
    return _widths(F @ state[0], diagonal, state[1])


class _Grid(Source):
    """Centres of the cells of a box, made as they are read."""

    def __init__(self, lower: Array, upper: Array, spacing: Any) -> None:
        sides = np.asarray(upper, dtype=float) - np.asarray(lower, dtype=float)
        if sides.ndim != 1 or not (sides > 0).all() or not (np.asarray(spacing) > 0).all():
            raise ValueError("give corners with lower < upper, and a positive spacing.")
        shape = np.maximum(np.ceil(sides / np.broadcast_to(spacing, sides.shape) - 1e-9), 1)
        self.shape = tuple(int(n) for n in shape)
        self.lower, self.cell = np.asarray(lower, dtype=float), sides / shape
        self.n_features, self.n_rows = len(sides), int(np.prod(shape))

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            number = np.arange(start, min(start + rows, self.n_rows))
            index = np.stack(np.unravel_index(number, self.shape), axis=1)
            yield Block(self.lower + (index + 0.5) * self.cell, start=start)


def nystrom_spectrum(
    kernel: Kernel, X: Array, weights: Array | None = None, volume: float = 1.0
) -> tuple[Spectrum, Array]:
    r"""Return eigenvalues of a kernel by quadrature, and how large its eigenfunctions become.

    The eigenvalues of :math:`W^{1/2} K W^{1/2}` with quadrature weights W are those of the integral
    operator approximately; its eigenvectors u give eigenfunctions :math:`u_{si}/\sqrt{w_s}` at the
    nodes. For many rows see :meth:`MeasuredFrame.spectrum`.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
        The nodes.
    weights : (n,) array, optional
        Quadrature weights; ``volume / n`` each if not given.
    volume : float, default=1.0

    Returns
    -------
    spectrum : Spectrum
        Eigenvalues above 1e-12 of the first, the others summed; with the largest value of an
        eigenfunction as its constant C. An estimate and no bound.
    sup_norms : (t,) array
        The largest values of the eigenfunctions at the nodes, one by one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.kernels import Periodized
    >>> X = np.arange(60)[:, None] / 10.0
    >>> spectrum, sup_norms = nystrom_spectrum(Periodized(Gaussian(0.5), 6.0), X, volume=6.0)
    >>> np.exp(spectrum.log_values[:3]).round(6)
    array([1.253314, 1.092768, 0.724321])
    """
    check_positive(volume=volume)
    X = np.asarray(X)
    w = np.full(len(X), volume / len(X)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != (len(X),) or not np.all((w > 0) & (w < np.inf)):
        raise ValueError("weights must be positive, one for each row of X.")
    root = np.sqrt(w)
    K = np.asarray(kernel(X), dtype=float)
    values, U = np.linalg.eigh(root[:, None] * K * root)
    values, U = values[::-1], U[:, ::-1]
    kept = values > 1e-12 * values[0]
    sup_norms = np.abs(U[:, kept] / root[:, None]).max(axis=0)
    left = max(float(w @ np.diagonal(K)) - float(values[kept].sum()), 0.0)
    with np.errstate(divide="ignore"):
        spectrum = Spectrum(
            np.log(values[kept]),
            None,
            float(np.log(left)),
            float(sup_norms.max()),
            None,
            (Assumption("eigenvalues of the sample stand for those of the kernel"),),
        )
    return spectrum, sup_norms
