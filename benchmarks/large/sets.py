"""Six large real tables as the comparison of error and time gives them to everybody."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.reduced.sets import SETS, read

__all__ = ["SETS", "Table", "table"]

NAMES = {"friedman1": "numbers", "moons": "classes"}


class Table(NamedTuple):
    """Rows to learn from, in random order, and rows to be judged by."""

    name: str
    X: NDArray[np.float64]
    """Numbers as they are, NaN where missing, and codes of categories."""

    y: NDArray[Any]
    """Numbers of mean 0 and variance 1, or classes 0, 1, ..."""

    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    regression: bool
    categories: list[int]
    """Columns that are codes."""

    def first(self, n: int) -> "Table":
        return self._replace(X=self.X[:n], y=self.y[:n])

    def error(self, predicted: Any) -> float:
        """Return the root mean square error, or the share of mistakes."""
        predicted = np.ravel(predicted)
        if self.regression:
            return float(np.sqrt(np.mean((self.y_test - predicted) ** 2)))
        return float(np.mean(predicted != self.y_test))


def table(name: str) -> Table:
    """Return a table, split as everywhere else (``reduced.sets``), with one column a category."""
    X, y, regression, train, test, codes = read(name)
    X = np.asarray(X, dtype=np.float64)
    if name == "covtype":
        # Ten numbers, four columns of one category and forty of another.
        codes = [X[:, 10:14].argmax(axis=1), X[:, 14:].argmax(axis=1)]
        X = X[:, :10]
    if regression:
        y = (y - y[train].mean()) / y[train].std()
    else:
        y = np.unique(y, return_inverse=True)[1]
    p = X.shape[1]
    X = np.column_stack([X, *(np.where(c < 0, np.nan, c) for c in codes)])
    categories = list(range(p, X.shape[1]))
    return Table(name, X[train], y[train], X[test], y[test], regression, categories)
