r"""The squared loss of a low-rank approximation: every weight of the loss from one pass.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac{C}{2} \sum_i s_i (y_i - u_i'\theta)^2, \qquad
          u = (\phi, p), \quad \theta = (w, b)

needs of the rows no more than :math:`\sum s u u'`, :math:`\sum s u y` and :math:`\sum s y^2`. Off
the unpenalized columns an eigendecomposition of the first makes all C cost as little as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.reduced.base import MAX_DENSE_FEATURES
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, Whole

# Weights of the loss that are tried, in units of one over the mean weighted square of features: the
# ratio of signal to noise of a row, which does not depend on their number.
TRIED_WEIGHTS = np.geomspace(1e-4, 1e8, 97)

# Bytes of features that are summed at once: products of few rows would be all memory traffic.
PIECE_BYTES = 2**25

# Free columns of unit length count as dependent where a combination of them is shorter than the
# root of this: sums of squares in double precision cannot tell.
DEPENDENT_SQUARE = 1e-12


class System:
    r"""One system of equations for several targets, solved for every C.

    With A, D, E the parts of G among features, between features and free columns, and among these,
    :math:`M = A - D E^+ D'` and :math:`h = g_w - D E^+ g_b` leave :math:`(M + 1/C) w = h`.

    Parameters
    ----------
    G : (size, size) array
    g : (size, k) array
    square : (k,) array
    r : int
        Number of features; free columns follow.
    """

    def __init__(self, G: Array, g: Array, square: Array, r: int) -> None:
        A, D, E = G[:r, :r], G[:r, r:], G[r:, r:]
        root = self._root(E)
        self.rank = int(root.shape[1])
        across = D @ root
        self.inverse: Array = root @ root.T
        self.back: Array = root @ across.T
        self.b: Array = root @ (root.T @ g[r:])
        values, self.vectors = la.eigh(A - across @ across.T, driver="evd", check_finite=False)
        # What is below this is rounding of the sums.
        self.floor = r * float(np.finfo(np.float64).eps) * (float(np.max(np.diag(A))) or 1.0)
        self.values: Array = np.where(values > self.floor, values, 0.0)
        self.z: Array = self.vectors.T @ (g[:r] - across @ (root.T @ g[r:]))
        explained = np.sum((root.T @ g[r:]) ** 2, axis=0)
        some = self.values > 0
        fitted = np.sum(self.z[some] ** 2 / self.values[some, None], axis=0)
        self.least: Array = np.maximum(square - explained - fitted, 0.0)

    @staticmethod
    def _root(E: Array) -> Array:
        """Return a root of the pseudo-inverse of the sums of free columns, (q, rank)."""
        scale = np.sqrt(np.diag(E))
        scale = np.where(scale > 0, scale, 1.0)
        values, vectors = la.eigh(E / np.outer(scale, scale), check_finite=False)
        kept = values > DEPENDENT_SQUARE * max(float(np.max(values, initial=0.0)), 1e-300)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])

    def shift(self, C: Array) -> Array:
        """Return 1/C, no smaller than the rounding error of the eigenvalues."""
        return np.asarray(np.maximum(1.0 / C, self.floor))

    def shrunk(self, C: Array) -> Array:
        r"""Return :math:`1/(\sigma_j + 1/C)`, (number of C, r)."""
        return np.asarray(1.0 / (self.values + self.shift(C)[:, None]))

    def coefficients(self, C: Array) -> tuple[Array, Array]:
        """Return w (number of C, r, k) and b (number of C, q, k)."""
        W = self.vectors @ (self.shrunk(C)[:, :, None] * self.z)
        return W, self.b - self.back @ W

    def residual_sum(self, C: Array) -> Array:
        """Return the weighted sum of squared residuals, (number of C, k)."""
        shift, some = self.shift(C), self.values > 0
        factor = (shift[:, None] * self.shrunk(C)[:, some]) ** 2 / self.values[some]
        return np.asarray(self.least + factor @ self.z[some] ** 2)

    def square_norm(self, C: Array) -> Array:
        """Return the squared norm of the functions, (number of C, k)."""
        return np.asarray(self.shrunk(C) ** 2 @ self.z**2)

    def degrees_of_freedom(self, C: Array) -> Array:
        r"""Return :math:`\operatorname{rank} + \sum_j \sigma_j / (\sigma_j + 1/C)`."""
        return np.asarray(self.rank + self.shrunk(C) @ self.values)

    def log_det(self, C: Array) -> Array:
        r"""Return :math:`\sum_j \log(1 + C \sigma_j)`."""
        return np.asarray(np.sum(np.log1p(self.values / self.shift(C)[:, None]), axis=1))


@dataclass(frozen=True, eq=False)
class NormalEquations:
    r"""Normal equations: sums of one pass that solve the squared loss for every C and target.

    Criteria have a row for every C and a column for every problem; weights count as precisions.

    Parameters
    ----------
    problem : Problem
        Of the squared loss; its C is not read.
    G : (systems, size, size) array
        Sums of products of features and free columns; one system if all problems weigh rows alike.
    g : (size, k) array
        Sums of their products with targets.
    square, n : (k,) arrays
        Sums of squared targets, and number of rows with weight.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 1.3.5 (fixed-size machines),
    lemma 3.4 and eq. (3.16) (every C from one eigendecomposition), sec. 5.2 (evidence);
    P. Craven and G. Wahba, *Smoothing noisy data with spline functions*, Numer. Math. 31 (1979).

    Examples
    --------
    >>> from mercer.data import as_source
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.reduced.nystrom import NystromMap
    >>> from mercer.reduced.passes import Passes
    >>> from mercer.reduced.problem import Problem, Values
    >>> from mercer.regularizers.null_space import Constant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> phi = NystromMap(Gaussian(1.0), X[:30])
    >>> problem = Problem(phi, Constant(), Values(), Squared(), np.ones(1), 1)
    >>> passes = Passes(as_source(X, y))
    >>> equations = NormalEquations.gather(problem, passes)
    >>> Cs = np.geomspace(1e-3, 1e3, 50)
    >>> equations.gcv(Cs).shape, passes.count, bool(1 < equations.choose("gcv") < 1000)
    ((50, 1), 1, True)
    """

    problem: Problem
    G: Array
    g: Array
    square: Array
    n: Array

    @classmethod
    def gather(cls, problem: Problem, passes: Passes) -> NormalEquations:
        """Make the pass.

        Parameters
        ----------
        problem : Problem
        passes : Passes
        """
        if not problem.loss.quadratic:
            raise ValueError(
                f"normal equations need the squared loss, not {problem.loss!r}; use Newton."
            )
        shared = problem if problem.map.r <= MAX_DENSE_FEATURES else Whole(problem)
        return cls(problem, **passes("normal equations", gather, shared))

    # Solutions -----------------------------------------------------------------------------------

    @cached_property
    def systems(self) -> list[tuple[System, slice]]:
        """The equations, with the problems that they are of."""
        r = self.problem.map.r
        if len(self.G) == 1:
            return [(System(self.G[0], self.g, self.square, r), slice(None))]
        columns = [slice(j, j + 1) for j in range(self.problem.k)]
        return [
            (System(G, self.g[:, c], self.square[c], r), c)
            for G, c in zip(self.G, columns, strict=True)
        ]

    def _each(self, of: Callable[[System], Array], C: ArrayLike) -> Array:
        """Return a quantity for every C and every problem, (*C.shape, k)."""
        C = np.asarray(C, dtype=np.float64)
        out = np.empty((C.size, self.problem.k))
        for system, columns in self.systems:
            values = of(system)
            out[:, columns] = values if values.ndim == 2 else values[:, None]
        return out.reshape(*C.shape, self.problem.k)

    def coefficients(self, C: ArrayLike) -> tuple[Array, Array]:
        """Return coefficients of features and of free columns.

        Parameters
        ----------
        C : float or (j,) array

        Returns
        -------
        W : (r, k) or (j, r, k) array
        b : (q, k) or (j, q, k) array
        """
        C = np.asarray(C, dtype=np.float64)
        theta = np.empty((C.size, *self.g.shape))
        for system, columns in self.systems:
            theta[:, :, columns] = np.concatenate(system.coefficients(_positive(C)), axis=1)
        theta, r = theta.reshape(*C.shape, *self.g.shape), self.problem.map.r
        return theta[..., :r, :], theta[..., r:, :]

    # What they tell ------------------------------------------------------------------------------

    def residual_sum(self, C: ArrayLike) -> Array:
        """Return weighted sums of squared residuals."""
        return self._each(lambda system: system.residual_sum(_positive(C)), C)

    def objective(self, C: ArrayLike) -> Array:
        """Return the least values of the problems."""
        norm = self._each(lambda system: system.square_norm(_positive(C)), C)
        weight = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(0.5 * (norm + weight * self.residual_sum(C)))

    def degrees_of_freedom(self, C: ArrayLike) -> Array:
        """Return traces of the smoothers."""
        return self._each(lambda system: system.degrees_of_freedom(_positive(C)), C)

    def gcv(self, C: ArrayLike) -> Array:
        r"""Return :math:`\frac{1}{n} \sum s r^2 / (1 - \operatorname{tr} S / n)^2`."""
        return np.asarray(
            self.residual_sum(C) / self.n / np.square(1.0 - self.degrees_of_freedom(C) / self.n)
        )

    def log_evidence(self, C: ArrayLike) -> Array:
        r"""Return the restricted log-likelihood of the Gaussian process behind the machine.

        Targets have covariance :math:`\tau (\Phi\Phi' + 1/c)` about any combination of the free
        columns, with the most likely :math:`\tau`, which is twice the objective over
        :math:`n - q`. A constant that depends on the weights of rows alone is left out.
        """
        C = np.asarray(C, dtype=np.float64)
        rank = self._each(lambda system: np.full(C.size, system.rank), C)
        log_det = self._each(lambda system: system.log_det(_positive(C)), C)
        m = self.n - rank
        with np.errstate(divide="ignore"):
            log = np.log(2 * np.pi * np.e * 2.0 * self.objective(C) / m) - np.log(C)[..., None]
        return np.asarray(-0.5 * (m * log + log_det))

    @property
    def Cs(self) -> Array:
        """Weights of the loss from almost none to interpolation, evenly on a logarithmic scale."""
        square = sum(float(np.sum(system.values)) for system, _ in self.systems)
        mean = square / (len(self.systems) * float(np.mean(self.n)))
        return TRIED_WEIGHTS / (mean or 1.0)

    def choose(self, criterion: str) -> float:
        """Return the C that is best for all problems together.

        Parameters
        ----------
        criterion : {"gcv", "evidence"}
            What is to be least, summed over the problems: generalized cross-validation, or the
            negative restricted likelihood.
        """

        def curve(C: Array) -> Array:
            values = self.gcv(C) if criterion == "gcv" else -self.log_evidence(C)
            return np.asarray(values.sum(axis=1))

        tried = self.Cs
        values = curve(tried)
        best = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        if not 0 < best < len(tried) - 1:
            return float(tried[best])
        found = minimize_scalar(
            lambda t: float(curve(np.array([np.exp(t)]))[0]),
            bounds=(float(np.log(tried[best - 1])), float(np.log(tried[best + 1]))),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(np.exp(found.x) if found.fun < values[best] else tried[best])


def gather(block: Block, shared: Problem | Whole, state: None) -> Sums:
    """Return the sums of a block."""
    problem = shared.problem if isinstance(shared, Whole) else shared
    X, Y, s, P, _ = problem.admit(block)
    phi, k, systems = problem.map, problem.k, s.shape[1]
    size, wide = phi.r + P.shape[1], np.broadcast_to(s, (block.n, k))
    sums = Sums(
        G=np.zeros((systems, size, size)),
        g=np.zeros((size, k)),
        square=np.sum(wide * Y**2, axis=0),
        n=np.sum(wide > 0, axis=0, dtype=float),
    )
    step = max(64, PIECE_BYTES // (8 * phi.m))
    for start in range(0, block.n, step):
        part = slice(start, min(start + step, block.n))
        U = np.hstack([phi.features(phi.raw(X[part])), P[part]])
        sums["g"] += U.T @ (wide[part] * Y[part])
        for j in range(systems):
            live = np.flatnonzero(s[part, j] > 0)
            v = U[live] * np.sqrt(s[part, j][live])[:, None]
            sums["G"][j] += v.T @ v
    return sums


def _positive(C: ArrayLike) -> Array:
    C = np.asarray(C, dtype=np.float64).reshape(-1)
    if not np.all(C > 0):
        raise ValueError("C must be positive.")
    return C
