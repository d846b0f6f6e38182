r"""The interior point of a kernel matrix with few columns, :math:`K = ZZ'`: it works on Z.

The path is the one that :mod:`mercer.solvers._central_path` follows, with
:math:`\theta = (w, b)` besides z, and :math:`w = Z'a` in the end only. With
:math:`G = [Z, B]` decision values are :math:`f = G\theta`; a step eliminates all but
:math:`\theta`. With :math:`D = \varphi'' + s/g + w/t` and
:math:`E_i = \sum_{j: i(j) = i} 1/D_j` over the copies of a sample it is a ridge regression,

.. math:: (P + G'EG)\,\Delta\theta = G'S'D^{-1}r + (Z'a - w, B'a - d),

with ones in P for w and zeros for b, of as many unknowns as Z and B have columns, at
:math:`n d^2` multiplications. Nothing has n times n numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from mercer._lapack import dpotrf, dpotrs
from mercer._typing import AnyArray, Array
from mercer.gram.factor import MAX_BYTES
from mercer.gram.low_rank import LowRank
from mercer.kernels.points import dense_double
from mercer.problems.box_qp import BoxProgram
from mercer.problems.reductions import box_program
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._central_path import TINY, Search, System
from mercer.solvers._over_factor import without_factor
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["Ridge", "ThinInteriorPoint"]

# Gap to reach relative to the objective, as a part of the tolerance.
GAP_TOL_PART = 1e-2
# Free variables beyond the number of columns with which bounds are not yet worth fixing.
EXTRA_FREE_VARIABLES = 5
# Shift, relative to the kernel values, with which a singular system of free coefficients is solved;
# repetition undoes its bias.
SYSTEM_SHIFT, SHIFT_REPEATS = 1e-9, 4
# Free coefficients make the matrix singular to working precision: shifts of its unit diagonal that
# are tried, whose bias the next step sees as a residual.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10)
SINGLE_JITTERS = (1e-6, 1e-5, 1e-4)
# Numbers of a block of rows that is scaled and multiplied while it is in the processor's cache.
BLOCK_NUMBERS = 2**16


@dataclass(eq=False)
class ThinInteriorPoint(Solver):
    """Follow the central path over the columns of a factor, ``K = ZZ'``.

    Takes every loss whose conjugate is quadratic, any number of unpenalized columns, and a kernel
    matrix that knows its factor: that of the linear kernel is the data. A step costs ``n d^2``
    multiplications, and ten to twenty of them reach the optimum whatever C is: from some point on
    the coefficients on bounds are known, and the others follow from a linear system.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer.
    max_iter : int, default=100
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=4e9
        Memory that a copy of the factor in float64 may take.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.low_rank import LowRank
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import minimize
    >>> from mercer.solvers.thin import ThinInteriorPoint
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> risk = RegularizedRisk(Hinge(), LowRank(x), np.sign(x[:, 0]), 10.0, np.ones((4, 1)))
    >>> minimize(risk, ThinInteriorPoint()).a.round(9) + 0.0
    array([ 0. , -0.5,  0.5,  0. ])
    """

    max_iter: int = 100
    max_bytes: float = MAX_BYTES

    def refuses(self, risk: RegularizedRisk) -> str:
        if reason := without_factor(risk):
            return reason
        n, d = risk.K.root().shape
        if 8.0 * n * (d + risk.q) > self.max_bytes:
            return f"a factor of shape {n, d} takes more than max_bytes={self.max_bytes:.3g}"
        return ""

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        K = LowRank(dense_double(risk.K.root()))
        risk = RegularizedRisk(risk.loss, K, risk.y, risk.c, risk.B, risk.d)
        search = Search(risk, FactorSystem, self.tol, GAP_TOL_PART * self.tol, TINY)
        if start is not None and search.offer(start.a, start.b):
            return search.answer()
        return search.run(box_program(risk), monitor)


class FactorSystem(System):
    """The system over the columns of a factor: besides z it knows w and b, ``f = Zw + Bb``.

    Parameters
    ----------
    program : BoxProgram
        The program over a kernel matrix with a factor, with independent equality rows.
    """

    measured = False
    rounds = 3

    def __init__(self, program: BoxProgram) -> None:
        H = program.H
        Z = H.K.root()
        (n, d), q = Z.shape, len(program.e)
        super().__init__(program, d + q)
        self.few = d + q + EXTRA_FREE_VARIABLES
        # Copies of a sample have its row of B, up to their signs.
        B = np.zeros((n, q))
        B[H.index] = H.sign[:, None] * program.A
        self.G = np.concatenate([Z, B], axis=1)
        self.e = np.concatenate([np.zeros(d), program.e])
        self.ridge = np.repeat([1.0, 0.0], [d, q])

    def first(self, theta: Array) -> Array:
        # Not of the coefficients, which are all of one size: w is made Z'a on the way.
        return theta

    def b(self, theta: Array) -> Array:
        return np.asarray(theta[self.ridge == 0])

    def field(self, z: Array, theta: Array) -> Array:
        return self.program.H.spread(self.G @ theta)

    def lacking(self, z: Array, theta: Array) -> Array:
        return np.asarray(self.program.H.gather(z) @ self.G - self.ridge * theta - self.e)

    def solver(self, D: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
        H = self.program.H
        ridge = Ridge(self.G, H.gather(H.sign / D), self.ridge)

        def solve(r: Array, e: Array) -> tuple[Array, Array]:
            theta = ridge.solve(H.gather(r / D) @ self.G + e)
            return (r - H.spread(self.G @ theta)) / D, theta

        return solve

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def settle(
        self, z: Array, theta: Array, free: NDArray[np.bool_]
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        p, F = self.program, np.flatnonzero(free)
        # Rows of the free alone: they are few.
        i, sign, slope = p.H.index[F], p.H.sign[F], p.slope(z)[F]
        G, x, e, q = sign[:, None] * self.G[i], z[F], self.lacking(z, theta), p.curvature(z)[F]
        D = np.maximum(q, SYSTEM_SHIFT * p.H.diag()[F] + TINY)
        left = np.zeros_like(free)
        try:
            ridge = Ridge(G, 1.0 / D, self.ridge)
        except np.linalg.LinAlgError:
            return z, theta, left
        for _ in range(SHIFT_REPEATS):
            r = -(G @ theta + slope)
            change = ridge.solve((r / D) @ G + e)
            dx = (r - G @ change) / D
            x, theta, slope = x + dx, theta + change, slope + q * dx
            e = e + dx @ G - self.ridge * change
        inside, z = np.clip(x, p.lower[F], p.upper[F]), z.copy()
        left[F], z[F] = inside != x, inside
        return z, theta, left


class Ridge:
    """The Cholesky factor of ``P + G'EG``, row block by row block.

    The product is as precise as G: in float32 it takes half the time.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to working precision.
    """

    def __init__(self, G: AnyArray, E: Array, ridge: Array) -> None:
        single = G.dtype == np.float32
        root = np.sqrt(E).astype(G.dtype, copy=False)
        M = np.zeros((len(ridge), len(ridge)), G.dtype, order="F")
        add = ssyrk if single else dsyrk
        height = max(64, BLOCK_NUMBERS // max(len(ridge), 1))
        for first in range(0, len(G), height):
            part = slice(first, first + height)
            rows = root[part, None] * G[part]
            M = add(1.0, rows.T, 1.0, M, lower=1, overwrite_c=1)
        M = M.astype(np.float64, copy=False)
        diagonal = np.einsum("ii->i", M)
        diagonal += ridge
        # In units of the diagonal: whatever the units of the columns are.
        self.unit = 1.0 / np.sqrt(diagonal)
        M *= self.unit
        M *= self.unit[:, None]
        if not np.all(np.isfinite(diagonal)):
            raise np.linalg.LinAlgError("P + G'EG is not finite")
        for jitter in SINGLE_JITTERS if single else JITTERS:
            np.einsum("ii->i", M)[:] = 1.0 + jitter
            self.factor, info = dpotrf(M, lower=1, clean=0)
            if not info:
                return
        raise np.linalg.LinAlgError("P + G'EG is not positive definite")

    def solve(self, right: Array) -> Array:
        x, _ = dpotrs(self.factor, self.unit * right, lower=1)
        return np.asarray(self.unit * x)
