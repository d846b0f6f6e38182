"""Real tables, and the ten ways in which each is split, for the benchmark of tuning."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from data import table

# The same rows for every method, few enough for a grid of 500 support vector machines a split.
SHARE, TRAIN, TEST = 0.7, 300, 2_000
SPLITS = 10

# Measured on something, not simulated; at least 186 rows; of the literature on kernel machines.
REGRESSION = (
    "abalone",
    "airfoil",
    "autompg",
    "bike_sharing",
    "bodyfat",
    "boston",
    "california",
    "concrete",
    "cpusmall",
    "diabetes",
    "house8l",
    "machine_cpu",
    "pol",
    "power_plant",
    "protein_casp",
    "quakes",
    "stock",
    "triazines",
    "wine_quality",
    "yacht",
)
CLASSIFICATION = (
    "australian",
    "banknote",
    "german_credit",
    "glass",
    "heart",
    "ionosphere",
    "musk1",
    "phoneme",
    "pima",
    "satimage",
    "segment",
    "sonar",
    "spambase",
    "vehicle",
    "wdbc",
)
# Those that come with scikit-learn, for a machine without the folder of data.
SHORT = ("diabetes", "friedman1", "breast_cancer")


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by; features as they are in the table."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    regression: bool

    def error(self, predicted: NDArray[Any]) -> float:
        """Return the error: RMSE, in standard deviations of the target, or share of mistakes."""
        if self.regression:
            return float(np.sqrt(np.mean((self.y_test - np.ravel(predicted)) ** 2)))
        return float(np.mean(self.y_test != predicted))


def split(name: str, number: int, rows: int = TRAIN) -> Split:
    """Return a random partition of a set, by classes where there are any.

    A regression's target has mean 0 and variance 1 on the rows to learn from.
    """
    X, y, regression, _ = table(name)
    if not regression:
        y = np.unique(y, return_inverse=True)[1]
    n = min(rows, int(SHARE * len(y)))
    first, others = train_test_split(
        np.arange(len(y)),
        train_size=n,
        test_size=min(TEST, len(y) - n),
        random_state=number,
        stratify=None if regression else y,
    )
    if regression:
        y = (y - y[first].mean()) / y[first].std()
    return Split(X[first], y[first], X[others], y[others], regression)
