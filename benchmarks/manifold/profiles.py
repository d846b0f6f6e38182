"""Profiles: a closed curve through the daily cycle of electricity demand.

A row is the demand of the last day at eight times three hours apart, so that it goes round once a
day. The hour is never shown to a method; the curve must find it as its coordinate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from benchmarks.manifold.shared import (
    Array,
    Study,
    Table,
    choose,
    load,
    mean_square,
    plane,
    rebuild,
    timed,
)
from mercer.manifold import Circle, Interval

DAY = 48
LAGS = np.arange(0, DAY, 6)
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
CIRCLES = ((Circle(12), 1.0), (Circle(24), 1.0), (Circle(24), 2.0))
CURVES = ((Interval(12), 1.0), (Interval(24), 1.0), (Interval(24), 2.0))
OURS = "`PrincipalManifold`, closed curve"


def rows(load_: Array) -> tuple[Array, Array]:
    """Return rows of lagged demand, and the hour at the end of each."""
    t = np.arange(LAGS[-1], len(load_))
    return load_[t[:, None] - LAGS], (t % DAY) / 2.0


def hours_off(Z: Array, hours: Array, new: Array, truth: Array) -> float:
    """Return the median error in hours of the time of ten neighbours in a map."""
    nearest = NearestNeighbors(n_neighbors=10).fit(Z).kneighbors(new, return_distance=False)
    turn = 2.0 * np.pi / 24.0
    found = np.angle(np.exp(1j * turn * hours[nearest]).mean(axis=1)) / turn
    return float(np.median(np.abs((found - truth + 12.0) % 24.0 - 12.0)))


def forward(angle: Array) -> float:
    """Return the share of steps in which an angle moves the way that most of its steps go."""
    steps = np.angle(np.exp(1j * np.diff(angle)))
    ahead = float(np.mean(steps > 0.0))
    return max(ahead, 1.0 - ahead)


def on_circle(angle: Array) -> Array:
    """Return angles as points, so that neighbours across zero are neighbours."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def run(short: bool = False) -> Study:
    """Compare curves, planes and centres."""
    demand = load("electricity_taylor").y.astype(float)
    weeks = len(demand) // (7 * DAY)
    parts = np.cumsum([weeks - 4, 2]) * 7 * DAY
    X, hours = rows(demand)
    cuts = parts - LAGS[-1]
    step = 6 if short else 1
    (F, V, T), (hour, _, truth) = (np.split(A, cuts) for A in (X, hours))
    F, hour = F[::step], hour[::step]
    mean, scale = F.mean(), F.std()
    F, V, T = ((A - mean) / scale for A in (F, V, T))
    total = mean_square(T, F.mean(axis=0))
    table = Table(
        "Unexplained is the share of the variance of test rows that is left. Hours off: median "
        "error of the time of day that ten neighbours in the map tell. Forward: share of the half "
        "hours in which the angle moves the way that most do.",
        ["unexplained", "hours off", "forward", "choice and fit, s", "new rows, s"],
    )

    def add(
        name: str,
        seconds: float | None,
        images: Callable[[Array], Array] | None,
        transform: Callable[[Array], Array],
        angle: Callable[[Array], Array] | None = None,
    ) -> None:
        left = None if images is None else mean_square(T, images(T)) / total
        new, took = timed(lambda: transform(T))
        off = hours_off(transform(F), hour, new, truth)
        table.row(name, left, off, None if angle is None else forward(angle(T)), seconds, took)

    caps = {"max_iter": 10, "finish": 20} if short else {}
    chosen = []
    for name, latents in ((OURS, CIRCLES), ("`PrincipalManifold`, open curve", CURVES)):
        closed = name == OURS
        sets, lambdas = (latents[:1], LAMBDAS[2:3]) if short else (latents, LAMBDAS)
        found = choose(F, V, sets, lambdas, **caps)
        m = found.manifold
        chosen.append(found.words)

        def turn(A: Array, m: Any = m) -> Array:
            return np.asarray(m.transform(A)[:, 0])

        def place(A: Array, turn: Any = turn, closed: bool = closed) -> Array:
            return on_circle(turn(A)) if closed else turn(A)[:, None]

        add(name, found.seconds, m.reconstruct, place, turn if closed else None)
    for k in (1, 2):
        pca, seconds = timed(lambda k=k: plane(F, k))

        def angle(A: Array, pca: Any = pca) -> Array:
            Z = pca.transform(A)
            return np.asarray(np.arctan2(Z[:, 1], Z[:, 0]))

        back = lambda A, pca=pca: rebuild(pca, A)  # noqa: E731
        add(
            f"PCA, {k} component{'s' * (k > 1)}",
            seconds,
            back,
            pca.transform,
            angle if k == 2 else None,
        )
    add("angle of two components", None, None, lambda A: on_circle(angle(A)), angle)
    means, seconds = timed(lambda: KMeans(24, n_init=4, random_state=0).fit(F))
    centres = means.cluster_centers_
    images = lambda A: centres[means.predict(A)]  # noqa: E731
    add("k-means, 24 centres", seconds, images, images)
    add("all eight numbers", None, lambda A: A, lambda A: A)
    ours = table[OURS, "unexplained"] / table["PCA, 1 component", "unexplained"]
    return Study(
        "Profiles of a day",
        "Electricity demand goes round once a day. Does a closed curve find the time of day?",
        f"Demand of England and Wales every half hour for {weeks} weeks (`electricity_taylor`): "
        f"{weeks - 4} weeks to fit, two to choose settings, two to test. A row is the demand now "
        "and at seven times before, three hours apart; the hour is not given. Weekends are "
        "included, whose days look different.",
        [table],
        [("unexplained share over the share of one principal component", ours, 0.6)],
        "; ".join(chosen),
    )
