r"""What the functions that predict cost, for every estimator that has a certificate.

:data:`OBJECTIVES` has an entry for each: which values it predicts, and the problems that these
values solve. A problem has the losses of the predicted values, the coefficients of the expansion,
and the conjugates of the losses at these coefficients, all in extended precision. Losses, margins
and widths are written out here. Of the library there are the coefficients, the parameters that a
fit chose (C, the width of a tube), and the parameters of the kernel, whose formula is in
:func:`gram`.

No entry, because nothing is certified that a prediction could be compared with:

- estimators without a gap: densities, perceptrons, principal curves and manifolds, encoders;
- `AutoRegressor`, `AutoClassifier`, `ConformalRegressor`, `ThresholdSelector` and searches: their
  predictions are those of machines that are here, or averages of them;
- `MissingInputRegressor`, `MissingInputClassifier`: the cost is a mean over completions of rows;
- `RobustLSSVR` with weights that redescend: the certificate is that of its last weights, which are
  not kept; `CensoredRegressor` with `log` or `weighting`: predictions are exponentials, weights are
  estimates;
- `SparseAdditiveRegressor`, `SparseAdditiveClassifier`: predictions are those of a refit;
- `KernelCDF`, `FixedComplexity`, `HardMarginSVC`, `HardTubeSVR`, `RegularizationNetwork` and
  programs over features (`Bridge`, `LassoConstrained`, ...): theirs are compared with other
  solvers in their own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer import RandomFeatures
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Multiquadric, Polynomial, Sigmoid
from mercer.kernels.algebra import ActiveDims, Scaled, Sum
from mercer.kernels.polyharmonic import ThinPlate
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve

L = np.longdouble
ZERO = L(0)


class Data(NamedTuple):
    """A sample, and what a machine predicts of it."""

    X: Any
    y: Any
    s: Any
    """Weights of the samples, ones where there are none."""
    f: Any
    """Predicted values, (n,) or (n, k)."""


@dataclass
class Problem:
    """A problem of a machine at the values that it predicts."""

    cost: Any
    """Losses of these values, and prices of widths and margins."""
    coef: Any
    """Coefficients of the functions of the expansion, (m,)."""
    conjugates: Any = None
    """Of the losses, a number each; None where coefficients are no variables of the dual."""
    a: Any = None
    """The same coefficients for all samples, (n,), if they are those of samples."""
    free: Any = None
    """Coefficients of the unpenalized columns, (q,)."""
    prices: Any = 0.0
    """Of the unpenalized columns, (q,)."""
    penalty: Any = None
    """What the coefficients cost as a function of half of a'Ka, if not that."""
    rows: Any = None
    """Which support vectors the coefficients are of; None for all."""


class Objective(NamedTuple):
    """How an estimator predicts, and what its predictions cost."""

    values: Callable[[Any, Any], Any]
    problems: Callable[[Any, Data], Iterator[Problem]]


# Losses, as value and conjugate of c times them ------------------------------------------------
# Conjugates are functions of a, the slope in -f: of a residual r = y - f less the part -a y, of a
# margin t = y f with u = y a / c. Outside of their domain they are infinite, but for roundings.

SLACK = 1e-12


def inside(low: Any, u: Any, high: Any, values: Any) -> Any:
    return np.where((low - SLACK <= u) & (u <= high + SLACK), values, np.inf)


class Loss(NamedTuple):
    """A loss of a residual or of a margin, and its conjugate; None where it is not written out."""

    value: Callable[[Any], Any]
    conjugate: Callable[[Any], Any] | None


def squared(r: Any) -> Any:
    return r**2 / 2


def entropy(u: Any) -> Any:
    """Return u log u + (1 - u) log(1 - u), zero at both ends."""
    p = np.where((u > 0) & (u < 1), u, L(0.5))
    return np.where((u > 0) & (u < 1), p * np.log(p) + (1 - p) * np.log1p(-p), 0)


def log_cosh(x: Any) -> Any:
    x = np.abs(x)
    small = np.log1p(2 * np.sinh(np.minimum(x, 1) / 2) ** 2)
    return np.where(x < 1, small, x + np.log1p(np.exp(-2 * x)) - np.log(L(2)))


def tube(epsilon: Any) -> Loss:
    return Loss(
        lambda r: np.maximum(np.abs(r) - epsilon, 0),
        lambda u: inside(-1, u, 1, epsilon * np.abs(u)),
    )


