"""Novelty: distances to a manifold as a score, beside machines that are made for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks.manifold.shared import Array, Study, Table, choose, load, plane, rebuild, timed
from mercer.manifold import Grid, Interval

SETS = ("mammography", "kdd99_http")
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
LATENTS = ((Interval(20), 1.0), (Grid(7, 7), 1.0))
FIT, VALIDATE, TEST = 1500, 1500, 20_000
OURS = "`PrincipalManifold`"


def parts(name: str, seed: int, short: bool) -> tuple[Array, Array, Array, Array]:
    """Return normal rows to fit and to choose settings, and rows to test with their labels."""
    data = load(name)
    rng = np.random.default_rng(seed)
    normal = rng.permutation(np.flatnonzero(data.y != 1))
    novel = rng.permutation(np.flatnonzero(data.y == 1))
    n, v, t = (300, 300, 2000) if short else (FIT, VALIDATE, TEST)
    fitted, validated, rest = np.split(normal, [n, n + v])
    # Novel rows at the rate at which they come.
    rest = rest[:t]
    novel = novel[: max(20, round(len(rest) * len(novel) / len(normal)))]
    tested = np.concatenate([rest, novel])
    scaler = StandardScaler().fit(data.X[fitted])
    F, V, T = (scaler.transform(data.X[rows]) for rows in (fitted, validated, tested))
    return F, V, T, np.repeat([0, 1], [len(rest), len(novel)])


def methods(F: Array, V: Array, short: bool) -> dict[str, Callable[[], tuple[Any, str]]]:
    """Return what is compared: functions that fit and return a score of novelty, and a choice."""

    def ours() -> tuple[Any, str]:
        lambdas = LAMBDAS[1:2] if short else LAMBDAS
        caps = {"max_iter": 10, "finish": 10} if short else {"finish": 50}
        found = choose(F, V, LATENTS[:1] if short else LATENTS, lambdas, **caps)
        return found.manifold.distortion, found.words

    def score(m: Any) -> tuple[Any, str]:
        m.fit(F)
        return lambda A: -m.score_samples(A), ""

    def by_plane() -> tuple[Any, str]:
        pca = plane(F, 2)
        return lambda A: np.sum((A - rebuild(pca, A)) ** 2, axis=1), ""

    found: dict[str, Callable[[], tuple[Any, str]]] = {
        OURS: ours,
        "distance to two components": by_plane,
        "`OneClassSVM` of scikit-learn": lambda: score(OneClassSVM(nu=0.1)),
        "isolation forest": lambda: score(IsolationForest(random_state=0)),
        "local outlier factor": lambda: score(LocalOutlierFactor(20, novelty=True)),
    }
    return found


def run(short: bool = False) -> Study:
    """Compare areas under the curve on both sets."""
    tables = []
    chosen = []
    seeds = range(1 if short else 3)
    for name in SETS[: 1 if short else None]:
        areas: dict[str, list[float]] = {}
        times: dict[str, list[list[float]]] = {}
        for seed in seeds:
            F, V, T, novel = parts(name, seed, short)
            for method, make in methods(F, V, short).items():
                (score, words), seconds = timed(make)
                values, took = timed(lambda score=score, T=T: score(T))
                areas.setdefault(method, []).append(float(roc_auc_score(novel, values)))
                times.setdefault(method, []).append([seconds, took])
                if words and seed == 0:
                    chosen.append(f"{name}, first draw: {words}")
        table = Table(
            f"`{name}`: area under the curve over {len(seeds)} draws of rows, and its standard "
            "deviation; mean seconds.",
            ["area", "deviation", "choice and fit, s", "new rows, s"],
        )
        for method, found in areas.items():
            seconds, took = np.mean(times[method], axis=0)
            table.row(method, np.mean(found), np.std(found), seconds, took)
        tables.append(table)
    return Study(
        "Novelty",
        "How well does the distance to a manifold of normal rows tell rows of another kind?",
        f"{len(F):,} normal rows to fit and {len(V):,} to choose settings, standardized; test rows "
        "are other normal rows, at most 20,000, and novel rows at the rate at which they come in "
        "the data. An interval or a square, and λ, are chosen by the distance of the normal "
        "validation rows; peers keep their defaults, but `nu=0.1`. Labels are read for the area "
        "alone.",
        tables,
        [(f"one minus the area on {SETS[0]}", 1.0 - tables[0][OURS, "area"], 0.25)],
        "; ".join(chosen),
    )
