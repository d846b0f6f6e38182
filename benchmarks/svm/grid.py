"""The coarse grid behind the settings of ``problems``: scores of scikit-learn on small samples."""

from dataclasses import replace

import sklearn.svm

from benchmarks.svm.contender import score
from benchmarks.svm.problems import CLASSIFICATION, REGRESSION

ROWS, ROWS_TO_SCORE = 3_000, 2_000
VALUES = {"C": (1.0, 10.0, 100.0), "gamma times features": (0.3, 1.0, 4.0, 16.0)}


def main() -> None:
    """Print the score of every setting, problem by problem."""
    done = set()
    for problem in CLASSIFICATION + REGRESSION:
        small = replace(problem, n=min(problem.n, ROWS), n_test=min(problem.n_test, ROWS_TO_SCORE))
        if problem.machine == "NuSVR" or small.name in done:
            continue
        done.add(small.name)
        sample = small.sample()
        machine = getattr(sklearn.svm, problem.machine)
        print(
            f"{problem.machine} {problem.data}: settings in use C={problem.settings['C']:g},"
            f" gamma={problem.gamma:.3g}"
        )
        for factor in VALUES["gamma times features"]:
            gamma = factor / sample.X.shape[1]
            scores = []
            for C in VALUES["C"]:
                fitted = machine(**problem.settings | {"C": C}, gamma=gamma)
                prediction = fitted.fit(sample.X, sample.y).predict(sample.X_test)
                scores.append(f"C={C:g} {score(problem, sample.y_test, prediction):.4f}")
            print(f"  gamma={gamma:.3g}: " + ", ".join(scores), flush=True)