def huber(delta: Any) -> Loss:
    def value(r: Any) -> Any:
        part = np.minimum(np.abs(r), delta)
        return part * (np.abs(r) - part / 2)

    room = SLACK * np.abs(delta)
    return Loss(value, lambda u: np.where(np.abs(u) <= delta + room, u**2 / 2, np.inf))


def pinball(tau: float) -> Loss:
    return Loss(
        lambda r: np.maximum(tau * r, (tau - 1) * r), lambda u: inside(tau - 1, u, tau, 0 * u)
    )


def expectile(tau: float) -> Loss:
    side = lambda x: np.where(x > 0, L(tau), 1 - L(tau))  # noqa: E731
    return Loss(lambda r: side(r) * r**2 / 2, lambda u: u**2 / (2 * side(u)))


SQUARED = Loss(squared, squared)
RESIDUAL: dict[str, Callable[[Any], Loss]] = {
    "Squared": lambda loss: SQUARED,
    "Absolute": lambda loss: tube(0.0),
    "EpsilonInsensitive": lambda loss: tube(loss.epsilon),
    "SquaredEpsilonInsensitive": lambda loss: Loss(
        lambda r: squared(np.maximum(np.abs(r) - loss.epsilon, 0)),
        lambda u: loss.epsilon * np.abs(u) + squared(u),
    ),
    "Huber": lambda loss: huber(loss.delta),
    "Pinball": lambda loss: pinball(loss.quantile),
    "Expectile": lambda loss: expectile(loss.expectile),
    "LogCosh": lambda loss: Loss(
        lambda r: L(loss.delta) ** 2 * log_cosh(r / L(loss.delta)),
        None,
    ),
}
MARGIN: dict[str, Loss] = {
    "Hinge": Loss(lambda t: np.maximum(1 - t, 0), lambda u: inside(0, u, 1, -u)),
    "SquaredHinge": Loss(
        lambda t: squared(np.maximum(1 - t, 0)), lambda u: inside(0, u, np.inf, squared(u) - u)
    ),
    "Logistic": Loss(lambda t: np.logaddexp(ZERO, -t), lambda u: inside(0, u, 1, entropy(u))),
    "Squared": Loss(lambda t: squared(1 - t), lambda u: squared(u) - u),
}


# The quadratic form ----------------------------------------------------------------------------


def gram(kernel: Any, X: Any) -> Any:
    """Return the kernel matrix in extended precision, None for kernels without a formula here."""
    X = dense(X)
    if isinstance(kernel, Sum):
        left, right = gram(kernel.left, X), gram(kernel.right, X)
        return None if left is None or right is None else left + right
    if isinstance(kernel, Scaled):
        K = gram(kernel.kernel, X)
        return None if K is None else L(kernel.factor) * K
    if isinstance(kernel, ActiveDims):
        return gram(kernel.kernel, X[:, kernel.dims])
    if isinstance(kernel, Linear):
        return X @ X.T
    if isinstance(kernel, Polynomial):
        return (L(kernel.gamma) * (X @ X.T) + L(kernel.coef0)) ** int(kernel.degree)
    if isinstance(kernel, Sigmoid):
        return np.tanh(L(kernel.gamma) * (X @ X.T) + L(kernel.coef0))
    if isinstance(kernel, ThinPlate):
        return plate(int(kernel.order), X)
    if not isinstance(kernel, Gaussian | Laplacian | Matern | Multiquadric):
        return None
    Z = X / np.asarray(kernel.length_scale, dtype=L)
    difference = Z[:, None, :] - Z[None, :, :]
    if isinstance(kernel, Laplacian):
        return np.exp(-np.abs(difference).sum(axis=2))
    s = np.square(difference).sum(axis=2)
    if isinstance(kernel, Multiquadric):
        return -np.sqrt(1 + s) if kernel.exponent == 0.5 else None
    if isinstance(kernel, Gaussian):
        return np.exp(-s / 2)
    if kernel.nu not in (0.5, 1.5, 2.5):
        return None
    r = np.sqrt(2 * L(kernel.nu) * s)
    return {0.5: 1 + 0 * r, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[kernel.nu] * np.exp(-r)


def plate(order: int, X: Any) -> Any:
    """Return the thin plate: r³ / 12 on the line, r² log r / 8π in the plane, for order two."""
    s = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)
    if (order, X.shape[1]) == (2, 1):
        return s * np.sqrt(s) / 12
    if (order, X.shape[1]) == (2, 2):
        return s * np.log(np.where(s > 0, s, 1)) / (16 * L(np.pi))
    return None


