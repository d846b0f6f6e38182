"""Causal filters, autoregressions, memories and state spaces against their definitions."""

import numpy as np
import pytest
from scipy import linalg, signal

from mercer_research.series import BlockedSplit
from mercer_research.series.autoregression import (
    AutoRegression,
    SpatialAutoRegression,
    exponential_memory,
    lag_matrix,
)
from mercer_research.series.state_space import ho_kung, markov_parameters
from mercer_research.series.wiener import wiener_hopf, wiener_taps

rng = np.random.default_rng(0)

# Wiener-Hopf ------------------------------------------------------------------------------------

_root = rng.normal(size=(6, 9))
R_U, R_YU = _root @ _root.T, rng.normal(size=(6, 9)) @ _root.T


@pytest.mark.parametrize(("mode", "seen"), [("filter", 1), ("predictor", 0), ("smoother", None)])
def test_every_row_is_a_regression_on_what_it_may_see(mode, seen):
    """Row i solves the normal equations in u_1 ... u_i."""
    K = wiener_hopf(R_U, R_YU, mode)
    for i in range(6):
        upto = 6 if seen is None else i + seen
        row = np.zeros(6)
        if upto:
            row[:upto] = np.linalg.solve(R_U[:upto, :upto], R_YU[i, :upto])
        np.testing.assert_allclose(K[i], row, rtol=0, atol=1e-11)
        # The condition [R_YU - K R_U]_lower = 0.
        np.testing.assert_allclose((R_YU - K @ R_U)[i, :upto], 0.0, atol=1e-11)


def test_the_formula_with_unit_triangular_factors():
    """K = [R_YU L^-T D^-1]_lower L^-1 with R_U = L D L'."""
    C = linalg.cholesky(R_U, lower=True)
    D = np.diag(C.diagonal() ** 2)
    L = C / C.diagonal()
    inverse = np.linalg.inv(L)
    exact = np.tril(R_YU @ inverse.T @ np.linalg.inv(D)) @ inverse
    np.testing.assert_allclose(wiener_hopf(R_U, R_YU), exact, rtol=0, atol=1e-11)


def test_causality():
    K = wiener_hopf(R_U, R_YU)
    u = rng.normal(size=6)
    for j in range(6):
        bumped = u.copy()
        bumped[j] += 1.0
        assert (K @ bumped == K @ u)[:j].all()


def test_singular_covariances_need_a_jitter():
    R = np.ones((3, 3))
    with pytest.raises(ValueError, match="add a jitter"):
        wiener_hopf(R - 0.1, R)
    np.testing.assert_allclose(
        wiener_hopf(R, R, "smoother", jitter=1e-8) @ np.ones(3), 1.0, atol=1e-6
    )
    with pytest.raises(ValueError, match="mode must be"):
        wiener_hopf(R_U, R_YU, "future")
    with pytest.raises(ValueError, match="as many columns"):
        wiener_hopf(R_U, R_YU[:, :2])


