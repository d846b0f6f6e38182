"""L-curves: residuals against norms of machines of all weights, and the corner of such a curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.smoothing import Spectral

__all__ = ["LCurve", "corner", "l_curve"]


@dataclass(frozen=True, eq=False)
class LCurve:
    """Residuals against norms of the machines of all weights, from :func:`l_curve`."""

    C: Array
    """Weights of the loss, from the largest to the smallest, (k,)."""
    residuals: Array
    """Norms of the residuals, (k,)."""
    norms: Array
    """Norms of the functions, (k,)."""

    @property
    def corner(self) -> int:
        """Where the curve bends most in logarithmic axes."""
        return corner(self.residuals, self.norms)

    @property
    def best(self) -> float:
        """The weight at the corner."""
        return float(self.C[self.corner])


def corner(x: ArrayLike, y: ArrayLike) -> int:
    r"""Return where a falling curve bends most towards the origin, in logarithmic axes.

    The curvature :math:`(x'y'' - y'x'') / (x'^2 + y'^2)^{3/2}` of :math:`(\log x, \log y)` by
    central differences, over points that are evenly spaced in what they depend on.

    Parameters
    ----------
    x, y : (k,) array
        Positive coordinates in the order of ascending x, at least three.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.selection.l_curve import corner
    >>> x = np.geomspace(0.01, 100, 41)
    >>> float(x[corner(x, 1 + (1 / x) ** 4)].round(3))
    1.585
    """
    u, v = (np.asarray(values, dtype=np.float64) for values in (x, y))
    if len(u) < 3:
        raise ValueError("a curve of fewer than three points has no corner.")
    # Where nothing is left there is rounding, whose logarithm would bend most.
    u, v = (np.log(np.maximum(w, 1e-14 * np.max(w) or 1.0)) for w in (u, v))
    du, dv = 0.5 * (u[2:] - u[:-2]), 0.5 * (v[2:] - v[:-2])
    d2u, d2v = np.diff(u, 2), np.diff(v, 2)
    return 1 + int(np.argmax((du * d2v - dv * d2u) / (du**2 + dv**2) ** 1.5))


def l_curve(
    K: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    B: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> LCurve:
    r"""Return residuals and norms of least-squares machines, :math:`(\|e\|, \|f\|)`.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) array
        Targets.
    Cs : (k,) array
        Weights of the loss, evenly spaced in logarithms.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    weights : (n,) array, optional
        Weights of the samples; ones by default.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, figure 8.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.selection import l_curve
    >>> x = np.linspace(0, 1, 40)[:, None]
    >>> y = np.sin(6 * x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> curve = l_curve(Gaussian(0.2)(x), y, np.geomspace(1e-3, 1e6, 40))
    >>> bool(1 < curve.best < 1e4)
    True
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    spectral = Spectral(K, B, weights)
    descending = np.sort(np.asarray(Cs, dtype=np.float64))[::-1]
    s = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    e, norm = [], []
    for C in descending:
        a, _ = spectral.coefficients(y, float(C))
        e.append(np.sqrt(s @ spectral.residuals(y, float(C)) ** 2))
        norm.append(np.sqrt(max(float(a @ K @ a), 0.0)))
    return LCurve(descending, np.array(e), np.array(norm))
