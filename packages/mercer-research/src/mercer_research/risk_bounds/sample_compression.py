r"""Compression: a machine that few of its rows reproduce is tested by all the others.

Refitting a support vector machine to its support vectors gives it back, so the rows without a
coefficient did not make it, once the choice of these rows is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from mercer._sklearn import safe_indexing
from mercer._typing import PointsLike, Predictor, TargetsLike
from mercer.risk_bounds import (
    INDEPENDENT,
    Assumption,
    Bound,
    Constant,
    binomial_upper,
    confidence,
    kl_upper,
    log_choose,
    logarithm,
    losses_of,
    majority_error,
)

__all__ = ["CompressedMachine", "compression_bound", "log_subsets", "refit_to_support"]


# Predictions of a regressor count as reproduced within this part of the range of targets.
MAX_SHARE = 0.01


def log_subsets(size: int, n_samples: int) -> float:
    r"""Return what the choice of d of m rows costs: :math:`\ln\binom md + \ln(d+1)(d+2)`.

    The second term pays for the size, since :math:`\sum_{d\ge0} 1/((d+1)(d+2)) = 1`.

    Examples
    --------
    >>> round(log_subsets(0, 100), 4), round(log_subsets(2, 4), 4)  # ln 2, ln 6 + ln 12
    (0.6931, 4.2767)
    """
    return float(log_choose(n_samples, size)) + float(np.log((size + 1.0) * (size + 2.0)))


Refitted = TypeVar("Refitted", bound=Predictor)


@dataclass(frozen=True, eq=False)
class CompressedMachine(Generic[Refitted]):
    """A machine fitted to few rows, and its losses on the others; made by :func:`refit_to_support`.

    Parameters
    ----------
    machine : fitted estimator
        The machine of the rows that were given and kept: the one that the bound is about.
    kept : ndarray of int
        Rows that were kept after looking at the sample.
    given : ndarray of int
        Rows used in any case, chosen before.
    losses : ndarray
        Losses on all other rows.
    largest : float
        Their largest possible value.
    agreement : float
        Share of the other rows where the refitted machine predicts what the machine of all rows
        does.
    trivial : float
        What is known without a bound.
    """

    machine: Refitted
    kept: NDArray[np.intp]
    given: NDArray[np.intp]
    losses: NDArray[np.float64]
    largest: float
    agreement: float
    trivial: float

    def bound(self, delta: float = 0.05, choices: float = 1) -> Bound:
        """Return the bound of :func:`compression_bound`."""
        d, free = len(self.kept), len(self.losses)
        log_delta = logarithm(delta, choices) - log_subsets(d, d + free)
        if not free:
            value = self.largest
        elif is_classifier(self.machine):
            value = binomial_upper(int(self.losses.sum()), free, log_delta)
        else:
            mean = float(self.losses.mean()) / self.largest
            value = self.largest * float(kl_upper(mean, -log_delta / free))
        rows = Constant(float(d), "rows that the machine is made of, beside those given")
        return Bound(
            value,
            "compression to support vectors",
            self.trivial,
            constants={
                "kept": rows,
                "tested": Constant(float(free), "rows that the machine is not made of"),
                "mean": Constant(
                    float(self.losses.mean()) if free else np.nan, "mean loss on these"
                ),
                "agreement": Constant(self.agreement, "predictions that the refit reproduces"),
            }
            | confidence(delta, choices),
            assumptions=(
                INDEPENDENT,
                Assumption("the rows given were chosen before looking at them", "given"),
                Assumption("the machine is the refit to the rows kept and given", "checked"),
            ),
        )


def refit_to_support(
    machine: Refitted,
    X: PointsLike,
    y: TargetsLike,
    *,
    given: ArrayLike = (),
    largest: float | None = None,
) -> CompressedMachine[Refitted]:
    """Refit a machine to its support vectors and measure it on all other rows.

    Parameters
    ----------
    machine : fitted estimator with ``support_``
        Or a pipeline whose last step has it; everything in the pipeline is refitted.
    X, y : array-like
        The rows that it was fitted to, in the same order.
    given : array-like of int, optional
        Rows to keep in any case; chosen without looking at the others, such as the first tenth.
    largest : float, optional
        Of regressors, as in :func:`~mercer.risk_bounds.held_out_bound`.

    Examples
    --------
    >>> from mercer import SVC
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> few = refit_to_support(SVC(gamma=1.0).fit(X, X[:, 0] > 0), X, X[:, 0] > 0)
    >>> len(few.kept) < 60, few.agreement
    (True, 1.0)
    """
    y, m = np.asarray(y), len(y)
    last = machine[-1] if isinstance(machine, Pipeline) else machine
    if not hasattr(last, "support_"):
        raise ValueError(f"{type(last).__name__} has no support_: no few rows make it up")
    rows_given = np.asarray(given)
    if rows_given.size and not (
        rows_given.dtype.kind in "iu" and np.min(rows_given) >= 0 and np.max(rows_given) < m
    ):
        raise ValueError(f"given must hold numbers of rows, from 0 to {m - 1}, got {given!r}")
    given = np.unique(rows_given.astype(np.intp))
    kept = np.setdiff1d(np.asarray(last.support_, dtype=np.intp), given)
    used = np.union1d(kept, given)
    others = np.setdiff1d(np.arange(m), used)
    refit = clone(machine).fit(safe_indexing(X, used), y[used])
    classifies = is_classifier(machine)
    losses, agreement = np.zeros(0), 1.0
    if len(others):
        rows = safe_indexing(X, others)
        losses = losses_of(refit, rows, y[others], largest)
        ours, theirs = np.asarray(refit.predict(rows)), np.asarray(machine.predict(rows))
        same = ours == theirs if classifies else np.abs(ours - theirs) <= MAX_SHARE * np.ptp(y)
        agreement = float(np.mean(same))
    top = 1.0 if classifies or largest is None else largest
    known = majority_error(y) if classifies else top
    return CompressedMachine(refit, kept, given, losses, top, agreement, known)


def compression_bound(
    machine: Predictor,
    X: PointsLike,
    y: TargetsLike,
    *,
    given: ArrayLike = (),
    delta: float = 0.05,
    choices: float = 1,
    largest: float | None = None,
) -> Bound:
    r"""Bound the risk of a machine by the rows that are not needed to rebuild it.

    Let A fit a machine to any rows. With probability at least :math:`1-\delta` over m independent
    rows S, for all subsets i of d rows at once,

    .. math:: R(A(S_i)) \le \max\Bigl\{p : P(\mathrm{Bin}(m-d, p) \le k) \ge
              \frac\delta{N\binom md(d+1)(d+2)}\Bigr\}

    where k counts the errors of :math:`A(S_i)` on the m - d other rows and N settings of A were
    tried. For one subset, fixed before, the other rows are new to :math:`A(S_i)` and
    :func:`~mercer.risk_bounds.error_bound` holds; there are :math:`\binom md` subsets of size d,
    which gets the part :math:`1/((d+1)(d+2))` of :math:`\delta`. Losses of regressors, clipped to
    [0, B], have the kl tail in place of the binomial one.

    The machine bounded is the *refit* to the support vectors, whether or not it equals the one of
    all rows: ``constants["agreement"]`` says on which share of the rows they agree. A scaler in a
    pipeline is refitted to the support vectors too; it is kept fixed by learning it from the rows
    that are `given`, which count neither as kept nor as tested (all of the above is conditional on
    them).

    Parameters
    ----------
    machine : fitted estimator with ``support_``
        Or a pipeline whose last step has it.
    X, y : array-like
        The rows that it was fitted to, in the same order.
    given : array-like of int, optional
        Rows that belong to the machine in any case, chosen before looking.
    delta, choices :
        As in :func:`~mercer.risk_bounds.error_bound`.
    largest : float, optional
        Of regressors, as in :func:`~mercer.risk_bounds.held_out_bound`.

    See Also
    --------
    refit_to_support : returns the refitted machine as well.

    References
    ----------
    S. Floyd and M. Warmuth, *Machine Learning* 21 (1995) 269; J. Langford, *JMLR* 6 (2005) 273,
    theorem 5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> machine = SVC(C=10.0, gamma=0.01).fit(X / X[:50].std(axis=0), y)
    >>> print(compression_bound(machine, X / X[:50].std(axis=0), y, given=range(50)))
    at most 0.345, by compression to support vectors, assuming that the rows are independent
    draws of the distribution to come
    """
    return refit_to_support(machine, X, y, given=given, largest=largest).bound(delta, choices)
