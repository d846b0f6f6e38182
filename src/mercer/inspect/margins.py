"""Margins of a classifier, their distribution and the bounds that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Classifier, PointsLike, Predictor, SupportVectors, TargetsLike
from mercer.inspect.printing import PrintedReport
from mercer.kernels.dot_product import Linear
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import to_dense
from mercer.losses.base import Loss
from mercer.machines.protocol import is_classifier


def empirical_risk(
    machine: Predictor,
    X: PointsLike,
    y: TargetsLike,
    loss: Loss | Callable[[Array, Array], ArrayLike] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the mean cost of a fitted machine's predictions.

    .. math:: R_{\mathrm{emp}}(f) = \frac{\sum_i s_i\, c(y_i, f(x_i))}{\sum_i s_i}

    It estimates the expected cost where samples are independent and of one distribution, which
    those of a time series are not.

    Parameters
    ----------
    machine : fitted classifier or regressor
    X, y : array-like
        Samples.
    loss : Loss or callable, optional
        Cost of targets and values, for classifiers of two classes of labels plus and minus one and
        decision values; by default mistakes of a classifier, half of the squares of a regressor.
    sample_weight : array-like of shape (n_samples,), optional
        How often each sample counts.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, eq. (1.26)-(1.29).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.inspect.margins import empirical_risk
    >>> from mercer.losses import Hinge
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> machine = SVC(kernel="linear", C=100.0).fit(X, [0, 0, 1, 1])
    >>> empirical_risk(machine, X, [0, 0, 1, 0])
    0.25
    >>> round(empirical_risk(machine, X, [0, 0, 1, 0], Hinge()), 3)
    0.75
    """
    check_is_fitted(machine)
    if loss is None and is_classifier(machine):
        cost = np.asarray(machine.predict(X) != np.asarray(y), dtype=np.float64)
    elif loss is None:
        cost = 0.5 * (np.asarray(y, dtype=np.float64) - machine.predict(X)) ** 2
    else:
        value = loss.value if isinstance(loss, Loss) else loss
        if is_classifier(machine):
            targets, f = _signs(machine, y), machine.decision_function(X)
        else:
            targets, f = np.asarray(y, dtype=np.float64), machine.predict(X)
        cost = np.asarray(value(targets, f), dtype=np.float64)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(cost, weights=weights))


def _signs(machine: Classifier, y: TargetsLike) -> Array:
    """Return labels plus and minus one of a machine of two classes."""
    if len(machine.classes_) != 2:
        raise ValueError(f"Margins are defined for two classes; got {len(machine.classes_)}.")
    return np.where(np.asarray(y) == machine.classes_[1], 1.0, -1.0)


class MarginClassifier(Classifier, SupportVectors, Protocol):
    """A kernel machine of two classes, or a linear model, which has ``coef_`` alone."""

    @property
    def coef_(self) -> Array: ...


def _length(machine: MarginClassifier, X: PointsLike) -> float:
    """Return the norm of the penalized function of a machine of two classes."""
    kernel = getattr(machine, "kernel_", None)
    if kernel is None:
        return float(np.linalg.norm(machine.coef_))
    a = np.ravel(to_dense(machine.dual_coef_))
    if kernel.precomputed:
        support = machine.support_
        K = np.asarray(X)[np.ix_(support, support)] if len(X) == np.shape(X)[1] else None
        if K is None:
            raise ValueError("The norm over a precomputed kernel needs the matrix of the sample.")
    else:
        K = kernel(machine.support_vectors_) if len(a) else np.zeros((0, 0))
    return float(np.sqrt(max(float(a @ K @ a), 0.0)))


