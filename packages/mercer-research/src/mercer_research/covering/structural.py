"""Structural risk minimization: choose among classes fixed beforehand by their bounds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._params import check_integer, check_positive
from mercer._typing import Estimator, PointsLike, TargetsLike
from mercer.risk_bounds import Assumption, Bound, Constant, one_each
from mercer_research.covering.uniform import Coverings, Inequality
from mercer_research.diagnostics.risk import norm_of

__all__ = ["StructuralChoice", "fit_within_norm", "share_delta", "structural_risk"]


def share_delta(delta: float, n_classes: int, *, open_ended: bool = False) -> NDArray[np.float64]:
    r"""Share a probability of failure among classes.

    Evenly, or as :math:`6 \delta / (\pi^2 i^2)` for a list that may go on for ever.

    Examples
    --------
    >>> share_delta(0.06, 3)
    array([0.02, 0.02, 0.02])
    >>> share_delta(0.05, 2, open_ended=True).round(4)
    array([0.0304, 0.0076])
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}.")
    check_integer("n_classes", n_classes, 1)
    if open_ended:
        i = np.arange(1, n_classes + 1, dtype=np.float64)
        return np.asarray(6 * delta / (np.pi * i) ** 2, dtype=np.float64)
    return np.full(n_classes, delta / n_classes)


@dataclass(frozen=True)
class StructuralChoice:
    """What structural risk minimization chose, and why.

    Parameters
    ----------
    best : int or None
        Index of the class with the least bound; None where no bound says anything, unless forced.
    bounds : tuple of Bound
        One for each class, on the risk of its function; together they hold with the probability
        asked for.
    empirical, widths, deltas : ndarray of shape (n_classes,)
        Risks on the sample, what the classes add, and their shares of the probability of failure.
    """

    best: int | None
    bounds: tuple[Bound, ...]
    empirical: NDArray[np.float64]
    widths: NDArray[np.float64]
    deltas: NDArray[np.float64]

    @property
    def vacuous(self) -> bool:
        """Whether no bound says anything."""
        return all(bound.vacuous for bound in self.bounds)

    @property
    def bound(self) -> Bound | None:
        """The bound of the class that was chosen."""
        return None if self.best is None else self.bounds[self.best]

    def __str__(self) -> str:
        lines = ["class  on the sample   width   bound"]
        for i, (risk, width) in enumerate(zip(self.empirical, self.widths, strict=True)):
            mark = " <-" if i == self.best else ""
            lines.append(f"{i:5d}  {risk:13.4f}  {width:6.4f}  {risk + width:6.4f}{mark}")
        if self.vacuous:
            lines.append("all bounds say nothing: choose by cross-validation")
        return "\n".join(lines)


def structural_risk(
    classes: Sequence[Coverings],
    empirical: Sequence[float],
    inequality: Inequality,
    n_samples: int,
    delta: float = 0.05,
    *,
    deltas: Sequence[float] | None = None,
    nested: bool = True,
    force: bool = False,
) -> StructuralChoice:
    r"""Choose the class with the least bound on the risk, each class with its share of delta.

    .. math:: \min_i\; R_m(f_i) + \varepsilon(\delta_i, m, F_i), \qquad \sum_i \delta_i \le \delta

    Classes and shares are fixed before the rows are seen; then the bound of the winner holds with
    probability :math:`1 - \delta`. For samples of ordinary size all bounds are vacuous, and the
    least of them belongs to the smallest class, whatever the data say. Therefore nothing is chosen
    then, unless forced: choose by cross-validation.

    Parameters
    ----------
    classes : sequence of Covering or callable
        Covering numbers of the losses of each class, from small to large.
    empirical : sequence of float
        The mean loss of the function fitted in each class, such as by :func:`fit_within_norm`.
    inequality : Inequality
    n_samples : int
    delta : float, default=0.05
    deltas : sequence of float, optional
        Shares, whose sum is at most ``delta``. By default all alike; see :func:`share_delta`.
    nested : bool, default=True
        Whether every class contains the one before. Then risks on the sample must fall and widths
        must rise; a warning says where they do not.
    force : bool, default=False
        Whether to choose where all bounds are vacuous.

    Examples
    --------
    >>> from mercer_research.covering import FiniteClass, finite_classes
    >>> classes = [FiniteClass(np.log(size)) for size in (10, 1000, 10**9)]
    >>> choice = structural_risk(classes, [0.30, 0.12, 0.11], finite_classes(), n_samples=1000)
    >>> print(choice)
    class  on the sample   width   bound
        0         0.3000  0.0595  0.3595
        1         0.1200  0.0765  0.1965 <-
        2         0.1100  0.1129  0.2229
    """
    if len(classes) != len(empirical) or not classes:
        raise ValueError(f"{len(classes)} classes and {len(empirical)} risks do not match")
    shares = share_delta(delta, len(classes))
    if deltas is not None:
        shares = np.asarray(deltas, dtype=float)
    if len(shares) != len(classes) or not (
        np.min(shares) > 0 and np.sum(shares) <= delta * (1 + 1e-9)
    ):
        raise ValueError(
            f"deltas must be {len(classes)} positive shares of delta={delta}, whose sum is at most "
            f"that; got a sum of {np.sum(shares):.6g}"
        )
    risks = one_each(empirical, "empirical")
    if not np.all((risks >= 0) & (risks <= inequality.largest)):
        raise ValueError(
            f"empirical must hold mean losses between 0 and {inequality.largest:g}, got {risks}"
        )
    single = [
        inequality.width(covering, n_samples, float(share))
        for covering, share in zip(classes, shares, strict=True)
    ]
    widths = np.array([bound.value for bound in single])
    if nested:
        _warn_of_disorder(risks, widths)
    paid = Assumption(f"the {len(classes)} classes and their shares were fixed beforehand")
    bounds = tuple(
        replace(
            bound,
            value=float(risk + bound.value),
            constants={
                **bound.constants,
                "empirical": Constant(float(risk), "mean loss on the sample"),
                "delta": Constant(float(share), "share of the probability of failure"),
            },
            assumptions=(*bound.assumptions, paid),
        )
        for bound, risk, share in zip(single, risks, shares, strict=True)
    )
    nothing = all(bound.vacuous for bound in bounds)
    # A bound that may not be quoted is not the least one, unless there are no others.
    values = [np.inf if bound.vacuous and not nothing else bound.value for bound in bounds]
    best = None if nothing and not force else int(np.argmin(values))
    return StructuralChoice(best, bounds, risks, widths, shares)


