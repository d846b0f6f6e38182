"""The motorcycle data with every loss: ten folds, and quantiles that are ones."""

import numpy as np
from sklearn.model_selection import KFold

from mercer import KernelRegressor, SmoothingSpline
from mercer.kernels import ThinPlate
from mercer.losses import Pinball
from mercer.losses.named import REGRESSION
from papers.outcome import Claim, Result, at_most
from papers.tables import frame

LEVELS = (0.1, 0.5, 0.9)


def run(short: bool = False, random_state: int = 0) -> Result:
    table = frame("mcycle")
    X, y = table[["times"]].to_numpy(), table["accel"].to_numpy()
    spline = SmoothingSpline(lam="reml").fit(X, y)
    unit = float(np.median(np.abs(y - spline.predict(X))))
    folds = list(KFold(10, shuffle=True, random_state=random_state).split(X))
    names = [name for name in REGRESSION if name != "pinball"]
    error, gap = {}, {}
    for name in names[:3] if short else names:
        held_out = np.empty(len(y))
        for rest, fold in folds:
            machine = KernelRegressor(name, ThinPlate(2), C=1.0 / spline.lam_)
            held_out[fold] = unit * machine.fit(X[rest], y[rest] / unit).predict(X[fold])
        error[name] = float(np.mean(np.abs(y - held_out)))
        solution = KernelRegressor(name, ThinPlate(2), C=1.0 / spline.lam_).fit(X, y / unit)
        gap[name] = float(solution.solution_.relative_gap)
    line = np.empty(len(y))
    for rest, fold in folds:
        line[fold] = np.polyval(np.polyfit(X[rest, 0], y[rest], 1), X[fold, 0])
    plain = float(np.mean(np.abs(y - line)))
    return Result(
        "The motorcycle data with every loss",
        "Acceleration of a head after an impact (Silverman 1985; R package MASS)",
        "133 points, cubic-spline penalty with the weight of restricted likelihood, errors in "
        "units of a typical one, ten folds, mean absolute error.",
        [
            *(
                at_most(
                    f"{name.replace('_', ' ')} loss, error over that of a line",
                    e / plain,
                    0.6,
                    "a curve that rings is no line; far below",
                )
                for name, e in error.items()
            ),
            at_most(
                "largest duality gap, relative to the objective",
                max(gap.values()),
                1e-3,
                "the tolerance of the machines",
            ),
            *quantile_claims(X, y, unit, 1.0 / spline.lam_),
        ],
        {"error": error, "line": plain},
    )


def quantile_claims(X, y, unit, C) -> list[Claim]:
    claims = []
    for level in LEVELS:
        machine = KernelRegressor(Pinball(level), ThinPlate(2), C=C, tol=1e-6).fit(X, y / unit)
        residual = y / unit - machine.predict(X)
        below = float(np.mean(residual < -1e-4))
        at_or_below = float(np.mean(residual <= 1e-4))
        why = "constants are free, so at most that share lies below and at least it not above"
        claims += [
            at_most(f"share below the {level:g} quantile", below, level, why),
            at_most(f"share above the {level:g} quantile", 1 - at_or_below, 1 - level, why),
        ]
    return claims
