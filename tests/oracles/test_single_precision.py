"""The certificate of the default path, whose kernel values are float32, against float64.

What is reported is compared with values written out here in plain NumPy, and with the optimum of
LIBSVM, which shares no code. C up to 1e4, widths down to a tenth of the spread of the points.
"""

import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy.spatial.distance import cdist

from mercer import SVC, SVR
from mercer.kernels import Gaussian, Laplacian, Matern, Polynomial, RationalQuadratic

EPS = np.finfo(np.float64).eps


def sample(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)


def values(machine, K, y, C):
    """Return objective and dual value of a fitted machine, and the rounding of the two."""
    a, b = machine.solution_.a, machine.solution_.b[0]
    f = K @ a + b
    if isinstance(machine, SVC):
        loss, conjugate = np.maximum(0.0, 1.0 - y * f), -y * a
    else:
        loss, conjugate = np.maximum(0.0, np.abs(y - f) - 0.1), 0.1 * np.abs(a) - y * a
    # A decision value is rounded by a part of the sum of its terms, and a loss has the slope C.
    terms = K @ np.abs(a) + abs(b)
    size = np.sum((np.abs(a) + C * (loss > 0)) * terms) + np.sum(np.abs(conjugate))
    quadratic = 0.5 * a @ K @ a
    return quadratic + C * loss.sum(), -quadratic - conjugate.sum(), 8 * EPS * size


# Wide tubes with the largest C take millions of steps, with any solver of this kind.
SETTINGS = [(SVC, w, C) for w in (0.1, 0.5, 2.0) for C in (1.0, 100.0, 1e4)]
SETTINGS += [(SVR, 0.1, 1.0), (SVR, 0.1, 1e4), (SVR, 0.5, 100.0), (SVR, 2.0, 100.0)]


@pytest.mark.parametrize(("kind", "width", "C"), SETTINGS)
def test_default_fits_are_within_their_gap_of_the_optimum(kind, width, C):
    X, f = sample(600, 3, seed=int(100 * width))
    y = np.where(f > 0, 1.0, -1.0) if kind is SVC else f
    K = np.exp(-0.5 * cdist(X, X, "sqeuclidean") / width**2)
    # LIBSVM takes minutes for large C and wide kernels: its objective need not be the optimum.
    extra = {} if kind is SVC else {"epsilon": 0.1}
    peer = getattr(sklearn.svm, kind.__name__)(
        C=C, gamma=0.5 / width**2, tol=1e-5, max_iter=50_000, **extra
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y)
    machine = kind(C=C, kernel=Gaussian(width), **extra).fit(X, y)
    objective, dual, rounding = values(machine, K, y, C)
    found = machine.solution_
    assert found.objective >= objective - rounding
    assert found.dual <= dual + rounding
    assert found.gap >= objective - dual - 2 * rounding
    # The value of any other machine is above the optimum, and so above our lower bounds.
    a = np.zeros(len(y))
    a[peer.support_] = peer.dual_coef_[0]
    g = K @ a + peer.intercept_[0]
    loss = np.maximum(0.0, 1.0 - y * g) if kind is SVC else np.maximum(0.0, np.abs(y - g) - 0.1)
    other = 0.5 * a @ K @ a + C * loss.sum()
    assert found.dual <= other + rounding
    assert objective - found.gap <= other + rounding


KERNELS = [
    Laplacian(1.0),
    Matern(1.0, 1.5),
    RationalQuadratic(1.0, 1.0),
    Polynomial(3, 0.5, 1.0),
    Gaussian([0.5, 1.0, 2.0]),
    Gaussian(0.5) + 0.1 * Matern(2.0, 2.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_bounds_hold_for_other_kernels(kernel, C):
    X, f = sample(800, 3, seed=1)
    y = np.where(f > 0, 1.0, -1.0)
    machine = SVC(C=C, kernel=kernel).fit(X, y)
    objective, dual, rounding = values(machine, kernel(X), y, C)
    found = machine.solution_
    assert found.converged
    assert found.objective >= objective - rounding
    assert found.dual <= dual + rounding
    assert found.gap >= objective - dual - 2 * rounding
