"""Table 2.1, the columns of AdaBoost: networks of radial functions, added one by one."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from mercer.kernels import Gaussian
from mercer_research.estimators import LeaveOneOutSVC
from mercer_research.linear import MarginBoost, RBFNetwork, boosting_bound
from mercer_research.selection.protocols import median_of_five
from papers.outcome import (
    Claim,
    Result,
    at_least,
    at_most,
    near,
    recorded_if_wide,
)
from papers.tables import load

# Printed errors in percent, and the width that the leave-one-out machine chose in our table 2.1.
SETS = {
    "banana": (12.3, 1.0),
    "breast_cancer": (30.4, 2.0),
    "diabetis": (26.5, 5.0),
    "heart": (20.3, 8.0),
    "thyroid": (4.4, 1.0),
    "titanic": (22.6, 2.0),
}
NOISY = ("banana", "breast_cancer", "diabetis", "heart")
"""Sets where the printed error of AdaBoost is above that of the leave-one-out machine by far."""

CENTRES, ROUNDS, SPLITS, FOLDS = (5, 10, 20), 200, 10, StratifiedKFold(5)


class RadialLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network of radial functions on a sample that is drawn anew with the weights."""

    def __init__(self, n_centres: int = 10, random_state: int = 0) -> None:
        self.n_centres = n_centres
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Self:
        rng = np.random.default_rng(self.random_state)
        rows = rng.choice(len(y), len(y), p=sample_weight)
        # The median of five numbers of centres comes as a float.
        k = int(self.n_centres)
        network = RBFNetwork(k, max_iter=10, validation=0.0, random_state=self.random_state)
        self.classes_ = np.array([-1.0, 1.0])
        self.network_ = network.fit(X[rows], y[rows])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.where(self.network_.predict(X) > 0, 1.0, -1.0)


def centres_of(sample: Any) -> int:
    """Return the number of centres by the protocol of the table, with few rounds for time."""
    boost = MarginBoost(RadialLearner(), n_estimators=20, random_state=0)
    grid = {"estimator__n_centres": CENTRES}
    found = median_of_five(boost, grid, sample.X, sample.y, sample.splits[:5], cv=FOLDS)
    return int(found.params["estimator__n_centres"])


def boosted(sample: Any, centres: int, splits: int, rounds: int) -> tuple[np.ndarray, float]:
    """Return test errors in percent, and how far training errors are above their bound."""
    errors, excess = [], -np.inf
    for train, test in sample.splits[:splits]:
        X, y = sample.X[train], sample.y[train]
        boost = MarginBoost(RadialLearner(centres), n_estimators=rounds, random_state=0).fit(X, y)
        bound = boosting_bound(boost.estimator_errors_, 0.0)
        excess = max(excess, float(np.mean(boost.margins_ <= 0.0)) - bound)
        errors.append(100.0 * np.mean(boost.predict(sample.X[test]) != sample.y[test]))
    return np.array(errors), excess


def left_out(sample: Any, width: float, splits: int) -> np.ndarray:
    errors = []
    for train, test in sample.splits[:splits]:
        machine = LeaveOneOutSVC(kernel=Gaussian(width)).fit(sample.X[train], sample.y[train])
        errors.append(100.0 * np.mean(machine.predict(sample.X[test]) != sample.y[test]))
    return np.array(errors)


def run(short: bool = False, random_state: int = 0) -> Result:
    names = ("heart",) if short else tuple(SETS)
    splits, rounds = (1, 20) if short else (SPLITS, ROUNDS)
    claims: list[Claim] = []
    worst, data = -np.inf, {}
    for name in names:
        printed, width = SETS[name]
        sample = load(f"raetsch_{name}")
        centres = 10 if short else centres_of(sample)
        errors, excess = boosted(sample, centres, splits, rounds)
        worst = max(worst, excess)
        if short:
            continue
        title = name.replace("_", " ")
        rivals = left_out(sample, width, splits)
        data[name] = {"boosted": errors.tolist(), "left_out": rivals.tolist(), "centres": centres}
        spread = float(errors.std(ddof=1)) * np.sqrt(1 / splits + 1 / 100)
        claim = near(
            f"{title}: test error in percent, AdaBoost",
            errors.mean(),
            printed,
            2.0 * spread,
            f"two standard errors of the difference of means over {splits} and 100 splits",
            printed=True,
            must=False,
            trivial=100.0 * float(min(np.mean(sample.y > 0), np.mean(sample.y < 0))),
        )
        claims.append(recorded_if_wide(claim))
        if name in NOISY:
            claims.append(
                at_least(
                    f"{title}: AdaBoost over leave-one-out machine, the same splits",
                    errors.mean() / rivals.mean(),
                    1.0,
                    "printed: AdaBoost is worse by 13 to 26 per cent",
                    must=False,
                )
            )
    claims.append(
        at_most(
            "share of training errors above its bound, largest",
            worst,
            1e-12,
            "theorem 1.12 with a margin of zero, for every split",
            possible=(-1.0, 1.0),
        )
    )
    return Result(
        "Table 2.1: the columns of AdaBoost",
        "Weston and Herbrich, *Adaptive Margin Support Vector Machines*, table 2.1, quoted there "
        "from Rätsch, Onoda and Müller 1998",
        f"AdaBoost of networks of radial functions with {', '.join(map(str, CENTRES))} centres "
        "(chosen as in the table, by the median of five, here with 20 rounds), ten steps of a "
        "quasi-Newton method each, on samples drawn with the weights of the round; "
        f"{ROUNDS} rounds, the first {SPLITS} of 100 splits (for time), of which those of diabetis "
        "and thyroid are not the original ones. Networks and rounds are not printed. The column "
        "AB_R, AdaBoost with slack variables, cannot be had: neither document states its rule, "
        "and this library has no such machine.",
        claims,
        data,
        note="Networks and rounds are not printed; 10 splits instead of 100.",
    )
