r"""How much a machine depends on single samples: residuals with and without each of them.

.. math:: s_k = e_k - e_k^v, \qquad \hat\alpha = \max_k |s_k|, \qquad
          \hat\beta = \max_k \bigl|\ell(e_k) - \ell(e_k^v)\bigr|

with the residual :math:`e_k` of the machine of all samples and :math:`e_k^v` of the one without
sample k, or without its fold. What of the machine's settings was measured on all samples is named
by :attr:`Stability.kept`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, Array, PointsLike, Predictor, Seed, SplitterLike, WeightsLike
from mercer.losses.base import Loss
from mercer.losses.named import REGRESSION, resolve
from mercer.machines.base import KernelMachine
from mercer.machines.protocol import is_classifier
from mercer.selection.leave_one_out_errors import leave_one_out
from mercer_research.risk_bounds.fitted_parts import measured
from mercer_research.selection.folds import Folds

__all__ = ["Stability", "stability"]


@dataclass(frozen=True, eq=False)
class Stability:
    """Residuals with and without each sample, from :func:`stability`.

    Parameters
    ----------
    residuals : ndarray of shape (n,) or (n, d)
        Residuals e of the machine that was trained with a sample.
    left_out : ndarray like ``residuals``
        Residuals of the machine that was trained without it, with the settings in ``kept`` as they
        are for the whole sample.
    kept : tuple of str, default=()
        Settings that were measured on the whole sample, not again without each sample:
        ``"gamma='scale'"``, ``"standardize=True"``. Empty if everything was refitted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.selection.stability_report import Stability
    >>> found = Stability(np.array([0.1, -0.2, 0.0]), np.array([0.2, -0.6, 0.0]))
    >>> round(found.alpha, 9), round(found.beta(), 9), found.worst
    (0.4, 0.4, array([1, 0, 2]))
    """

    residuals: Array
    left_out: Array
    kept: tuple[str, ...] = ()

    @property
    def differences(self) -> Array:
        """Residuals of the fit less residuals left out, like both."""
        return np.asarray(self.residuals - self.left_out)

    @property
    def alpha(self) -> float:
        """The largest difference: the machine is stable to this on its sample."""
        return float(np.max(np.abs(self.differences)))

    @property
    def worst(self) -> NDArray[np.intp]:
        """The samples from the largest difference to the smallest, (n,)."""
        size = np.abs(self.differences)
        return np.argsort(-(size if size.ndim == 1 else size.max(axis=1)), kind="stable")

    def beta(self, loss: Loss | str = "absolute") -> float:
        r"""Return the largest change of a loss of the residuals.

        For a loss with slopes of at most one this is no more than :attr:`alpha`.

        Parameters
        ----------
        loss : Loss or str, default="absolute"
            A loss of residuals.
        """
        with_it, without = self._losses(loss)
        return float(np.max(np.abs(with_it - without)))

    def bound(
        self, delta: float = 0.05, *, loss: Loss | str = "absolute", largest: float | None = None
    ) -> float:
        r"""Return what the expected loss would be below, were the machine as stable everywhere.

        .. math:: R \le R_{\text{emp}} + 2\beta + (4n\beta + M) \sqrt{\frac{\ln(1/\delta)}{2n}}

        with a probability of :math:`1 - \delta` if :math:`\beta` bounds the change of the loss at
        *every* point, for *every* sample, and M every loss. Here both are read off one sample, so
        that this is a report to compare machines by, no guarantee; it says little unless
        :math:`\beta` is far below :math:`1/\sqrt n`.

        Parameters
        ----------
        delta : float, default=0.05
            The probability with which the bound would fail.
        loss : Loss or str, default="absolute"
            A loss of residuals.
        largest : float, optional
            M; the largest loss of the sample by default.

        References
        ----------
        O. Bousquet and A. Elisseeff, *Stability and generalization*, JMLR 2 (2002), theorem 12.
        """
        if not 0 < delta < 1:
            raise ValueError(f"delta must be a probability between 0 and 1, got {delta!r}.")
        with_it, without = self._losses(loss)
        n, beta = with_it.size, float(np.max(np.abs(with_it - without)))
        M = float(max(with_it.max(), without.max())) if largest is None else float(largest)
        slack = np.sqrt(np.log(1.0 / delta) / (2.0 * n))
        return float(np.mean(with_it) + 2.0 * beta + (4.0 * n * beta + M) * slack)

    def _losses(self, loss: Loss | str) -> tuple[Array, Array]:
        rho, zero = resolve(loss, REGRESSION), np.zeros_like(self.residuals)
        return rho.value(self.residuals, zero), rho.value(self.left_out, zero)


def stability(
    machine: Predictor,
    X: PointsLike,
    y: ArrayLike,
    *,
    cv: SplitterLike = None,
    sample_weight: WeightsLike = None,
    random_state: Seed = 0,
) -> Stability:
    r"""Measure how much the residual of a sample depends on whether the machine has seen it.

    For machines of this library samples are left out one by one as in
    :func:`~mercer.selection.leave_one_out`: without a refit for the squared loss, with refits of
    support vectors only for others. What is left out is the loss of the sample. A length scale from
    the data (``gamma="scale"``, the default, or ``"median"``), a scaler (``standardize=True``) and
    balanced weights of classes stay those of the whole sample, and the result names them in
    ``kept``. Other estimators, and folds, are refitted with all of these: ``cv=LeaveOneOut()`` does
    so for single samples, at the price of a fit each.

    Parameters
    ----------
    machine : fitted estimator
        A regressor, or a classifier of two classes with a ``decision_function``, whose residuals
        are those from the labels minus and plus one.
    X, y, sample_weight :
        The sample it was fitted on.
    cv : int, splitter or iterable, optional
        Folds to leave out together, as in :func:`as_splitter`, which hold out every sample once;
        by default single samples, with the settings in ``kept`` held.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.

    Returns
    -------
    Stability
        Residuals, differences, the worst samples, what was kept and what follows from them.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 8.3, eq. (8.34).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer_research.selection.stability_report import stability
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> y[20] += 1.0
    >>> loose, tight = (stability(LSSVR(C=C).fit(x, y), x, y) for C in (0.1, 1000.0))
    >>> bool(loose.alpha < tight.alpha), int(tight.worst[0])
    (True, 20)
    >>> tight.kept, stability(LSSVR().fit(x, y), x, y, cv=5).kept
    (("gamma='scale'",), ())
    """
    check_is_fitted(machine)
    targets = np.asarray(y)
    if is_classifier(machine):
        if len(machine.classes_) != 2 or not hasattr(machine, "decision_function"):
            raise ValueError(
                "residuals are defined for classifiers of two classes with a decision function; "
                "take pairs of classes one by one."
            )
        targets = np.where(targets == machine.classes_[1], 1.0, -1.0)
    targets = np.asarray(targets, dtype=np.float64)
    kept: tuple[str, ...] = ()
    if cv is None and isinstance(machine, KernelMachine):
        found = leave_one_out(machine, X, y, sample_weight=sample_weight)
        left_out = found.prediction if found.decision is None else found.decision
        balanced = getattr(machine, "class_weight", None) == "balanced"
        kept = (*measured(machine), *(["class_weight='balanced'"] if balanced else []))
    else:
        cv = LeaveOneOut() if cv is None else cv
        classes = is_classifier(machine)
        labels = Folds.split(cv, X, y, None, random_state, classifier=classes).labels
        left_out = _refitted(machine, X, np.asarray(y), labels, sample_weight)
    e, e_left_out = targets - _values(machine, X), targets - np.asarray(left_out, np.float64)
    return Stability(e, e_left_out, kept)


def _values(machine: Predictor, X: PointsLike) -> Array:
    """Return decision values, or predictions of a regressor."""
    values = machine.decision_function(X) if is_classifier(machine) else machine.predict(X)
    return np.asarray(values, dtype=np.float64)


def _refitted(
    machine: Predictor,
    X: PointsLike,
    y: AnyArray,
    labels: NDArray[np.intp],
    sample_weight: WeightsLike,
) -> Array:
    """Return cross-validated predictions: of every sample by a machine fitted without its fold."""
    values = np.empty(y.shape)
    for fold in range(int(labels.max()) + 1):
        T, V = np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[T]}
        other = clone(machine).fit(safe_indexing(X, T), y[T], **weights)
        values[V] = _values(other, safe_indexing(X, V))
    return values