def is_random(m: Any) -> bool:
    """Return whether coefficients are of random features, which cost half of their squares."""
    return isinstance(getattr(m, "approximation", None), RandomFeatures)


# Parts of machines ------------------------------------------------------------------------------


def dense(A: Any) -> Any:
    return (A.toarray() if sp.issparse(A) else np.asarray(A)).astype(L)


def exact(m: Any) -> bool:
    return getattr(m, "approximation", None) is None


def columns(values: Any) -> Any:
    return values.reshape(len(values), -1)


def of_samples(m: Any, n: int) -> Any:
    """Return the coefficients of all samples, (k, n), None if they are those of other points."""
    if not exact(m) or (len(m.support_) and np.max(m.support_) >= n):
        return None
    coef = np.zeros((len(dense(m.dual_coef_)), n), dtype=L)
    coef[:, m.support_] = dense(m.dual_coef_)
    return coef


def free_of(m: Any) -> Any:
    return np.atleast_2d(np.asarray(m.null_space_coef_)).astype(L)


def weighted(loss: Loss, c: Any, of: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(c > 0, c * loss.value(of), 0).sum()


def conjugated(loss: Loss, c: Any, a: Any, *, y: Any = None, sign: Any = 1) -> Any:
    """Return the conjugates, of a residual with targets y, or of a margin with labels."""
    if loss.conjugate is None:
        return None
    with np.errstate(all="ignore"):
        values = np.where(c > 0, c * loss.conjugate(np.where(c > 0, sign * a / c, 0)), 0)
    return values if y is None else values - a * y


def residuals(m: Any, data: Data, loss: Any, c: Any = None) -> Iterator[Problem]:
    """Yield the problem of every output: a loss of its residual."""
    c = L(m.C_) * data.s if c is None else c
    Y, F, coef = columns(data.y), columns(data.f), dense(m.dual_coef_)
    a, free = of_samples(m, len(F)), free_of(m)
    losses = loss if isinstance(loss, list) else [loss] * F.shape[1]
    for k, own in enumerate(losses):
        cost = weighted(own, c, Y[:, k] - F[:, k])
        if a is None:
            yield Problem(cost, coef[k])
        else:
            yield Problem(cost, coef[k], conjugated(own, c, a[k], y=Y[:, k]), a[k], free[k])


def by_loss(m: Any, data: Data) -> Iterator[Problem]:
    yield from residuals(m, data, residual_loss(m))


def residual_loss(m: Any) -> Loss:
    loss = resolve(getattr(m, "loss", "squared"), REGRESSION)
    return RESIDUAL[type(loss).__name__](loss)


def margin_loss(name: str) -> Loss:
    return MARGIN[type(resolve(name, CLASSIFICATION)).__name__]


def class_weights(m: Any, y: Any) -> Any:
    return np.asarray(m.class_weight_)[np.searchsorted(m.classes_, y)]


def one_vs_rest(m: Any, data: Data, loss: Loss | None = None) -> Iterator[Problem]:
    """Yield the problem of every class against the rest; of two classes there is one."""
    own = margin_loss(m.loss) if loss is None else loss
    classes, F = m.classes_, columns(data.f)
    book = np.array([[-1], [1]]) if len(classes) == 2 else 2 * np.eye(len(classes)) - 1
    yield from coded(m, data, F, book, own)


def coded(m: Any, data: Data, F: Any, book: Any, loss: Loss) -> Iterator[Problem]:
    """Yield the problem of every column of a code book."""
    labels = book[np.searchsorted(m.classes_, data.y)]
    c = L(m.C_) * data.s * class_weights(m, data.y)
    coef, a, free = dense(m.dual_coef_), of_samples(m, len(F)), free_of(m)
    for k, sign in enumerate(labels.T):
        live = np.where(sign != 0, c, 0)
        cost = weighted(loss, live, sign * F[:, k])
        if a is None:
            yield Problem(cost, coef[k])
        else:
            yield Problem(cost, coef[k], conjugated(loss, live, a[k], sign=sign), a[k], free[k])


def codes(m: Any, data: Data) -> Iterator[Problem]:
    yield from coded(m, data, columns(data.f), m.code_book_, MARGIN["Squared"])


def logistic(m: Any, data: Data) -> Iterator[Problem]:
    if m.multi_class == "ovr" or len(m.classes_) == 2:
        yield from one_vs_rest(m, data, MARGIN["Logistic"])
        return
    c, F = L(m.C_) * data.s * class_weights(m, data.y), data.f
    hit = data.y[:, None] == m.classes_
    with np.errstate(over="ignore"):
        # Losses near zero are a sum of the other classes; extended precision has no more digits.
        losses = np.log1p(np.where(hit, 0, np.exp(F - F[hit][:, None])).sum(axis=1))
    top = F.max(axis=1, keepdims=True)
    large = np.log(np.exp(F - top).sum(axis=1)) + top[:, 0] - F[hit]
    losses = np.where(losses < 1, losses, large)
    a = of_samples(m, len(F)).T
    # Probabilities are those of the labels less the coefficients; their entropy is the conjugate.
    with np.errstate(all="ignore"):
        p = np.where(c[:, None] > 0, hit - a / c[:, None], hit)
        terms = np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)
        # The probability of the label is one less than a coefficient that it has no digits of.
        missed = np.where(c > 0, a[hit] / c, 0)
        terms[hit] = np.where(missed < 1, (1 - missed) * np.log1p(-missed), terms[hit])
        terms = terms.sum(axis=1)
    bad = (p.min(axis=1) < -SLACK) | (np.abs(p.sum(axis=1) - 1) > SLACK)
    conjugates = np.where(c > 0, np.where(bad, np.inf, c * terms), 0)
    free = free_of(m)
    for k, own in enumerate(a.T):
        cost = (c * losses)[c > 0].sum() if k == 0 else ZERO
        yield Problem(cost, own[m.support_], conjugates if k == 0 else 0 * c, own, free[k])


