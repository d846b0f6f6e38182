"""Fits of principal manifolds in the units of the documents, and measures of them."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from mercer.manifold import PrincipalManifold

# Principal directions times the deviations of their components; the default start is wider by the
# square root of three, so that a uniform interval has the spread of the data.
SCALE = 3**-0.5
LINE = np.linspace(-1.0, 1.0, 400)


def fit(latent: Any, X: np.ndarray, **options: Any) -> PrincipalManifold:
    """Fit a manifold; fits that are stopped or too stiff are part of the experiments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the manifold explains", UserWarning)
        # The algorithm of the documents begins with its own lambda.
        start = {"init_scale": SCALE, "continuation": False}
        return PrincipalManifold(latent, **start | options).fit(X)


def largest_rise(manifold: PrincipalManifold) -> float:
    """Return the largest relative rise of the objective at a half step; negative if it fell."""
    objective = manifold.history_["objective"]
    return float(np.max(np.diff(objective) / np.abs(objective[:-1])))


def rises(trace: np.ndarray) -> int:
    """Return the number of iterations at which a term rose."""
    return int(np.sum(np.diff(trace) > 0.0))


def moved(a: PrincipalManifold, b: PrincipalManifold, ends: tuple[float, float]) -> float:
    """Return how far apart two curves are, as a share of the size of the second.

    The root mean squared distance of each curve to the nearest points of the other, so that two
    parametrizations of one curve do not differ, over the deviation of the curve from its mean.
    """
    Z = np.linspace(*ends, 401)[:, None]
    A, B = a.inverse_transform(Z), b.inverse_transform(Z)
    apart = 0.5 * (b.distortion(A).mean() + a.distortion(B).mean())
    return float(np.sqrt(apart / np.var(B, axis=0).sum()))


def left_out_errors(Z: np.ndarray, labels: np.ndarray) -> int:
    """Count the leave-one-out errors of the class of the nearest neighbour."""
    nearest = KNeighborsClassifier(1).fit(Z, labels).kneighbors(n_neighbors=1)[1][:, 0]
    return int(np.sum(labels[nearest] != labels))


def sine(seed: int) -> np.ndarray:
    """Return 100 points about the curve (t, sin(pi t)), with noise of deviation 0.1."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, 100)
    return np.asarray(np.c_[t, np.sin(np.pi * t)] + 0.1 * rng.normal(size=(100, 2)))
