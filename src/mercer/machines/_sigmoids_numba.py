"""Newton's method for a sigmoid, for which NumPy takes two hundred calls of two microseconds."""

import math

import numpy as np

from mercer._compile_numba import njit

__all__ = ["newton_loop"]


@njit(cache=True, _nrt=False, no_cfunc_wrapper=True, nogil=True, error_model="numpy")
def _unlikeliness(x, t, a, b):
    """Return minus the logarithm of the likelihood of targets between zero and one."""
    total = 0.0
    for i in range(x.shape[0]):
        r = a * x[i] + b
        total += max(-r, 0.0) + math.log1p(math.exp(-abs(r))) + t[i] * r
    return total


@njit(cache=True, _nrt=False, no_cfunc_wrapper=True, nogil=True, error_model="numpy")
def newton_loop(x, t, b, steps, ridge, level):
    """Return slope and offset after up to so many steps from a slope of zero.

    The curvature is at least ``ridge``; steps end where less than ``level`` is to be gained.
    """
    a = 0.0
    now = _unlikeliness(x, t, a, b)
    for _ in range(steps):
        ga = gb = hab = 0.0
        haa = hbb = ridge
        for i in range(x.shape[0]):
            p = 1.0 / (1.0 + math.exp(a * x[i] + b))
            g, h = t[i] - p, p * (1.0 - p)
            ga += g * x[i]
            gb += g
            haa += h * x[i] * x[i]
            hab += h * x[i]
            hbb += h
        # The two equations of a step by Cramer's rule.
        det, length = haa * hbb - hab * hab, 1.0
        if not det > 0.0:
            break  # rounding: the curvature is there
        da, db = (hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det
        slope = ga * da + gb * db  # twice what is left to gain
        if slope <= level:
            break
        new = np.inf
        while length > 1e-10:
            new = _unlikeliness(x, t, a - length * da, b - length * db)
            if new <= now - 1e-4 * length * slope:
                break
            length *= 0.5
        if not length > 1e-10:
            break
        a, b, now = a - length * da, b - length * db, new
    return a, b
