"""Intervals of the least-squares machine: how often they contain what they are for."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer import LSSVR
from mercer.kernels import Matern
from mercer.smoothing import Spectral
from mercer.smoothing.intervals import METHODS
from papers.outcome import Claim, Result, at_least, near

sys.path.append(str(Path(__file__).resolve().parents[4] / "tests"))

from data import MISSING, draw

LEVEL = 0.9
SCALES = np.geomspace(0.05, 8.0, 12)
WEIGHTS = np.geomspace(1e-2, 1e6, 25)
RESAMPLES = 400
TEST = 200
REAL = (
    *("abalone", "airfoil", "autompg", "boston", "concrete"),
    *("diabetes", "kin8nm", "power_plant", "stock", "wine_quality"),
)
PATH = np.cumsum(np.random.default_rng(7).standard_normal(512)) / np.sqrt(512)


class Design(NamedTuple):
    """A function on the unit cube, how many see it, and what they see beside it."""

    n: int
    p: int
    function: Callable[[Any], Any]
    noise: Callable[[np.random.Generator, Any], Any]
    nu: float = 2.5


def franke(X):
    x, y = 9 * X[:, 0], 9 * X[:, 1]
    return (
        0.75 * np.exp(-((x - 2) ** 2 + (y - 2) ** 2) / 4)
        + 0.75 * np.exp(-((x + 1) ** 2) / 49 - (y + 1) / 10)
        + 0.5 * np.exp(-((x - 7) ** 2 + (y - 3) ** 2) / 4)
        - 0.2 * np.exp(-((x - 4) ** 2) - (y - 7) ** 2)
    )


def friedman(X):
    return (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + X[:, 3:] @ [10.0, 5.0]
    )


def ishigami(X):
    U = np.pi * (2 * X - 1)
    return np.sin(U[:, 0]) + 0.7 * np.sin(U[:, 1]) ** 2 + 0.1 * X[:, 2] * np.sin(np.pi * X[:, 0])


def doppler(X):
    x = X[:, 0]
    return np.sqrt(x * (1 - x)) * np.sin(2.1 * np.pi / (x + 0.15))


def scaled(size, draws):
    """Return noise of a standard deviation, from draws of unit variance."""
    return lambda rng, X: size * draws(rng, X)


def normal(rng, X):
    return rng.standard_normal(len(X))


def uniform(rng, X):
    return rng.uniform(-np.sqrt(3), np.sqrt(3), len(X))


def student(rng, X):
    return rng.standard_t(3, len(X)) / np.sqrt(3)


def laplace(rng, X):
    return rng.laplace(size=len(X)) / np.sqrt(2)


def exponential(rng, X):
    return rng.exponential(size=len(X)) - 1


def growing(rng, X):
    return rng.standard_normal(len(X)) * (0.4 + 1.2 * X[:, 0])


def path(X):
    return np.interp(X[:, 0], np.linspace(0, 1, 512), PATH)


DESIGNS = {
    "sine": Design(50, 1, lambda X: np.sin(2 * np.pi * X[:, 0]), scaled(0.3, normal)),
    "sinc": Design(100, 1, lambda X: np.sinc(6 * X[:, 0] - 3), scaled(0.1, uniform)),
    "Doppler": Design(250, 1, doppler, scaled(0.1, normal)),
    "Brownian path": Design(200, 1, path, scaled(0.2, normal), nu=0.5),
    "growing noise": Design(200, 1, lambda X: np.sin(4 * np.pi * X[:, 0]), scaled(0.3, growing)),
    "Franke": Design(150, 2, franke, scaled(0.1, student)),
    "saddle": Design(
        100,
        2,
        lambda X: 2 * (2 * X[:, 0] - 1) * (2 * X[:, 1] - 1) + X[:, 0],
        scaled(0.3, exponential),
    ),
    "Ishigami": Design(200, 3, ishigami, scaled(0.3, laplace)),
    "nearly linear": Design(
        80, 4, lambda X: X @ [1.0, 2.0, -1.0, 0.5] + 0.5 * X[:, 0] ** 2, scaled(0.4, normal)
    ),
    "Friedman": Design(200, 5, friedman, scaled(1.0, normal)),
}
"""Smooth and rough, one to five inputs, 50 to 250 samples, six laws of the errors."""


def tuned(X, y, nu: float) -> LSSVR:
    """Return the machine whose length scale and C predict samples that are left out best."""
    best = (np.inf, 0.0, 0.0)
    B = np.ones((len(y), 1))
    for scale in SCALES * np.sqrt(X.shape[1]):
        errors = Spectral(Matern(scale, nu=nu)(X), B).leave_one_out(y, WEIGHTS)
        squares = np.mean(errors**2, axis=1)
        k = int(np.argmin(squares))
        best = min(best, (float(squares[k]), float(scale), float(WEIGHTS[k])))
    return LSSVR(Matern(best[1], nu=nu), C=best[2]).fit(X, y)


def judged(machine: LSSVR, X, truth: dict[str, Any], seed: int) -> dict[str, tuple[float, float]]:
    """Return the share inside and the mean width, for every method of every purpose."""
    found = {}
    for of, values in truth.items():
        for method in METHODS[of]:
            low, high = machine.predict_interval(
                X, LEVEL, method=method, of=of, n_resamples=RESAMPLES, random_state=seed
            ).T
            inside = (low <= values) & (values <= high)
            found[f"{of}, {method}"] = (float(np.mean(inside)), float(np.mean(high - low)))
    return found


def synthetic(design: Design, runs: int, seed: int, nu: float | None = None):
    """Return mean coverage, its standard error and mean width of every method."""
    table: dict[str, list[tuple[float, float]]] = {}
    for run in range(runs):
        rng = np.random.default_rng([seed, run, design.n, design.p])
        X, T = rng.uniform(size=(design.n, design.p)), rng.uniform(size=(TEST, design.p))
        f = design.function(T)
        machine = tuned(X, design.function(X) + design.noise(rng, X), nu or design.nu)
        truth = {"observation": f + design.noise(rng, T), "function": f}
        for name, entry in judged(machine, T, truth, run).items():
            table.setdefault(name, []).append(entry)
    return {
        name: {
            "coverage": float(np.mean([inside for inside, _ in entries])),
            "error": float(np.std([inside for inside, _ in entries]) / np.sqrt(runs)),
            "width": float(np.mean([width for _, width in entries])),
        }
        for name, entries in table.items()
    }


def real(name: str, splits: int, seed: int):
    """Return coverage of held-out rows and width in standard deviations of the target."""
    table: dict[str, list[tuple[float, float]]] = {}
    for split in range(splits):
        X, y, T, truth = draw(name, 250, 142, seed + split)
        for method, entry in judged(tuned(X, y, 2.5), T, {"observation": truth}, split).items():
            table.setdefault(method.removeprefix("observation, "), []).append(entry)
    return {
        name: {
            "coverage": float(np.mean([inside for inside, _ in entries])),
            "width": float(np.mean([width for _, width in entries])),
        }
        for name, entries in table.items()
    }


def run(short: bool = False, random_state: int = 0) -> Result:
    chosen = ("sine", "saddle") if short else tuple(DESIGNS)
    runs = 5 if short else 60
    table = {name: synthetic(DESIGNS[name], runs, random_state) for name in chosen}
    sets = () if MISSING else REAL[3:4] if short else REAL
    tables = {name: real(name, 1 if short else 5, random_state) for name in sets}
    claims = [
        *claims_of("observation", "conformal", table, runs),
        *claims_of("function", "bayes", table, runs),
        *others(table),
    ]
    data: dict[str, Any] = {"synthetic": table, "real": tables}
    if not short:
        smooth = synthetic(DESIGNS["Brownian path"], runs // 2, random_state, nu=2.5)
        data["too smooth"] = smooth
        claims.append(
            near(
                "Brownian path with a kernel of twice differentiable functions, bayes",
                100 * smooth["function, bayes"]["coverage"],
                100 * LEVEL,
                2.0,
                "intervals expect functions as rough as the kernel's; these are rougher",
                must=False,
            )
        )
    for name, rows in tables.items():
        claims.append(
            near(
                f"{name}, held-out rows, conformal",
                100 * rows["conformal"]["coverage"],
                100 * LEVEL,
                2.0,
                f"reported; width {rows['conformal']['width']:.2f} standard deviations of y",
                must=False,
            )
        )
    return Result(
        "Intervals: measured coverage of a nominal 90 per cent",
        "Intervals of this library on ten artificial designs and ten real data sets",
        f"LSSVR with Matern kernels (nu = 2.5, 0.5 for the path), length scale and C chosen on "
        f"every sample by leaving one out over 12 x 25 values; {runs} samples a design, "
        f"{TEST} new points each; real sets: 250 rows standardized, 142 others. Recommended: "
        "conformal for observations, bayes for functions.",
        claims,
        data,
        revised="A trial of 20 samples a design with Gaussian kernels came first: their bayes "
        "intervals covered 83 to 90 per cent of the functions and 71 of the path, few functions "
        "being as smooth as they expect. All were to cover 88 to 92 per cent. With the first scale "
        "of bayes intervals, that of residuals, seven of ten designs did for functions; with that "
        "of the restricted likelihood six; on fresh samples (80 a design, seed 1) again seven and "
        "six, Ishigami's function lowest with 85.5 and 84.7. The first scale was kept, and claims "
        "about functions need not hold.",
        note="Bayesian intervals expect functions as rough as the kernel's.",
    )


def claims_of(of: str, method: str, table, runs: int) -> list[Claim]:
    """Return whether the recommended method covers, design by design."""
    claims = []
    for name, rows in table.items():
        row = rows[f"{of}, {method}"]
        # From sample to sample the share inside varies by up to 12 per cent: few samples of a short
        # run cannot tell two, and are given three standard errors on top.
        slack = 0.0 if runs >= 40 else 3 * 12.0 / np.sqrt(runs)
        claims.append(
            near(
                f"{name}: {of}s in {method} intervals, per cent",
                100 * row["coverage"],
                100 * LEVEL,
                2.0 + slack,
                f"asked for: 88 to 92; standard error {100 * row['error']:.1f}",
                must=of == "observation",
            )
        )
    return claims


def others(table) -> list[Claim]:
    """Return what the other methods cover, on average and at worst."""
    claims = []
    for of, methods in METHODS.items():
        for method in methods[1:]:
            shares = [100 * rows[f"{of}, {method}"]["coverage"] for rows in table.values()]
            claims += [
                near(
                    f"{of}s in {method} intervals, mean over designs",
                    np.mean(shares),
                    100 * LEVEL,
                    2.0,
                    f"asked for: 88 to 92; single designs {min(shares):.1f} to {max(shares):.1f}",
                    must=False,
                )
            ]
    worst = min(100 * rows["observation, jackknife+"]["coverage"] for rows in table.values())
    why = "twice the level less one, whatever the law"
    return [*claims, at_least("observations in jackknife+ intervals, worst design", worst, 80, why)]
