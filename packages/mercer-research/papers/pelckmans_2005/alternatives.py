"""Figure 6.1: one input out of twenty, by least squares amongst alternatives, lasso and ridge."""

import numpy as np

from mercer_research.linear import FusedRidge, LeastSquaresAmongstAlternatives, ValidatedLasso
from papers.outcome import Result, at_most, near

N, D = 50, 20
# What a box and its whiskers show of the runs.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def trial(rng: np.random.Generator) -> dict[str, float]:
    """Return what one data set gives."""
    w = np.zeros(D)
    w[0] = rng.uniform(-5, 5)
    X, X_val = rng.standard_normal((2, N, D))
    y, y_val = (Z @ w + 0.5 * rng.standard_normal(N) for Z in (X, X_val))
    als = LeastSquaresAmongstAlternatives(fit_intercept=False).fit(X, y)
    lasso = ValidatedLasso(fit_intercept=False).fit(X, y, X_val, y_val)
    ridge = FusedRidge(fit_intercept=False).fit(X, y, X_val, y_val)
    kept = np.abs(lasso.coef_) > 0
    return {
        "found": float(als.selected_[0] == 0),
        "relaxed": float(als.relaxation_.exact and np.argmax(np.abs(als.relaxation_.coef)) == 0),
        "lasso found": float(kept[0] and kept.sum() == 1),
        "lasso right": float(np.mean(kept == (w != 0))),
        "ALS": float(np.mean((als.coef_ - w) ** 2)),
        "lasso": float(np.mean((lasso.coef_ - w) ** 2)),
        "ridge": float(np.mean((ridge.coef_ - w) ** 2)),
    }


def run(short: bool = False, random_state: int = 0) -> Result:
    runs = 100 if short else 2000
    rng = np.random.default_rng(random_state)
    trials = [trial(rng) for _ in range(runs)]
    column = {name: np.array([t[name] for t in trials]) for name in trials[0]}
    error = float(np.sqrt(0.971 * 0.029 / runs))
    median = {name: float(np.median(column[name])) for name in ("ALS", "lasso", "ridge")}
    claims = [
        near(
            "input recovered by least squares amongst alternatives",
            column["found"].mean(),
            0.971,
            3 * error + 0.0005,
            "20 000 runs of another program; three standard errors and its last digit",
        ),
        near(
            "the same against the printed number",
            column["found"].mean(),
            0.9734,
            3 * np.sqrt(0.9734 * 0.0266 * (1 / runs + 1 / 1000)),
            "three standard errors of a difference to 1000 runs",
            printed=True,
        ),
        near(
            "input recovered and proven by the convex relaxation alone",
            column["relaxed"].mean(),
            0.84,
            0.02 + 3 * np.sqrt(0.84 * 0.16 / runs),
            "82 to 86 % in another program, and three standard errors",
        ),
        near(
            "exact support of the lasso tuned on validation data",
            column["lasso found"].mean(),
            0.3523,
            3 * np.sqrt(0.25 / runs),
            "printed as average structure recovered",
            printed=True,
            must=False,
        ),
        near(
            "the same against another program",
            column["lasso found"].mean(),
            0.11,
            0.02 + 3 * np.sqrt(0.11 * 0.89 / runs),
            "9 to 13 % in another program, and three standard errors",
        ),
        near(
            "coefficients that the lasso classifies rightly",
            column["lasso right"].mean(),
            0.77,
            0.02 + 3 * float(column["lasso right"].std()) / np.sqrt(runs),
            "75 to 79 % in another program, and three standard errors",
        ),
        at_most(
            "median error of ALS over that of the lasso",
            median["ALS"] / median["lasso"],
            0.5,
            "printed order: ALS below lasso below ridge",
        ),
        at_most(
            "median error of the lasso over that of ridge",
            median["lasso"] / median["ridge"],
            0.5,
            "printed order: ALS below lasso below ridge",
        ),
    ]
    return Result(
        "One input amongst alternatives",
        "Pelckmans 2005, figure 6.1",
        f"{N} samples, {D} standard normal inputs, y = ω x₁ + N(0, 0.5²), ω uniform on [-5, 5], "
        f"{N} validation samples for the penalties of ridge and lasso, {runs} runs. The law of the "
        "inputs, and whether 0.5 is a variance, are not printed.",
        claims,
        {k: np.quantile(column[k], QUANTILES).tolist() for k in ("ALS", "lasso", "ridge")},
        revised="The share of the relaxation was first compared for its largest coefficient, which "
        "is the right one in 97 % of the runs; the other program counts relaxations that keep the "
        "group, as lemma 6.3 asks.",
        note="Another program gives 0.11 on this design, whose noise is not fully printed.",
    )
