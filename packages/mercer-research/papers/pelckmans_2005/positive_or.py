"""Figure 2.3: a convex program with pairs of which one number is zero, and when it is exact."""

from itertools import product

import numpy as np
from scipy.optimize import nnls

from mercer_research.programs.positive_or import PositiveOr
from papers.outcome import Result, at_least, at_most, near, recorded

PAIRS = [(0, 2), (1, 3)]
LARGEST = 50.0
"""The weight at which the program of the figure ceases to be convex, by scaling H."""


def instance(size: int, pairs: list[tuple[int, int]], seed: int) -> PositiveOr:
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(size + 2, size))
    return PositiveOr(R.T @ R, -3.0 * np.abs(rng.normal(size=size)), pairs)


def minimizer(M: np.ndarray, f: np.ndarray, keep: list[int]) -> tuple[np.ndarray, float]:
    """Minimize x'Mx + f'x over x >= 0 with some numbers at zero, by non-negative least squares."""
    L = np.linalg.cholesky(M[np.ix_(keep, keep)])
    # x'Mx + f'x = |L'x - t|^2 - |t|^2 with t = -L^-1 f / 2.
    t = -0.5 * np.linalg.solve(L, f[keep])
    x = np.zeros(len(f))
    x[keep], distance = nnls(L.T, t)
    return x, float(distance**2 - t @ t)


def enumerated(problem: PositiveOr) -> float:
    """Return the least value over all choices of zeros."""
    every = range(len(problem.f))
    choices = ([i for i in every if i not in zeros] for zeros in product(*problem.pairs))
    return min(minimizer(problem.H, problem.f, keep)[1] for keep in choices)


def meets(problem: PositiveOr, x: np.ndarray) -> bool:
    return all(min(x[i], x[j]) <= 1e-7 * np.max(x) for i, j in problem.pairs)


def figure(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Follow one program along the weight: products, and how far the library is from least squares.

    The first program from the seed on whose pairs are met at large weights and not at small ones,
    as in the figure; H is scaled so that it ceases to be convex at ``LARGEST``.
    """
    every, weights = list(range(4)), np.linspace(0.01 * LARGEST, 0.999 * LARGEST, steps)
    while True:
        problem = instance(4, PAIRS, seed)
        scale = LARGEST / problem.largest_weight()
        problem = PositiveOr(scale * problem.H, scale * problem.f, PAIRS)
        ends = (problem.H + problem.products(weight) for weight in weights[[0, -1]])
        first, last = (meets(problem, minimizer(M, problem.f, every)[0]) for M in ends)
        if last and not first:
            break
        seed += 1
    products, off = [], 0.0
    for weight in weights:
        x, value = minimizer(problem.H + problem.products(weight), problem.f, every)
        products.append(float(x @ problem.products(1.0) @ x))
        # The relaxation is a lower bound, which the library certifies by the dual of its program.
        bound = problem.solve(float(weight), branch=False).lower_bound
        off = max(off, abs(bound - value) / (1.0 + abs(value)))
    edge = np.linalg.eigvalsh(problem.H + problem.products(LARGEST))[0]
    return weights, np.array(products), off, float(edge / np.linalg.eigvalsh(problem.H)[0])


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (20 if short else 200))
    excess, below, wrong, met, nodes = [0.0], [], [], [], []
    for seed in seeds:
        problem = instance(4, PAIRS, seed)
        best = enumerated(problem)
        for kind in ("none", "largest", "sdp"):
            found = problem.solve(kind, branch=False)
            below.append(found.lower_bound - best)
            if found.exact:
                excess.append(found.value - best)
            if kind == "largest":
                met.append(found.exact)
        whole = problem.solve()
        wrong.append(abs(whole.value - best))
        nodes.append(whole.nodes)
    pairs = [instance(2, [(0, 1)], seed) for seed in seeds[: len(seeds) // 2]]
    two = [problem.solve("largest", branch=False).exact for problem in pairs]
    closed = [np.sqrt(p.H[0, 0] * p.H[1, 1]) - p.H[0, 1] - p.largest_weight() for p in pairs]
    weights, products, off, edge = figure(random_state, 12 if short else 50)
    zero = products <= 1e-9 * products[0]
    return Result(
        "One of two numbers is zero",
        "Pelckmans 2005, example 2.2, definition 2.5, eq. (2.46) to (2.50) and figure 2.3",
        "min x'Hx + f'x over x ≥ 0 in four dimensions with x₁x₃ = x₂x₄ = 0, relaxed to "
        "x'(H + γN)x + f'x; H = R'R with a 6 × 4 normal R and f = -3 |normal|, "
        f"{len(seeds)} draws. H is not printed. The best value is that of the four choices of "
        "zeros, each by non-negative least squares. The figure follows one draw whose pairs are "
        f"met, with H and f scaled so that it ceases to be convex at γ = {LARGEST:g}.",
        [
            at_most(
                "relaxation that meets the pairs: its value above the best, largest",
                max(excess),
                1e-5,
                "then it is a global minimum; the tolerance of the programs, 1e-9, and its root",
            ),
            at_most(
                "lower bounds of relaxations above the best, largest",
                max(below),
                1e-6,
                "x'Nx is not negative where x is not",
            ),
            at_most(
                "branching on pairs that are not met: distance from the best, largest",
                max(wrong),
                1e-5,
                "an exact method",
            ),
            recorded(
                "share of draws whose pairs are met at the largest weight",
                np.mean(met),
                "another program, whose H and f were drawn by a law of its own",
                reference=81 / 200,
            ),
            recorded("programs that branching solves, on average", np.mean(nodes), "not printed"),
            at_least(
                "two numbers: share of draws that are exact at the largest weight",
                np.mean(two),
                1.0,
                "always, and so in 100 draws of another program",
            ),
            near(
                "two numbers: √(h₁₁h₂₂) - h₁₂ minus the largest weight, largest",
                np.max(np.abs(closed)),
                0.0,
                1e-10,
                "closed form; only rounding",
            ),
            at_most(
                "figure: largest rise of the products along the weight, relative",
                np.max(np.diff(products)) / products[0],
                1e-9,
                "a penalty: the more it costs, the less there is of it",
            ),
            at_most(
                "figure: value of the relaxation, distance from least squares",
                off,
                1e-7,
                "two programs for one convex problem",
            ),
            near(
                "figure: smallest eigenvalue at the largest weight, over that of H",
                edge,
                0.0,
                1e-9,
                "where it ceases to be convex; only rounding",
            ),
            recorded(
                "figure: weight from which the pairs are met",
                weights[int(np.argmax(zero))] if zero.any() else np.nan,
                "of an H that is not printed",
                reference=30.0,
                printed=True,
            ),
        ],
        {"weights": weights.tolist(), "products": products.tolist()},
    )