def pairs(m: Any, data: Data) -> Iterator[Any]:
    """Yield samples, labels, values, coefficients and their support vectors of all pairs."""
    y, F, coef = np.searchsorted(m.classes_, data.y), columns(data.f), dense(m.dual_coef_)
    free, n_classes = free_of(m), len(m.classes_)
    if n_classes == 2:
        # Coefficients speak for the second class, as decision values do.
        yield np.arange(len(y)), np.where(y == 1, 1, -1), F[:, 0], coef[0], None, free[0]
        return
    ends = np.concatenate([[0], np.cumsum(m.n_support_)])
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        rows = np.flatnonzero((y == i) | (y == j))
        sign = np.where(y[rows] == i, 1, -1)
        if not exact(m):
            yield rows, sign, F[rows, k], coef[k], None, free[k]
            continue
        first, second = np.arange(*ends[i : i + 2]), np.arange(*ends[j : j + 2])
        a = np.concatenate([coef[j - 1, first], coef[i, second]])
        yield rows, sign, F[rows, k], a, np.concatenate([first, second]), free[k]


def voting(m: Any, data: Data) -> Iterator[Problem]:
    """Yield the problem of every pair of classes: hinges of the margin one."""
    c, hinge = L(m.C_) * data.s * class_weights(m, data.y), MARGIN["Hinge"]
    for rows, sign, f, coef, of, free in pairs(m, data):
        cost = weighted(hinge, c[rows], sign * f)
        if not exact(m):
            yield Problem(cost, coef)
            continue
        a = np.zeros(len(data.y), dtype=L)
        a[m.support_ if of is None else m.support_[of]] = coef
        conjugates = conjugated(hinge, c[rows], a[rows], sign=sign)
        yield Problem(cost, coef, conjugates, a, free, rows=of)


def nu_voting(m: Any, data: Data) -> Iterator[Problem]:
    r"""Yield the problem of every pair of classes, at the margin that is best for its function.

    Of a multiple t of the function the cost is t² q + t (L - ν Σc), with its penalty q and its
    losses L at the margin one.
    """
    s = data.s * class_weights(m, data.y)
    for rows, sign, f, coef, of, _ in pairs(m, data):
        c = s[rows]
        paid = weighted(MARGIN["Hinge"], c, sign * f) - L(m.nu) * c.sum()

        def least(q: Any, paid: Any = paid) -> Any:
            return -(min(paid, ZERO) ** 2) / (4 * q) if q > 0 else ZERO

        yield Problem(ZERO, coef, penalty=least, rows=of)


