"""Machines with a regularization constant for every sample, tuned by cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import (
    Array,
    Constraints,
    Function,
    PointsLike,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.named import REGRESSION, resolve
from mercer.losses.regression import Squared
from mercer_research.fusion.additive_cv import FoldedSubstrate, fast_fusion
from mercer_research.fusion.machine import Folded
from mercer_research.fusion.substrate import System
from mercer_research.selection.folds import Folds

__all__ = ["AdditiveRegularization"]


@settings
class AdditiveRegularization(Folded):
    r"""Fit a least-squares machine with an additive constant for every sample.

    .. math:: (K + \tfrac{1}{C_0}) a + Bb = y - c, \quad B'a = 0

    The constants c take the place of C, and because the machine is affine in them,
    cross-validation chooses them by least squares instead of a search.

    ``mode="full"`` shares c between the machines of all folds and minimizes the squared residuals
    of the samples left out and of those trained on,
    :math:`\sum_l \|e^{(l)v}\|^2 + \sum_l \|e^{(l)}\|^2`. ``mode="fast"`` shares the coefficients
    themselves, and minimizes residuals and how they change when a sample is left out,
    :math:`\|e\|^2 + \|e - e^v\|^2`. Both cost a few products of n x n matrices.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel.
    mode : {"full", "fast"}, default="full"
        What the folds share.
    C0 : float, default=1.0
        The constant of the machine that is shifted; for ``"fast"`` only the unit of ``shifts_``.
    cv : int, splitter or iterable, default=10
        Folds as in :func:`~mercer.machines.folds.as_splitter`, or a splitter that holds every
        sample out once.
    final : {"auto", "refit", "average", "sum"}, default="auto"
        The machine that predicts: ``"refit"`` (the default of ``"full"``) is that of the whole
        sample with the c found, ``"average"`` (the default of ``"fast"``) that of the folds, and
        ``"sum"``, for ``"fast"``, the whole sum of kernels as printed, which counts every
        coefficient L / (L - 1) times.
    penalty : float, default=0.0
        The weight of :math:`\sum_i s_i c_i^2` (``"full"``) or :math:`\sum_i a_i^2 / s_i`
        (``"fast"``) beside the residuals, which the source does not have. Without it both are ill
        posed for smooth kernels and large samples: constants and coefficients run away along what
        the kernel hardly sees. A hundredth is a start.
    loss : Loss or str, default="squared"
        For ``"fast"``: what a residual costs.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    degree, gamma, coef0 :
        Of named kernels, as in :class:`~mercer.SVR`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    shifts_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The additive constants c of the machine that predicts. Where :math:`c_i = (1/C_i - 1/C_0)
        a_i`, sample i is believed as by a machine of :math:`C_i`: more than by that of ``C0``
        if c and a have opposite signs.
    left_out_residuals_ : ndarray like ``shifts_``
        Residuals of the samples by the machine without their fold.
    mean_residuals_ : ndarray like ``shifts_``
        Residuals averaged over the machines trained with a sample.
    effective_C_, distance_ : float
        The C nearest to the machine, and how far the machine is from any C: 0 for one of them.
    folds_ : ndarray of shape (n_samples,)
        The fold of each sample; -1 without weight.
    dual_coef_, support_, support_vectors_, intercept_, null_space_coef_ :
        As in :class:`~mercer.KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 8.2.2 and 8.2.3, eq. (8.17) to
    (8.33). The average of the fast machines is :math:`\frac{L-1}{L} \sum_k a_k K(x_k, x) + b`,
    where (8.33) lacks the factor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import AdditiveRegularization
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (60, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> for mode in ("full", "fast"):
    ...     machine = AdditiveRegularization(Gaussian(1.0), mode=mode).fit(X, y)
    ...     print(mode, machine.shifts_.shape, machine.score(X, y) > 0.9)
    full (60,) True
    fast (60,) True
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    mode: str = "full"
    C0: float = 1.0
    cv: SplitterLike = 10
    final: str = "auto"
    penalty: float = 0.0
    loss: Loss | str = "squared"

    _parameter_constraints: ClassVar[Constraints] = {
        "penalty": [Interval(Real, 0.0, None, closed="left")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Fit constants and machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of squared residuals.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        final = self._final()
        loss = resolve(self.loss, REGRESSION)
        if self.mode == "full" and loss != Squared():
            raise ValueError("mode='full' has squared residuals only; use mode='fast'.")
        X, Y, live, system, folds = self._folded(X, y, sample_weight, groups)
        if self.mode == "full":
            a, b, left_out, mean = self._full(system, folds, final)
        else:
            K, B, s = system.K, system.B, system.weights
            found = fast_fusion(K, system.y, folds, B, s, loss, self.penalty)
            a, b, left_out, mean = found.a, found.b, found.left_out, found.residuals
            if final == "average":
                a = (folds.n_folds - 1) / folds.n_folds * a
        shifts = system.shifts(a, b)
        self.effective_C_, self.distance_ = system.effective_C(a, shifts)

        def back(values: Array, fill: float = np.nan) -> Array:
            whole = np.full_like(Y, fill)
            whole[live] = values
            return whole

        self.shifts_, self.left_out_residuals_, self.mean_residuals_ = (
            self._flat(back(values)) for values in (shifts, left_out, mean)
        )
        self._expand_to(X, back(a, 0.0), b)
        return self

    def _full(self, system: System, folds: Folds, final: str) -> tuple[Array, Array, Array, Array]:
        """Return coefficients and residuals of the machine with the best constants."""
        folded = FoldedSubstrate(system, folds)
        c = folded.best_shifts(self.penalty)
        a, b = system.coefficients(c) if final == "refit" else folded.average(c)
        return a, b, folded.left_out(c), folded.mean_residuals(c)
