"""Between impulse responses and state-space systems of SciPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, signal

from mercer.kernels.points import Array


def markov_parameters(system: signal.StateSpace, n: int) -> Array:
    r"""Return the impulse response D, CB, CAB, ... of a system in discrete time.

    .. math:: x_{t+1} = A x_t + B u_t, \quad y_t = C x_t + D u_t, \qquad
              y_t = \sum_{\tau \ge 0} h_\tau u_{t-\tau}

    Parameters
    ----------
    system : scipy.signal.StateSpace
        In discrete time, that is, with a ``dt``.
    n : int
        How many of them.

    Returns
    -------
    (n, outputs, inputs) array

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.53)-(9.54).

    Examples
    --------
    >>> system = signal.StateSpace([[0.5]], [[1.0]], [[2.0]], [[1.0]], dt=1.0)
    >>> markov_parameters(system, 4).ravel()
    array([1. , 2. , 1. , 0.5])
    """
    if system.dt is None:
        raise ValueError("The system must be one in discrete time: pass dt to StateSpace.")
    A, B, C, D = system.A, system.B, system.C, system.D
    h, state = np.empty((n, *D.shape)), B
    for t in range(n):
        h[t] = D if t == 0 else C @ state
        state = state if t == 0 else A @ state
    return h


def ho_kung(
    h: ArrayLike, order: int | None = None, *, tol: float = 1e-10, dt: float = 1.0
) -> signal.StateSpace:
    r"""Realize an impulse response as a state-space system.

    The block Hankel matrix of :math:`h_1, h_2, \dots` has the rank of the smallest system; its
    singular vectors are the observability and controllability matrices of a balanced one, and
    their shift gives A.

    Parameters
    ----------
    h : (n,) or (n, outputs, inputs) array
        The impulse response from D on; the covariances of a process are one, too.
    order : int, optional
        Number of states; the numerical rank of the Hankel matrix if not given.
    tol : float, default=1e-10
        Singular values below this share of the largest one are zero.
    dt : float, default=1.0
        Time step of the result.

    Returns
    -------
    scipy.signal.StateSpace

    References
    ----------
    S. Kung, *A new identification and model reduction algorithm via singular value
    decomposition*, Asilomar Conference 1978.

    Examples
    --------
    >>> system = ho_kung([1.0, 2.0, 1.0, 0.5, 0.25])
    >>> system.A.round(10)
    array([[0.5]])
    """
    h = np.asarray(h, dtype=float)
    h = h[:, None, None] if h.ndim == 1 else h
    if h.ndim != 3 or len(h) < 3:
        raise ValueError(f"h must hold three Markov parameters or more, got shape {h.shape}.")
    n, outputs, inputs = h.shape
    rows = n // 2
    columns = n - rows
    hankel = np.block([[h[1 + i + j] for j in range(columns - 1)] for i in range(rows)])
    U, s, Vt = linalg.svd(hankel, full_matrices=False)
    q = int((s > tol * s[0]).sum()) if order is None else int(order)
    if not 1 <= q <= min(outputs * (rows - 1), len(s)):
        raise ValueError(
            f"A system with {q} states cannot be told from {n} Markov parameters: give more."
        )
    root = np.sqrt(s[:q])
    observe, control = U[:, :q] * root, root[:, None] * Vt[:q]
    A = linalg.lstsq(observe[:-outputs], observe[outputs:])[0]
    return signal.StateSpace(A, control[:, :inputs], observe[:outputs], h[0], dt=dt)
