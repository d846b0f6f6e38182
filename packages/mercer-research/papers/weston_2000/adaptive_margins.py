"""Figures 2.2 to 2.6: what an outlier does to five machines."""

import numpy as np

from mercer import SVC, NuSVC
from mercer.kernels import Gaussian
from mercer_research.estimators import AdaptiveMarginSVC, LeaveOneOutSVC
from mercer_research.estimators.adaptive_margin import adaptive_margin_path
from papers.outcome import Result, at_least, at_most, near

LAMS = (0.5, 1.0, 2.0, 5.0, 10.0)
# Norm, missing margins and margin of the outlier, by another program on the same points.
W = (516.0, 396.0, 135.0, 11.8, 5.1)
D = (1.69, 1.74, 1.81, 2.33, 5.87)
OUTLIER = (-0.50, -0.53, -0.59, -1.24, -2.73)


def far_right(seed: int):
    """Fifteen points of each class, and a dot inside the crosses."""
    rng = np.random.default_rng(seed)
    dots = rng.normal((-1.0, 0.0), 0.35, size=(15, 2))
    crosses = rng.normal((1.0, 0.0), 0.35, size=(15, 2))
    X = np.vstack([dots, crosses, [[2.0, 0.0]]])
    return X, np.append(np.repeat([1.0, -1.0], 15), 1.0)


def overlap(seed: int):
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], 30)
    return rng.normal(size=(60, 2)) * 0.6 + np.outer(y, [0.7, 0.0]), y


def far_left(seed: int):
    """Twenty points of each class, and one of the right class on the far left."""
    rng = np.random.default_rng(seed)
    left, right = (rng.normal((c, 0.0), 0.5, size=(20, 2)) for c in (-1.0, 1.0))
    X = np.vstack([left, right, [[-1.8, 0.0]]])
    return X, np.append(np.repeat([-1.0, 1.0], 20), 1.0)


def border(machine) -> int:
    """Count the cells of a grid through which the boundary goes: its length."""
    u = np.linspace(-3, 3, 80)
    grid = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    side = machine.decision_function(grid).reshape(80, 80) > 0
    return int(np.sum(side[1:] != side[:-1]) + np.sum(side[:, 1:] != side[:, :-1]))


def run(short: bool = False, random_state: int = 0) -> Result:
    claims, kernel = [], Gaussian(0.3)
    loo, soft, hard, errors = [], [], [], []
    for seed in range(3):
        X, y = far_right(seed)
        machine = LeaveOneOutSVC(kernel=kernel).fit(X, y)
        loo.append(float(machine.decision_function(X[-1:])[0]))
        errors.append(int(np.sum(machine.predict(X) != y)))
        soft.append(float(SVC(C=1.0, kernel=kernel).fit(X, y).decision_function(X[-1:])[0]))
        hard.append(float(SVC(C=100.0, kernel=kernel).fit(X, y).decision_function(X[-1:])[0]))
    claims += [
        at_most("outlier, leave-one-out machine: largest of three", max(loo), 0.0, "not fitted"),
        near("training errors, largest of three", max(errors), 1, 0, "only the outlier"),
        at_least("outlier, C = 1: smallest of three", min(soft), 0.0, "fitted"),
        near("outlier, C = 100: smallest of three", min(hard), 1.0, 1e-2, "on its margin: tol"),
    ]
    lengths = []
    for seed in range(random_state, random_state + (3 if short else 10)):
        X, y = overlap(seed)
        smooth = LeaveOneOutSVC(kernel=Gaussian(0.5)).fit(X, y)
        lengths.append(border(SVC(C=100.0, kernel=Gaussian(0.5)).fit(X, y)) / border(smooth))
    claims.append(
        at_least(
            "length of the boundary, C = 100 over leave-one-out",
            np.median(lengths),
            1.0,
            "highly non-linear against smooth, by eye in the figure",
        )
    )
    X, y = far_left(0)
    path = adaptive_margin_path(AdaptiveMarginSVC(kernel=Gaussian(0.5)), X, y, LAMS)
    claims.append(near("lambda_max", path.lambda_max, 12.2, 0.05, "the last digit"))
    for k, lam in enumerate(LAMS):
        here = len(LAMS) - 1 - k
        margins = path.margins[here]
        claims += [
            near(
                f"norm W at lambda {lam:g}",
                margins.W,
                W[k],
                0.005 * W[k] + 0.05,
                "the last digit, and half a percent; below 1e-6 of the objective others differ",
                must=lam in (1.0, 5.0, 10.0),
            ),
            near(f"missing margins D at lambda {lam:g}", margins.D, D[k], 0.01, "the last digit"),
            near(
                f"margin of the outlier at lambda {lam:g}",
                margins.achieved[-1],
                OUTLIER[k],
                0.01,
                "the last digit",
            ),
        ]
    at_nu = [
        float(NuSVC(nu=nu, kernel=Gaussian(0.5)).fit(X, y).decision_function(X[-1:])[0])
        for nu in (0.02, 0.1, 0.2, 0.5)
    ]
    claims += [
        at_least("outlier, nu near zero", at_nu[0], 0.0, "influenced, in the figure"),
        at_most(
            "outlier, nu = 1/2 over nu near zero",
            at_nu[-1] / at_nu[0],
            1.0,
            "less so with a larger nu",
        ),
    ]
    return Result(
        "What an outlier does to a margin",
        "Weston and Herbrich, *Adaptive Margin Support Vector Machines*, figures 2.2 to 2.6",
        "The points of the figures are not printed. Figure 2.2: fifteen points of each class and "
        "one dot inside the crosses, three draws, width 0.3. Figure 2.3: thirty of each class with "
        "overlap, width 0.5. Figures 2.4 and 2.6: twenty of each class and one on the far left, "
        "width 0.5. Numbers to compare with were computed by another program on the same points.",
        claims,
        {
            "lam": list(LAMS),
            "W": path.W[::-1].tolist(),
            "D": path.D[::-1].tolist(),
            "nu_outlier": at_nu,
            "boundary": [float(v) for v in lengths],
        },
        note="Solutions within 1e-6 of the optimum differ in this norm; margins agree.",
    )
