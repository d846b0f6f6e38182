"""A machine that selects the parametric terms beside its smooth part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval
from mercer._typing import AnyArray, Array, Constraints, Function
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.machines.callbacks import TaskContext
from mercer.machines.kernel_kinds import compares_objects, is_precomputed
from mercer.machines.low_rank import LowRankProblem, irreducible
from mercer.machines.regression import Regression
from mercer.machines.subproblems import Coefficients, Rows, Sample, Subproblem, check_loss
from mercer.regularizers.null_space import Constant, NullSpace, Polynomial
from mercer.solvers import Solution
from mercer_research.estimators.mixed_risk import dropped, mixed, mixed_back

__all__ = ["PartiallyLinearRegressor"]


@settings
class PartiallyLinearRegressor(Regression):
    r"""Partially linear regression: a smooth function, and parametric terms with their own penalty.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + \sum_j \omega_j |b_j|
              + C \sum_i s_i\, l(y_i, f(x_i) + b'p(x_i))

    A term is used only if the multipliers of the samples ask for it by the price :math:`\omega_j`,
    :math:`|\sum_i a_i p_j(x_i)| = \omega_j`; all others have the coefficient zero.
    :math:`\omega_j = 0` is the semiparametric machine, :math:`\omega_j = \infty` leaves the term
    out.

    Parameters
    ----------
    loss : Loss or str, default="squared"
        What an error costs.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        The parametric functions p; a constant and the features by default.
    null_space_penalty : float, array-like of shape (q,) or dict, default=1.0
        The prices :math:`\omega_j`: one for all but the constant, one for each function, or by
        their names, zero for those that are not named.
    C : float or "auto", default=1.0
        Weight of the summed loss; "auto" as in :class:`SVR`, for parametric terms without price.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.

    Attributes
    ----------
    null_space_coef_ : ndarray of shape (q,)
        Coefficients of the parametric functions ``null_space_names_``.
    selected_ : list of str
        Names of those that are used.
    prices_ : ndarray of shape (q,)
        What the multipliers of the samples offer, :math:`\sum_i a_i p_j(x_i)`.
    support_, support_vectors_, dual_coef_, intercept_, solution_ :
        As in :class:`SVR`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.103) and (3.104).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import PartiallyLinearRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (80, 3))
    >>> y = 2.0 * X[:, 1] + np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> machine = PartiallyLinearRegressor(null_space_penalty=20.0, tol=1e-6).fit(X, y)
    >>> machine.selected_
    ['1', 'x1']
    """

    loss: Loss | str = "squared"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    null_space_penalty: Any = 1.0
    C: float | str = 1.0
    approximation: None = fixed(None)

    _direct = False
    # A price for every coefficient determines it, however many samples there are.
    _priced_columns = True

    _parameter_constraints: ClassVar[Constraints] = {
        "null_space_penalty": [Interval(Real, 0.0, None, closed="left"), "array-like", dict],
    }

    def _null_space(self) -> NullSpace:
        if self.null_space is not None:
            return super()._null_space()
        return (
            Constant()
            if is_precomputed(self.kernel) or compares_objects(self.kernel)
            else Polynomial(1)
        )

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise irreducible(self)

    def _prices(self) -> Array:
        """Return the price of every parametric function."""
        names, given = self.null_space_names_, self.null_space_penalty
        if isinstance(given, Mapping):
            if unknown := set(given) - set(names):
                raise ValueError(
                    f"null_space_penalty names {sorted(unknown)}, but the parametric functions are "
                    f"{names}."
                )
            omega = np.array([float(given.get(name, 0.0)) for name in names])
        elif np.ndim(given) == 0:
            omega = np.array([0.0 if name == "1" else float(given) for name in names])
        else:
            omega = np.asarray(given, dtype=np.float64)
        if omega.shape != (len(names),) or not np.all(omega >= 0):
            raise ValueError(
                f"null_space_penalty must be {len(names)} prices that are not negative, one for "
                f"each of {names}; got {given!r}."
            )
        return omega

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        omega, B, y = self._prices(), sample.B, sample.y
        loss, c = check_loss(self._loss(sample), len(y)), self._weight() * sample.weights

        def read(solution: Solution) -> Coefficients:
            machine = mixed_back(solution.a, solution.b, omega)
            named = zip(self.null_space_names_, machine.b, strict=True)
            facts = {"prices_": B.T @ machine.a, "selected_": [name for name, b in named if b]}
            return Coefficients(machine.a, machine.b, facts)

        return [Subproblem("", mixed(loss, sample.K, y, c, B, omega), read)]

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        ((_, risk, _),) = subproblems
        (found,) = super()._minimize(subproblems, context)
        return [dropped(risk, found, self._prices())]
