"""Laws of manifolds: a shift of the data is free, and a change of its unit is a change of units.

Rows are multiples of 2^-20 and shifts are whole numbers below 2^24, so that shifted rows are exact
and the only thing that differs is the origin of the arithmetic. A mean of shifted rows is known to
`EPS` times the shift, and so are images, which are shifted rows themselves. A cost that is known to
`EPS` is flat at its minimum: coordinates and fits that end there are known to its root.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hostile.machines import exported
from mercer.manifold import Circle, Grid, HuberDistortion, Interval, PrincipalManifold
from mercer.manifold.alternation import STEPS

EPS = np.finfo(float).eps
ROOT = np.sqrt(EPS)
# Sums of about a hundred rounding errors.
ROUNDED = 100.0 * EPS

# Iterations are few and their number is the same whatever the origin: what is compared is their
# arithmetic, and not where they would end.
MANIFOLD = {"max_iter": 8, "tol": 0.0, "lam": 0.01, "continuation": False}
SETTINGS = {
    "GenerativeTopographicMap": [{"latent": Interval(6), "max_iter": 8}],
    "KPlanes": [{"random_state": 0}],
    "KernelPCA": [{"n_components": 2}],
    "KernelProjectionPursuit": [{"random_state": 0, "n_init": 2}],
    "PrincipalCurve": [{"n_nodes": 6, "n_init": 2, "max_iter": 8, "lam": 0.1}],
    "PrincipalManifold": [
        {"latent": Interval(8), "lam": 0.01, "max_iter": 8},
        {"latent": Grid(3, 4), "null_space": "linear", **MANIFOLD},
        {"latent": Circle(6), "cost": HuberDistortion(0.5), **MANIFOLD},
        {"latent": Interval(6), "penalty": "l1", **MANIFOLD},
    ],
    "PrincipalManifoldCV": [
        {"estimator": PrincipalManifold(Interval(6), max_iter=8), "lams": [0.1, 0.01], "cv": 2}
    ],
    "PrincipalPlane": [{}, {"cost": "huber"}],
    "SparseKernelFeatures": [{}],
    "VectorQuantizer": [{"n_clusters": 4, "random_state": 0}],
}
ROOMS = ("mercer.manifold", "mercer_research.manifold")
EVERY = exported(ROOMS)
CASES = [
    pytest.param(name, how, id=f"{name}-{k}")
    for name in EVERY
    for k, how in enumerate(SETTINGS[name])
]
each = pytest.mark.parametrize(("name", "how"), CASES)
# Other costs and penalties have units of their own.
squared = [case for case in CASES if not {"cost", "penalty"} & case.values[1].keys()]
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:the manifold explains"),
]

# Attributes that are lengths of the data to some power, and the power.
UNITS = {"objective_": 2, "distortion_": 2, "penalty_": 2, "best_score_": 2, "beta_": -2}


def curve(gaps=False):
    """Return rows along a curve in space, multiples of 2^-20."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 1, 60)
    X = np.c_[4.0 * t, np.sin(4.0 * t), 0.3 * np.cos(9.0 * t)] + 0.05 * rng.normal(size=(60, 3))
    X = np.round(X * 2.0**20) / 2.0**20
    return np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X) if gaps else X


def figures(fitted):
    return {name: getattr(fitted, name) for name in UNITS if hasattr(fitted, name)}


@each
@pytest.mark.parametrize("shift", [1e2, 1e4, 1e7])
def test_a_shift_of_the_data_is_free(name, how, shift):
    X = curve()
    near, far = (EVERY[name](**how).fit(A) for A in (X, X + shift))
    known = ROUNDED * shift  # images and rows less them
    for attribute, value in figures(near).items():
        assert_allclose(getattr(far, attribute), value, rtol=ROOT, err_msg=attribute)
    Z = near.transform(X)
    assert_allclose(far.transform(X + shift), Z, atol=np.ptp(Z) * ROOT + known)
    if hasattr(near, "score_samples"):
        assert_allclose(far.score_samples(X + shift), near.score_samples(X), atol=ROOT + known)
    if hasattr(near, "inverse_transform") and name != "KernelPCA":
        images = near.inverse_transform(Z)
        assert_allclose(far.inverse_transform(Z) - shift, images, atol=ROOT + known)
    if hasattr(near, "reconstruct"):
        images = near.reconstruct(X)
        assert_allclose(far.reconstruct(X + shift) - shift, images, atol=ROOT + known)


@pytest.mark.parametrize(("name", "how"), squared)
@pytest.mark.parametrize("power", [-20, 12])
def test_a_unit_of_the_data_is_a_unit(name, how, power):
    X, unit = curve(), 2.0**power
    one, other = (EVERY[name](**how).fit(A) for A in (X, X * unit))
    for attribute, value in figures(one).items():
        units = unit ** UNITS[attribute]
        assert_allclose(getattr(other, attribute), value * units, rtol=ROOT, err_msg=attribute)
    if hasattr(one, "inverse_transform") and name != "KernelPCA":
        Z = one.transform(X)
        Z = Z * unit if name == "PrincipalPlane" else Z
        images = one.inverse_transform(one.transform(X))
        assert_allclose(other.inverse_transform(Z), images * unit, atol=ROOT * unit)


@pytest.mark.parametrize("shift", [0.0, 1e7])
@pytest.mark.parametrize("how", SETTINGS["PrincipalManifold"], ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_distortion_of_a_manifold_is_that_of_its_images(how, shift, gaps):
    X = curve(gaps) + shift
    X = X[~np.isnan(X).all(axis=1)]
    fitted = PrincipalManifold(**how).fit(X)
    R = X - fitted.inverse_transform(fitted.embedding_)
    r2 = np.nansum(R**2, axis=1)
    cost = how["cost"](np.sqrt(r2)[:, None]) if "cost" in how else r2
    known = ROUNDED * (1.0 + shift)
    assert_allclose(fitted.distortion_, cost.mean(), atol=known)
    assert_allclose(fitted.objective_, cost.mean() + 0.01 * fitted.penalty_, atol=known)


@pytest.mark.parametrize("null_space", ["constant", "linear"])
def test_coefficients_are_around_zero(null_space):
    X = curve() + 1e4
    fitted = PrincipalManifold(Interval(8), null_space=null_space, **MANIFOLD).fit(X)
    Z = np.linspace(-1, 1, 9)[:, None]
    free = {"constant": np.ones((9, 1)), "linear": np.c_[np.ones(9), Z]}[null_space]
    images = fitted.kernel_(Z, fitted.nodes_) @ fitted.coef_ + free @ fitted.null_space_coef_
    assert_allclose(images, fitted.inverse_transform(Z), atol=ROUNDED * 1e4)


def test_a_warm_start_stays_where_the_last_fit_ended():
    model = PrincipalManifold(Interval(8), warm_start=True, **MANIFOLD).fit(curve())
    functional, W = model.fitted_
    X = curve()[:40] + 3.0
    cost = functional.projector(W)(functional.rows(X), steps=STEPS).cost
    begun = model.fit(X).history_["objective"][0]
    assert_allclose(begun, cost.mean() + 0.01 * functional.penalty(W), rtol=ROOT)


def test_without_constants_the_origin_counts():
    how = {"latent": Interval(8), "null_space": None, **MANIFOLD}
    near, far = (PrincipalManifold(**how).fit(curve() + shift) for shift in (0.0, 10.0))
    assert far.penalty_ > 2.0 * near.penalty_


def test_every_manifold_is_here():
    assert SETTINGS.keys() == EVERY.keys()
