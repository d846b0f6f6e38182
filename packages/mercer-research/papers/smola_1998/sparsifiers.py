"""Few terms of an expansion: by lot at a rate of 1/n, and by a rule whose steps can be counted."""

import numpy as np

from mercer.compression.expansions import as_functions
from mercer.kernels import Laplacian
from mercer_research.compression import makovoz
from mercer_research.compression.stratified_sampling import draw_terms, stratify
from mercer_research.compression.sup_norm import sup_terms
from papers.outcome import Result, at_most, near, recorded_if_wide

KERNEL = Laplacian(1.0)
NUMBERS = (8, 16, 32, 64, 128)
RMS = (0.171, 0.088, 0.047, 0.023, 0.011)
ERRORS, BOUNDS, STEPS = (0.5, 0.3, 0.2, 0.1), (6, 18, 42, 169), (2, 4, 9, 24)


def atoms(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-3, 3, 400))[:, None], rng.choice([-1.0, 1.0], 400) / 400


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (3 if short else 10))
    draws = 20 if short else 200
    rms, expected, terms = (np.empty((len(seeds), len(NUMBERS))) for _ in range(3))
    steps = np.empty((len(seeds), len(ERRORS)))
    for row, seed in enumerate(seeds):
        X, a = atoms(seed)
        whole = as_functions(KERNEL, X, a)
        for column, n in enumerate(NUMBERS):
            strata = stratify(whole, n, "kmeans", seed)
            drawn = [draw_terms(whole, strata, 1, False, k) for k in range(draws)]
            rms[row, column] = np.sqrt(np.mean([distance**2 for _, distance in drawn]))
            expected[row, column] = strata.expected
            terms[row, column] = max(few.n for few, _ in drawn) / (2 * n)
        # The squared norm that the printed bounds on the number of steps belong to.
        f = a * np.sqrt(1.69 / (a @ KERNEL(X) @ a))
        for column, error in enumerate(ERRORS):
            found = sup_terms(KERNEL, X, f, error, step="fixed")
            assert found.bound == BOUNDS[column]
            steps[row, column] = found.steps
    claims = []
    for column, (n, reference) in enumerate(zip(NUMBERS, RMS, strict=True)):
        ours = rms[:, column]
        claims.append(
            near(
                f"error of {n} cells",
                np.mean(ours),
                reference,
                # A reference from one sample, and ours from some: three standard errors of that.
                3 * np.std(ours) * np.sqrt(1 + 1 / len(ours)) + 0.1 * reference,
                "three standard deviations between samples, and a tenth for other cells",
            )
        )
    slope = np.polyfit(np.log(NUMBERS), np.log(rms.mean(axis=0)), 1)[0]
    claims += [
        near("exponent of the error", slope, -1.0, 0.1, "α = 1: a rate of 1/n"),
        near(
            "error over the one computed exactly",
            np.mean(rms / expected),
            1.0,
            4 * np.std(rms / expected) / np.sqrt(rms.size) + 5e-3,
            "four standard errors of the mean over samples",
        ),
        near(
            "bound for 8 equal cells", makovoz(KERNEL, 8, 6.0).expected, 0.363, 5e-4, "three digits"
        ),
        at_most("terms over twice the number of cells", np.max(terms), 1.0, "at most 2n terms"),
    ]
    for column, (error, bound, one) in enumerate(zip(ERRORS, BOUNDS, STEPS, strict=True)):
        claims += [
            at_most(
                f"most steps for an error of {error}",
                np.max(steps[:, column]),
                bound,
                "the bound of the proof",
            ),
            recorded_if_wide(
                near(
                    f"steps for an error of {error}, on average",
                    np.mean(steps[:, column]),
                    one,
                    3 * np.std(steps[:, column]) + 0.5,
                    "the reference is one run: three standard deviations between samples",
                    must=False,
                )
            ),
        ]
    return Result(
        "Few terms by lot, and for an error everywhere",
        "Smola 1998, eq. (9.3), (9.4) and (8.22), made into procedures; figures not printed",
        f"Exponential kernel, 400 atoms uniform on [-3, 3] with random signs and Σ|α| = 1, "
        f"{len(seeds)} samples, {draws} draws each without new weights; cells by k-means, each "
        "sign apart. The rule for the largest error has steps of ε/R² and ‖f‖² = 1.69. The "
        "references are from another program, with one sample and cells of its own.",
        claims,
        {"n": list(NUMBERS), "rms": rms.mean(axis=0).tolist(), "printed": list(RMS)},
        revised="average numbers of steps had ranges of three standard deviations of one run, such "
        "as -1 to 5 for two steps; the bounds on the largest number are what is judged.",
    )
