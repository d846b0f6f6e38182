"""Pre-images: gradients, fixed points, stability, and the way back for every kind of kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.decomposition import PCA

from mercer import Nystrom, RandomFeatures
from mercer.kernels import Gaussian, Matern, Multiquadric, Polynomial
from mercer.kernels.named import median_distance
from mercer.machines.expansion import IndefiniteKernel
from mercer.machines.solving import EarlyStop
from mercer.manifold import KernelPCA
from mercer.manifold.inverse import _distance
from mercer.manifold.preimages import Reference, descend, ridge

rng = np.random.default_rng(0)
T = rng.uniform(0, 2 * np.pi, 150)
RING = np.c_[np.cos(T), np.sin(T), 0.5 * np.cos(2 * T)]
NOISY = RING + 0.05 * rng.normal(size=RING.shape)
NEW_T = np.linspace(0.1, 6.1, 20)
CLEAN = np.c_[np.cos(NEW_T), np.sin(NEW_T), 0.5 * np.cos(2 * NEW_T)]
NEW = CLEAN + 0.1 * rng.normal(size=CLEAN.shape)

MACHINES = {
    "gaussian": KernelPCA(6, kernel=Gaussian(1.0)),
    "stretched": KernelPCA(6, kernel=2.0 * Gaussian([1.0, 1.5, 0.5])),
    "matern": KernelPCA(6, kernel=Matern(1.0)),
    "multiquadric": KernelPCA(6, kernel=Multiquadric(1.0)),
    "polynomial": KernelPCA(6, kernel=Polynomial(3, 0.5, 1.0)),
    "linear": KernelPCA(3, kernel="linear"),
    "linear null space": KernelPCA(6, kernel=Gaussian(1.0), null_space="linear"),
    "thin plate": KernelPCA(6, kernel="thin_plate"),
    "laplacian": KernelPCA(6, kernel="laplacian", gamma=0.5),
    "nystrom": KernelPCA(6, kernel=Gaussian(1.0), approximation=Nystrom(60)),
    "waves": KernelPCA(6, kernel=Gaussian(1.0), approximation=RandomFeatures(200)),
    "function": KernelPCA(6, kernel=lambda A, B: Gaussian(1.0)(A, B)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_gradients_are_those_of_the_distance(name):
    machine = MACHINES[name].fit(NOISY)
    X, weights = machine._reference
    distance = _distance(machine, Reference(X, machine.transform(X), weights))
    # Inside the box, beyond which no search goes.
    middle, half = 0.5 * (X.max(axis=0) + X.min(axis=0)), 0.5 * np.ptp(X, axis=0)
    Z, points = machine.transform(NEW), np.clip(NEW, middle - 0.95 * half, middle + 0.95 * half)
    values, slopes = distance.gradient(points, Z)
    assert_allclose(values, distance(points, Z), atol=1e-10)
    direction, h = rng.normal(size=points.shape), 1e-5
    moved = [distance(points + s * h * direction, Z) for s in (1, -1)]
    numeric = (moved[0] - moved[1]) / (2 * h)
    assert_allclose(np.sum(slopes * direction, axis=1), numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["gaussian", "multiquadric", "thin plate", "linear null space"])
def test_the_distance_is_that_of_explicit_inner_products(name):
    """k~(x, x) - 2 z's(x) + |z|^2 with the projected kernel by its four sums."""
    machine = MACHINES[name].fit(NOISY)
    X, weights = machine._reference
    distance = _distance(machine, Reference(X, machine.transform(X), weights))
    B, b = machine.null_space_(NOISY), machine.null_space_(NEW)
    h = b @ np.linalg.pinv(B)
    k, K = machine.kernel_(NEW, NOISY), machine.kernel_(NOISY)
    own = machine.kernel_.diag(NEW) - 2 * np.sum(h * k, axis=1) + np.sum((h @ K) * h, axis=1)
    Z = rng.normal(size=(len(NEW), machine.n_components_))
    expected = own - 2 * np.sum(Z * machine.transform(NEW), axis=1) + np.sum(Z**2, axis=1)
    assert_allclose(distance(NEW, Z), expected, atol=1e-9)
    # Nothing is nearer than the part of a point that components do not have.
    scores = machine.transform(NEW)
    assert np.all(distance(NEW, scores) >= -1e-9)


@pytest.mark.parametrize("inverse", ["penalized", "fixed_point", "ridge"])
def test_noise_is_taken_off_a_curve(inverse):
    machine = KernelPCA(8, kernel=Gaussian(1.0), inverse=inverse, alpha=0.1).fit(NOISY)
    found = machine.preimages(machine.transform(NEW))
    error = np.mean((found.points - CLEAN) ** 2)
    assert error < 0.6 * np.mean((NEW - CLEAN) ** 2)
    assert found.converged.all()
    assert_allclose(found.points, machine.inverse_transform(machine.transform(NEW)))
    if inverse != "ridge":
        # All starts end at the same point of this simple curve.
        assert np.max(found.spread) < 1e-3


def test_the_nearest_image_is_nearest():
    """No random point near a pre-image has an image that is nearer."""
    machine = KernelPCA(6, kernel=Gaussian(1.0), penalty=0.0).fit(NOISY)
    Z = machine.transform(NEW)
    found = machine.preimages(Z)
    X, weights = machine._reference
    distance = _distance(machine, Reference(X, machine.transform(X), weights))
    for size in (0.3, 0.03, 0.003):
        other = found.points + size * rng.normal(size=found.points.shape)
        assert np.all(np.sqrt(np.maximum(distance(other, Z), 0)) >= found.distances - 1e-9)
    fixed = machine.set_params(inverse="fixed_point").preimages(Z)
    assert_allclose(fixed.points, found.points, atol=1e-3)


