"""The nearest sequence that is a covariance: for one length of series, or for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, linalg, optimize

from mercer.kernels.points import Array
from mercer_research.series.toeplitz import Toeplitz

# By how much the weight of the distance against the barrier grows from one round to the next.
GROWTH = 20.0

# The squared decrement of a Newton step below which the next round begins. Below 1 the step also
# proves the gap: the multiplier that belongs to it is positive definite.
CENTRED = 0.1


def nearest_definite(values: ArrayLike, *, tol: float = 1e-10) -> Array:
    r"""Project onto positive semidefinite Toeplitz matrices, in the Frobenius norm.

    .. math:: \min_v\; \tfrac12 \|T(v) - T(w)\|_F^2
              = \tfrac12 n (v_0 - w_0)^2 + \sum_{k=1}^{n-1} (n - k) (v_k - w_k)^2
              \qquad \text{subject to}\; T(v) \succeq 0

    A sequence whose matrix is positive semidefinite (to 1e-10 of its size) is returned as it is.
    For others Newton's method follows the minimizers of the distance minus the logarithm of the
    determinant, until duality proves that half the squared distance is within `tol` of the least.
    A round of it is a factorization and a Fourier transform of an n by n matrix, and there are
    about sixty: a tenth of a second for 50 lags, some seconds for 400.

    Parameters
    ----------
    values : (n,) array
        First row :math:`w` of the matrix, from lag 0 on.
    tol : float, default=1e-10
        Duality gap at the answer, in units of :math:`\|T(w)\|_F^2`. The matrix is then within
        :math:`\sqrt{2\, \text{tol}}\, \|T(w)\|_F` of the projection, in practice much closer.

    Returns
    -------
    (n,) array
        First row of the projection.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 9.4.1; S. Boyd and
    L. Vandenberghe, *Convex Optimization*, Cambridge 2004, section 11.6.

    Examples
    --------
    >>> nearest_definite([1.0, 0.9, 0.9, 0.9])
    array([1. , 0.9, 0.9, 0.9])
    >>> nearest_definite([1.0, -0.8, -0.8]).round(4)
    array([ 1.2, -0.6, -0.6])
    """
    w = Toeplitz(values).row
    if Toeplitz(w).is_positive_semidefinite():
        return w.copy()
    unit = float(np.max(np.abs(w)))
    return unit * _project(w / unit, tol)


def _project(w: Array, tol: float) -> Array:
    """Follow the central path of the projection of a sequence that is not definite."""
    n = len(w)
    times = 2.0 * (n - np.arange(n, dtype=float))
    times[0] = n
    size = float(times @ (w * w))
    v = w.copy()
    least = float(linalg.eigvalsh(linalg.toeplitz(w), subset_by_index=[0, 0])[0])
    v[0] -= 2.0 * least
    weight = 2.0 * n / float(times @ ((v - w) ** 2))

    def cost(v: Array) -> float:
        try:
            L = linalg.cholesky(linalg.toeplitz(v), lower=True)
        except linalg.LinAlgError:
            return np.inf
        return float(0.5 * weight * times @ ((v - w) ** 2) - 2.0 * np.log(np.diag(L)).sum())

    while True:
        slope, bend = _barrier(v)
        slope = weight * times * (v - w) - slope
        try:
            step = -linalg.solve(bend + np.diag(weight * times), slope, assume_a="pos")
        except linalg.LinAlgError:
            return v  # rounding: what was reached is the answer
        decrement, now, reach = -float(slope @ step), cost(v), 1.0
        while cost(v + reach * step) > now - 0.1 * reach * decrement + 1e-9 * abs(now):
            reach *= 0.5
            if reach < 1e-6:
                return v
        v = v + reach * step
        if decrement < CENTRED and reach == 1.0:
            # The multiplier Z of this step has the diagonal sums times * (v - w), and <Z, T(v)>
            # is the gap.
            if float(times @ (v * (v - w))) <= tol * size:
                return v
            weight *= GROWTH


def _barrier(v: Array) -> tuple[Array, Array]:
    """Return minus the gradient, and the Hessian, of minus the logarithm of the determinant.

    With P the inverse they are tr(P E_k) and tr(P E_k P E_l), where E_k is the matrix with ones on
    the k-th diagonals: sums of P, and of its products with shifts of itself, which a Fourier
    transform in two dimensions gives all at once.
    """
    n = len(v)
    factor = linalg.cholesky(linalg.toeplitz(v), lower=True)
    P = linalg.cho_solve((factor, True), np.eye(n))
    lags = np.arange(n)
    sums = np.bincount(np.abs(lags[:, None] - lags).ravel(), P.ravel(), minlength=n)
    length = fft.next_fast_len(2 * n - 1, real=True)
    shifted = fft.irfft2(np.abs(fft.rfft2(P, (length, length))) ** 2, (length, length))
    half = np.where(lags > 0, 1.0, 0.5)
    products = 2.0 * (shifted[:n, :n] + shifted[:n, (-lags) % length])
    return sums, products * np.outer(half, half)


def nearest_moving_average(values: ArrayLike, *, tol: float = 1e-10) -> Array:
    r"""Return the covariances of a moving average, with as many lags, nearest to a sequence.

    Sequences :math:`v_{-m}, \dots, v_m` that are zero beyond and whose spectrum
    :math:`v_0 + 2 \sum_\tau v_\tau \cos \tau\theta` is nowhere negative are the covariances of
    moving averages, for series of every length at once. (:func:`nearest_definite` asks for less: a
    matrix of the given size.) The nearest one in the sum of squares differs by multiples, at
    least 0, of the cosines at some frequencies: a least-squares problem with such coefficients,
    to which the frequencies are added where the spectrum is still negative. A rest of `tol` goes
    to :math:`v_0`.

    Parameters
    ----------
    values : (m + 1,) array
        From lag 0 on.
    tol : float, default=1e-10
        Negative power to be left to :math:`v_0`, in units of its value.

    Returns
    -------
    (m + 1,) array

    Examples
    --------
    >>> nearest_moving_average([1.0, 0.8]).round(4)
    array([1.2, 0.6])
    """
    v = np.asarray(values, dtype=float)
    root = np.sqrt(np.where(np.arange(len(v)) > 0, 2.0, 1.0))
    theta = np.linspace(0.0, np.pi, 4 * len(v) + 1)
    current = v
    for _ in range(20):
        places, power = _minima(current)
        negative = power < -tol * abs(v[0])
        if not negative.any():
            break
        theta = np.union1d(theta, places[negative])
        waves = root[:, None] * np.cos(np.multiply.outer(np.arange(len(v)), theta))
        multipliers = optimize.nnls(waves, -root * v, maxiter=30 * len(theta))[0]
        current = v + waves @ multipliers / root
    current = current.copy()
    current[0] += max(0.0, -float(_minima(current)[1].min()))
    return current


def _minima(v: Array) -> tuple[Array, Array]:
    """Return where the spectrum of a sequence has its minima, and its values there."""
    lags = np.arange(1, len(v))
    length = fft.next_fast_len(16 * len(v), real=True)
    samples = np.asarray(fft.hfft(np.pad(v, (0, length // 2 + 1 - len(v))), length))
    step = 2.0 * np.pi / length
    theta = step * np.flatnonzero(samples <= np.minimum(np.roll(samples, 1), np.roll(samples, -1)))
    theta = theta[theta <= np.pi]
    for _ in range(5):
        waves = np.exp(1j * np.multiply.outer(theta, lags))
        slope = -2.0 * waves.imag @ (lags * v[1:])
        bend = -2.0 * waves.real @ (lags**2 * v[1:])
        # Newton's method, between the neighbours of the sample.
        move = np.divide(-slope, bend, out=np.zeros_like(slope), where=bend > 0.0)
        theta = theta + np.clip(move, -step, step)
    power = v[0] + 2.0 * np.cos(np.multiply.outer(theta, lags)) @ v[1:]
    return np.append(theta, step * np.argmin(samples)), np.append(power, samples.min())
