r"""Criteria of least-squares machines, and how they change with the kernel matrix and with C.

All are functions of :math:`Q = (M^{-1})` off the unpenalized columns, :math:`M = WKW + 1/C`, of the
coefficients :math:`\tilde a = QWy` and of C. Because :math:`dQ = -Q\,dM\,Q`, partial derivatives
with respect to Q and a make one matrix

.. math:: G = \frac{\partial J}{\partial M}
          = -Q \frac{\partial J}{\partial Q} Q - \operatorname{sym}\Bigl(Q
            \frac{\partial J}{\partial \tilde a} \tilde a'\Bigr)

that turns any change of the kernel into a change of the criterion: one gradient costs a few times
the factorization, however many parameters the kernel has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._params import Params
from mercer._typing import Array, TargetsLike
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.factored import Factored
from mercer.smoothing.fit import Fit

__all__ = [
    "AIC",
    "BIC",
    "GCV",
    "Criterion",
    "CrossValidation",
    "Evidence",
    "LeaveOneOut",
    "MallowsCp",
]


class Criterion(Params, ABC):
    """A number that says how well a least-squares machine will do; smaller is better."""

    positive: ClassVar[bool] = True
    """Whether it is a mean of squares or losses, best compared by ratios."""

    def restricted(self, rows: NDArray[np.intp]) -> Criterion:
        """Return the criterion for some of the samples.

        Parameters
        ----------
        rows : array of int
            Which.
        """
        return self

    def curve(self, spectral: Spectral, y: TargetsLike, C: ArrayLike) -> Array:
        """Return the criterion for several weights of the loss.

        Parameters
        ----------
        spectral, y :
            As in :func:`mercer.smoothing.secular.mean_square`.
        C : (k,) array
            Weights of the loss.
        """
        return np.array([self.value(spectral.at(y, float(one))) for one in np.ravel(C)])

    @abstractmethod
    def value(self, fit: Fit) -> float:
        """Return the criterion of a machine.

        Parameters
        ----------
        fit : Fit
            From :meth:`Spectral.at` or :meth:`Factored.fit`.
        """

    @abstractmethod
    def gradient(
        self, factored: Factored, y: TargetsLike, at_ratio: bool = False
    ) -> tuple[float, Array, float]:
        r"""Return the criterion and its derivatives.

        Parameters
        ----------
        factored : Factored
            The machine.
        y : (n,) or (n, d) array
            Targets.
        at_ratio : bool, default=False
            Differentiate by K at a constant signal-to-noise ratio, instead of a constant C.

        Returns
        -------
        value : float
        G : (n, n) array
            :math:`\partial J / \partial K`, symmetric.
        slope : float
            :math:`dJ / d \log C`.
        """


class _OfInverse(Criterion):
    """A criterion whose slopes need all of the inverse."""

    @abstractmethod
    def _slopes(self, fit: Fit, Q: Array) -> tuple[float, Array, float]:
        """Return the value, G without the scale of weights, and the slope in C at fixed M."""

    def gradient(
        self, factored: Factored, y: TargetsLike, at_ratio: bool = False
    ) -> tuple[float, Array, float]:
        Q = factored.Q  # before the fit, which then reads its diagonal there
        fit = factored.fit(y)
        value, G, by_C = self._slopes(fit, Q)
        slope = fit.C * by_C - float(np.trace(G)) / fit.C
        root = fit.root
        if np.any(root != 1):
            G *= root[:, None]
            G *= root
        G = factored.spread(G)
        return value, factored.at_ratio(G, slope) if at_ratio else G, slope


def _pulled(Q: Array, by_a: Array, a: Array) -> Array:
    """Return slopes by the matrix from slopes by coefficients, ``-sym(Q by_a a')``."""
    outer = (Q @ by_a) @ a.T
    return np.asarray(-0.5 * (outer + outer.T))


def _losses(loss: Loss, y: Array, f: Array, weights: Array) -> tuple[float, Array]:
    """Return the weighted loss of several outputs and its slope in f."""
    slope = np.empty_like(f)
    total = 0.0
    for k in range(y.shape[1]):
        total += float(weights @ loss.value(y[:, k], f[:, k]))
        slope[:, k] = weights * loss.gradient(y[:, k], f[:, k])
    return total, slope


@dataclass(eq=False)
class LeaveOneOut(_OfInverse):
    r"""The mean loss of samples that were left out, one at a time, without refits.

    .. math:: \sum_i \frac{s_i}{\sum_j s_j} \, l\bigl(y_i, f^{(-i)}(x_i)\bigr), \qquad
              y_i - f^{(-i)}(x_i) = \frac{a_i}{Q_{ii}}

    Parameters
    ----------
    loss : Loss, default=Squared()
        What an error costs. A robust one, :class:`~mercer.losses.Huber` or
        :class:`~mercer.losses.Absolute`, makes the criterion robust; a loss of margins scores a
        classifier with targets ±1.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (7.6); K. Pelckmans, *Primal-Dual
    Kernel Machines*, KU Leuven 2005, sec. 3.3; G. Cawley and N. Talbot (2007), Preventing
    over-fitting during model selection via Bayesian regularisation of the hyper-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.criteria import LeaveOneOut
    >>> spectral = Spectral(np.zeros((4, 4)), np.ones((4, 1)))  # the mean of the others
    >>> y = np.array([0.0, 0.0, 0.0, 3.0])
    >>> round(LeaveOneOut().value(spectral.at(y, 1.0)), 3)  # half the mean of 1, 1, 1 and 9
    1.5
    """

    loss: Loss = field(default_factory=Squared)

    def value(self, fit: Fit) -> float:
        f = fit.y - fit.left_out_one / fit.root[:, None]
        return _losses(self.loss, fit.y, f, fit.weights)[0]

    def curve(self, spectral: Spectral, y: TargetsLike, C: ArrayLike) -> Array:
        Y, s = np.asarray(y, dtype=np.float64).reshape(spectral.n, -1), spectral.weights
        live = s > 0
        left = spectral.leave_one_out(Y, np.ravel(C))[:, live]
        Y, s = Y[live], s[live] / s.sum()
        total = np.zeros(len(left))
        for k in range(Y.shape[1]):
            targets = np.broadcast_to(Y[:, k], left.shape[:2])
            total += self.loss.value(targets, targets - left[:, :, k]) @ s
        return total

    def _slopes(self, fit: Fit, Q: Array) -> tuple[float, Array, float]:
        left = fit.left_out_one
        f = fit.y - left / fit.root[:, None]
        value, slope = _losses(self.loss, fit.y, f, fit.weights)
        by_a = -slope / (fit.root * fit.q)[:, None]
        by_q = -np.sum(by_a * left, axis=1)
        G = -(Q * by_q) @ Q
        G += _pulled(Q, by_a, fit.a)
        return value, G, 0.0


@dataclass(eq=False)
class CrossValidation(_OfInverse):
    r"""The mean loss of folds that were left out, without refits.

    .. math:: \sum_V \sum_{i \in V} \frac{s_i}{\sum_j s_j} \, l(y_i, f^{(-V)}(x_i)), \qquad
              y_V - f^{(-V)}_V = Q_{VV}^{-1} a_V

    Parameters
    ----------
    labels : (n,) array of int
        Which fold each sample belongs to.
    loss : Loss, default=Squared()
        What an error costs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.criteria import CrossValidation
    >>> spectral = Spectral(np.zeros((4, 4)), np.ones((4, 1)))
    >>> y = np.array([0.0, 0.0, 2.0, 2.0])
    >>> round(CrossValidation([0, 0, 1, 1]).value(spectral.at(y, 1.0)), 12)
    2.0
    """

    labels: Any = None
    loss: Loss = field(default_factory=Squared)

    def __post_init__(self) -> None:
        if self.labels is None:
            raise ValueError("labels must say which fold each sample belongs to.")

    def restricted(self, rows: NDArray[np.intp]) -> CrossValidation:
        return CrossValidation(np.asarray(self.labels)[rows], self.loss)

    def _folds(self, fit: Fit) -> list[NDArray[np.intp]]:
        labels = np.asarray(self.labels)
        if labels.shape != (len(fit.q),):
            raise ValueError(
                f"labels must name the fold of each of {len(fit.q)} samples with weight, got shape "
                f"{labels.shape}."
            )
        return [np.flatnonzero(labels == label) for label in np.unique(labels)]

    def _left(self, fit: Fit) -> Array:
        left = np.empty_like(fit.a)
        for inside in self._folds(fit):
            left[inside] = fit.left_out(inside)
        return left

    def value(self, fit: Fit) -> float:
        f = fit.y - self._left(fit) / fit.root[:, None]
        return _losses(self.loss, fit.y, f, fit.weights)[0]

    def _slopes(self, fit: Fit, Q: Array) -> tuple[float, Array, float]:
        left, folds = self._left(fit), self._folds(fit)
        f = fit.y - left / fit.root[:, None]
        value, slope = _losses(self.loss, fit.y, f, fit.weights)
        by_a = np.empty_like(left)
        pairs = []
        for inside in folds:
            block = fit.inverse(inside, inside)
            by_a[inside] = np.linalg.solve(block, -slope[inside] / fit.root[inside, None])
            # dJ/dQ_VV = -sym(by_a left'), seen from all samples.
            pairs.append((Q[:, inside] @ by_a[inside], Q[:, inside] @ left[inside]))
        outer = np.hstack([h for h, _ in pairs]) @ np.hstack([r for _, r in pairs]).T
        G = 0.5 * (outer + outer.T)
        G += _pulled(Q, by_a, fit.a)
        return value, G, 0.0


@dataclass(eq=False)
class GCV(_OfInverse):
    r"""Generalized cross-validation.

    .. math:: \frac{\|(1 - S)y\|^2 / n}{(1 - \operatorname{tr} S/n)^2}

    Residuals are weighted. It is leave-one-out with all leverages replaced by their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.criteria import GCV
    >>> spectral = Spectral(np.zeros((4, 4)), np.ones((4, 1)))
    >>> round(GCV().value(spectral.at(np.array([0.0, 0.0, 0.0, 4.0]), 1.0)), 3)
    5.333
    """

    def value(self, fit: Fit) -> float:
        return float(np.sum(fit.a**2)) / len(fit.q) / float(np.mean(fit.q)) ** 2

    def _slopes(self, fit: Fit, Q: Array) -> tuple[float, Array, float]:
        value, n, q = self.value(fit), len(fit.q), float(np.mean(fit.q))
        G = (2.0 * value / (n * q)) * (Q @ Q)
        G += _pulled(Q, 2.0 * fit.a / (n * q**2), fit.a)
        return value, G, 0.0


class _Penalized(_OfInverse):
    """A function of the mean squared residual and of the degrees of freedom."""

    @abstractmethod
    def _of(self, error: float, freedom: float, n: int) -> tuple[float, float, float]:
        """Return the value and its slopes by mean squared error and by freedom per sample."""

    def value(self, fit: Fit) -> float:
        n = len(fit.q)
        return self._of(float(np.sum(fit.residuals**2)) / n, fit.degrees_of_freedom / n, n)[0]

    def _slopes(self, fit: Fit, Q: Array) -> tuple[float, Array, float]:
        n, C = len(fit.q), fit.C
        error, freedom = float(np.sum(fit.residuals**2)) / n, fit.degrees_of_freedom / n
        value, by_error, by_freedom = self._of(error, freedom, n)
        # error = |a|^2 / (n C^2) and freedom = 1 - tr Q / (n C)
        G = (by_freedom / (n * C)) * (Q @ Q)
        G += _pulled(Q, by_error * 2.0 * fit.a / (n * C**2), fit.a)
        by_C = -2.0 * by_error * error / C + by_freedom * (1.0 - freedom) / C
        return value, G, by_C


@dataclass(eq=False)
class MallowsCp(_Penalized):
    r"""Mallows' criterion, :math:`\frac1n \|(1 - S)y\|^2 + 2 \sigma^2 \operatorname{tr} S / n`.

    Parameters
    ----------
    noise_variance : float
        The variance of the noise, e.g. of :func:`~mercer.smoothing.noise_variance`.
    """

    noise_variance: float = 1.0

    def __post_init__(self) -> None:
        if not self.noise_variance >= 0:
            raise ValueError(f"noise_variance must not be negative, got {self.noise_variance!r}.")

    def _of(self, error: float, freedom: float, n: int) -> tuple[float, float, float]:
        penalty = 2.0 * float(self.noise_variance)
        return error + penalty * freedom, 1.0, penalty


@dataclass(eq=False)
class AIC(_Penalized):
    r"""Akaike's criterion, :math:`\log(\|(1 - S)y\|^2/n) + 2 \operatorname{tr} S / n`.

    Parameters
    ----------
    corrected : bool, default=True
        Use :math:`1 + 2 (\operatorname{tr} S + 1)/(n - \operatorname{tr} S - 2)` for the penalty,
        which does not interpolate small samples (Hurvich, Simonoff and Tsai 1998).
    """

    positive: ClassVar[bool] = False
    corrected: bool = True

    def _of(self, error: float, freedom: float, n: int) -> tuple[float, float, float]:
        by_error = 1.0 / error if error > 0 else np.inf
        log = float(np.log(error)) if error > 0 else -np.inf
        if not self.corrected:
            return log + 2.0 * freedom, by_error, 2.0
        room = 1.0 - freedom - 2.0 / n
        if room <= 0:
            return np.inf, by_error, np.inf
        up = freedom + 1.0 / n
        return log + 1.0 + 2.0 * up / room, by_error, 2.0 / room + 2.0 * up / room**2


@dataclass(eq=False)
class BIC(_Penalized):
    r"""Schwarz's criterion, :math:`\log(\|(1 - S)y\|^2/n) + \log(n) \operatorname{tr} S / n`."""

    positive: ClassVar[bool] = False

    def _of(self, error: float, freedom: float, n: int) -> tuple[float, float, float]:
        log = float(np.log(error)) if error > 0 else -np.inf
        penalty = float(np.log(n))
        return log + penalty * freedom, 1.0 / error if error > 0 else np.inf, penalty


@dataclass(eq=False)
class Evidence(Criterion):
    r"""Minus the restricted log-likelihood of the Gaussian process behind the machine, per sample.

    Targets are Gaussian with covariance :math:`\tau (K + \operatorname{diag}(1/c))` about any
    combination of the unpenalized columns; the scale :math:`\tau` is the most likely one,
    :math:`y'a / m` with :math:`m = n - q`:

    .. math:: \frac{1}{2m} \Bigl(m \log \frac{2\pi e\, y'a}{m} + \log |M|_{\perp B}\Bigr)

    Weights enter as precisions; a constant that depends on them alone is left out.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 5.2.
    """

    positive: ClassVar[bool] = False

    def _parts(
        self, targets: Array, a: Array, rank: int, log_det: float
    ) -> tuple[float, float, Array]:
        """Return the criterion, and y'a and a in units of the targets; y'a is 0 without errors."""
        m, d = len(a) - rank, a.shape[1]
        # In these units: the product of two small numbers is zero.
        unit = float(np.max(np.abs(targets), initial=0.0)) or 1.0
        a = a / unit
        square = float(np.vdot(targets / unit, a))
        if m <= 0 or square <= 0:
            return -np.inf, 0.0, a
        log_square = 2.0 * float(np.log(unit)) + float(np.log(2 * np.pi * np.e * square / (m * d)))
        return 0.5 * d * (log_square + log_det / m), square, a

    def curve(self, spectral: Spectral, y: TargetsLike, C: ArrayLike) -> Array:
        # In the basis of the eigenvectors, where no C needs a product with them.
        P = spectral.components(y)
        inverses = spectral._inverse(np.ravel(C))
        values = [
            self._parts(P, inverse[:, None] * P, 0, -float(np.sum(np.log(inverse))))[0]
            for inverse in inverses
        ]
        return np.array(values)

    def value(self, fit: Fit) -> float:
        return self._parts(fit.targets, fit.a, fit.rank, fit.log_det)[0]

    def gradient(
        self, factored: Factored, y: TargetsLike, at_ratio: bool = False
    ) -> tuple[float, Array, float]:
        targets, a = factored.solved(y)
        value, square, a = self._parts(targets, a, factored.rank, factored.log_det)
        if square == 0.0:
            # Without an error left every kernel is as likely, and there is nothing to descend.
            return 0.0, np.zeros((factored.n, factored.n)), 0.0
        m, d = len(a) - factored.rank, a.shape[1]
        return value, *factored.slopes(0.5 * d / m, 0.5 * d / square, a, at_ratio)
