"""Does tuning find the optimum? Its answer beside the best of ten random starts, on real tables.

``python benchmarks/tuning/starts.py [rows] [set ...]`` prints a line for every set and kernel: the
criterion at the answer of ``tune``, at the best of ten random starts from which the same descent
was run on all rows, and by how many per cent the answer is worse. The criterion is the evidence,
with the price of unequal length scales: minus a log-likelihood per sample, so that a difference d
makes the predictive density of a sample exp(-d) times as large, as an error that is exp(d) times as
large would. One per cent is a difference of 0.01. Random starts that end at the largest C are shown
apart, and count only if the answer of ``tune`` is there too: where rows repeat with equal targets
the evidence grows with C without end, and has no optimum there.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from data import MISSING, draw, table
from mercer import LSSVC, LSSVR
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.selection import tune
from mercer.selection.least_squares_problem import state
from mercer.selection.objective import Objective
from mercer.selection.space import Space
from mercer.smoothing.criteria import Evidence

SETS = (
    "abalone",
    "airfoil",
    "bank32nh",
    "bike_sharing",
    "california",
    "concrete",
    "cpusmall",
    "diabetes",
    "elevators",
    "flights_nyc13",
    "german_credit",
    "house8l",
    "kin8nm",
    "naval",
    "phoneme",
    "pol",
    "power_plant",
    "protein_casp",
    "spambase",
    "wine_quality",
)
ROWS, STARTS, BUDGET, PRIOR = 500, 10, 60, 5.0
ALLOWED = 0.01
# Logarithms of the width of random starts, in units of the kernel's own, of signal-to-noise ratios,
# and the deviation of single length scales.
WIDTHS, RATIOS, SPREAD = (-2.5, 2.5), (np.log(1e-2), np.log(1e5)), 0.7


def kernels(p: int) -> dict[str, Kernel]:
    """Return kernels for standardized features."""
    return {"Gaussian": Gaussian(float(np.sqrt(p))), "Laplacian": Laplacian(float(p))}


def compare(
    name: str, kernel_name: str, n: int, seed: int = 100
) -> tuple[float, float, float, float]:
    """Return the score of tune's answer, of the best random start with and without an end at the
    largest C, and seconds of tune."""
    whole = table(name)
    sample = draw(name, min(n, len(whole.X)), 0, seed)
    kernel = kernels(sample.X.shape[1])[kernel_name]
    machine = (LSSVR if whole.regression else LSSVC)(kernel=kernel)
    began = time.process_time()
    found = tune(
        machine, sample.X, sample.y, criterion="evidence", ard=True, prior=PRIOR, refit=False
    )
    seconds = time.process_time() - began
    statement = state(machine, sample.X, sample.y)
    space = Space.of(statement.kernel, sample.X.shape[1], None, True)
    search = Objective(statement, space, prior=PRIOR, criterion=Evidence())
    uneven, _ = space.spread(space.read(found.best_params_["kernel"]))
    own = found.best_value_ + 2.0 * PRIOR / statement.n * uneven
    bound = any("C is at its largest" in note for note in found.notes_)
    rng, best, endless = np.random.default_rng(seed), np.inf, np.inf
    for _ in range(STARTS):
        theta = space.wider(space.start(1.0), rng.uniform(*WIDTHS))
        theta[:-1] += SPREAD * rng.normal(size=len(theta) - 1)
        theta[-1] = rng.uniform(*RATIOS)
        end, score, _ = search.descend(statement, theta, BUDGET, "random")
        endless = min(endless, score)
        if bound or end[-1] < search.limits.upper[-1] - 1e-3:
            best = min(best, score)
    return own, best, endless, seconds


def main(rows: int, names: tuple[str, ...]) -> bool:
    """Print the table; answer whether tuning is never worse than allowed."""
    heads = ("tune", "random", "worse by", "any C", "seconds")
    print(f"{'set':16s}{'kernel':12s}" + "".join(f"{head:>10s}" for head in heads))
    worst = -np.inf
    for name in names:
        for kernel in kernels(1):
            own, best, endless, seconds = compare(name, kernel, rows)
            worst = max(worst, own - best)
            line = f"{own:10.4f}{best:10.4f}{own - best:10.2%}{own - endless:10.2%}{seconds:10.2f}"
            print(f"{name:16s}{kernel:12s}{line}", flush=True)
    print(f"worst: {worst:.2%} of {ALLOWED:.0%} allowed")
    return worst <= ALLOWED


if __name__ == "__main__":
    if MISSING:
        sys.exit(f"The benchmark needs real data: {MISSING}.")
    warnings.simplefilter("error")
    arguments = sys.argv[1:]
    number = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else ROWS
    sys.exit(0 if main(number, tuple(arguments) or SETS) else 1)