def test_taps_solve_the_toeplitz_normal_equations():
    u = rng.normal(size=400)
    y = np.convolve(u, [0.5, 0.3, -0.2])[:400] + 0.1 * rng.normal(size=400)
    h = wiener_taps(u, y, 4)
    U = np.column_stack([np.pad(u - u.mean(), (k, 3 - k)) for k in range(4)])
    Y = np.pad(y - y.mean(), (0, 3))
    np.testing.assert_allclose(U.T @ U @ h, U.T @ Y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(h, [0.5, 0.3, -0.2, 0.0], atol=0.05)


# Autoregressions --------------------------------------------------------------------------------


def test_delays_of_a_series_and_of_another():
    y, u = np.arange(8.0), 10.0 + np.arange(8.0)
    X, target, positions = lag_matrix(y, [0, 2], horizon=2, exogenous=u)
    np.testing.assert_array_equal(target, y[positions])
    np.testing.assert_array_equal(positions, [4, 5, 6, 7])
    np.testing.assert_array_equal(X[0], [2.0, 0.0, 12.0, 10.0])
    with pytest.raises(ValueError, match="too short"):
        lag_matrix(y, 8)
    with pytest.raises(ValueError, match="horizon at least 1"):
        lag_matrix(y, 2, horizon=0)
    with pytest.raises(ValueError, match="8 rows"):
        lag_matrix(y, 2, exogenous=np.ones(3))


def test_an_autoregression_is_recovered_and_continued():
    """A deterministic recursion is recovered exactly, a random one within its errors."""
    y = [1.0, 0.4]
    for _ in range(30):
        y.append(0.6 * y[-1] - 0.3 * y[-2] + 0.5)
    model = AutoRegression.fit(y[:25], 2, intercept=True)
    np.testing.assert_allclose(model.coef, [0.6, -0.3], rtol=1e-9)
    assert model.intercept == pytest.approx(0.5, rel=1e-9)
    np.testing.assert_allclose(model.predict(y[:25], 7), y[25:], rtol=1e-9)
    assert model.stable
    assert not AutoRegression(np.array([1.1]), 0.0, 1.0).stable
    noise = 2.0 * rng.normal(size=5000)
    random = signal.lfilter([1.0], [1.0, -0.6, 0.3], noise)
    fitted = AutoRegression.fit(random, 2)
    # Standard errors are sqrt((1 - 0.3^2) / 5000) = 0.0135.
    np.testing.assert_allclose(fitted.coef, [0.6, -0.3], rtol=0, atol=4 * 0.0135)
    assert fitted.noise_variance == pytest.approx(4.0, rel=0.1)
    with pytest.raises(ValueError, match="last 2 values"):
        model.predict([1.0])


def test_neighbours_on_both_sides():
    z = rng.normal(size=30)
    model = SpatialAutoRegression.fit(z, 2, intercept=True)
    inner = np.arange(2, 28)
    design = np.column_stack([z[inner - k] + z[inner + k] for k in (1, 2)] + [np.ones(26)])
    exact = np.linalg.lstsq(design, z[inner], rcond=None)[0]
    np.testing.assert_allclose([*model.coef, model.intercept], exact, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict(z), design @ exact, rtol=0, atol=1e-12)
    assert not model.one_sided
    assert AutoRegression.one_sided
    with pytest.raises(ValueError, match="too few"):
        SpatialAutoRegression.fit(z[:4], 2)
    with pytest.raises(ValueError, match="too few"):
        AutoRegression.fit(z[:5], 4)


def test_exponential_memory():
    """Exact without noise, and from a simulated series within its error."""
    sigma = 5.0
    a = np.exp(-1 / sigma)
    found = exponential_memory(a ** np.arange(20.0))
    assert (found.decay, found.time) == pytest.approx((a, sigma), rel=1e-12)
    # The sum over the past and the recursion are the same series.
    e = rng.normal(size=4000)
    y = signal.lfilter([1.0], [1.0, -a], e)
    direct = sum(np.exp(-tau / sigma) * e[100 - tau] for tau in range(101))
    assert y[100] == pytest.approx(direct, rel=1e-10)
    # The standard error of a is sqrt((1 - a^2)/4000) = 0.009.
    assert exponential_memory(y).decay == pytest.approx(a, abs=4 * 0.009)
    x = np.sin(0.3 * np.arange(4000))
    driven = signal.lfilter([1.0], [1.0, -a], e + 2.0 * x)
    found = exponential_memory(driven, x)
    assert found.decay == pytest.approx(a, abs=4 * 0.009)
    assert found.coef[0] == pytest.approx(2.0, abs=0.15)


def test_memories_at_the_bounds():
    growing = exponential_memory(1.5 ** np.arange(9.0))
    assert (growing.decay, growing.time) == (1.0, np.inf)
    alternating = exponential_memory((-0.5) ** np.arange(9.0))
    assert alternating.decay == pytest.approx(-0.5)
    assert alternating.time == 0.0
    with pytest.raises(ValueError, match="9 rows"):
        exponential_memory(np.ones(9), np.ones(5))


@pytest.mark.parametrize("one_sided", [True, False])
def test_splits_respect_time(one_sided):
    splitter = BlockedSplit(4, gap=2, one_sided=one_sided)
    splits = list(splitter.split(np.zeros(43)))
    assert splitter.get_n_splits() == len(splits) == 4
    tested = np.concatenate([test for _, test in splits])
    assert len(np.unique(tested)) == len(tested)
    for train, test in splits:
        assert train.max() < test[0] or not one_sided
        assert min(abs(train[:, None] - test).ravel()) > 2
    if not one_sided:
        np.testing.assert_array_equal(tested, np.arange(43))
    with pytest.raises(ValueError, match="too few"):
        list(BlockedSplit(3, gap=5).split(np.zeros(8)))


# State spaces -----------------------------------------------------------------------------------


def system(states=3, outputs=2, inputs=2, seed=0):
    r = np.random.default_rng(seed)
    A = r.normal(size=(states, states))
    A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
    return signal.StateSpace(
        A,
        r.normal(size=(states, inputs)),
        r.normal(size=(outputs, states)),
        r.normal(size=(outputs, inputs)),
        dt=1.0,
    )


def test_markov_parameters_are_the_impulse_response_of_scipy():
    s = system()
    h = markov_parameters(s, 12)
    _, responses = signal.dimpulse(s, n=12)
    for j, response in enumerate(responses):
        np.testing.assert_allclose(h[:, :, j], response, rtol=0, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
def test_systems_are_realized_from_their_response(outputs):
    s = system(outputs=outputs, inputs=outputs)
    h = markov_parameters(s, 20)
    found = ho_kung(h if outputs > 1 else h[:, 0, 0])
    assert len(found.A) == 3
    np.testing.assert_allclose(markov_parameters(found, 40), markov_parameters(s, 40), atol=1e-9)
    poles = [np.sort_complex(np.linalg.eigvals(part.A)) for part in (found, s)]
    np.testing.assert_allclose(poles[0], poles[1], atol=1e-9)


def test_covariances_are_realized_too():
    """The covariances of an autoregression of order 2 decay like a system with two states."""
    model = signal.dlti([1.0], [1.0, -0.6, 0.3])
    response = np.ravel(signal.dimpulse(model, n=400)[1][0])
    covariances = np.array([response[: 380 - k] @ response[k:380] for k in range(20)])
    found = ho_kung(covariances, tol=1e-8)
    poles = np.sort_complex(np.linalg.eigvals(found.A))
    np.testing.assert_allclose(poles, np.sort_complex(np.roots([1.0, -0.6, 0.3])), atol=1e-8)


def test_a_smaller_order_reduces_the_system():
    s = system()
    h = markov_parameters(s, 30)
    assert len(ho_kung(h, order=2).A) == 2
    with pytest.raises(ValueError, match="give more"):
        ho_kung(h[:4], order=9)
    with pytest.raises(ValueError, match="three Markov parameters"):
        ho_kung([1.0, 2.0])
    with pytest.raises(ValueError, match="discrete time"):
        markov_parameters(signal.StateSpace([[1.0]], [[1.0]], [[1.0]], [[0.0]]), 3)
