"""Example 2.3: the bound of one scalar program, chosen by the criterion of another."""

import numpy as np

from mercer_research.fusion import BilevelProgram
from papers.outcome import Result, at_least, at_most

ROWS = 5


def scalar(Q: np.ndarray, q: np.ndarray, F: np.ndarray, f: np.ndarray) -> BilevelProgram:
    """Return min over c of |F x(c) - f|^2, where x(c) minimizes |Qx - q|^2 up to x <= c."""
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    return BilevelProgram(
        G=Q @ Q * one,
        g=-np.array([Q @ q]),
        T=none,
        A=one,
        u=np.zeros(1),
        U=one,
        P=np.diag([F @ F, 0.0]),
        p=np.array([-F @ f, 0.0]),
    )


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (20 if short else 300))
    off: dict[str, list[float]] = {"bnb": [], "penalty": []}
    price, products, loose, active, grid, certified = [], [], [], [], [], []
    for seed in seeds:
        Q, q, F, f = np.random.default_rng(seed).normal(size=(4, ROWS))
        inner, outer = Q @ q / (Q @ Q), F @ f / (F @ F)
        x = min(inner, outer)
        multiplier = Q @ Q * (inner - x)
        for strategy in off:
            found = scalar(Q, q, F, f).solve(strategy)
            off[strategy].append(abs(found.x[0] - x))
            price.append(abs(found.alpha[0] - multiplier) / (1.0 + Q @ Q))
            products.append(found.complementarity)
            # The bound is the solution where it binds, and anything above it where it does not.
            gap = found.theta[0] - x
            loose.append(abs(gap) if multiplier > 1e-4 else max(0.0, -gap))
            if strategy == "bnb":
                certified.append(found.certified)
                bounds = np.linspace(inner - 3.0, inner + 1.0, 401)
                costs = np.square(np.minimum(inner, bounds)[:, None] * F - f).sum(axis=1)
                mine = float(np.square(found.x[0] * F - f).sum())
                grid.append((mine - costs.min()) / (1.0 + mine))
        active.append(outer < inner)
    why = "closed form min(F'f/F'F, Q'q/Q'Q); the root of the precision of the objective, 1e-10"
    return Result(
        "A bound that another criterion chooses",
        "Pelckmans 2005, example 2.3, eq. (2.56) to (2.63)",
        "min ½|Fx - f|² over the bound c, where x is the minimum of ½|Qx - q|² with x ≤ c; "
        f"Q, q, F and f are normal vectors of {ROWS} numbers, {len(seeds)} draws. No numbers are "
        "printed. The condition (2.61) under which a penalty on the product is said to be convex "
        "holds for no penalty above zero, so that penalties find a minimum without a proof.",
        [
            at_most("x by branching: distance from the closed form", max(off["bnb"]), 1e-5, why),
            at_most("x by penalties on the product: the same", max(off["penalty"]), 1e-5, why),
            at_most(
                "multiplier Q'q - Q'Q x: distance from the closed form, relative",
                max(price),
                1e-5,
                "the condition of the inner level",
            ),
            at_most(
                "bound: distance from x where it binds, and below x where it does not",
                max(loose),
                1e-5,
                "any larger bound does as well where it does not bind",
            ),
            at_most(
                "largest product of multiplier and slack",
                max(products),
                1e-6,
                "complementarity of the inner level",
            ),
            at_most(
                "cost above the least of 401 bounds, relative",
                max(grid),
                1e-5,
                "no bound on a grid is better",
            ),
            at_least("share of draws that branching certifies", np.mean(certified), 1.0, "all"),
            at_least(
                "draws where the bound binds, and where it does not",
                min(sum(active), len(active) - sum(active)),
                3 if short else 50,
                "both cases are there",
            ),
        ],
    )
