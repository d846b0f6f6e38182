"""Sets of points to begin with: two moons, circles, overlapping clouds, noisy curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array

__all__ = ["DECIMALS", "POINT_SETS", "WINDOW", "PointSet"]

WINDOW = (-3.0, 3.0, -2.25, 2.25)
"""Left, right, lower and upper end of the sheet that points are drawn on."""

DECIMALS = 3
"""Digits of a coordinate: finer than a pixel, and short in a script."""

Labels = NDArray[np.intp]
Draw = Callable[[int, np.random.Generator], tuple[Array, Labels]]


@dataclass(frozen=True)
class PointSet:
    """Points of a known shape, drawn at random.

    Parameters
    ----------
    task : {"classes", "curve"}
        What a machine learns from them: a label, or the second coordinate.
    draw : callable
        Maps a number of points and a generator to points of shape (n, 2) and labels of shape (n,).
    """

    task: str
    draw: Draw

    def points(self, n: int, seed: int = 0) -> tuple[Array, Labels]:
        """Return n points, rounded and inside the window, and their labels.

        Parameters
        ----------
        n : int
            Number of points.
        seed : int, default=0
            Of the random generator.

        Examples
        --------
        >>> from mercer_studio.browser.playground import POINT_SETS
        >>> X, labels = POINT_SETS["two moons"].points(4)
        >>> X.shape, labels
        ((4, 2), array([0, 0, 1, 1]))
        """
        X, labels = self.draw(n, np.random.default_rng(seed))
        left, right, low, high = WINDOW
        return np.clip(X, (left, low), (right, high)).round(DECIMALS), labels


def _labels(n: int, n_classes: int) -> Labels:
    """Return labels of equally large classes, in order."""
    return (np.arange(n) * n_classes // max(n, 1)).astype(np.intp)


def _moons(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    angle = rng.uniform(0.0, np.pi, n)
    sign = 1.0 - 2.0 * labels
    X = 1.35 * np.column_stack([sign * (np.cos(angle) - 0.5), sign * (np.sin(angle) - 0.25)])
    return X + rng.normal(scale=0.27, size=(n, 2)), labels


def _circles(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), np.where(labels == 0, 1.75, 0.75)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(scale=0.2, size=(n, 2)), labels


def _overlapping(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    centres = np.array([[-0.85, -0.35], [0.85, 0.35]])
    return centres[labels] + rng.normal(scale=0.75, size=(n, 2)), labels


def _exclusive_or(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    side = rng.choice([-1.0, 1.0], n)
    centres = np.column_stack([side, np.where(labels == 0, side, -side)])
    return centres + rng.normal(scale=0.42, size=(n, 2)), labels


def _three_clouds(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 3)
    centres = np.array([[-1.25, -0.75], [1.25, -0.75], [0.0, 1.05]])
    return centres[labels] + rng.normal(scale=0.55, size=(n, 2)), labels


def _mislabelled(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    centres = np.array([[-1.2, 0.0], [1.2, 0.0]])
    X = centres[labels] + rng.normal(scale=0.45, size=(n, 2))
    swapped = rng.choice(n, n // 20, replace=False)
    labels[swapped] = 1 - labels[swapped]
    return X, labels


def _curve(x: Array, y: Array) -> tuple[Array, Labels]:
    return np.column_stack([x, y]), np.zeros(len(x), dtype=np.intp)


def _sine(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    x = rng.uniform(-2.8, 2.8, n)
    return _curve(x, 1.2 * np.sin(1.8 * x) + rng.normal(scale=0.25, size=n))


def _step(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    x = rng.uniform(-2.8, 2.8, n)
    return _curve(x, np.where(x < 0.0, -0.8, 0.9) + rng.normal(scale=0.15, size=n))


def _outliers(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    x = rng.uniform(-2.8, 2.8, n)
    y = 0.5 * x - 0.6 + rng.normal(scale=0.15, size=n)
    far = np.flatnonzero(x < -0.5)
    far = rng.choice(far, min(len(far), n // 8), replace=False)
    y[far] = rng.uniform(1.0, 2.1, len(far))
    return _curve(x, y)


def _growing_noise(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    x = rng.uniform(-2.8, 2.8, n)
    return _curve(x, np.cos(1.4 * x) + rng.normal(size=n) * (0.04 + 0.11 * (x + 2.8)))


POINT_SETS = {
    "two moons": PointSet("classes", _moons),
    "two circles": PointSet("classes", _circles),
    "overlapping clouds": PointSet("classes", _overlapping),
    "exclusive or": PointSet("classes", _exclusive_or),
    "mislabelled points": PointSet("classes", _mislabelled),
    "three clouds": PointSet("classes", _three_clouds),
    "sine with noise": PointSet("curve", _sine),
    "step": PointSet("curve", _step),
    "line with outliers": PointSet("curve", _outliers),
    "growing noise": PointSet("curve", _growing_noise),
}
"""Sets of points by name."""
