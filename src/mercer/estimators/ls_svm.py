"""Least-squares support vector machines: one linear system, and all that it tells."""

from __future__ import annotations

from typing import Any, ClassVar

from mercer.estimators._expansion import Function
from mercer.estimators._outputs import Outputs
from mercer.estimators.base import KernelMachine
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.regularizers.errors import ErrorModel
from mercer.regularizers.null_space import NullSpace
from mercer.solvers import Solver

__all__ = ["LSSVR"]


class LSSVR(Outputs):
    r"""Least-squares support vector regression, also known as kernel ridge with an intercept.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + \tfrac{C}{2} \sum_i s_i (y_i - f(x_i) - b' p(x_i))^2

    It is the linear system

    .. math::

        \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
        = \binom{y}{0}, \qquad c_i = C s_i,

    and the posterior mean of a Gaussian process with noise of variance :math:`1/C` in units of the
    kernel. The literature calls C by the name of gamma; ``KernelRidge(alpha=1/C)`` is the machine
    with ``null_space=Empty()``.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    errors : ErrorModel, optional
        How the errors hang together, as in :class:`KernelRegressor`.
    output_covariance : array-like of shape (n_outputs, n_outputs), optional
        The covariance of the outputs, as in :class:`KernelRegressor`.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start :
        As in :class:`SVR`.

    Attributes
    ----------
    C_ : float
        The weight that was used.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients a of the expansion, :math:`c_i` times the residuals, one row an output.
    null_space_coef_ : ndarray of shape (q,) or (n_outputs, q)
        Coefficients b of the unpenalized functions.
    support_, support_vectors_, intercept_, n_support_, solution_, innovations_ :
        As in :class:`KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.8) to (3.15), with the sign
    of the dual corrected, and eq. (4.1) to (4.5).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> machine = LSSVR(C=10.0, gamma=1.0).fit(X, np.sinc(X[:, 0]))
    >>> machine.score(X, np.sinc(X[:, 0])) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "errors": [ErrorModel, None],
        "output_covariance": ["array-like", None],
    }

    def __init__(
        self,
        kernel: Kernel | str | Function = "rbf",
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        null_space: NullSpace | None = None,
        errors: ErrorModel | None = None,
        output_covariance: Any = None,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        max_time: float | None = None,
        gram: str | Function = "auto",
        solver: Solver | str = "auto",
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.null_space = null_space
        self.errors = errors
        self.output_covariance = output_covariance
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return Squared()

    def _complete(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.C_ = self._weight()
