"""Principal manifolds: descent, oracles of special cases, and coordinates of new points."""

import warnings
from dataclasses import replace

import cvxpy
import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.data.arrays import Arrays
from mercer.kernels import Gaussian, Matern, PeriodicGaussian
from mercer.manifold import Circle, Grid, HuberDistortion, Interval, PrincipalManifold, alternation
from mercer.manifold.adaptation import normal_sums
from mercer.manifold.distortions import MetricDistortion, as_distortion
from mercer.manifold.latent import Sphere, Torus
from mercer.manifold.projection import _Search
from mercer.manifold.start import start_from

EPS = np.finfo(float).eps
QUIET = pytest.mark.filterwarnings("ignore:PrincipalManifold stopped", "ignore:the last adaptation")
pytestmark = pytest.mark.filterwarnings("ignore:the manifold explains")


def wave(n=100, noise=0.1, seed=0):
    """Points around a sine, as in the experiments of the paper."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    return np.c_[t, np.sin(np.pi * t)] + noise * rng.normal(size=(n, 2))


def ring(n=100, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.c_[np.cos(t), np.sin(t)] + noise * rng.normal(size=(n, 2))


@parametrize_with_checks(
    [
        PrincipalManifold(max_iter=9, tol=0.1),
        PrincipalManifold(Circle(6), max_iter=9, tol=0.1, cost="huber"),
    ],
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def settings(seed):
    """Return a random setting: latent set, cost, penalty, weights, gaps, null space."""
    rng = np.random.default_rng(seed)
    latent = [Interval(6), Interval(9), Grid(3, 4), Circle(7), Torus(4, 3), Sphere(9)][seed % 6]
    cost = ["squared", "huber", HuberDistortion(0.3), MetricDistortion(np.diag([1.0, 4.0, 0.5]))]
    curve = isinstance(latent, Interval | Circle)
    penalty = ["kernel", "weight decay", "l1", "group", *(["length"] if curve else [])]
    how = {
        "cost": cost[rng.integers(4)],
        "penalty": penalty[rng.integers(len(penalty))],
        "lam": 10.0 ** rng.uniform(-5, 1),
        "width": rng.uniform(0.6, 2.5),
        "null_space": ["constant", "linear"][rng.integers(2)],
        "normalization": ["mean", "sum"][rng.integers(2)],
        "init": ["pca", "random"][rng.integers(2)],
        "random_state": seed,
    }
    X = rng.normal(size=(rng.integers(12, 40), 3)) @ rng.normal(size=(3, 3))
    weights = rng.uniform(0.2, 2.0, len(X)) if rng.integers(2) else None
    if how["penalty"] != "group" and rng.integers(2):
        gaps = rng.uniform(size=X.shape) < 0.15
        gaps[:, rng.integers(3)] = False
        X = np.where(gaps, np.nan, X)
    return latent, how, X, weights


@QUIET
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_no_half_step_raises_the_functional(first):
    for seed in range(first, first + 25):
        latent, how, X, weights = settings(seed)
        fit = PrincipalManifold(latent, max_iter=3, tol=0.0, continuation=False, **how)
        fit.fit(X, sample_weight=weights)
        objective = fit.history_["objective"]
        # Eight roundings of the larger value.
        assert np.all(np.diff(objective) <= 8 * EPS * objective[:-1]), (seed, how)
        # Squares are solved to rounding; reweighting and coordinate descent stop at a gap that
        # a user is told of above a hundredth of the objective.
        exact = how["penalty"] not in ("l1", "group") and not isinstance(
            as_distortion(how["cost"]), HuberDistortion
        )
        assert 0.0 <= fit.gap_ <= (1e-12 if exact else np.inf) * objective[-1], (seed, how)


def explicit(fit, X, Z):
    """Return columns and penalty matrix of a fit, from kernel values alone."""
    K, G = fit.kernel_(Z, fit.nodes_), fit.kernel_(fit.nodes_)
    return np.hstack([K, np.ones((len(Z), 1))]), la.block_diag(G, 0.0)


@QUIET
def test_the_convex_half_is_solved_to_its_gap():
    # By the normal equations of kernel values, and of costs by a general-purpose optimizer.
    X = wave(60)
    fit = PrincipalManifold(Interval(6), lam=0.02, width=0.7, max_iter=3, tol=0.0).fit(X)
    Z, W = fit.embedding_, np.vstack([fit.coef_, fit.null_space_coef_])
    functional = fit.fitted_.functional
    adapted = functional.adapt(functional.basis(Z), X, np.ones(60), None)
    P, S = explicit(fit, X, Z)
    best = la.solve(P.T @ P / 60 + 0.01 * S, P.T @ X / 60)
    alpha, b = functional.basis.coefficients(adapted.W)
    assert_allclose(P @ np.vstack([alpha, b]), P @ best, atol=1e-8)
    value = ((X - P @ best) ** 2).sum() / 60 + 0.01 * np.trace(best.T @ S @ best)
    assert_allclose(functional.penalty.value(sums_of(functional, Z, X), 60.0, adapted.W), value)
    assert W.shape == best.shape


def sums_of(functional, Z, X):
    return normal_sums(functional.basis(Z), X, np.ones(len(X)))


@pytest.mark.parametrize("cost", ["huber", "absolute"])
def test_robust_halves_against_a_conic_solver(cost):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(30, 2)) * 2.0, rng.uniform(-1, 1, (30, 1))
    s = rng.uniform(0.5, 2.0, 30)
    functional = PrincipalManifold(Interval(5), lam=0.1, cost=cost)._functional()
    P = functional.basis(Z)
    found = functional.adapt(P, X, s, None)
    W = cvxpy.Variable((P.shape[1], 2))
    R = X - P @ W
    losses = (
        cvxpy.huber(cvxpy.norm(R, 2, axis=1), 1.0) / 2
        if cost == "huber"
        else cvxpy.norm(R, 1, axis=1)
    )
    if cost == "huber":
        t = cvxpy.Variable(30)
        terms = [t >= cvxpy.norm(R, 2, axis=1)]
        losses = cvxpy.huber(t, 1.0) / 2
    else:
        terms = []
    objective = s @ losses / s.sum() + 0.05 * cvxpy.sum_squares(W[: functional.basis.r])
    least = cvxpy.Problem(cvxpy.Minimize(objective), terms).solve(solver="CLARABEL")
    value = functional.value(functional.costs(P, X, found.W), s, found.W)
    # The solver of the oracle has eight digits.
    assert least - 1e-7 <= value <= least + found.gap + 1e-7
    assert found.gap <= 1e-2 * value


@pytest.mark.parametrize("penalty", ["l1", "group"])
def test_sparse_halves_satisfy_the_conditions_of_the_lasso(penalty):
    X = wave(80) - wave(80).mean(axis=0)
    lam = 0.05
    functional = PrincipalManifold(Interval(9), lam=lam, penalty=penalty)._functional()
    Z = np.linspace(-1, 1, 80)[:, None]
    P = functional.basis(Z)
    found = functional.adapt(P, X, np.ones(80), None)
    slope = 2.0 / 80 * P.T @ (X - P @ found.W)
    alpha, slope, free = found.W[:9], slope[:9], slope[9:]
    assert_allclose(free, 0.0, atol=1e-12)
    if penalty == "group":
        size, length = np.linalg.norm(slope, axis=1), np.linalg.norm(alpha, axis=1)
        on = length > 0
        assert_allclose(slope[on], lam * alpha[on] / length[on, None], atol=2e-5)
    else:
        size, on = np.abs(slope), alpha != 0
        assert_allclose(slope[on], lam * np.sign(alpha[on]), atol=2e-5)
    assert 0 < on.sum() < on.size
    assert np.all(size <= lam + 2e-5)
    # All of it collapses where lambda exceeds the largest slope at zero.
    top = np.abs(2.0 / 80 * P[:, :9].T @ (X - X.mean(axis=0))).max()
    flat = PrincipalManifold(Interval(9), lam=4.0 * top, penalty=penalty)._functional()
    assert_array_equal(flat.adapt(P, X, np.ones(80), None).W[:9], 0.0)


def test_nodes_at_the_rows_make_kernel_ridge_regression():
    rng = np.random.default_rng(0)
    latent = Interval(12)
    X = rng.normal(size=(12, 3))
    functional = PrincipalManifold(
        latent, lam=0.1, kernel=Gaussian(0.3), null_space=None
    )._functional()
    W = functional.adapt(functional.basis(latent.nodes), X, np.ones(12), None).W
    K = Gaussian(0.3)(latent.nodes)
    ridge = K @ la.solve(K + 0.05 * 12 * np.eye(12), X)
    assert_allclose(functional.basis(latent.nodes) @ W, ridge, atol=1e-10)


def test_a_free_plane_and_a_large_weight_are_principal_components():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)) * [3.0, 2.0, 0.5, 0.1]
    fit = PrincipalManifold(
        Grid(4, 4), lam=1e8, null_space="linear", init_scale=3.0, tol=1e-12, max_iter=2000
    ).fit(X)
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))
    # Rows beyond the box are projected on its edge: its corners reach as far as the data does.
    assert fit.boundary_share_ == 0.0
    assert_allclose(fit.distortion_, values[:2].sum(), rtol=1e-5)
    path = [
        PrincipalManifold(Grid(4, 4), lam=lam, null_space="linear", init_scale=3.0)
        .fit(X)
        .distortion_
        for lam in (1.0, 10.0, 1e3)
    ]
    assert path[0] < path[1] < path[2] <= fit.distortion_ * (1.0 + 1e-4)


def test_a_large_weight_shrinks_the_kernel_part_to_the_mean():
    X = wave()
    fit = PrincipalManifold(Interval(6), lam=1e6).fit(X)
    assert_allclose(fit.inverse_transform([[-1.0], [0.5]]), [X.mean(axis=0)] * 2, atol=1e-3)
    assert_allclose(fit.objective_, X.var(axis=0).sum(), rtol=1e-4)
    assert fit.objective_ <= X.var(axis=0).sum()


def test_a_noisy_circle_is_recovered():
    fit = PrincipalManifold(
        Circle(20),
        kernel=PeriodicGaussian(0.5, normalize="diagonal"),
        lam=0.1,
        normalization="sum",
        max_iter=2000,
    ).fit(ring())
    images = fit.inverse_transform(np.linspace(0, 2 * np.pi, 200)[:, None])
    radius = np.linalg.norm(images, axis=1)
    assert abs(radius.mean() - 1.0) < 3 * 0.1 / np.sqrt(100)
    assert abs(fit.distortion_ / 100 - 0.0067) < 0.0015
    assert_allclose(
        fit.inverse_transform([[0.0]]), fit.inverse_transform([[2 * np.pi]]), atol=1e-12
    )
    how = {"kernel": PeriodicGaussian(0.5, normalize="diagonal"), "lam": 0.1}
    fit, doubled = (
        PrincipalManifold(Circle(n), max_iter=2000, **how).fit(ring()) for n in (20, 40)
    )
    assert_allclose(doubled.distortion_, fit.distortion_, rtol=0.01)


@pytest.mark.parametrize("latent", [Interval(40), Circle(40)])
def test_a_penalty_of_length_makes_the_speed_constant(latent):
    X = wave(200, 0.05) if isinstance(latent, Interval) else ring(200, 0.05)
    low, high = latent.ends
    lengths, spreads = [], []
    for lam in (1e-3, 1e-2, 1e-1):
        fit = PrincipalManifold(latent, penalty="length", lam=lam, max_iter=1000, tol=1e-8).fit(X)
        speed = np.linalg.norm(fit.jacobian(np.linspace(low, high, 401)[1:-1, None])[:, 0], axis=1)
        lengths.append(fit.length())
        spreads.append(speed.std() / speed.mean())
        # The mean of squares is the squared mean and the variance.
        energy = 2.0 * fit.penalty_ * (high - low)
        assert_allclose(energy, lengths[-1] ** 2 * (1.0 + spreads[-1] ** 2), rtol=0.01)
    assert lengths[0] > lengths[1] > lengths[2]
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] < 0.1


def test_the_norm_of_the_length_kernel_is_the_integral_of_the_squared_speed():
    fit = PrincipalManifold(Interval(7), penalty="length", lam=1e-2).fit(wave())
    z = np.linspace(-1, 1, 7)
    F = fit.inverse_transform(z[:, None])
    energy = np.sum(np.linalg.norm(np.diff(F, axis=0), axis=1) ** 2 / np.diff(z))
    assert_allclose(2.0 * fit.penalty_, energy, rtol=1e-10)


@QUIET
@pytest.mark.parametrize("seed", range(3))
def test_rotations_of_the_data_rotate_the_manifold(seed):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 1, 100)
    X = np.c_[4.0 * t, np.sin(4.0 * t), 0.3 * np.cos(9.0 * t)] + 0.05 * rng.normal(size=(100, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    # As many iterations whatever the rotation: their arithmetic is compared, not where they end.
    straight, turned = (
        PrincipalManifold(Interval(8), lam=0.01, max_iter=30, tol=0.0, continuation=False).fit(A)
        for A in (X, X @ turn)
    )
    # Coordinates minimize a cost that is known to EPS, and so they are known to its root; the
    # start may be the same figure run through backwards.
    known = np.sqrt(EPS)
    z = np.linspace(-1, 1, 50)[:, None]
    forward = np.abs(turned.embedding_ - straight.embedding_).max() < 0.1
    way = 1.0 if forward else -1.0
    assert_allclose(turned.embedding_, way * straight.embedding_, atol=10 * known)
    images = straight.inverse_transform(way * z) @ turn
    assert_allclose(turned.inverse_transform(z), images, atol=10 * known)
    assert_allclose(turned.objective_, straight.objective_, rtol=known)
    assert_allclose(turned.penalty_, straight.penalty_, rtol=known)


def test_smoothness_is_bounded_by_the_penalty():
    fit = PrincipalManifold(Grid(4, 4), lam=0.01).fit(np.random.default_rng(0).normal(size=(50, 3)))
    rng = np.random.default_rng(1)
    A, B = rng.uniform(-1, 1, (2, 200, 2))
    apart = np.linalg.norm(fit.inverse_transform(A) - fit.inverse_transform(B), axis=1)
    k = fit.kernel_
    room = k.diag(A) + k.diag(B) - 2.0 * k.paired(A, B)
    assert np.all(apart**2 <= 2.0 * fit.penalty_ * room * (1.0 + 1e-9) + 1e-12)


# New points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latent", "features", "cost"),
    [
        (Interval(8), 3, "squared"),
        (Interval(8), 40, "squared"),
        (Grid(4, 5), 3, "absolute"),
        (Grid(4, 5), 40, "squared"),
        (Circle(9), 40, "absolute"),
        (Sphere(20), 3, "squared"),
    ],
    ids=repr,
)
def test_coordinates_do_not_depend_on_the_batch(latent, features, cost):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, features)) + 0.1 * rng.normal(
        size=(60, features)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = PrincipalManifold(latent, lam=0.01, cost="squared", max_iter=4).fit(X)
    fit.fitted_ = fit.fitted_._replace(
        functional=replace(fit.fitted_.functional, distortion=as_distortion(cost))
    )
    new = rng.normal(size=(300, 3)) @ rng.normal(size=(3, features))
    new[::7, 1] = np.nan
    whole = fit.transform(new)
    for rows in (slice(0, 1), slice(7, 8), slice(250, 263), slice(299, None), rng.permutation(300)):
        assert_array_equal(fit.transform(new[rows]), whole[rows])
    assert_array_equal(fit.transform(new), whole)
    assert_array_equal(fit.inverse_transform(whole[5:6]), fit.inverse_transform(whole)[5:6])
    assert_allclose(latent.clip(whole), whole, rtol=4 * EPS)


def test_coordinates_come_back_where_the_map_is_injective():
    curve = PrincipalManifold(Interval(8), lam=1e-3).fit(wave(noise=0.02))
    Z = np.linspace(-0.99, 0.99, 301)[:, None]
    assert_allclose(curve.transform(curve.inverse_transform(Z)), Z, atol=1e-6)
    rng = np.random.default_rng(0)
    U = rng.uniform(-1, 1, (200, 2))
    X = np.c_[U, 0.3 * np.sin(2 * U[:, 0]) * U[:, 1]]
    sheet = PrincipalManifold(Grid(5, 5), lam=1e-2, width=2.0).fit(X)
    Z = rng.uniform(-0.95, 0.95, (300, 2))
    assert_allclose(sheet.transform(sheet.inverse_transform(Z)), Z, atol=1e-6)


@pytest.mark.parametrize("latent", [Interval(8), Grid(4, 4)], ids=repr)
def test_no_image_of_a_dense_grid_is_nearer(latent):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    fit = PrincipalManifold(latent, lam=1e-2).fit(X)
    new = 2.0 * rng.normal(size=(200, 3))
    images = fit.inverse_transform(latent.samples(5.0))
    nearest = ((new[:, None] - images[None]) ** 2).sum(axis=2).min(axis=1)
    assert np.all(fit.distortion(new) <= nearest * (1.0 + 1e-9))
    assert_allclose(fit.distortion(new), ((new - fit.reconstruct(new)) ** 2).sum(axis=1), rtol=1e-9)
    assert_allclose(fit.score(new), -fit.distortion(new).mean())


def test_many_features_are_projected_within_the_span_of_the_images():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 60)) + 0.2 * rng.normal(size=(50, 60))
    for cost in ("squared", "huber"):
        fit = PrincipalManifold(Interval(6), lam=1e-2, cost=cost, max_iter=500).fit(X)
        R = X - fit.reconstruct(X)
        assert_allclose(fit.distortion(X), as_distortion(cost)(R), rtol=1e-9)


def test_slopes_are_differences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    for latent, kernel in (
        (Grid(4, 4), None),
        (Grid(4, 4), Matern(0.8)),
        (Torus(4, 4), None),
        (Circle(6), None),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = PrincipalManifold(
                latent, lam=1e-2, kernel=kernel, null_space="linear", max_iter=3
            ).fit(X)
        Z = rng.uniform(-0.8, 0.8, (5, latent.dim)) + (3.0 if latent.periodic else 0.0)
        J = fit.jacobian(Z)
        h = 1e-5
        for k in range(latent.dim):
            e = h * np.eye(latent.dim)[k]
            slope = (fit.inverse_transform(Z + e) - fit.inverse_transform(Z - e)) / (2 * h)
            assert_allclose(J[:, k], slope, atol=1e-6 * np.abs(J).max())
        if latent.dim == 2:
            area = np.sqrt([np.linalg.det(j @ j.T) for j in J])
            assert_allclose(fit.magnification(Z), area, rtol=1e-8)


# Weights, gaps, costs -----------------------------------------------------------------------------


@QUIET
def test_a_weight_of_two_is_a_row_twice():
    X = wave(30)
    weights = np.tile([1.0, 2.0, 0.0], 10)
    rows = np.repeat(np.arange(30), weights.astype(int))
    how = {"lam": 0.01, "max_iter": 5, "tol": 0.0, "continuation": False}
    one = PrincipalManifold(Interval(6), **how).fit(X, sample_weight=weights)
    two = PrincipalManifold(Interval(6), **how).fit(X[rows])
    # Coordinates of an iteration are right to the root of the rounding of a cost.
    assert_allclose(one.history_["objective"], two.history_["objective"], rtol=1e-7)


def test_missing_cells_neither_pull_nor_are_pulled():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 300)
    X = np.c_[t, t**3, np.sin(t)] + 0.02 * rng.normal(size=(300, 3))
    gaps = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    gaps[np.isnan(gaps).all(axis=1)] = X[np.isnan(gaps).all(axis=1)]
    fit = PrincipalManifold(Interval(8), lam=1e-3, max_iter=1000).fit(gaps)
    filled = fit.impute(gaps)
    lost = np.isnan(gaps)
    assert_array_equal(filled[~lost], X[~lost])
    means = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    error = np.sqrt(np.mean((filled - X)[lost] ** 2))
    assert error < 0.4 * np.sqrt(np.mean((means - X)[lost] ** 2))
    # A cell that is absent from all but one row: that row alone decides it.
    with pytest.raises(ValueError, match="no known cell"):
        fit.transform([[np.nan, np.nan, np.nan]])
    with pytest.raises(ValueError, match="no known cell"):
        fit.fit(np.vstack([gaps, [[np.nan] * 3]]))


@pytest.mark.parametrize("cost", ["huber", "absolute"])
def test_robust_costs_resist_rows_far_away(cost):
    X = wave(80, 0.05)
    X = np.vstack([X, np.full((4, 2), 8.0) + 0.1 * wave(4)])
    start = np.clip(np.r_[X[:80, 0], np.zeros(4)], -1, 1)[:, None]
    how = {"lam": 5e-3, "init": start, "max_iter": 500, "tol": 1e-3}
    truth = np.c_[np.linspace(-0.9, 0.9, 50), np.sin(np.pi * np.linspace(-0.9, 0.9, 50))]
    chosen = HuberDistortion(0.1) if cost == "huber" else cost
    plain = PrincipalManifold(Interval(8), **how).fit(X)
    robust = PrincipalManifold(Interval(8), cost=chosen, **how).fit(X)
    assert np.sqrt(robust_error(robust, truth)) < 0.12 < 2.0 * np.sqrt(robust_error(plain, truth))


def robust_error(fit, truth):
    images = fit.inverse_transform(np.linspace(-1, 1, 500)[:, None])
    return np.median(((truth[:, None] - images[None]) ** 2).sum(axis=2).min(axis=1))


def test_a_metric_is_a_change_of_coordinates():
    X = wave()
    D = np.array([[2.0, 0.5], [0.5, 1.0]])
    root = la.cholesky(D, lower=True)
    how = {"lam": 0.01, "max_iter": 400}
    fit = PrincipalManifold(Interval(6), cost=MetricDistortion(D), **how).fit(X)
    plain = PrincipalManifold(Interval(6), **how).fit(la.solve_triangular(root, X.T, lower=True).T)
    assert_allclose(fit.objective_, plain.objective_)
    assert_allclose(fit.inverse_transform([[0.3]]), plain.inverse_transform([[0.3]]) @ root.T)
    R = X - fit.reconstruct(X)
    assert_allclose(fit.distortion(X), np.einsum("nd,nd->n", R @ la.inv(D), R), rtol=1e-9)


# Starts, blocks, refusals -------------------------------------------------------------------------


@QUIET
def test_more_starts_are_never_worse_and_seeds_repeat():
    X = ring(60)
    how = {"lam": 1e-3, "max_iter": 40, "random_state": 0}
    one, five, again = (PrincipalManifold(Interval(8), n_init=n, **how).fit(X) for n in (1, 4, 4))
    assert five.objective_ <= one.objective_
    assert len(five.local_minima_) == 4
    assert five.objective_ == five.local_minima_.min()
    assert_array_equal(five.local_minima_, again.local_minima_)
    assert_array_equal(five.embedding_, again.embedding_)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_a_fit_starts_on_the_principal_figure(monkeypatch, scale):
    """A segment or an ellipse whose points have the variance of the rows along each direction."""
    begun = []

    def start(functional, directions, scale):
        begun.append((functional, start_from(functional, directions, scale)))
        return begun[-1][1]

    monkeypatch.setattr("mercer.manifold.principal_manifold.start_from", start)
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = rng.normal(size=(200, 3)) * [3.0, 1.5, 0.2] @ turn + [5.0, -1.0, 0.0]
    mean = X.mean(axis=0)
    _, deviations, axes = np.linalg.svd((X - mean) / np.sqrt(len(X)), full_matrices=False)
    axes *= np.sign(axes[range(3), np.abs(axes).argmax(axis=1)])[:, None]
    axes *= deviations[:, None]
    how = {"lam": 1e-12, "continuation": False, "max_iter": 1, "init_scale": scale}
    for latent in (Interval(8), Circle(16)):
        with pytest.warns(ConvergenceWarning):
            PrincipalManifold(latent, **how).fit(X)
        functional, W = begun.pop()
        z = latent.nodes[:, 0]
        # The mean of z^2 is a third on [-1, 1], that of squares of sine and cosine a half.
        columns = [np.sqrt(3) * z] if len(z) == 8 else [np.sqrt(2) * f(z) for f in (np.cos, np.sin)]
        figure = np.stack(columns, axis=1) @ axes[: len(columns)]
        found = functional.basis(latent.nodes) @ W
        assert_allclose(functional.images(found), mean + scale * figure, atol=1e-4 * deviations[0])
    assert not begun


def test_projections_end_with_the_time(monkeypatch):
    X = wave(100)
    fitted = PrincipalManifold(Interval(8), max_iter=5, tol=0.1).fit(X)
    steps, plain = [], _Search._step

    def step(self, *args):
        steps.append(None)
        return plain(self, *args)

    def counted(left):
        steps.clear()
        with monkeypatch.context() as patch:
            patch.setattr("mercer.manifold.projection.time_left", lambda: left)
            patch.setattr("mercer.manifold.projection._Search._step", step)
            fitted.transform(X)
        return len(steps)

    assert counted(0.0) == 1 < counted(np.inf)


def test_blocks_take_a_step_back_that_was_too_long(monkeypatch):
    """And ask for no denser grid of projections, which is for rows whose basin was lost."""
    asked, plain = [], alternation.project_block

    def spy(block, shared, state):
        asked.append(state[1])
        return plain(block, shared, state)

    for name in ("FARTHER", "FARTHEST"):  # always nearly twice the step to the minimum
        monkeypatch.setattr(alternation, name, 1.95)
    monkeypatch.setattr(alternation, "project_block", spy)
    X = wave(60)
    fitted = PrincipalManifold(Interval(6), lam=0.01, continuation=False, tol=1e-3)
    fitted.fit(Arrays(X))
    assert set(asked) == {1.0}
    assert len(asked) > fitted.n_iter_  # passes that were made once more
    assert np.all(np.diff(fitted.history_["objective"]) <= 1e-12)


def test_blocks_of_rows_make_the_same_manifold():
    rng = np.random.default_rng(0)
    X = wave(500)
    weights = rng.uniform(0.5, 2.0, 500)
    how = {"lam": 0.01, "max_iter": 500, "tol": 1e-7, "continuation": False}
    whole = PrincipalManifold(Interval(8), **how).fit(X, sample_weight=weights)
    blocks = PrincipalManifold(Interval(8), **how).fit(Arrays(X, s=weights))
    assert np.all(np.diff(blocks.history_["objective"]) <= 1e-12)
    assert_allclose(blocks.objective_, whole.objective_, rtol=1e-4)
    Z = np.linspace(-1, 1, 50)[:, None]
    assert_allclose(blocks.inverse_transform(Z), whole.inverse_transform(Z), atol=0.02)
    assert not hasattr(blocks, "embedding_")
    assert_array_equal(blocks.transform(Arrays(X)), blocks.transform(X))
    gaps = np.where(rng.uniform(size=X.shape) < 0.05, np.nan, X)
    gaps = gaps[~np.isnan(gaps).all(axis=1)]
    for cost in ("squared", HuberDistortion(0.2)):
        fit = PrincipalManifold(Interval(8), cost=cost, **how).fit(Arrays(gaps))
        assert np.all(np.diff(fit.history_["objective"]) <= 1e-12)
    with pytest.raises(ValueError, match="medians are no sums"):
        PrincipalManifold(Interval(8), cost="absolute").fit(Arrays(X))


@QUIET
def test_the_distortion_is_that_of_the_manifold_that_is_kept():
    """In blocks it is that at the coordinates of the last pass, from which nearer ones follow."""
    X = wave(60)
    fit = PrincipalManifold(Interval(8), lam=0.01, max_iter=2, continuation=False)
    # Projections are as near as the rounding of squared distances.
    assert_allclose(fit.fit(X).distortion_, fit.distortion(X).mean(), rtol=1e-7)
    assert fit.fit(Arrays(X)).distortion_ >= fit.distortion(X).mean()
    assert_allclose(fit.objective_, fit.history_["objective"][-1], rtol=1e-12)
    assert fit.history_["objective"][-2] > 1.01 * fit.objective_


@QUIET
def test_a_warm_start_goes_on_where_the_last_fit_ended():
    X = wave(200)
    fit = PrincipalManifold(Interval(8), lam=0.01, warm_start=True, max_iter=500, tol=1e-7)
    first = fit.fit(X[:100]).fitted_.W
    again = fit.set_params(max_iter=1).fit(X[:100])
    assert again.history_["objective"][0] <= again.objective_ * (1.0 + 1e-5)
    assert_allclose(again.fitted_.W, first, atol=0.05 * np.abs(first).max())
    fit.set_params(max_iter=300, tol=1e-5).fit(Arrays(X))
    cold = PrincipalManifold(Interval(8), lam=0.01).fit(X)
    assert fit.objective_ <= cold.objective_ * 1.01
    with pytest.raises(ValueError, match="these are others"):
        fit.set_params(latent=Interval(9)).fit(X)


def test_what_cannot_be_fitted_is_refused():
    X = wave()
    for how, match in (
        ({"latent": 4}, "1, 2 or 3 dimensions"),
        ({"latent": Grid(), "penalty": "length"}, "more than one dimension"),
        ({"latent": Interval(), "penalty": "length", "kernel": Gaussian()}, "kernel of its own"),
        ({"latent": Interval(), "cost": "absolute", "penalty": "l1"}, "linear program"),
        ({"latent": Interval(), "cost": MetricDistortion(np.eye(3))}, "metric of 3 features"),
    ):
        with pytest.raises(ValueError, match=match):
            PrincipalManifold(**how).fit(X)
    with pytest.raises(ValueError, match="zero for all samples"):
        PrincipalManifold(1).fit(X, sample_weight=np.zeros(100))
    fit = PrincipalManifold(1, lam=0.01).fit(X)
    with pytest.raises(ValueError, match="coordinates have 1 columns"):
        fit.inverse_transform([[0.0, 0.0]])
    with pytest.raises(ValueError, match="finite"):
        fit.inverse_transform([[np.nan]])
    with pytest.warns(ConvergenceWarning, match="still fell"):
        PrincipalManifold(1, lam=0.01, max_iter=2, tol=0.0).fit(X)


def test_the_share_of_the_variance_that_the_manifold_explains():
    X, s = wave(60), np.random.default_rng(3).uniform(0.2, 2.0, 60)
    fit = PrincipalManifold(Interval(8), lam=0.01).fit(X, sample_weight=s)
    left = ((X - fit.inverse_transform(fit.embedding_)) ** 2).sum(axis=1)
    around = ((X - np.average(X, axis=0, weights=s)) ** 2).sum(axis=1)
    assert_allclose(fit.explained_variance_ratio_, 1.0 - s @ left / (s @ around), rtol=1e-9)


@QUIET
def test_missing_cells_are_no_variance_that_is_left():
    X = wave(60)
    X[::7, 0] = np.nan
    fit = PrincipalManifold(Interval(8), lam=0.01, max_iter=2, continuation=False).fit(X)
    left = np.nansum((X - fit.inverse_transform(fit.embedding_)) ** 2)
    around = np.nansum((X - np.nanmean(X, axis=0)) ** 2)
    assert_allclose(fit.explained_variance_ratio_, 1.0 - left / around, rtol=1e-9)


def test_a_manifold_that_is_too_stiff_says_so():
    with pytest.warns(UserWarning, match="too stiff"):
        PrincipalManifold(1, lam=100.0).fit(wave())


def test_a_manifold_that_bends_slowly_finds_the_order_of_the_rows():
    for seed in range(3):
        X = wave(seed=seed)
        slow, fast = (
            PrincipalManifold(Interval(10), lam=0.01, continuation=flag).fit(X)
            for flag in (True, False)
        )
        t = np.argsort(np.argsort(X[:, 0]))
        order = np.argsort(np.argsort(slow.embedding_[:, 0]))
        assert abs(np.corrcoef(t, order)[0, 1]) > 0.97
        assert slow.objective_ < fast.objective_


def test_a_search_out_of_time_says_so():
    with pytest.warns(ConvergenceWarning):
        PrincipalManifold(Interval(8), max_time=0.0).fit(wave())
