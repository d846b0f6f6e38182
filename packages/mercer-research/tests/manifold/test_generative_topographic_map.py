"""Generative topographic maps: likelihoods by hand, ascent at every step, the hard limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.data import as_source
from mercer.kernels import Gaussian
from mercer.manifold import Circle, Grid, Interval, PrincipalManifold
from mercer.manifold.adaptation import Penalty
from mercer.manifold.alternation import Functional
from mercer.manifold.distortions import SquaredDistortion
from mercer.manifold.latent import Sphere
from mercer_research.manifold import GenerativeTopographicMap
from mercer_research.manifold.expectation_maximization import (
    Mixture,
    expect_block,
    maximize,
    responsibilities,
)

LATENTS = [Interval(5), Grid(3, 3), Circle(6), Sphere(8)]


def wave(n=100, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    return np.c_[t, np.sin(np.pi * t)] + noise * rng.normal(size=(n, 2))


def total_of(X, s=None):
    source = as_source(X) if s is None else as_source(X, sample_weight=s)
    return lambda work, shared, state: source.total(work, shared, state)


def test_log_density_is_that_of_the_mixture():
    X = wave()
    X[3, 0] = X[5, 1] = np.nan
    made = GenerativeTopographicMap(Interval(6), density=0.05).fit(X)
    images = made.inverse_transform(made.points_)
    noise = 1.0 / made.beta_
    for i in (0, 3, 5):
        known = ~np.isnan(X[i])
        logs = [
            multivariate_normal(f[known], noise * np.eye(known.sum())).logpdf(X[i, known])
            for f in images
        ]
        assert_allclose(made.score_samples(X[[i]])[0], logsumexp(logs) - np.log(len(images)))
        assert_allclose(
            made.responsibilities(X[[i]])[0], np.exp(logs - logsumexp(logs)), atol=1e-12
        )
    assert_allclose(made.score(X), np.mean(made.score_samples(X)))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 3),
    st.sampled_from(["kernel", "weight decay"]),
    st.booleans(),
    st.floats(-4, 2),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_step_lowers_the_penalized_likelihood(seed, which, penalty, gaps, power):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=4) * 10
    if gaps:
        X[rng.uniform(size=X.shape) < 0.15] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    made = GenerativeTopographicMap(
        LATENTS[which], penalty=penalty, mu=10.0**power, density=0.2, max_iter=25, tol=0.0
    ).fit(X, sample_weight=rng.uniform(0.1, 2.0, 30))
    value = made.history_["objective"]
    assert np.all(np.diff(value) >= -1e-9 * np.maximum(1.0, np.abs(value[:-1])))


@pytest.mark.parametrize("penalty", ["kernel", "weight decay"])
def test_the_map_is_stationary(penalty):
    """The gradient of the penalized likelihood, written out for the mixture, vanishes."""
    X = wave(60)
    made = GenerativeTopographicMap(
        Interval(5), penalty=penalty, mu=0.5, density=0.1, tol=0.0, max_iter=5000
    ).fit(X)
    K = made.kernel_(made.points_, made.nodes_)
    R = made.responsibilities(X)
    F = K @ made.coef_ + made.null_space_coef_ + made.mean_
    assert_allclose(F, made.inverse_transform(made.points_))
    pull = made.beta_ * (R.T @ X - R.sum(axis=0)[:, None] * F)
    S = made.kernel_(made.nodes_) if penalty == "kernel" else np.eye(len(made.nodes_))
    slope = K.T @ pull - made.mu_ * S @ made.coef_
    assert np.abs(slope).max() < 1e-5 * np.abs(K.T @ np.abs(pull)).max()
    assert np.abs(pull.sum(axis=0)).max() < 1e-5 * np.abs(pull).sum()
    apart = ((X[:, None] - F[None]) ** 2).sum(axis=2)
    assert_allclose(1.0 / made.beta_, np.sum(R * apart) / X.size, rtol=1e-6)
    Q = np.trace(made.coef_.T @ S @ made.coef_)
    value = np.sum(made.score_samples(X)) - 0.5 * made.mu_ * Q
    assert_allclose(value, made.history_["objective"][-1], rtol=1e-9)


@pytest.mark.parametrize("penalty", ["kernel", "weight decay"])
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_the_limit_of_no_noise_is_the_adaptation_of_the_hard_machine(penalty, lam):
    X = wave(80)
    made = GenerativeTopographicMap(Interval(8), penalty=penalty, mu=1.0, density=0.1).fit(X)
    basis, mixture = made.fitted_.basis, made.fitted_.mixture
    beta = 1e9
    sharp = Mixture(mixture.P, mixture.W, beta, mixture.mean)
    sums = expect_block(next(as_source(X).blocks(100)), False, sharp)
    soft = maximize(sharp, sums, basis.r, 0.5 * beta * lam * len(X), fixed=True, floor=0.0).W
    nearest = np.argmax(responsibilities(sharp, X)[0], axis=1)
    functional = Functional(basis, SquaredDistortion(), Penalty(penalty, lam, basis.r))
    hard = functional.adapt(mixture.P[nearest], X - mixture.mean, np.ones(80), None).W
    assert_allclose(mixture.P @ soft, mixture.P @ hard, atol=1e-8)


def test_the_limit_of_no_noise_is_the_principal_manifold():
    """Latent points a 400th of the interval apart move the curve by less than their distance."""
    X = wave(80)
    lam = 1e-2
    beta = 1e6
    unit = X.var(axis=0).mean()
    soft = GenerativeTopographicMap(
        Interval(8),
        mu=0.5 * beta * lam * 80 * unit,
        beta=beta,
        density=1.0,
        tol=1e-8,
        max_iter=5000,
    ).fit(X)
    assert_allclose(soft.mu_ / soft.beta_, 0.5 * lam * 80)
    # There are several local minima: the hard machine starts in the one that the soft one found.
    start = soft.transform(X)
    hard = PrincipalManifold(Interval(8), lam=lam, init=start, tol=1e-8, max_iter=1000).fit(X)
    Z = np.linspace(-1, 1, 50)[:, None]
    apart = np.linalg.norm(soft.inverse_transform(Z) - hard.inverse_transform(Z), axis=1)
    assert apart.max() < 0.02 * hard.length()
    best = ((X[:, None] - soft.inverse_transform(soft.points_)[None]) ** 2).sum(axis=2).min(axis=1)
    assert_allclose(best.mean(), hard.distortion_, rtol=0.02)


def test_doubling_the_nodes_moves_the_curve_under_weight_decay_only():
    """The kernel is the same for all nodes: its norm does not depend on them, their squares do."""
    X = wave(60)
    Z = np.linspace(-1, 1, 100)[:, None]
    moved = {}
    for penalty in ("kernel", "weight decay"):
        few, many = (
            GenerativeTopographicMap(
                Interval(M),
                kernel=Gaussian(0.3),
                penalty=penalty,
                mu=1.0,
                tol=1e-6,
                density=0.2,
                max_iter=3000,
            )
            .fit(X)
            .inverse_transform(Z)
            for M in (20, 40)
        )
        moved[penalty] = np.abs(few - many).max() / np.ptp(few)
    assert moved["kernel"] < 0.003
    assert moved["weight decay"] > 10 * moved["kernel"]
    assert moved["weight decay"] > 0.003


def test_the_evidence_finds_a_prior_that_new_rows_like():
    X, new = wave(50), wave(1000, seed=1)
    made = GenerativeTopographicMap(Interval(10)).fit(X)
    grid = [
        GenerativeTopographicMap(Interval(10), mu=mu, max_iter=2000).fit(X).score(new)
        for mu in (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
    ]
    assert made.score(new) > max(grid) - 0.1
    assert made.score(new) > min(grid) + 0.4
    # Where it ends, the effective number of coefficients explains their size.
    P, r = made.fitted_.mixture.P, made.fitted_.basis.r
    A = made.beta_ * (P * made.responsibilities(X).sum(axis=0)[:, None]).T @ P
    A = A[:r, :r] - np.outer(A[:r, r], A[r, :r]) / A[r, r]
    gamma = 2 * np.trace(np.linalg.solve(A + made.mu_ * np.eye(r), A))
    assert_allclose(gamma / np.sum(made.fitted_.mixture.W[:r] ** 2), made.mu_, rtol=2e-3)


def test_noise_and_curve_are_recovered():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 1000)
    X = np.c_[t, t**2] + 0.05 * rng.normal(size=(1000, 2))
    made = GenerativeTopographicMap(Interval(8)).fit(X)
    assert_allclose(1.0 / np.sqrt(made.beta_), 0.05, rtol=0.1)
    F = made.inverse_transform(np.linspace(-0.9, 0.9, 50)[:, None])
    assert np.abs(F[:, 1] - F[:, 0] ** 2).max() < 0.05
    assert np.all(np.abs(np.corrcoef(made.embedding_[:, 0], t)) > 0.99)


def test_rows_far_from_the_origin():
    X = wave()
    near = GenerativeTopographicMap(Interval(6), mu=1.0).fit(X)
    far = GenerativeTopographicMap(Interval(6), mu=1.0).fit(X + 1e6)
    # Rows near 1e6 are known to 1e-10.
    assert_allclose(far.transform(X + 1e6), near.transform(X), atol=1e-6)
    assert_allclose(far.score(X + 1e6), near.score(X), atol=1e-6)


def test_coordinates_are_mean_or_mode():
    X = wave()
    mean = GenerativeTopographicMap(Interval(6)).fit(X)
    mode = GenerativeTopographicMap(Interval(6), coordinates="mode").fit(X)
    R = mean.responsibilities(X)
    assert_allclose(mean.transform(X), R @ mean.points_)
    assert_array_equal(mode.transform(X), mode.points_[R.argmax(axis=1)])
    assert_array_equal(mean.embedding_, mean.transform(X))
    assert_array_equal(mean.transform(X[7:8]), mean.transform(X)[7:8])


def test_angles_have_their_mean_across_zero():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 300)
    X = np.c_[np.cos(t), np.sin(t)] + 0.1 * rng.normal(size=(300, 2))
    made = GenerativeTopographicMap(Circle(10)).fit(X)
    Z = made.transform(X)[:, 0]
    assert np.all((Z >= 0) & (2 * np.pi > Z))
    direction = made.inverse_transform(Z[:, None])
    cosine = np.sum(direction * np.c_[np.cos(t), np.sin(t)], axis=1)
    assert cosine.min() > 0.85  # noise of 0.1 turns by 0.3 at three deviations


def test_missing_cells_are_filled_by_their_mean_given_the_known_cells():
    X = wave(500, noise=0.02)
    made = GenerativeTopographicMap(Interval(12)).fit(X)
    gap = np.array([[0.3, np.nan]])
    filled = made.impute(gap)
    assert filled[0, 0] == 0.3
    assert abs(filled[0, 1] - np.sin(0.3 * np.pi)) < 0.05
    images = made.inverse_transform(made.points_)
    w = np.exp(-0.5 * made.beta_ * (0.3 - images[:, 0]) ** 2)
    assert_allclose(filled[0, 1], w @ images[:, 1] / w.sum(), rtol=1e-9)
    with pytest.raises(ValueError, match="no known cell"):
        GenerativeTopographicMap(Interval(5)).fit([[np.nan, np.nan], [1.0, 2.0], [0.0, 1.0]])


def test_weight_two_is_the_row_twice():
    X = wave(40)
    s = np.array([0, 1, 2, 1] * 10)
    one = GenerativeTopographicMap(Interval(5)).fit(X, sample_weight=s)
    other = GenerativeTopographicMap(Interval(5)).fit(np.repeat(X, s, axis=0))
    assert_allclose(one.score_samples(X), other.score_samples(X), atol=1e-6)


def test_rows_in_blocks():
    X = wave(300)
    whole = GenerativeTopographicMap(Interval(6)).fit(X)
    blocks = GenerativeTopographicMap(Interval(6)).fit(as_source(X))
    assert_allclose(blocks.score_samples(X), whole.score_samples(X), atol=1e-9)
    assert_allclose(blocks.transform(as_source(X)), whole.transform(X), atol=1e-9)
    assert not hasattr(blocks, "embedding_")


def test_draws_have_the_density():
    made = GenerativeTopographicMap(Interval(10)).fit(wave(500))
    drawn = made.sample(4000, random_state=0)
    # The mean log density of new rows is that of draws, up to five of their standard errors.
    new = made.score_samples(wave(4000, seed=2))
    spread = new.std() * np.sqrt(2 / 4000)
    assert abs(made.score(drawn) - new.mean()) < 5 * spread + 0.02


def test_a_fit_that_does_not_end_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        GenerativeTopographicMap(Interval(5), mu=1.0, max_iter=2).fit(wave())


@parametrize_with_checks(
    [
        GenerativeTopographicMap(Interval(4), mu=1.0, density=0.05, tol=1e-2),
        GenerativeTopographicMap(
            Interval(4), mu=1.0, density=0.05, penalty="weight decay", tol=1e-2
        ),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_the_unit_of_mu_is_the_mean_variance_whatever_is_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1.0, 2.0, 0.5]
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    with pytest.warns(ConvergenceWarning):
        model = GenerativeTopographicMap(Interval(6), mu=1.0, max_iter=2).fit(X)
    assert model.mu_ * np.nanvar(X, axis=0).mean() == pytest.approx(1.0, rel=1e-12)
