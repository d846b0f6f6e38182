"""Linear constraints with uncertain coefficients, as second-order cones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer._typing import Array
from mercer.programs.program import Block, Program, ProgramRows

__all__ = ["chance"]


def chance(
    program: Program,
    x: Block,
    mean: Any,
    covariance: Any,
    bound: float,
    probability: float = 0.95,
) -> ProgramRows:
    r"""Ask that a linear inequality with Gaussian coefficients holds with a probability.

    .. math::

        \mathrm{Prob}(B'x \le b) \ge \eta, \quad B \sim N(\bar B, \Sigma)
        \iff \bar B'x + \Phi^{-1}(\eta) \, \|\Sigma^{1/2} x\|_2 \le b

    A margin :math:`y (B'w + c) \ge 1` of a point that is known up to noise is one of them with
    bound -1, the coefficients -yB, and -y for the offset.

    Parameters
    ----------
    program : Program
        The program to which the cone is added.
    x : Block
        Variables.
    mean : array-like of shape (n,)
        Expected coefficients.
    covariance : array-like of shape (n, n)
        Their covariance, positive semidefinite.
    bound : float
        The right-hand side b.
    probability : float, default=0.95
        The probability, above one half: below, the constraint is not convex.

    Returns
    -------
    Rows
        The rows of the cone.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, (2.38)-(2.41).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.programs.program import Program
    >>> program = Program()
    >>> x = program.variable(1)
    >>> program.cost(x, [-1.0])
    >>> rows = chance(program, x, [1.0], [[1.0]], 2.0, 0.975)
    >>> float(program.solve()[x][0].round(4))
    0.6757
    """
    B, S = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    n = x.size
    if B.shape != (n,) or S.shape != (n, n) or not np.allclose(S, S.T):
        raise ValueError(
            f"{n} variables need a mean of shape ({n},) and a symmetric covariance of shape "
            f"({n}, {n}), got {B.shape} and {S.shape}."
        )
    if not 0.5 < probability < 1.0:
        raise ValueError(
            f"probability must lie between 0.5 and 1, got {probability}: below one half the "
            "points that satisfy it are not a convex set."
        )
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    if values[0] < -1e-10 * max(1.0, values[-1]):
        raise ValueError("covariance must be positive semidefinite.")
    root: Array = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return program.norm(
        [(float(ndtri(probability)) * root, x)], np.zeros(n), [(-B[None, :], x)], float(bound)
    )
