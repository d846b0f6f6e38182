"""Regularization networks: a basis of one kernel under the penalty of another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._deadline import eigh
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike
from mercer.gram.low_rank import LowRank
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.machines.outputs import Outputs
from mercer.machines.subproblems import Rows, Sample, SampleGram, SolvedSubproblem
from mercer.reduced.nystrom import Nystrom
from mercer.regularizers.errors import ErrorModel
from mercer.regularizers.null_space import NullSpace, complete
from mercer.solvers import Solver
from mercer_research.estimators.basis import penalized
from mercer_research.estimators.penalized import PenalizedBasis

__all__ = ["GrowingPenalty", "RegularizationNetwork"]

GROWN = 10.0
"""How many times larger than one basis function a function of unit coefficients may be unsaid."""


class GrowingPenalty(UserWarning):
    """A norm of coefficients bounds functions by less and less as the sample grows."""


@settings
class RegularizationNetwork(Outputs):
    r"""Fit an expansion in one kernel under a penalty that is not its own.

    .. math:: \min_{\alpha, b} \tfrac12 \alpha' D \alpha + C \sum_i s_i\, l(y_i, f(x_i)), \qquad
              f = \sum_i \alpha_i k(x_i, \cdot) + b' p

    with :math:`D_{ij} = \langle P k(x_i, \cdot), P k(x_j, \cdot) \rangle`. It is the machine of the
    Gram matrix :math:`K D^+ K`: the dual variables :math:`\theta` of any loss are found as always,
    and :math:`\alpha = D^+ K \theta`. So many :math:`\theta` may vanish, but not the
    :math:`\alpha`. ``operator=basis`` is the ordinary machine, ``operator="ridge"``, :math:`D = 1`,
    weight decay, whose Gram matrix is :math:`K^2`: it grows with the sample and does not bound the
    capacity of the machine, which is said where coefficients of length one make functions ten times
    larger than the basis (:class:`mercer_research.estimators.GrowingPenalty`).

    Parameters
    ----------
    basis : Kernel or str, default="rbf"
        The functions :math:`k(x_i, \cdot)`; with ``operator="ridge"`` or a matrix any symmetric
        function.
    operator : Kernel, "ridge" or (n, n) array, default="ridge"
        The kernel whose norm is the penalty; weight decay; or the matrix D itself.
    loss : Loss or str, default="squared"
        What an error costs.
    null_space : NullSpace, optional
        Unpenalized functions p, an intercept by default; polynomials that the operator does not see
        are added.
    errors : ErrorModel, optional
        Covariance of the errors.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    tol, max_iter, solver :
        As in :class:`SVR`.
    approximation : Nystrom, "auto" or None
        Functions :math:`k(z_j, \cdot)` at some of the samples only, with D on these, as in
        :class:`SVR`.
    verbose : bool or int, default=False
        Show progress on the standard error, and how the fit ended.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        The coefficients :math:`\alpha`.
    theta_ : ndarray of shape (n_outputs, n)
        The dual variables :math:`\theta`, unless there are fewer functions than samples.
    null_space_coef_, support_, support_vectors_, intercept_, solution_ :
        As in :class:`KernelRegressor`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.11) to (3.16), with the signs of
    eq. (3.16) corrected, and sec. 3.3.6 on weight decay.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import RegularizationNetwork
    >>> from mercer.kernels import Gaussian, ThinPlate
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> bent = RegularizationNetwork(Gaussian(0.1), ThinPlate(2), C=1e4)  # integral of f''^2
    >>> bent.fit(X, np.sin(6 * X[:, 0])).score(X, np.sin(6 * X[:, 0])) > 0.99
    True
    """

    basis: Kernel | str = "rbf"
    operator: Any = "ridge"
    _: KW_ONLY
    loss: Loss | str = "squared"
    null_space: NullSpace | None = None
    errors: ErrorModel | None = None
    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = -1
    solver: Solver | str = "auto"
    approximation: Nystrom | str | None = None

    # Factorizing D takes the whole matrix anyway.
    degree: int = fixed(3)
    gamma: str = fixed("scale")
    coef0: float = fixed(0.0)
    gram: str = fixed("dense")
    cache_size: float = fixed(200.0)
    max_time: None = fixed(None)
    warm_start: bool = fixed(False)
    standardize: bool = fixed(False)

    _parameter_constraints: ClassVar[Constraints] = {
        "basis": [str, Kernel],
        "operator": [StrOptions({"ridge"}), Kernel, "array-like"],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "approximation": [
            Nystrom,
            StrOptions({"auto", "nystrom"}),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
    }

    @property
    def kernel(self) -> Kernel | str:
        """The kernel of the expansion."""
        return self.basis

    @property
    def _definite(self) -> bool:
        return True  # the matrix of the dual is a square

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Take a basis as it is: it may be any symmetric function."""

    def _null_space(self) -> NullSpace:
        space = super()._null_space()
        if not isinstance(self.operator, Kernel):
            return space
        p = self.n_features_in_
        return complete(space, self.operator.unpenalized(p), p)

    def _plain_gram(self, rows: Rows) -> SampleGram:
        K = self._make_gram(rows).dense().astype(np.float64)
        if isinstance(self.operator, str):
            self._warn_if_grown(K)
        values, vectors = eigh(self._penalty(rows.X))
        # Directions below the rounding errors of D are not in its range, as far as anyone can tell.
        keep = values > len(K) * np.finfo(float).eps * values[-1]
        if not np.any(keep) or values[0] < -1e-8 * values[-1]:
            raise ValueError("the penalty D is not positive semidefinite; check the operator.")
        root = vectors[:, keep] / np.sqrt(values[keep])
        G = K @ root
        return SampleGram(LowRank(G), basis=root @ G.T)

    def _warn_if_grown(self, K: Array) -> None:
        """Warn if coefficients of unit length make functions much larger than the basis."""
        # max |f(x)| over |alpha|_2 <= 1 is a row's length; over |alpha|_1 <= 1 its largest entry.
        reach, one = float(np.max(np.linalg.norm(K, axis=1))), float(np.max(np.abs(K)))
        if reach > GROWN * one:
            warnings.warn(
                f"operator='ridge' penalizes the coefficients, not the function: with {len(K)} "
                f"basis functions, coefficients of length 1 reach values of {reach:.3g}, where one "
                f"function reaches {one:.3g}, and this grows like the root of the sample size. "
                "No bound on the error follows from this penalty. Give the basis as the operator, "
                "or use SparseRegressor, whose penalty is the sum of absolute coefficients.",
                GrowingPenalty,
                stacklevel=2,
            )

    def _penalty(self, X: PointsLike) -> Array:
        """Return D on the sample."""
        n, operator = X.shape[0], self.operator
        if isinstance(operator, str):
            return np.eye(n)
        if isinstance(operator, Kernel):
            if hasattr(self, "feature_names_in_"):
                operator = operator.bind(list(self.feature_names_in_))
            return np.asarray(penalized(self.kernel_, operator, X.shape[1])(X), dtype=np.float64)
        D = np.asarray(operator, dtype=np.float64)
        if D.shape != (n, n) or not np.allclose(D, D.T):
            raise ValueError(f"operator must be a symmetric matrix {(n, n)}, got shape {D.shape}.")
        return D

    def _how(self) -> PenalizedBasis:
        if not isinstance(self.operator, Kernel | str):
            raise ValueError(
                "a matrix D is of all samples; with an approximation give the operator as a Kernel "
                "or 'ridge'."
            )
        how = super()._how()
        assert isinstance(how, Nystrom)
        return PenalizedBasis.of(how, self._penalty)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        self.__dict__.pop("theta_", None)
        if sample.basis is not None:
            turn, _ = self._coupling(self._loss())
            self.theta_ = (np.stack([one.a for one in solved], axis=1) @ turn.T).T
