"""Terms of the regularized risk of a fitted machine: norm, empirical risk, intercepts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.machines.unpenalized import constant_column
from mercer.solvers.solution import Terms

__all__ = ["empirical_risk", "intercept_interval", "norm", "penalty", "regularized_risk"]


def norm(self: Any) -> Any:
    r"""Return the norm :math:`\|f\| = \sqrt{a'Ka}` of the expansion in the space of the kernel.

    A float, or one number a problem (class, pair of classes or output). What is unpenalized
    does not count. With an approximation it is the norm among its functions, and under another
    penalty than the kernel's own the root of that.
    """
    squares = 2.0 * np.maximum(_terms(self).penalties, 0.0)
    return _plain(np.sqrt(squares) * self._multiples())


def penalty(self: Any) -> Any:
    r"""Return the regularizer :math:`Q[f] = \tfrac12 \|f\|^2`, as it was minimized.

    A float, or one number a problem.
    """
    return _plain(_terms(self).penalties * self._multiples() ** 2)


def empirical_risk(self: Any) -> Any:
    r"""Return the mean loss of the sample, the empirical risk.

    .. math:: R_{emp}[f] = \sum_i s_i l(y_i, f_i) / \sum_i s_i

    A float, or one number a problem; by the loss of the machine, with its weights. For other
    losses and other samples see :func:`mercer.inspect.margins.empirical_risk`.
    """
    terms = _own_terms(self, "empirical_risk_")
    return _plain(terms.losses / terms.weights)


def regularized_risk(self: Any) -> Any:
    r"""Return the regularized risk :math:`R_{reg}[f] = R_{emp}[f] + \lambda Q[f]`.

    A float, or one number a problem: the objective that was minimized, divided by the sum of
    the weights :math:`c_i = C s_i`, so that :math:`\lambda = 1 / \sum_i c_i`.
    """
    terms = _own_terms(self, "regularized_risk_")
    if len(terms.weights) == 1:
        return self.solution_.objective / float(terms.weights[0])
    return (terms.losses + terms.penalties) / terms.weights


def intercept_interval(self: Any) -> Array:
    """Smallest and largest optimal intercept of each problem, shape (n_problems, 2).

    Without a coefficient strictly inside its bounds every intercept in between is optimal, and
    ``intercept_`` is the middle (the finite end if the other is infinite); otherwise both ends
    are the intercept. With further unpenalized functions, while their coefficients stay.
    """
    check_is_fitted(self)
    interval, q, one = (
        self.solution_.b_interval,
        len(self.null_space_names_),
        constant_column(self.null_space_names_),
    )
    if one is None or interval is None or interval.size != 2 * q * len(self.intercept_):
        raise AttributeError(
            "intercept_interval_ is available if the intercept is a variable of the problem "
            "that was solved: not without an intercept, with an approximation, or with a width "
            "that nu or a program chooses beside it."
        )
    return np.asarray(interval.reshape(-1, q, 2)[:, one])


def _terms(self: Any) -> Terms:
    check_is_fitted(self)
    if getattr(self, "output_covariance", None) is not None:
        raise AttributeError(
            "output_covariance makes one penalty of all outputs, and problems of combinations "
            "of them: there are no norms and risks of single outputs; see solution_."
        )
    if self.solution_.terms is None:
        raise AttributeError(
            f"the program that {type(self).__name__} solves has no norm of a kernel's space as "
            "its penalty; see solution_."
        )
    terms: Terms = self.solution_.terms
    return terms


def _own_terms(self: Any, name: str) -> Terms:
    terms = _terms(self)
    if not self._direct or not np.isfinite(terms.weights).all():
        raise AttributeError(
            f"{name} is available where the problem that was solved is the machine's own: not "
            "with an approximation, or with a width that is chosen beside the function. Use "
            "mercer.inspect.margins.empirical_risk(machine, X, y, loss)."
        )
    return terms


def _plain(values: Array) -> Any:
    return float(values[0]) if len(values) == 1 else values