@dataclass(frozen=True, eq=False, repr=False)
class MarginReport(PrintedReport):
    r"""Margins :math:`y_i f(x_i)` of a sample; see :func:`margin_report`."""

    margins: Array
    """Of every sample, (n,)."""

    norm: float
    """Norm of the function; that of the weights of a linear one."""

    @property
    def minimum(self) -> float:
        """The smallest margin; positive if all samples are on their side."""
        return float(np.min(self.margins))

    @property
    def geometric(self) -> Array:
        """Signed distances to the boundary in the space of the kernel, (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.margins / self.norm)

    @property
    def error(self) -> float:
        """Share of samples on the wrong side, with those on the boundary."""
        return float(np.mean(self.margins <= 0))

    def errors(self, rho: ArrayLike) -> float | Array:
        r"""Return :math:`R_\rho`, the share of samples whose margin is below :math:`\rho`."""
        levels = np.asarray(rho, dtype=np.float64)
        below = np.searchsorted(np.sort(self.margins), levels, side="left") / len(self.margins)
        return float(below) if levels.ndim == 0 else below

    def distribution(self) -> tuple[Array, Array]:
        """Return sorted margins and the share of samples up to each."""
        n = len(self.margins)
        return np.sort(self.margins), np.arange(1, n + 1) / n

    def _title(self) -> str:
        return f"margins of {len(self.margins)} samples"

    def _lines(self) -> list[tuple[str, object]]:
        quartiles = np.quantile(self.margins, [0.25, 0.5, 0.75])
        return [
            ("smallest", self.minimum),
            ("middle half", (float(quartiles[0]), float(quartiles[2]))),
            ("median", float(quartiles[1])),
            ("wrong side", self.error),
            ("below one", self.errors(1.0)),
            ("norm", self.norm),
            ("smallest distance", self.minimum / self.norm if self.norm > 0 else None),
        ]


def margin_report(machine: MarginClassifier, X: PointsLike, y: TargetsLike) -> MarginReport:
    r"""Collect the margins of samples under a classifier of two classes.

    .. math:: \rho_f(x, y) = y f(x), \qquad R_\rho(f) = \frac1n \#\{i : y_i f(x_i) < \rho\},
              \qquad \|f\|^2 = a'Ka

    Parameters
    ----------
    machine : fitted classifier
        With ``decision_function``: a kernel machine, or a linear model.
    X, y : array-like
        Samples, of the training set or others.

    Returns
    -------
    MarginReport

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, eq. (1.11), (1.12), (1.14), (1.30).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.inspect import margin_report
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> machine = SVC(kernel="linear", C=1e3, tol=1e-10).fit(X, [0, 0, 1, 1])
    >>> report = margin_report(machine, X, [0, 0, 1, 1])
    >>> round(report.minimum, 6), report.errors(1.5), report.geometric.round(6)
    (1.0, 0.5, array([2., 1., 1., 3.]))
    """
    check_is_fitted(machine)
    y = _signs(machine, y)
    return MarginReport(y * np.ravel(machine.decision_function(X)), _length(machine, X))


def robustness_radius(machine: MarginClassifier, X: PointsLike, y: TargetsLike) -> Array:
    r"""Return how far each input may move, in any direction, without changing its label.

    In the space of a kernel :math:`|f(x + \delta) - f(x)| \le \|f\|\, \|\phi(x + \delta) -
    \phi(x)\|`, so that for the linear kernel, and for the Gaussian of width :math:`\sigma`,

    .. math:: \|\delta\| < \frac{y f(x)}{\|f\|}, \qquad
              \|\delta\| < \sigma \sqrt{-2 \ln\Bigl(1 - \frac{(y f(x))^2}{2 \|f\|^2}\Bigr)} .

    The first is exact, the second a proof that is careful. Samples on the wrong side have zero.

    Parameters
    ----------
    machine : fitted classifier
        A linear model, or a machine of two classes with a linear or Gaussian kernel.
    X, y : array-like
        Samples.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, section 1.1.3; the radii are derived.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.inspect.margins import robustness_radius
    >>> X = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    >>> machine = SVC(kernel="linear", C=1e3, tol=1e-10).fit(X, [0, 0, 1, 1])
    >>> robustness_radius(machine, X, [0, 0, 1, 1]).round(6)
    array([2., 1., 1., 3.])
    """
    kernel = getattr(machine, "kernel_", None)
    reach = np.maximum(margin_report(machine, X, y).geometric, 0.0)
    if kernel is None or isinstance(kernel, Linear):
        return reach
    if not isinstance(kernel, Gaussian) or np.ndim(kernel.length_scale):
        raise ValueError(
            f"Radii are known for linear models and Gaussian kernels of one width, not {kernel!r}."
        )
    with np.errstate(divide="ignore"):
        # Points of the space are at most sqrt(2) apart: beyond, nothing changes the label.
        closeness = np.log(np.maximum(1.0 - 0.5 * reach**2, 0.0))
    return np.asarray(np.asarray(kernel.length_scale, dtype=np.float64) * np.sqrt(-2.0 * closeness))