def one_class(m: Any, data: Data) -> Iterator[Problem]:
    s, rho = data.s, L(m.offset_[0])
    cost = (s * np.maximum(-data.f, 0)).sum() - L(m.nu) * rho * s.sum()
    a, coef = of_samples(m, len(s)), dense(m.dual_coef_)[0]
    if a is None:
        yield Problem(cost, coef)
        return
    conjugates = np.where((a[0] >= 0) & (a[0] <= s * (1 + SLACK)), ZERO, np.inf)
    prices = L(m.nu) * s.sum() * np.array([name == "1" for name in m.null_space_names_])
    yield Problem(cost, coef, conjugates, a[0], free_of(m)[0], prices)


def nu_tube(m: Any, data: Data) -> Iterator[Problem]:
    c, width = L(m.C_) * data.s, L(m.epsilon_)
    losses = weighted(Loss(lambda r: np.maximum(np.abs(r) - width, 0), None), c, data.y - data.f)
    cost, coef = L(m.nu_) * width * c.sum() + losses, dense(m.dual_coef_)[0]
    a = of_samples(m, len(c))
    if a is None:
        yield Problem(cost, coef)
        return
    # The price of the width is the largest sum of absolute coefficients.
    few = np.abs(a[0]).sum() <= L(m.nu_) * c.sum() * (1 + SLACK)
    conjugates = conjugated(tube(0.0), c, a[0], y=data.y) if few else np.array([np.inf])
    yield Problem(cost, coef, conjugates, a[0], free_of(m)[0])


def censored(m: Any, data: Data) -> Iterator[Problem]:
    low, high = columns(data.y)[:, 0], columns(data.y)[:, -1]
    c, loss, f = L(m.C_) * data.s, residual_loss(m), data.f
    cost = weighted(loss, c, np.clip(f, low, high) - f)
    if m.ranking:
        # The last value that was seen before a sample precedes it for certain.
        seen = np.flatnonzero(np.isfinite(high) & (c > 0))
        seen = seen[np.argsort(high[seen], kind="stable")]
        for i in np.flatnonzero(c > 0):
            before = seen[high[seen] < low[i]]
            if len(before):
                j = before[-1]
                short = np.maximum(low[i] - high[j] - (f[i] - f[j]), 0)
                cost += weighted(loss, L(m.ranking) * c[i : i + 1], short)
        yield Problem(cost, dense(m.dual_coef_)[0])
        return
    a, coef = of_samples(m, len(f)), dense(m.dual_coef_)[0]
    if a is None:
        yield Problem(cost, coef)
        return
    end = np.where(a[0] > 0, low, np.where(a[0] < 0, high, 0))
    yield Problem(cost, coef, conjugated(loss, c, a[0], y=end), a[0], free_of(m)[0])


def band(m: Any, data: Data) -> Iterator[Problem]:
    """Yield the problem of every level; walls between them cost nothing where none is crossed."""
    kinds = {"quantile": pinball, "expectile": expectile}
    losses = [kinds[m.kind](float(level)) for level in m.quantiles_]
    several = data._replace(y=np.repeat(data.y[:, None], len(losses), axis=1))
    for problem in residuals(m, several, losses):
        problem.conjugates = None if m.n_constraints_ else problem.conjugates
        yield problem


def robust(m: Any, data: Data) -> Iterator[Problem]:
    sizes = np.atleast_1d(m.c_)
    kinds = {
        "huber": huber,
        "logistic": lambda c: Loss(lambda r: L(c) ** 2 * log_cosh(r / L(c)), None),
    }
    yield from residuals(m, data, [kinds[m.method](size) for size in sizes])


def walls(m: Any, data: Data) -> Iterator[Problem]:
    """Yield the problem of a support vector tube, hard or with exceptions."""
    pair, r = m.exceptions, data.y - data.f
    t = L(m.tube_halfwidth_)
    if exact(m):
        # What is shown is larger, by what predictions of the largest target may round.
        t = (t - L(1e-12) * np.max(np.abs(data.y))) / (1 + L(1e-12))
    below, above = pair if isinstance(pair, tuple) else (pair / 2, pair / 2)
    budget = L(below + above) if isinstance(pair, tuple) else max(L(pair), L(1))
    unit = L(m.mu_) / budget
    c = unit * data.s
    if not isinstance(pair, tuple):
        if budget == 1:
            c = np.where(c > 0, unit, 0)
        price = min(unit * budget, c.sum()) * t
    else:
        # Of different prices for two walls a part is one for the middle.
        one = free_of(m)[0] @ [name == "1" for name in m.null_space_names_]
        price = unit * (below + above) * t + unit * (above - below) * one
    outside = np.maximum(np.abs(r) - t, 0)
    yield Problem(price + (c * outside).sum(), dense(m.dual_coef_)[0])


