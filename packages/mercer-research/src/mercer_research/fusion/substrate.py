r"""Additive regularization: each sample has its own constant, and the machine is affine in it.

.. math:: \min_{f, b} \tfrac12 \|f\|^2 + \tfrac{C_0}{2} \sum_i s_i (e_i - c_i)^2, \qquad
          e_i = y_i - f(x_i) - b'p(x_i)

has the solution :math:`a = Q(y - c)` with the matrix Q of the least-squares machine of
:math:`C_0`. What is asked of residuals or coefficients at a second level is therefore asked of c,
linearly. A machine with another C is the one with :math:`c_i = (1/C - 1/C_0)\, a_i / s_i`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import Params
from mercer._typing import Array, PointsLike
from mercer.kernels.base import Kernel
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.smoothing.factored import Factored

__all__ = ["Affine", "EffectiveC", "Substrate", "System"]


class Affine(NamedTuple):
    """A function of the shifts c, ``offset + matrix @ c``."""

    offset: Array
    matrix: Array

    def __call__(self, c: ArrayLike) -> Array:
        return np.asarray(self.offset + self.matrix @ np.asarray(c, dtype=np.float64))


class EffectiveC(NamedTuple):
    """The C nearest to a machine of the substrate."""

    C: float
    distance: float
    """How far residuals are from proportional to coefficients, relative to them; 0 for a C."""


class System:
    r"""The substrate on one sample: coefficients and residuals as affine functions of c.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) or (n, d) array
        Targets.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    C0 : float, default=1.0
        The constant of the machine that is shifted.
    weights : (n,) array, optional
        Weights s of the samples, positive; ones by default.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.10) to (8.14), whose
    constant is one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import System
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> system = System(Gaussian(0.2)(x), np.sin(6 * x[:, 0]), np.ones((20, 1)))
    >>> c = system.from_tikhonov(30.0)
    >>> C, distance = system.effective_C(system.coefficients(c)[0], c)
    >>> round(C, 6), bool(distance < 1e-8)
    (30.0, True)
    """

    def __init__(
        self,
        K: ArrayLike,
        y: ArrayLike,
        B: ArrayLike | None = None,
        C0: float = 1.0,
        weights: ArrayLike | None = None,
    ) -> None:
        self.K = np.asarray(K, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64)
        n = len(self.K)
        self.B = np.zeros((n, 0)) if B is None else np.asarray(B, dtype=np.float64)
        self.C0 = float(C0)
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        if not np.all(self.weights > 0):
            raise ValueError("leave samples without a positive weight out of a substrate.")
        if self.y.shape[:1] != (n,):
            raise ValueError(f"y must have {n} rows, got shape {self.y.shape}.")
        self._factored = Factored(self.K, self.B, self.weights, C=self.C0)

    @property
    def ridge(self) -> Array:
        """The ridge on the diagonal of K, ``1 / (C0 s)``, (n,)."""
        return np.asarray(1.0 / (self.C0 * self.weights))

    @cached_property
    def Q(self) -> Array:
        """The matrix of the coefficients, ``a = Q (y - c)``, (n, n)."""
        root = np.sqrt(self.weights)
        return np.asarray(root[:, None] * self._factored.Q * root)

    def coefficients(self, c: ArrayLike) -> tuple[Array, Array]:
        """Return a (n,) or (n, d) and b (q,) or (q, d) of the machine with shifts c."""
        return self._factored.coefficients(self.y - np.asarray(c, dtype=np.float64))

    def residuals(self, c: ArrayLike) -> Array:
        """Return ``e = y - f``, which is ``a / (C0 s) + c``."""
        c = np.asarray(c, dtype=np.float64)
        return np.asarray((self.coefficients(c)[0].T * self.ridge).T + c)

    def shifts(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Return the c of any coefficients with ``B'a = 0``: unrestricted c restrict nothing."""
        a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        return np.asarray(self.y - self.K @ a - self.B @ b - (a.T * self.ridge).T)

    @cached_property
    def alpha(self) -> Affine:
        """Coefficients of the kernel as a function of c."""
        return Affine(self.Q @ self.y, -self.Q)

    @cached_property
    def e(self) -> Affine:
        """Residuals as a function of c."""
        shrunk = self.ridge[:, None] * self.Q
        return Affine(shrunk @ self.y, np.eye(len(self.K)) - shrunk)

    @cached_property
    def b(self) -> Affine:
        """Coefficients of the unpenalized functions as a function of c."""
        R = self._factored.coefficients(np.eye(len(self.K)))[1]
        return Affine(R @ self.y, -R)

    def predictions(self, cross: ArrayLike, B: ArrayLike | None = None) -> Affine:
        """Return predictions elsewhere as a function of c.

        Parameters
        ----------
        cross : (m, n) array
            Kernel between the points there and the sample.
        B : (m, q) array, optional
            Unpenalized functions there; none by default.
        """
        M = np.asarray(cross) @ self.alpha.matrix
        if B is not None:
            M = M + np.asarray(B) @ self.b.matrix
        return Affine(-M @ self.y, M)

    # Against machines of one C -------------------------------------------------------------------

    def from_tikhonov(self, C: float) -> Array:
        """Return the shifts of the machine with another C.

        Parameters
        ----------
        C : float
            Weight of the loss, positive.
        """
        a, _ = Factored(self.K, self.B, self.weights, C=C).coefficients(self.y)
        return np.asarray((1.0 / C - 1.0 / self.C0) * (a.T / self.weights).T)

    def effective_C(self, a: ArrayLike, c: ArrayLike) -> EffectiveC:
        r"""Return the C nearest to a machine, and how far it is from it.

        A machine with one C has residuals :math:`e = a / (Cs)`; the C is that of least squares.

        Parameters
        ----------
        a : (n,) or (n, d) array
            Coefficients.
        c : (n,) or (n, d) array
            Shifts.
        """
        unit = (np.asarray(a, dtype=np.float64).T / self.weights).T
        e = unit / self.C0 + np.asarray(c, dtype=np.float64)
        power = float(np.sum(unit**2))
        if not power:
            return EffectiveC(0.0, 0.0)
        t = float(np.sum(unit * e)) / power
        left = float(np.linalg.norm(e - t * unit)) / max(float(np.linalg.norm(e)), 1e-300)
        return EffectiveC(1.0 / t if t > 0 else np.inf, left)

    # Fusion with validation ----------------------------------------------------------------------

    def fuse(
        self,
        cross: ArrayLike,
        y_val: ArrayLike,
        B_val: ArrayLike | None = None,
        *,
        training: float = 0.0,
        penalty: float = 0.0,
    ) -> Array:
        r"""Return the shifts with the least squared validation errors.

        .. math:: \min_c \|y^v - f^v(c)\|^2 + \tau \|e(c)\|^2 + \rho \|c\|^2

        With :math:`\tau = \rho = 0` the targets of the sample play no role at all: any
        coefficients can be had, so that validation data are fitted on centres of the sample.

        Parameters
        ----------
        cross : (m, n) array
            Kernel between validation data and sample.
        y_val : (m,) or (m, d) array
            Validation targets.
        B_val : (m, q) array, optional
            Unpenalized functions there; none by default.
        training : float, default=0.0
            The weight :math:`\tau` of the residuals of the sample.
        penalty : float, default=0.0
            The weight :math:`\rho` of the shifts, which is what regularizes.

        Returns
        -------
        array like y
            Of all minimizers the shortest.

        References
        ----------
        K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.13), (8.14).
        """
        y_val, n = np.asarray(y_val, dtype=np.float64), len(self.K)
        if len(y_val) < n and not (training > 0 or penalty > 0):
            raise ValueError(
                f"{len(y_val)} validation targets do not determine {n} coefficients, and the "
                "targets of the sample would not be used: give training or penalty a positive "
                "weight, or average machines with FusedLSSVR(strategy='hull')."
            )
        f = self.predictions(cross, B_val)
        rows, right = [f.matrix], [y_val - f.offset]
        if training > 0:
            rows.append(np.sqrt(training) * self.e.matrix)
            right.append(-np.sqrt(training) * self.e.offset)
        if penalty > 0:
            rows.append(np.sqrt(penalty) * np.eye(n))
            right.append(np.zeros_like(self.y))
        c = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]
        return np.asarray(c)


