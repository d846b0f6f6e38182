"""Table 2.1: leave-one-out machines on six benchmark sets, width by the median of five."""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.estimators import LeaveOneOutSVC
from mercer_research.selection.protocols import median_of_five
from papers.outcome import Result, at_most, near
from papers.tables import load

# Printed errors in percent, of the leave-one-out machine and of the support vector machine.
PRINTED = {
    "banana": (10.6, 11.5),
    "breast_cancer": (26.3, 26.0),
    "diabetis": (23.4, 23.5),
    "heart": (16.1, 16.0),
    "thyroid": (5.0, 4.8),
    "titanic": (22.7, 22.4),
}
# Widths and errors over the first ten splits, by another program with another solver.
PILOT = {"banana": (1.0, 10.64), "breast_cancer": (3.0, 26.23), "heart": (3.0, 17.90)}
PILOT |= {"titanic": (3.0, 22.67)}

# The largest first: of widths that do equally well the function of the widest is the flattest.
WIDTHS = (12.0, 8.0, 5.0, 3.0, 2.0, 1.5, 1.0, 0.75)
WEIGHTS = (0.3, 1.0, 3.0, 10.0, 100.0)
FOLDS = StratifiedKFold(5)

# Programs of 400 and more rows take half a second each; their test sets are large.
SPLITS = {"banana": 30, "diabetis": 50}


def ten_splits(data, width: float, count: int) -> float:
    """Return the mean error in percent over the first splits."""
    errors = []
    for train, test in data.splits[:count]:
        machine = LeaveOneOutSVC(kernel=Gaussian(width)).fit(data.X[train], data.y[train])
        errors.append(np.mean(machine.predict(data.X[test]) != data.y[test]))
    return 100.0 * float(np.mean(errors))


def run(short: bool = False, random_state: int = 0) -> Result:
    names = ("heart", "titanic") if short else tuple(PRINTED)
    claims, data = [], {}
    for name in names:
        count = SPLITS.get(name, 100)
        sample = load(f"raetsch_{name}")
        title = name.replace("_", " ")
        if name in PILOT:
            width, reference = PILOT[name]
            claims.append(
                near(
                    f"{title}: first ten splits, width {width:g}",
                    ten_splits(sample, width, 10),
                    reference,
                    0.3,
                    "the same program by another solver; ties and a few points on the boundary",
                )
            )
        if short:
            continue
        grid = {"kernel__length_scale": WIDTHS}
        ours = median_of_five(
            LeaveOneOutSVC(kernel=Gaussian()),
            grid,
            sample.X,
            sample.y,
            sample.splits[:count],
            cv=FOLDS,
        )
        machine = SVC(kernel=Gaussian(), tol=1e-3)
        svm = median_of_five(
            machine, grid | {"C": WEIGHTS}, sample.X, sample.y, sample.splits[:count], cv=FOLDS
        )
        printed, printed_svm = PRINTED[name]
        original = int(sample.original_splits)
        where = f"{count} splits, {original} of them original"
        error = 200.0 * ours.std / np.sqrt(len(ours.errors))
        slack = 0.5 if name in ("banana", "titanic") else 1.0
        claims.append(
            near(
                f"{title}: test error in percent, leave-one-out machine",
                100.0 * ours.mean,
                printed,
                max(slack, error),
                f"{where}: half a point, one point on small test sets",
                printed=True,
                must=False,
            )
        )
        claims.append(
            near(
                f"{title}: test error in percent, our support vector machine",
                100.0 * svm.mean,
                printed_svm,
                max(slack, 200.0 * svm.std / np.sqrt(len(svm.errors))),
                f"{where}; chosen from {len(WIDTHS)} widths and {len(WEIGHTS)} weights",
                printed=True,
                must=False,
            )
        )
        claims.append(
            at_most(
                f"{title}: leave-one-out machine over support vector machine",
                ours.mean / svm.mean,
                1.1,
                "as good without a weight to choose, as the text concludes",
                must=False,
            )
        )
        data[name] = {
            "leave_one_out": (100.0 * ours.errors).tolist(),
            "support_vector": (100.0 * svm.errors).tolist(),
            "width": ours.params["kernel__length_scale"],
            "svm_width": svm.params["kernel__length_scale"],
            "svm_C": svm.params["C"],
            "widths_chosen": [c["kernel__length_scale"] for c in ours.chosen],
        }
    return Result(
        "Table 2.1: classifying every pattern by the others",
        "Weston and Herbrich, *Adaptive Margin Support Vector Machines*, table 2.1",
        "Six benchmark sets, standardized, Gaussian kernel; the width (and C of the support vector "
        "machine) is chosen by 5-fold cross-validation on each of the first five training sets, "
        "the median of the five is used on all splits. Of the splits the first ten are the "
        "original ones for banana, breast cancer, heart and titanic, all others were drawn anew "
        "with the published sizes, so that printed numbers are met up to the choice of splits. "
        "Banana has 30 splits and diabetis 50, the others 100. "
        f"Widths {', '.join(f'{w:g}' for w in reversed(WIDTHS))}; of equally good ones the "
        "largest. The text does not print its widths.",
        claims,
        data,
        note="Splits beyond the first ten are lost; others were drawn.",
    )