def known_tube(m: Any, data: Data) -> Iterator[Problem]:
    upper = L(m.upper)
    lower = upper if m.lower is None else L(m.lower)
    loss, c, r = residual_loss(m), L(m.C_) * data.s, data.y - data.f
    beyond = np.where(r > upper, r - upper, np.where(r < -lower, r + lower, 0))
    (a,) = of_samples(m, len(c))
    # The target is the upper wall for what lies above, the lower one for what lies below.
    wall = data.y - np.where(a > 0, upper, np.where(a < 0, -lower, 0))
    conjugates = conjugated(loss, c, a, y=wall)
    yield Problem(weighted(loss, c, beyond), dense(m.dual_coef_)[0], conjugates, a, free_of(m)[0])


def parametric_tube(m: Any, data: Data) -> Iterator[Problem]:
    zeta = np.asarray(m.tube_(data.X)).astype(L)
    lower, upper = (zeta @ side for side in np.broadcast_to(m.tube_coef_, (2, zeta.shape[1])))
    c, r = L(m.C_) * data.s, data.y - data.f
    outside = np.maximum(r - upper, 0) + np.maximum(-r - lower, 0)
    price = L(m.nu) * (c * (upper + lower)).sum() / 2
    yield Problem(price + (c * outside)[c > 0].sum(), dense(m.dual_coef_)[0])


def shaped(m: Any, data: Data) -> Iterator[Problem]:
    """Yield the problem of a sample; walls around the shape cost nothing where it is kept."""
    if getattr(m, "loss", None) == "chebychev":
        live = data.s > 0
        largest = np.max(np.abs(data.y - data.f)[live])
        yield Problem(L(m.C_) * largest, dense(m.dual_coef_)[0])
        return
    of = one_vs_rest if hasattr(m, "classes_") else by_loss
    for problem in of(m, data):
        yield Problem(problem.cost, problem.coef)


def vectors(m: Any, data: Data) -> Iterator[Problem]:
    """Yield the problem of the lengths of residuals: of the first output, and what others add."""
    c, Y, F = L(m.C) * data.s, columns(data.y), columns(data.f)
    lengths = np.sqrt(((Y - F) ** 2).sum(axis=1))
    cost = (c * np.maximum(lengths - L(m.epsilon), 0)).sum()
    a, coef, free = of_samples(m, len(c)), dense(m.dual_coef_), free_of(m)
    size = np.sqrt((a**2).sum(axis=0))
    conjugates = np.where(size <= c * (1 + SLACK), L(m.epsilon) * size, np.inf)
    for k, own in enumerate(a):
        first = conjugates if k == 0 else 0 * c
        yield Problem(cost if k == 0 else ZERO, coef[k], first - own * Y[:, k], own, free[k])


def covaried(m: Any, data: Data) -> Iterator[Problem]:
    """Yield squared losses of outputs whose penalty has the inverse of their covariance."""
    if m.output_covariance is None:
        yield from by_loss(m, data)
        return
    sizes, turn = np.linalg.eigh(np.asarray(m.output_covariance, dtype=float))
    turn, sizes = turn.astype(L), sizes.astype(L)
    Y, F, coef = columns(data.y), columns(data.f), turn.T @ dense(m.dual_coef_)
    for k, size in enumerate(sizes):
        r = (Y - F) @ turn[:, k]
        half = lambda q, size=size: q / size  # noqa: E731
        yield Problem(weighted(SQUARED, L(m.C_) * data.s, r), coef[k], penalty=half)


def spline(m: Any, data: Data) -> Iterator[Problem]:
    yield from residuals(m, data, SQUARED, data.s / L(m.lam_))


