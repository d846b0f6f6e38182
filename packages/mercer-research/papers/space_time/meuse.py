"""Zinc on the bank of the Meuse: universal kriging, left out one by one, and against gstat."""

import numpy as np

from mercer import UniversalKriging
from mercer.kernels import Matern
from mercer.regularizers import Constant, Functions
from mercer_research.estimators import GeneralizedLeastSquares
from papers.outcome import Claim, Result, at_most, near
from papers.tables import frame

COLUMNS = ["x", "y", "dist"]
TREND = Constant() + Functions([np.sqrt], on=["dist"])
GSTAT = (
    (7.03834362171526, 0.1594101660388346),
    (6.34612822822397, 0.0972950922041221),
    (4.85116499431471, 0.1215133506616795),
    (5.93005635363650, 0.1083824764896650),
)
"""Means and variances of krige(log(zinc) ~ sqrt(dist), meuse, grid[c(1, 500, 1500, 3000), ],
vgm(.15, "Exp", 300, .05)) in gstat 2.1-0."""


def against_gstat(sample, grid) -> list[Claim]:
    kernel = 0.15 * Matern(300.0, nu=0.5).on(["x", "y"])
    machine = UniversalKriging(kernel, trend=TREND, nugget=0.05)
    machine.fit(sample[COLUMNS], np.log(sample["zinc"]))
    mean, std = machine.predict(grid[COLUMNS].iloc[[0, 499, 1499, 2999]], return_std=True)
    why = "two programs for one linear system"
    return [
        *(
            near(f"prediction at cell {k} of the grid", m, reference[0], 1e-8, why)
            for k, m, reference in zip((1, 500, 1500, 3000), mean, GSTAT, strict=True)
        ),
        *(
            near(f"its variance at cell {k}", s**2 + 0.05, reference[1], 1e-8, why)
            for k, s, reference in zip((1, 500, 1500, 3000), std, GSTAT, strict=True)
        ),
    ]


def left_out(machine, X, y, kriging: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and standard deviations of the predictions of each sample by the others."""
    errors, scales = np.empty(len(y)), np.ones(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        machine.fit(X[rest], y[rest])
        if kriging:
            mean, std = machine.predict(X.iloc[[i]], return_std=True)
            scales[i] = float(np.hypot(std[0], np.sqrt(machine.nugget_)))
        else:
            mean = machine.predict(X.iloc[[i]])
        errors[i] = y[i] - mean[0]
    return errors, scales


def run(short: bool = False, random_state: int = 0) -> Result:
    sample, grid = frame("meuse"), frame("meuse_grid")
    X, y = sample[COLUMNS], np.log(sample["zinc"].to_numpy())
    start = Matern(300.0, nu=0.5).on(["x", "y"])
    rmse, z = {}, np.empty(0)
    for name, trend in (("ordinary", Constant()), ("universal", TREND)):
        fitted = UniversalKriging(start, trend=trend, nugget=0.1, optimize=True).fit(X, y)
        machine = UniversalKriging(fitted.kernel_, trend=trend, nugget=fitted.nugget_)
        errors, scales = left_out(machine, X, y, True)
        rmse[name], z = float(np.sqrt(np.mean(errors**2))), errors / scales
    rmse["trend"] = float(
        np.sqrt(np.mean(left_out(GeneralizedLeastSquares(trend=TREND), X, y, False)[0] ** 2))
    )
    n = len(y)
    rmse["mean"] = float(np.std(y) * n / (n - 1))
    better = "what is known helps"
    return Result(
        "Universal kriging of zinc in the soil",
        "Meuse data (R package sp)",
        "Logarithm of the concentration at 155 places, trend in the root of the distance from the "
        "river, exponential covariance and nugget by restricted likelihood; root mean square error "
        "of each place predicted from the others.",
        [
            *against_gstat(sample, grid),
            at_most(
                "leave-one-out error, universal kriging",
                rmse["universal"],
                rmse["ordinary"],
                f"below ordinary kriging; {better}",
            ),
            at_most(
                "leave-one-out error, ordinary kriging",
                rmse["ordinary"],
                rmse["mean"],
                "below the mean of the others",
            ),
            at_most(
                "universal kriging over least squares on the trend alone",
                rmse["universal"] / rmse["trend"],
                1.0,
                "the covariance helps",
            ),
            near(
                "mean square of standardized errors",
                np.mean(z**2),
                1.0,
                3 * float(np.std(z**2)) / np.sqrt(n),
                "one if variances are right; three standard errors",
            ),
            near(
                "share of standardized errors within ±1.96",
                np.mean(np.abs(z) < 1.96),
                0.95,
                3 * np.sqrt(0.95 * 0.05 / n),
                "Gaussian; three standard deviations of a count",
            ),
        ],
        {"rmse": rmse},
    )
