r"""Nu-formulations as regularized risks.

A margin or a tube whose width is a variable of the problem is an unpenalized column with a linear
cost, so the nu-machines and the one-class machine are instances of the same functional with
:math:`d \ne 0` and need no solver of their own. Each function returns the problem, its ``_back``
the machine in the user's terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.indexed import Indexed
from mercer.losses.classification import Hinge
from mercer.losses.regression import Pinball
from mercer.problems.risk import RegularizedRisk

__all__ = [
    "NO_MARGIN",
    "Machine",
    "from_sides",
    "margin_costs",
    "nu_classification",
    "nu_classification_back",
    "nu_classifications_back",
    "nu_regression",
    "nu_regression_back",
    "one_class",
    "sides",
    "two_walls",
]


# The loss of a margin that is a variable of the problem.
NO_MARGIN = Hinge(margin=0.0)


@dataclass(frozen=True)
class Machine:
    """Coefficients in the user's terms: expansion, columns of B, and the width that nu chose."""

    a: Array
    b: Array
    width: float


def nu_classification(
    K: Gram, y: Array, c: Array, nu: float, B: Array | None = None, one: int | None = 0
) -> RegularizedRisk:
    r"""Write nu-classification as a risk with one unpenalized column per class.

    .. math::

        \min_{f, b, \rho}\; \tfrac12 \|f\|^2 - \nu \rho \sum_i c_i
        + \sum_i c_i \max(0, \rho - y_i (f(x_i) + b))

    With :math:`b_\pm = b \mp \rho` the loss is a hinge with margin zero at :math:`f + b_{y_i}`, and
    :math:`d = (\nu/2, -\nu/2) \sum_i c_i`; other unpenalized columns cost nothing. Without a
    constant among them :math:`\rho` is a column of its own, with the labels as values.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    y : ndarray of shape (n,)
        Labels plus and minus one.
    c : ndarray of shape (n,)
        Weights of the samples.
    nu : float
        Upper bound on the fraction of margin errors, lower bound on that of support vectors.
    B : ndarray of shape (n, q), optional
        Unpenalized columns; a constant by default.
    one : int, optional
        Which of them is the constant; None if none is.

    Returns
    -------
    RegularizedRisk
        The problem; :func:`nu_classification_back` reads its solution.
    """
    c, B = _weights(c, len(y)), _columns(B, len(y))
    half = 0.5 * nu * float(np.sum(c))
    if one is not None:
        half = float(margin_costs(y, c, nu)[0, 0])
    return RegularizedRisk(NO_MARGIN, K, y, c, *sides(y > 0, half, half, B, one))


def margin_costs(
    y: Array, c: Array, nu: float, begin: Sequence[int] | NDArray[np.intp] = (0,)
) -> Array:
    r"""Return :math:`d = (\nu/2, -\nu/2) \sum_i c_i` of nu-classifications laid end to end.

    Parameters
    ----------
    y, c : ndarray of shape (n,)
        Labels plus and minus one, and weights, of all problems.
    nu : float
        As in :func:`nu_classification`; refused if the smaller class has less weight.
    begin : sequence of int, default=(0,)
        Where the samples of each problem begin.

    Returns
    -------
    ndarray of shape (k, 2)
    """
    first, both = np.add.reduceat(np.where(y > 0, c, 0.0), begin), np.add.reduceat(c, begin)
    half = 0.5 * nu * both
    if (half > np.minimum(first, both - first) * (1.0 + 1e-12)).any():
        raise ValueError(
            f"specified nu is infeasible: nu={nu} asks for more margin errors than the smaller "
            "class has weight; choose nu at most twice its share"
        )
    return np.stack([half, -half], axis=1)


def nu_classification_back(a: Array, b: Array, one: int | None = 0) -> Machine:
    r"""Return the machine of a nu-classification, scaled so that the margin is one.

    Dividing by :math:`\rho` turns it into the soft-margin machine with ``C = 1 / rho``, the
    convention of LIBSVM and scikit-learn.
    """
    columns, minus_rho = from_sides(b, one)
    scale = -1.0 / minus_rho if minus_rho < 0 else 1.0
    return Machine(a * scale, columns * scale, -minus_rho)