def fit_within_norm(
    machine: Estimator,
    X: PointsLike,
    y: TargetsLike,
    norm: float,
    *,
    tol: float = 1e-3,
    max_fits: int = 40,
) -> Any:
    r"""Fit a machine with the largest weight of the loss whose function keeps to a norm.

    .. math:: \min_f\; R_m(f) \quad \text{subject to} \quad \|f\| \le \Lambda

    The norm rises with C, so that C is found by bisection of its logarithm. The function returned
    never exceeds the norm.

    Parameters
    ----------
    machine : estimator
        With a parameter ``C`` and without unpenalized functions (``null_space=Empty()``).
    X, y
        The sample.
    norm : float
        :math:`\Lambda`.
    tol : float, default=1e-3
        The norm may fall short by this share. Beyond ``C = 1e9`` the loss is as small as it gets.
    max_fits : int, default=40

    Examples
    --------
    >>> from mercer import SVR
    >>> from mercer_research.diagnostics.risk import norm_of
    >>> from mercer.regularizers import Empty
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> machine = fit_within_norm(SVR(null_space=Empty()), X, np.sinc(X[:, 0]), 0.5)
    >>> 0.4995 <= norm_of(machine, machine.predict(X)) <= 0.5
    True
    """
    check_positive(norm=norm, tol=tol)
    check_integer("max_fits", max_fits, 1)

    def fitted(log_c: float) -> tuple[Any, float]:
        found = clone(machine).set_params(C=float(np.exp(log_c))).fit(X, y)
        if found.null_space_names_:
            raise ValueError("unpenalized functions have no norm: fit with null_space=Empty()")
        values = getattr(found, "decision_function", found.predict)(X)
        return found, norm_of(found, values)

    low, high = -np.inf, np.log(1e9)
    log_c, kept = 0.0, None
    for _ in range(max_fits):
        candidate, size = fitted(log_c)
        if size <= norm:
            low, kept = log_c, candidate
            if size >= norm * (1 - tol) or log_c >= high:
                break
        else:
            high = log_c
        # Until both sides are known, steps of a factor 10.
        if not np.isfinite(low):
            log_c -= np.log(10.0)
        elif high == np.log(1e9):
            log_c = min(log_c + np.log(10.0), high)
        else:
            log_c = 0.5 * (low + high)
    if kept is None:
        raise ValueError(f"no C gave a function of norm at most {norm}: is the kernel so large?")
    return kept


def _warn_of_disorder(risks: NDArray[np.float64], widths: NDArray[np.float64]) -> None:
    """Say where a larger class fits worse or is called smaller, which nested classes cannot."""
    slack = 1e-9 * max(1.0, float(np.max(np.abs(risks))))
    for i in np.flatnonzero(np.diff(risks) > slack):
        warnings.warn(
            f"class {i + 1} contains class {i}, but its risk on the sample is larger "
            f"({risks[i + 1]:.6g} > {risks[i]:.6g}): has its fit converged?",
            stacklevel=3,
        )
    for i in np.flatnonzero(np.diff(widths) < -1e-9 * np.abs(widths[:-1])):
        warnings.warn(
            f"class {i + 1} contains class {i}, but its width is smaller "
            f"({widths[i + 1]:.6g} < {widths[i]:.6g}): are classes and shares in order?",
            stacklevel=3,
        )
