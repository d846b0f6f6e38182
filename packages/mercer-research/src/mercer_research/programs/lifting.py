r"""Nonconvex quadratic programs, bounded by semidefinite relaxations.

.. math::

    x'Hx + f'x = \Bigl\langle \begin{pmatrix} H & f/2 \\ f'/2 & 0 \end{pmatrix}, Z \Bigr\rangle,
    \qquad Z = \begin{pmatrix} x \\ 1 \end{pmatrix} \begin{pmatrix} x \\ 1 \end{pmatrix}'

Without the demand that Z have rank one, and with :math:`Z \succeq 0` and a last entry of one kept,
objective and constraints are linear in Z: the minimum is a lower bound, and it is attained where Z
has rank one all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.programs.program import Program

__all__ = ["Lifted", "QuadraticConstraint", "lift", "triangle"]

# The second singular value of Z beside the first up to which it counts as of rank one: a few digits
# more than the solver promises.
RANK_ONE = 1e-6


def triangle(M: Any) -> Array:
    r"""Return the upper triangle of a symmetric matrix by columns, scaled to keep inner products.

    Examples
    --------
    >>> triangle([[1.0, 2.0], [2.0, 3.0]]).round(4)
    array([1.    , 2.8284, 3.    ])
    """
    M = np.asarray(M, dtype=np.float64)
    j, i = np.tril_indices(len(M))
    return np.asarray(np.where(i == j, 0.5, np.sqrt(0.5)) * (M[i, j] + M[j, i]))


@dataclass(frozen=True, eq=False)
class QuadraticConstraint:
    r"""A constraint :math:`x'Hx + f'x \le r`, or an equation.

    Parameters
    ----------
    H : (D, D) array
        Any symmetric matrix.
    f : (D,) array
    right : float
        The right-hand side r.
    equation : bool, default=False
        Whether both sides are equal.
    """

    H: Array
    f: Array
    right: float
    equation: bool = False

    def excess(self, x: Array) -> float:
        """Return by how much a point violates it."""
        value = float(x @ self.H @ x + self.f @ x) - self.right
        return abs(value) if self.equation else max(value, 0.0)


@dataclass(frozen=True, eq=False)
class Lifted:
    """A bound on a quadratic program, and the point that it suggests.

    Parameters
    ----------
    x : ndarray of shape (D,)
        The last column of Z.
    value : float
        The objective there.
    lower_bound : float
        What no feasible point goes below.
    tightness : float
        Second singular value of Z over the first: zero for rank one.
    violation : float
        Largest violation of a constraint at ``x``.
    exact : bool
        Whether ``x`` is a global minimum, up to rounding.
    Z : ndarray of shape (D + 1, D + 1)
        The lifted solution.
    """

    x: Array
    value: float
    lower_bound: float
    tightness: float
    violation: float
    exact: bool
    Z: Array


def lift(
    H: Any, f: Any, constraints: Sequence[QuadraticConstraint] = (), *, tol: float = 1e-9
) -> Lifted:
    r"""Minimize :math:`x'Hx + f'x` under quadratic constraints by lifting.

    Parameters
    ----------
    H : (D, D) array
        Symmetric, definite or not.
    f : (D,) array
    constraints : sequence of QuadraticConstraint
    tol : float, default=1e-9
        Tolerance of the program.

    Returns
    -------
    Lifted

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 2.4.2, eqs. (2.42) to (2.45).

    Examples
    --------
    The point of a circle with the smallest sum of coordinates:

    >>> circle = QuadraticConstraint(np.eye(2), np.zeros(2), 1.0, equation=True)
    >>> found = lift(np.zeros((2, 2)), np.ones(2), [circle])
    >>> found.x.round(4), round(found.lower_bound, 4), found.exact
    (array([-0.7071, -0.7071]), -1.4142, True)
    """
    H, f = np.asarray(H, dtype=np.float64), np.asarray(f, dtype=np.float64)
    D = len(f)
    program = Program()
    z = program.variable((D + 1) * (D + 2) // 2)
    program.cost(z, triangle(_bordered(H, f)))
    program.semidefinite([(np.eye(z.size), z)], 0.0, D + 1)
    program.equal([(np.eye(z.size)[-1:], z)], 1.0)
    for constraint in constraints:
        row = triangle(_bordered(constraint.H, constraint.f))[None]
        add = program.equal if constraint.equation else program.at_most
        add([(row, z)], constraint.right)
    found = program.solve(tol)
    Z = np.zeros((D + 1, D + 1))
    j, i = np.tril_indices(D + 1)
    Z[i, j] = Z[j, i] = np.where(i == j, 1.0, np.sqrt(0.5)) * found[z]
    x = Z[:D, D]
    sizes = np.sort(np.abs(np.linalg.eigvalsh(Z)))[::-1]
    tightness = float(sizes[1] / sizes[0]) if D else 0.0
    violation = max((c.excess(x) for c in constraints), default=0.0)
    return Lifted(
        x=x,
        value=float(x @ H @ x + f @ x),
        lower_bound=found.dual,
        tightness=tightness,
        violation=violation,
        exact=tightness <= RANK_ONE and found.converged,
        Z=Z,
    )


def _bordered(H: Any, f: Any) -> Array:
    """Return the matrix of a quadratic function of x as a linear one of Z."""
    f = np.asarray(f, dtype=np.float64)[:, None]
    return np.block([[np.asarray(H, dtype=np.float64), 0.5 * f], [0.5 * f.T, np.zeros((1, 1))]])