@dataclass(eq=False)
class Substrate(Params):
    r"""A least-squares machine with a free additive constant for every sample.

    Parameters
    ----------
    kernel : Kernel
        Reproducing kernel.
    C0 : float, default=1.0
        The constant of the machine that is shifted. It sets the unit of the shifts.
    null_space : NullSpace, optional
        Unpenalized functions, ``Empty()`` for none; an intercept by default.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.10), (8.11).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import Substrate
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> system = Substrate(Gaussian(0.2), C0=10.0).on(x, np.sin(6 * x[:, 0]))
    >>> c = np.zeros(20)
    >>> c[7] = 1.0
    >>> a, b = system.coefficients(c)
    >>> np.allclose(system.residuals(c), a / 10.0 + c), bool(abs(a.sum()) < 1e-12)
    (True, True)
    """

    kernel: Kernel
    C0: float = 1.0
    null_space: NullSpace | None = None

    def __post_init__(self) -> None:
        if not 0 < self.C0 < np.inf:
            raise ValueError(f"C0 must be positive and finite, got {self.C0!r}.")

    def on(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> System:
        """Return the substrate on a sample.

        Parameters
        ----------
        X : (n, p) points
        y : (n,) or (n, d) array
            Targets.
        sample_weight : (n,) array, optional
            Positive weights; ones by default.
        """
        K = np.asarray(self.kernel(X), dtype=np.float64)
        space = Constant() if self.null_space is None else self.null_space
        return System(K, y, space(X), self.C0, sample_weight)