def test_the_linear_kernel_returns_as_pca_does():
    pca = PCA(2).fit(NOISY)
    machine = KernelPCA(2, kernel="linear", penalty=0.0).fit(NOISY)
    expected = np.clip(pca.inverse_transform(pca.transform(NEW)), NOISY.min(0), NOISY.max(0))
    inside = np.all(expected == pca.inverse_transform(pca.transform(NEW)), axis=1)
    assert inside.sum() > 10
    found = machine.inverse_transform(machine.transform(NEW))
    assert_allclose(found[inside], expected[inside], atol=1e-4)


def test_a_penalty_leads_to_the_ridge_map():
    machine = KernelPCA(6, kernel=Gaussian(1.0)).fit(NOISY)
    Z = machine.transform(NEW)
    anchor = machine.set_params(inverse="ridge").inverse_transform(Z)
    far = [
        np.mean(
            (machine.set_params(inverse="penalized", penalty=t).inverse_transform(Z) - anchor) ** 2
        )
        for t in (0.0, 0.1, 10.0, 1e4)
    ]
    assert np.all(np.diff(far) < 0.0)
    assert far[-1] < 1e-6


def test_the_ridge_map_by_its_formula_and_weights():
    X, scores = NOISY[:40], rng.normal(size=(40, 2))
    w = rng.integers(1, 3, 40).astype(float)
    one = ridge(Reference(X, scores, np.ones(40)), scores[:5], 0.3)
    kernel = Gaussian(median_distance(scores))
    C = np.linalg.solve(kernel(scores) + 0.3 * np.eye(40), X - X.mean(axis=0))
    assert_allclose(one, X.mean(axis=0) + kernel(scores[:5], scores) @ C)
    twice = np.repeat(np.arange(40), w.astype(int))
    weighted = ridge(Reference(X, scores, w), scores[:5], 0.3)
    kernel = Gaussian(median_distance(scores))
    K = kernel(scores[twice]) + 0.3 * np.eye(len(twice))
    C = np.linalg.solve(K, X[twice] - X[twice].mean(axis=0))
    assert_allclose(weighted, X[twice].mean(axis=0) + kernel(scores[:5], scores[twice]) @ C)


def test_descents_of_rows_do_not_depend_on_each_other():
    centres = rng.normal(size=(7, 3))

    def cost(X, rows):
        off = X - centres[rows]
        return np.sum(off**2 * [1, 10, 100], axis=1), 2 * off * [1, 10, 100]

    box = np.array([[-1.0] * 3, [1.0] * 3])
    X, values, converged = descend(cost, np.zeros((7, 3)), box, 500, 1e-9)
    assert converged.all()
    assert_allclose(X, np.clip(centres, -1, 1), atol=1e-6)
    assert_allclose(values, cost(X, np.arange(7))[0])


@pytest.mark.parametrize("name", MACHINES)
def test_every_kernel_has_a_way_back(name):
    machine = clone(MACHINES[name]).set_params(penalty=0.0).fit(NOISY)
    found = machine.preimages(machine.transform(NEW))
    assert found.points.shape == NEW.shape
    assert found.converged.all()
    # The image of the pre-image is no farther away than the image of the point itself.
    X, weights = machine._reference
    distance = _distance(machine, Reference(X, machine.transform(X), weights))
    inside = np.clip(NEW, X.min(axis=0), X.max(axis=0))
    start = np.sqrt(np.maximum(distance(inside, machine.transform(NEW)), 0.0))
    assert np.mean(found.distances) <= 1.05 * np.mean(start) + 1e-6


def test_sparse_samples_return_dense_points():
    dense = KernelPCA(4, kernel=Gaussian(1.0)).fit(NOISY)
    sparse = KernelPCA(4, kernel=Gaussian(1.0)).fit(sp.csr_array(NOISY))
    Z = dense.transform(NEW)
    assert_allclose(sparse.inverse_transform(Z), dense.inverse_transform(Z), atol=1e-6)


def test_refusals_and_warnings():
    K = Gaussian(1.0)(NOISY)
    machine = KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="rows of numbers"):
        machine.inverse_transform(machine.transform(K))
    machine = KernelPCA(2, kernel="matern", inverse="fixed_point").fit(NOISY)
    with pytest.raises(ValueError, match="Gaussian"):
        machine.inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="3 scores, but KernelPCA has 2"):
        machine.inverse_transform(np.zeros((1, 3)))
    with pytest.warns(IndefiniteKernel):
        machine = KernelPCA(6, kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(NOISY)
    with pytest.raises(ValueError, match="inverse='ridge'"):
        machine.inverse_transform(machine.transform(NEW))
    assert machine.set_params(inverse="ridge").inverse_transform(machine.transform(NEW)).shape == (
        20,
        3,
    )


def test_a_search_that_is_stuck_is_told(monkeypatch):
    monkeypatch.setattr("mercer.manifold.inverse.STEPS", 1)
    machine = KernelPCA(6, kernel=Gaussian(1.0)).fit(NOISY)
    with pytest.warns(EarlyStop, match="did not converge"):
        machine.inverse_transform(machine.transform(NEW))
