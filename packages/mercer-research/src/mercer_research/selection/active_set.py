"""Active sets of box programs: which coefficients are at zero, free or on a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array

__all__ = ["LOWER", "NEGATIVE", "POSITIVE", "UPPER", "ZERO", "Kinds", "kinds_of"]

LOWER, NEGATIVE, ZERO, POSITIVE, UPPER = -2, -1, 0, 1, 2
Kinds = NDArray[np.int8]


def kinds_of(a: Array, lower: Array, upper: Array, flat: NDArray[np.bool_]) -> Kinds:
    """Read the active set off coefficients that lie exactly on zero or on their bounds.

    Parameters
    ----------
    a, lower, upper : (n,) arrays
    flat : (n,) array of bool
        Coefficients that pass zero without a kink: free wherever they are off their bounds.

    Examples
    --------
    >>> a, one = np.array([-1.0, 0.0, 0.5, 1.0]), np.ones(4)
    >>> kinds_of(a, -one, one, np.zeros(4, dtype=bool))
    array([-2,  0,  1,  2], dtype=int8)
    """
    kinds = np.sign(a).astype(np.int8)
    kinds[(a >= upper) & (upper > 0)] = UPPER
    kinds[(a <= lower) & (lower < 0)] = LOWER
    kinds[flat & (np.abs(kinds) < UPPER)] = POSITIVE
    return kinds