def nu_classifications_back(a: Array, b: Array, sizes: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return the machines of nu-classifications with a constant each, laid end to end.

    Parameters
    ----------
    a : ndarray of shape (n,)
        Coefficients of all problems.
    b : ndarray of shape (k, 2)
        Intercepts of the two classes of each.
    sizes : ndarray of shape (k,)
        Numbers of samples of the problems.

    Returns
    -------
    ndarrays of shape (n,) and (k, 1)
        Coefficients and intercepts, scaled as by :func:`nu_classification_back`.
    """
    minus_rho = 0.5 * (b[:, 0] - b[:, 1])
    scale = -1.0 / np.where(minus_rho < 0, minus_rho, -1.0)
    return a * scale.repeat(sizes), (0.5 * (b[:, 0] + b[:, 1]) * scale)[:, None]


def nu_regression(
    K: Gram, y: Array, c: Array, nu: float, B: Array | None = None, one: int | None = 0
) -> RegularizedRisk:
    r"""Write nu-regression as a risk over doubled samples, one for each wall of the tube.

    .. math::

        \min_{f, b, \epsilon}\; \tfrac12 \|f\|^2 + \sum_i c_i \bigl(\nu \epsilon
        + \max(0, |y_i - f(x_i) - b| - \epsilon)\bigr)

    With :math:`b_\uparrow = b + \epsilon` and :math:`b_\downarrow = b - \epsilon` the two walls are
    one-sided losses, and :math:`d = (\nu/2, -\nu/2) \sum_i c_i`; other unpenalized columns cost
    nothing. Without a constant among them :math:`\epsilon` is a column of its own, plus and minus
    one.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    y : ndarray of shape (n,)
        Targets.
    c : ndarray of shape (n,)
        Weights of the samples.
    nu : float
        Upper bound on the fraction of samples outside the tube, in (0, 1].
    B : ndarray of shape (n, q), optional
        Unpenalized columns; a constant by default.
    one : int, optional
        Which of them is the constant; None if none is.

    Returns
    -------
    RegularizedRisk
        The problem over ``2 n`` samples; :func:`nu_regression_back` reads its solution.
    """
    c = _weights(c, len(y))
    half = 0.5 * nu * float(np.sum(c))
    return two_walls(K, (y, y), (c, c), (half, half), B, one)


def two_walls(
    K: Gram,
    ends: tuple[Array, Array],
    c: tuple[Array, Array],
    prices: tuple[float, float],
    B: Array | None,
    one: int | None,
) -> RegularizedRisk:
    """Write a tube as a risk over doubled samples: first the upper wall, then the lower one.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    ends, c : pairs of ndarrays of shape (n,)
        Lower and upper ends of targets; weights of what lies below and above the tube.
    prices : pair of float
        Costs of the distances of the lower and of the upper wall.
    B, one
        As in :func:`nu_regression`.
    """
    n, (down, up) = len(ends[0]), prices
    upper = np.repeat([1.0, 0.0], n)
    return RegularizedRisk(
        Pinball(upper),
        Indexed(K, np.tile(np.arange(n), 2)),
        np.concatenate(ends),
        np.concatenate(c[::-1]),
        *sides(upper > 0, up, down, np.tile(_columns(B, n), (2, 1)), one),
    )


def nu_regression_back(a: Array, b: Array, one: int | None = 0) -> Machine:
    """Return the machine of a nu-regression; ``width`` is the half-width of the tube."""
    n = len(a) // 2
    return Machine(a[:n] + a[n:], *from_sides(b, one))


def one_class(
    K: Gram, c: Array, nu: float, B: Array | None = None, one: int | None = 0
) -> RegularizedRisk:
    r"""Write the one-class machine as a risk whose intercept is rewarded.

    .. math::

        \min_{f, \rho}\; \tfrac12 \|f\|^2 - \nu \rho \sum_i c_i + \sum_i c_i \max(0, \rho - f(x_i))

    With :math:`b = -\rho` the loss is a hinge with margin zero and :math:`d = \nu \sum_i c_i`;
    other unpenalized columns cost nothing.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    c : ndarray of shape (n,)
        Weights of the samples.
    nu : float
        Upper bound on the fraction of samples left outside.
    B : ndarray of shape (n, q), optional
        Unpenalized columns, a constant among them; only that by default.
    one : int
        Which of them is the constant.

    Returns
    -------
    RegularizedRisk
        The problem; its ``a`` and ``b`` are the machine's.
    """
    n = K.shape[0]
    c, B = _weights(c, n), _columns(B, n)
    if one is None:
        raise ValueError(
            "the one-class machine needs a constant among the unpenalized functions: its offset"
        )
    d = np.zeros(B.shape[1])
    d[one] = nu * float(np.sum(c))
    return RegularizedRisk(NO_MARGIN, K, np.ones(n), c, B, d)


def _weights(c: float | Array, n: int) -> Array:
    c = np.asarray(c, dtype=float)
    return c if c.shape == (n,) else np.broadcast_to(c, (n,))


def _columns(B: Array | None, n: int) -> Array:
    return np.ones((n, 1)) if B is None else B


def sides(
    upper: NDArray[np.bool_], up: float, down: float, B: Array, one: int | None
) -> tuple[Array, Array]:
    """Return columns and costs of two walls at a variable distance, and of shared columns."""
    if one is None:
        sign = np.where(upper, 1.0, -1.0)
        return np.column_stack([sign, B]), np.append(down + up, np.zeros(B.shape[1]))
    shared = np.delete(B, one, axis=1)
    d = np.concatenate([[up, -down], np.zeros(shared.shape[1])])
    return np.column_stack([upper, ~upper, shared]).astype(float), d


def from_sides(b: Array, one: int | None) -> tuple[Array, float]:
    """Return the coefficients on the columns of B, and half the distance of the upper wall."""
    if one is None:
        return b[1:], float(b[0])
    return np.insert(b[2:], one, 0.5 * (b[0] + b[1])), float(0.5 * (b[0] - b[1]))