def adaptive(m: Any, data: Data) -> Iterator[Problem]:
    """Yield hinges whose margins grow with the coefficients; nothing else is penalized."""
    lam = L(getattr(m, "lam", 1.0))
    s = data.s * class_weights(m, data.y)
    diagonal = np.asarray(m.kernel_.diag(np.asarray(dense(data.X), dtype=float))).astype(L)
    for rows, sign, f, coef, of, _ in pairs(m, data):
        a = np.zeros(len(data.y), dtype=L)
        a[m.support_ if of is None else m.support_[of]] = coef
        margins = 1 + lam * np.abs(a[rows]) * diagonal[rows]
        cost = (s[rows] * np.maximum(margins - sign * f, 0)).sum()
        yield Problem(cost, coef, penalty=lambda q: ZERO, rows=of)


def sparse(m: Any, data: Data) -> Iterator[Problem]:
    """Yield losses and the sum of absolute coefficients."""
    c, coef, F = L(m.C) * data.s, dense(m.dual_coef_), columns(data.f)
    if hasattr(m, "classes_"):
        c = c * class_weights(m, data.y)
        labels = np.where(
            data.y[:, None] == (m.classes_[1:] if F.shape[1] == 1 else m.classes_), 1, -1
        )
        costs = [weighted(margin_loss(m.loss), c, t) for t in (labels * F).T]
    elif hasattr(m, "epsilon_"):
        costs = [
            L(m.nu) * L(m.epsilon_) * c.sum() + weighted(tube(L(m.epsilon_)), c, data.y - F[:, 0])
        ]
    else:
        costs = [weighted(residual_loss(m), c, data.y - F[:, 0])]
    for cost, a in zip(costs, coef, strict=True):
        yield Problem(cost, a, penalty=lambda q, a=a: np.abs(a).sum())


def priced(m: Any, data: Data) -> Iterator[Problem]:
    """Yield losses, and prices of the coefficients of parametric functions."""
    prices = np.where(np.array(m.null_space_names_) == "1", 0.0, m.null_space_penalty)
    cost = (prices * np.abs(free_of(m)[0])).sum()
    (problem,) = residuals(m, data, residual_loss(m))
    yield Problem(problem.cost + cost, problem.coef)


def predicted(m: Any, X: Any) -> Any:
    return m.predict(X)


def decided(m: Any, X: Any) -> Any:
    return m.decision_function(X)


def regression(loss: Callable[[Any], Loss]) -> Objective:
    return Objective(predicted, lambda m, data: residuals(m, data, loss(m)))


OBJECTIVES: dict[str, Objective] = {
    "SVR": regression(lambda m: tube(m.epsilon_)),
    "LSSVR": Objective(predicted, covaried),
    "HuberSVR": regression(lambda m: huber(m.delta)),
    "QuantileSVR": regression(lambda m: pinball(m.quantile)),
    "KernelRegressor": Objective(predicted, covaried),
    "AdditiveRegressor": Objective(predicted, covaried),
    "SVC": Objective(decided, voting),
    "NuSVC": Objective(decided, nu_voting),
    "LSSVC": Objective(lambda m, X: m.column_decision(X), codes),
    "KernelClassifier": Objective(decided, one_vs_rest),
    "AdditiveClassifier": Objective(decided, one_vs_rest),
    "KernelLogisticRegression": Objective(decided, logistic),
    "NuSVR": Objective(predicted, nu_tube),
    "OneClassSVM": Objective(decided, one_class),
    "CensoredRegressor": Objective(predicted, censored),
    "QuantileBand": Objective(lambda m, X: m.predict_quantiles(X), band),
    "RobustLSSVR": Objective(predicted, robust),
    "SupportVectorTube": Objective(predicted, walls),
    "HeteroscedasticSVR": Objective(predicted, known_tube),
    "HeteroscedasticNuSVR": Objective(predicted, parametric_tube),
    "ShapeConstrainedRegressor": Objective(predicted, shaped),
    "ShapeConstrainedClassifier": Objective(decided, shaped),
    "MultiOutputSVR": Objective(predicted, vectors),
    "SmoothingSpline": Objective(predicted, spline),
    "ThinPlateSpline": Objective(predicted, spline),
    "AdaptiveMarginSVC": Objective(decided, adaptive),
    "LeaveOneOutSVC": Objective(decided, adaptive),
    "SparseRegressor": Objective(predicted, sparse),
    "SparseClassifier": Objective(decided, sparse),
    "NuSparseRegressor": Objective(predicted, sparse),
    "PartiallyLinearRegressor": Objective(predicted, priced),
}
