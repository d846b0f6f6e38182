r"""Choose parameters by a validation set, with Hoeffding's bound on the risk of the choice.

.. math:: R(\hat\beta) \le R_{\text{valid}}(\hat\beta)
          + b \sqrt{\frac{\ln(G/\delta)}{2 m_{\text{valid}}}}

The risk of the best of G candidates on m samples is optimistic, because it was the best; for losses
in [0, b] Hoeffding's inequality for all candidates at once says by how much, with probability
:math:`1 - \delta` (A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 7.1).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.utils import check_random_state

from mercer._sklearn import num_samples
from mercer._typing import AnyArray, Array, PointsLike, Predictor, Seed, TargetsLike
from mercer.risk_bounds import hoeffding

__all__ = ["HeldOutChoice", "holdout", "leave_n_out"]

Cost = Callable[[AnyArray, AnyArray], Array]
# More candidates than a share of the validation sample fit that sample, not the problem.
CROWD = 0.1


def _mistakes(y: AnyArray, prediction: AnyArray) -> Array:
    return np.asarray(np.asarray(y) != np.asarray(prediction), dtype=np.float64)


def _squares(y: AnyArray, prediction: AnyArray) -> Array:
    return np.asarray((np.asarray(y, dtype=np.float64) - prediction) ** 2)


@dataclass(frozen=True, eq=False)
class HeldOutChoice:
    """The candidate chosen by a validation set, from :func:`holdout` or :func:`leave_n_out`."""

    params: list[dict[str, Any]]
    """All candidates."""

    risks: Array
    """Their mean losses on samples they were not fitted on, (G,)."""

    best: int
    """The candidate of the smallest; the first of those tied."""

    machine: Predictor
    """The best candidate, fitted again on all samples that chose it."""

    risk: float
    """Its risk: optimistic, because it was the smallest."""

    upper: float
    """What its risk does not exceed with probability ``1 - delta``; infinite without a bound."""

    delta: float
    """The probability of being wrong about that."""

    test_risk: float
    """Its risk on a third part that had no say; not a number without one."""

    test_upper: float
    """What that says of its risk with probability ``1 - delta``."""


def holdout(
    estimator: Predictor,
    grid: Any,
    X: PointsLike,
    y: TargetsLike,
    *,
    validation: float | ArrayLike = 0.3,
    test: float = 0.0,
    loss: Cost | None = None,
    bound: float | None = None,
    delta: float = 0.05,
    refit: bool = True,
    random_state: Seed = None,
) -> HeldOutChoice:
    r"""Choose parameters by a validation set, and bound the risk of the chosen machine.

    Parameters
    ----------
    estimator : estimator
        What is fitted; candidates are its clones.
    grid : dict, list of dict, or list of candidates' parameters
        As in scikit-learn's ParameterGrid.
    X, y : array-like
        The sample.
    validation : float or (m,) array of int, default=0.3
        Share of the sample that chooses, or which samples do.
    test : float, default=0.0
        Share of the sample that has no say, and reports the risk of the winner without optimism.
    loss : callable, optional
        Maps targets and predictions to losses; by default mistakes of a classifier (at most one)
        and squares of a regressor.
    bound : float, optional
        The largest possible loss; 1 for mistakes, otherwise unknown, so that nothing is certified.
    delta : float, default=0.05
        The probability that the upper bound is wrong.
    refit : bool, default=True
        Fit the winner again on training and validation sample together. The bound is one on the
        winner as it was validated.
    random_state : int, RandomState or None
        How the sample is divided.

    Returns
    -------
    HeldOutChoice

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (7.1)-(7.5).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> from mercer_research.selection.validation_set import holdout
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = holdout(SVC(), {"C": [1.0, 100.0]}, X[:300], y[:300], random_state=0)
    >>> found.risk < found.upper < 1.0
    True
    """
    rng = check_random_state(random_state)
    n = num_samples(X)
    y = np.asarray(y)
    candidates = list(ParameterGrid(grid)) if not _is_list_of_candidates(grid) else list(grid)
    classes = is_classifier(estimator)
    cost = loss or (_mistakes if classes else _squares)
    if bound is None:
        bound = 1.0 if loss is None and classes else np.inf
    rest = np.arange(n)
    last = np.empty(0, dtype=np.intp)
    if test:
        rest, last = train_test_split(
            rest, test_size=test, random_state=rng, stratify=y if classes else None
        )
    if np.ndim(validation):
        chosen = np.asarray(validation, dtype=np.intp)
        train = np.setdiff1d(rest, chosen)
    else:
        train, chosen = train_test_split(
            rest, test_size=validation, random_state=rng, stratify=y[rest] if classes else None
        )
    numbers = max(len(candidate) for candidate in candidates)
    if numbers > CROWD * len(chosen):
        warnings.warn(
            f"{numbers} parameters are chosen by {len(chosen)} samples, which cannot tell so many "
            "apart: put more aside, or choose fewer.",
            UserWarning,
            stacklevel=2,
        )
    machines = [clone(estimator).set_params(**c).fit(_take(X, train), y[train]) for c in candidates]
    risks = np.array([np.mean(cost(y[chosen], m.predict(_take(X, chosen)))) for m in machines])
    best = int(np.argmin(risks))
    winner = machines[best]
    upper = float(risks[best]) + _slack(len(chosen), len(candidates), delta, bound)
    if refit:
        both = np.sort(np.concatenate([train, chosen]))
        winner = clone(estimator).set_params(**candidates[best]).fit(_take(X, both), y[both])
    test_risk = test_upper = np.nan
    if len(last):
        test_risk = float(np.mean(cost(y[last], winner.predict(_take(X, last)))))
        test_upper = test_risk + _slack(len(last), 1, delta, bound)
    return HeldOutChoice(
        candidates, risks, best, winner, float(risks[best]), upper, delta, test_risk, test_upper
    )


def leave_n_out(
    estimator: Predictor,
    grid: Any,
    X: PointsLike,
    y: TargetsLike,
    *,
    n: int | None = None,
    loss: Cost | None = None,
    random_state: Seed = None,
) -> HeldOutChoice:
    """Choose parameters by leaving out disjoint blocks of n samples, and refit on all.

    Parameters
    ----------
    estimator, grid, X, y, loss, random_state :
        As in :func:`holdout`; the sample is shuffled only if a random state is given.
    n : int, optional
        Samples of a block; the last may be smaller. By default a tenth of the sample.

    Returns
    -------
    HeldOutChoice
        Its bound is infinite: blocks share their training samples, so that Hoeffding's inequality
        does not apply.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer_research.selection.validation_set import leave_n_out
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> found = leave_n_out(SVR(), {"C": [0.01, 10.0]}, X, np.sin(X[:, 0]), n=1, random_state=0)
    >>> found.machine.C
    10.0
    """
    total = num_samples(X)
    size = max(1, -(-total // 10)) if n is None else n
    if not 1 <= size < total:
        raise ValueError(f"n must be at least 1 and less than the {total} samples, got {n}")
    y = np.asarray(y)
    order = np.arange(total)
    if random_state is not None:
        order = check_random_state(random_state).permutation(total)
    blocks = [order[first : first + size] for first in range(0, total, size)]
    candidates = list(ParameterGrid(grid)) if not _is_list_of_candidates(grid) else list(grid)
    cost = loss or (_mistakes if is_classifier(estimator) else _squares)
    risks = np.zeros(len(candidates))
    for g, candidate in enumerate(candidates):
        for block in blocks:
            rest = np.setdiff1d(order, block)
            machine = clone(estimator).set_params(**candidate).fit(_take(X, rest), y[rest])
            risks[g] += np.sum(cost(y[block], machine.predict(_take(X, block)))) / total
    best = int(np.argmin(risks))
    winner = clone(estimator).set_params(**candidates[best]).fit(X, y)
    return HeldOutChoice(
        candidates, risks, best, winner, float(risks[best]), np.inf, np.nan, np.nan, np.nan
    )


def _slack(m: int, candidates: int, delta: float, bound: float) -> float:
    return hoeffding(m, candidates, delta, bound) if np.isfinite(bound) else np.inf


def _is_list_of_candidates(grid: Any) -> bool:
    """Return whether a grid lists its candidates, as dicts of values and not of lists."""
    return isinstance(grid, Sequence) and all(
        isinstance(c, dict)
        and not any(isinstance(v, list | tuple | np.ndarray) for v in c.values())
        for c in grid
    )


def _take(X: PointsLike, index: NDArray[np.intp]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return X[index] if hasattr(X, "shape") else np.asarray(X)[index]
