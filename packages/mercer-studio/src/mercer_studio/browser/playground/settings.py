"""Sets of points and settings of the playground, and the estimator that they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import estimators
from mercer._typing import Array
from mercer._words import did_you_mean
from mercer.losses import Huber

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


def _clouds(scale: float, *centres: tuple[float, float], swapped: float = 0.0) -> Draw:
    """Return how clouds around centres are drawn; of a share of the points the labels change."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
        labels = _labels(n, len(centres))
        X = np.array(centres)[labels] + rng.normal(scale=scale, size=(n, 2))
        if swapped:
            wrong = rng.choice(n, int(n * swapped), replace=False)
            labels[wrong] = 1 - labels[wrong]
        return X, labels

    return draw


def _exclusive_or(n: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    labels = _labels(n, 2)
    side = rng.choice([-1.0, 1.0], n)
    centres = np.column_stack([side, np.where(labels == 0, side, -side)])
    return centres + rng.normal(scale=0.42, size=(n, 2)), labels


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
    "overlapping clouds": PointSet("classes", _clouds(0.75, (-0.85, -0.35), (0.85, 0.35))),
    "exclusive or": PointSet("classes", _exclusive_or),
    "mislabelled points": PointSet("classes", _clouds(0.45, (-1.2, 0.0), (1.2, 0.0), swapped=0.05)),
    "three clouds": PointSet("classes", _clouds(0.55, (-1.25, -0.75), (1.25, -0.75), (0.0, 1.05))),
    "sine with noise": PointSet("curve", _sine),
    "step": PointSet("curve", _step),
    "line with outliers": PointSet("curve", _outliers),
    "growing noise": PointSet("curve", _growing_noise),
}
"""Sets of points by name."""


TASKS = {"classes": "Classes", "curve": "Curve"}
"""What is learned from the points."""

CLASS_LOSSES = {
    "hinge": "hinge (support vector machine)",
    "squared_hinge": "squared hinge",
    "logistic": "logistic",
    "squared": "squared (least squares)",
}
CURVE_LOSSES = {
    "epsilon_insensitive": "epsilon-insensitive (support vector regression)",
    "squared": "squared (least squares)",
    "absolute": "absolute (median)",
    "huber": "Huber",
}
LOSSES = {"classes": CLASS_LOSSES, "curve": CURVE_LOSSES}
"""Losses of each task by name, the first of them to begin with."""

KERNELS = {
    "rbf": "Gaussian (RBF)",
    "laplacian": "Laplacian",
    "matern": "Matérn 3/2",
    "poly": "polynomial",
    "linear": "linear",
}
"""Kernels by name."""

# At the rim of the window, at distance 3.75 from its middle, 0.1 <x, z> + 1 is 2.4: powers stay of
# the size of the other kernels' values.
POLYNOMIAL = {"gamma": 0.1, "coef0": 1.0}


@dataclass(frozen=True)
class Settings:
    r"""What the sliders say: the loss, the kernel and their parameters.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i l(y_i, f(x_i) + b)

    Parameters
    ----------
    task : {"classes", "curve"}, default="classes"
        Separate classes in the plane, or fit the second coordinate by the first.
    loss : str, optional
        A key of ``LOSSES[task]``, its first by default.
    kernel : str, default="rbf"
        A key of `KERNELS`.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    gamma : float, default=1.0
        Inverse squared width of the kernel, :math:`e^{-\gamma r^2}`; of the Laplacian,
        :math:`e^{-\gamma r}`. Linear and polynomial kernels have none.
    epsilon : float, default=0.2
        Half-width of the tube of the epsilon-insensitive loss.
    delta : float, default=0.2
        Where the Huber loss turns from squared to linear.
    degree : int, default=3
        Of the polynomial kernel.

    Examples
    --------
    >>> from mercer_studio.browser.playground import Settings
    >>> Settings(C=10.0).machine()
    SVC(C=10.0, gamma=1.0)
    >>> Settings(task="curve", loss="huber", kernel="linear").machine()
    KernelRegressor(kernel='linear', loss=Huber(delta=0.2))
    """

    task: str = "classes"
    loss: str = ""
    kernel: str = "rbf"
    C: float = 1.0
    gamma: float = 1.0
    epsilon: float = 0.2
    delta: float = 0.2
    degree: int = 3

    def __post_init__(self) -> None:
        _check("task", self.task, TASKS)
        if not self.loss:
            object.__setattr__(self, "loss", next(iter(LOSSES[self.task])))
        _check("loss", self.loss, LOSSES[self.task])
        _check("kernel", self.kernel, KERNELS)
        for name in ("C", "gamma", "delta"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be positive; got {getattr(self, name)!r}.")
        if not 0.0 <= self.epsilon < float("inf"):
            raise ValueError(f"epsilon must be at least 0; got {self.epsilon!r}.")
        if self.degree < 1:
            raise ValueError(f"degree must be at least 1; got {self.degree!r}.")

    @property
    def has_width(self) -> bool:
        """Whether the kernel has a width, set by gamma."""
        return self.kernel not in {"linear", "poly"}

    @property
    def is_sparse(self) -> bool:
        """Whether points that are fitted well cost nothing and have no influence."""
        return self.loss in {"hinge", "squared_hinge", "epsilon_insensitive"}

    @property
    def width(self) -> float:
        r"""Distance at which the Gaussian kernel has fallen to 0.61, :math:`1/\sqrt{2\gamma}`.

        The Laplacian has fallen as far at :math:`1/(2\gamma)`.
        """
        return 0.5 / self.gamma if self.kernel == "laplacian" else (2.0 * self.gamma) ** -0.5

    def machine(self, n_classes: int = 2) -> Any:
        """Return the estimator that these settings name, not fitted.

        Parameters
        ----------
        n_classes : int, default=2
            Classes among the points. Three are decided by one machine per class against the rest,
            whatever the loss.
        """
        given: dict[str, Any] = {"C": self.C, "kernel": self.kernel}
        if self.kernel == "poly":
            given |= {"degree": self.degree, **POLYNOMIAL}
        elif self.has_width:
            given["gamma"] = self.gamma
        match self.task, self.loss:
            case "classes", "hinge" if n_classes == 2:
                return estimators.SVC(**given)
            case "classes", "logistic":
                return estimators.KernelLogisticRegression(**given)
            case "classes", "squared":
                return estimators.LSSVC(**given)
            case "classes", loss:
                # Faster than Newton's method, the solver by default, at the sizes of a drawing.
                fast = loss == "squared_hinge" and self.has_width
                return estimators.KernelClassifier(loss, solver="smo" if fast else "auto", **given)
            case _, "epsilon_insensitive":
                return estimators.SVR(epsilon=self.epsilon, **given)
            case _, "squared":
                return estimators.LSSVR(**given)
            case _, loss:
                named = Huber(self.delta) if loss == "huber" else loss
                return estimators.KernelRegressor(named, **given)


def _check(name: str, value: str, known: dict[str, str]) -> None:
    if value not in known:
        names = ", ".join(known)
        raise ValueError(
            f"{name} must be one of {names}; got {value!r}.{did_you_mean(value, known)}"
        )
