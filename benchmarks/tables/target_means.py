"""Do means of the target by category help the recommended estimators? A column of them, tried.

Columns of more than 20 labels get a number beside their codes: the smoothed mean of the target (of
two classes its log odds), by folds, so that the target of a row does not enter its own number. For
every split: left-out and test error without and with it, on splits that the contest does not use.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas as pd
from sklearn.preprocessing import TargetEncoder

import mercer
from benchmarks.tables.sets import Split, split

MANY, FOLDS, LEAST = 20, 5, 1e-3


def with_means(data: Split, columns: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to learn from and to be judged by with a further column a column."""
    kind = "continuous" if data.regression else "binary"
    encoder = TargetEncoder(target_type=kind, cv=FOLDS, random_state=0)
    words = [X[columns].astype(object).fillna("missing") for X in (data.X, data.X_test)]
    found = [encoder.fit_transform(words[0], data.y), encoder.transform(words[1])]
    if not data.regression:
        clipped = (np.clip(p, LEAST, 1.0 - LEAST) for p in found)
        found = [np.log(p / (1.0 - p)) for p in clipped]
    names = [f"{c}_mean" for c in columns]
    both = zip((data.X, data.X_test), found, strict=True)
    left, right = (X.assign(**dict(zip(names, M.T, strict=True))) for X, M in both)
    return left, right


def errors(data: Split, X: pd.DataFrame, X_test: pd.DataFrame) -> tuple[float, float]:
    """Return the left-out and the test error: RMSE, or log loss."""
    kind = mercer.AutoRegressor if data.regression else mercer.AutoClassifier
    machine = kind().fit(X, data.y)
    if data.regression:
        apart = machine.left_out_predictions_ - data.y
        left_out, test = float(np.sqrt(np.mean(apart**2))), machine.predict(X_test)
        return left_out, data.judge(test)["rmse"]
    P = np.clip(machine.left_out_probabilities_, 1e-6, None)
    left_out = float(-np.log(P[np.arange(len(P)), data.y]).mean())
    return left_out, data.judge(machine.predict_proba(X_test))["log_loss"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["flights_nyc13", "flights_3m", "adult"])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--splits", nargs="*", type=int, default=[10, 11, 12])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets:
        for number in options.splits:
            data = split(name, number, options.rows, 2_000)
            wide = [c for c in data.categories if data.X[c].nunique() > MANY]
            before = errors(data, data.X, data.X_test)
            after = errors(data, *with_means(data, wide))
            text = ", ".join(
                f"{what} {a:.4f} -> {b:.4f} ({b / a - 1:+.1%})"
                for what, a, b in zip(("left out", "test"), before, after, strict=True)
            )
            print(f"{name} {options.rows} {number} {' '.join(wide)}: {text}", flush=True)


if __name__ == "__main__":
    main()
