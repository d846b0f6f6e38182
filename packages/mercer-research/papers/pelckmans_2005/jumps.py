"""Example 9.3: a jump is found at the knot next to it, and what is not needed vanishes."""

import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import Breaks, Constant
from mercer_research.estimators import TermSelector
from papers.outcome import Result, at_most, near

X = np.linspace(-5.0, 5.0, 40)
KNOTS = (-1.0, 0.0, 1.0)
KERNEL, WEIGHT = Gaussian(float(np.sqrt(2.0))), 100.0
PENALTIES = (0.0, 0.1, 0.3)


def truth(x):
    return np.sinc(x / np.pi) + (x > 1.11)


def free(y) -> np.ndarray:
    """Return the heights of the jumps that stay unpenalized."""
    space = Constant() + Breaks(KNOTS)
    machine = KernelRegressor(kernel=KERNEL, null_space=space, C=WEIGHT, tol=1e-8)
    return np.asarray(machine.fit(X[:, None], y).null_space_coef_[1:])


def shrunk(y) -> list[np.ndarray]:
    """Return the heights where half of each costs its absolute value times a penalty."""
    selector = TermSelector(KERNEL, candidates=Breaks(KNOTS), C=WEIGHT).fit(X[:, None], y)
    rho, path = selector.path_
    # The path is linear between its knots, largest first; it counts whole heights, not halves.
    return [
        np.array([np.interp(0.5 * penalty, rho[::-1], column[::-1]) for column in path.T])
        for penalty in PENALTIES
    ]


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (20 if short else 100))
    found: dict[float, list[np.ndarray]] = {p: [] for p in PENALTIES}
    lowest = []
    for seed in seeds:
        y = truth(X) + 0.1 * np.random.default_rng(seed).standard_normal(len(X))
        for penalty, heights in zip(PENALTIES, shrunk(y), strict=True):
            found[penalty].append(heights)
        lowest.append(float(np.max(np.abs(found[0.0][-1] - free(y)))))
    means = {p: np.mean(heights, axis=0) for p, heights in found.items()}
    claims = []
    for penalty, reference in zip(found, (0.98, 0.88, 0.68), strict=True):
        heights = np.array(found[penalty])
        # The reference is a mean of twenty runs with two digits.
        spread = float(heights[:, 2].std())
        tolerance = 3 * spread * np.sqrt(1 / len(heights) + 1 / 20) + 0.01
        why = "three standard errors of the difference to a mean of 20 runs, and its last digit"
        claims.append(
            near(f"jump at 1, penalty {penalty:g}", means[penalty][2], reference, tolerance, why)
        )
    error = 3 * float(np.array(found[0.0])[:, :2].std()) / np.sqrt(len(seeds))
    claims += [
        at_most(
            "largest mean |jump| at -1 and 0, free",
            np.max(np.abs(means[0.0][:2])),
            0.02 + error,
            "reference: at most 0.02; three standard errors",
        ),
        at_most(
            "largest mean |jump| at -1 and 0, penalty 0.3",
            np.max(np.mean(np.abs(np.array(found[0.3])[:, :2]), axis=0)),
            0.02,
            "printed: they go to zero as the penalty grows",
        ),
        at_most(
            "free jumps of the machine against the end of the path",
            np.max(lowest),
            1e-6,
            "the same minimum, by another way",
        ),
    ]
    return Result(
        "Jumps at known places",
        "Pelckmans 2005, example 9.3 and figures 9.2 and 9.3",
        f"40 points on [-5, 5], y = sin(x)/x + [x > 1.11] + N(0, 0.1²), jumps at -1, 0 and 1, "
        f"Gaussian of width √2, γ = 100, {len(seeds)} runs. Range, width and weight are not "
        "printed.",
        claims,
        {f"penalty {p:g}": np.array(h).tolist() for p, h in found.items()},
    )
