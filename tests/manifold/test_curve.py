"""Principal curves of a given length: their length, speed, and the curves behind the samples."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.manifold import HuberDistortion, Interval, PrincipalCurve, PrincipalManifold
from mercer.manifold.curve import FACTOR, NEAR, STIFF, Step


def wave(n=100, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    return np.c_[t, np.sin(np.pi * t)] + noise * rng.normal(size=(n, 2)), t


def ring(n=100, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.c_[np.cos(t), np.sin(t)] + 0.1 * rng.normal(size=(n, 2)), t


def measured(curve, n=5000):
    """Return the length by a fine polygon through points of the curve."""
    ends = curve.manifold_.latent.ends
    F = curve.inverse_transform(np.linspace(*ends, n)[:-1, None])
    F = np.vstack([F, F[:1]]) if curve.closed else F
    return np.linalg.norm(np.diff(F, axis=0), axis=1).sum()


@pytest.mark.parametrize("length", [3.0, 4.0])
def test_a_curve_has_the_length_that_was_asked_for(length):
    X, _ = wave(50)
    made = PrincipalCurve(8, length=length, n_init=1).fit(X)
    assert 0.99 * length <= made.length_ <= length
    assert_allclose(measured(made), made.length_, rtol=1e-3)


@pytest.mark.parametrize("closed", [False, True])
def test_the_length_is_that_of_the_polygon(closed):
    X, _ = ring(60)
    made = PrincipalCurve(9, lam=0.01, closed=closed, n_init=1).fit(X)
    corners = np.vstack([made.vertices_, made.vertices_[:1]]) if closed else made.vertices_
    length = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()
    assert made.length_ == pytest.approx(length, rel=1e-12)


class Lengths(PrincipalCurve):
    """Curves whose lengths are a function of the weight, with the weights that were asked."""

    def _at(self, X, s, lam, Z, path, tol=0.0):
        curve = SimpleNamespace(lam=lam, objective_=0.0)
        path.append(Step(curve, SimpleNamespace(total=self.of(lam)), True))
        return path[-1]


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("start", [1e-5, 0.01, 3.0, 1e3])
def test_a_length_is_found_from_longer_and_from_shorter_curves(power, start, monkeypatch):
    monkeypatch.setattr(Step, "even", None)
    made, path = Lengths(8, length=2.0), []
    made.of = lambda lam: 5.0 / (1.0 + lam) ** power
    short = made._at(None, None, start, None, path)
    found = made._bisect(None, None, 2.0, short, path)
    assert (1.0 - NEAR) * 2.0 <= found.ruler.total <= 2.0


@pytest.mark.parametrize("closed", [False, True])
def test_a_curve_grows_from_a_stiff_one_to_its_weight(closed, monkeypatch):
    monkeypatch.setattr(Step, "even", None)
    made, path = Lengths(8, closed=closed), []
    monkeypatch.setattr(made, "_others", lambda *arguments: [])
    made.of = lambda lam: 1.0
    made._follow(None, None, 3e-3, path)
    weights = np.array([step.curve.lam for step in path])
    assert weights[0] == STIFF[closed]
    assert_allclose(weights[1:-3] / weights[:-4], 1.0 / FACTOR)
    assert np.all(weights[-3:] == 3e-3)
    assert 3e-3 < weights[-4] <= FACTOR * 3e-3


def test_a_length_that_is_not_reached_is_said():
    X, _ = wave(50)
    with pytest.warns(
        ConvergenceWarning, match=r"has the length \d\.\d+ and not length=30: the rows"
    ):
        made = PrincipalCurve(6, length=30.0, n_init=1).fit(X)
    assert made.length_ < 0.99 * 30.0


def test_the_length_falls_with_the_weight_and_the_distance_grows():
    X, _ = wave(60)
    made = PrincipalCurve(10, lam=3e-3, n_init=1).fit(X)
    lam, length, distortion = made.path_.T
    down = np.flatnonzero(np.diff(lam) < 0)
    assert len(down) >= 8
    assert np.all(np.diff(length)[down] > 0)
    assert np.all(np.diff(distortion)[down] < 0)


def test_the_speed_is_more_even_than_after_a_fit_from_scratch():
    r"""Twice the penalty is at least the squared length over two, and equal at constant speed."""
    X, _ = wave(60)
    made = PrincipalCurve(20, lam=3e-3, n_init=1).fit(X)
    plain = PrincipalManifold(Interval(20), lam=3e-3, penalty="length", max_iter=1000).fit(X)

    def uneven(curve):
        return 4 * curve.penalty_ / curve.length() ** 2 - 1

    assert 0 <= uneven(made.manifold_) < 0.25 * uneven(plain)
    assert made.objective_ <= plain.objective_


@pytest.mark.parametrize("seed", [1, 2])
def test_the_curve_behind_a_sample_that_turns_back(seed):
    """The first principal direction leads to another order of the rows, in most samples."""
    X, t = wave(60, seed)
    made = PrincipalCurve(10, lam=3e-3).fit(X)
    assert abs(spearmanr(made.embedding_[:, 0], t)[0]) > 0.97
    true = np.c_[np.linspace(-1, 1, 500), np.sin(np.pi * np.linspace(-1, 1, 500))]
    F = made.inverse_transform(np.linspace(-1, 1, 300)[:, None])
    gaps = np.linalg.norm(F[:, None] - true[None], axis=2)
    assert gaps.min(axis=1).mean() < 0.1  # the deviation of the noise


def test_a_closed_curve():
    X, t = ring(60)
    made = PrincipalCurve(12, closed=True, length=6.0).fit(X)
    assert 5.94 <= made.length_ <= 6.0
    assert_allclose(measured(made), made.length_, rtol=1e-3)
    # A circle of length 6 has the radius 6 / (2 pi).
    radius = np.linalg.norm(made.inverse_transform(np.linspace(0, 6, 200)[:, None]), axis=1)
    assert_allclose(radius, 6 / (2 * np.pi), atol=0.1)
    order = np.unwrap(t[np.argsort(made.embedding_[:, 0])])
    assert abs(abs(order[-1] - order[0]) - 2 * np.pi) < 0.5


def test_the_curve_is_a_polygon():
    made = PrincipalCurve(6, lam=0.01, n_init=1).fit(wave()[0])
    a, b = made.vertices_[2], made.vertices_[3]
    left, right = made.manifold_.latent.nodes[2:4, 0]
    for share in (0.25, 0.5, 0.9):
        z = (1 - share) * left + share * right
        assert_allclose(made.inverse_transform([[z]])[0], (1 - share) * a + share * b, atol=1e-9)


def test_arc_lengths_are_lengths_up_to_the_nearest_point():
    X, _ = wave()
    made = PrincipalCurve(10, lam=0.01, n_init=1).fit(X)
    assert_allclose(made.arc_length(made.vertices_[[0, -1]]), [0.0, made.length_], atol=1e-6)
    between = np.linalg.norm(np.diff(made.vertices_, axis=0), axis=1)
    reached = made.arc_length(made.vertices_)
    # Edges of the ruler end up to a two-thousandth of the curve from a vertex.
    assert_allclose(np.diff(reached), between, atol=2 * made.length_ / 2000)


def test_new_rows_are_treated_by_the_curve():
    X, _ = wave()
    made = PrincipalCurve(10, lam=0.01, n_init=1).fit(X)
    curve = made.manifold_
    assert_array_equal(made.transform(X), curve.transform(X))
    assert_array_equal(made.embedding_, made.transform(X))
    assert_allclose(made.distortion(X), np.sum((X - made.reconstruct(X)) ** 2, axis=1))
    # Coordinates of the fit are a few steps from the nearest points of its last curve.
    assert -made.distortion_ <= made.score(X) <= -0.98 * made.distortion_
    gap = X[:1].copy()
    gap[0, 1] = np.nan
    assert made.impute(gap)[0, 0] == X[0, 0]
    assert_array_equal(made.impute(gap)[0, 1], curve.impute(gap)[0, 1])


def test_a_row_far_away_does_not_pull_a_robust_curve():
    X, _ = wave(40)
    spoilt = np.vstack([X, [[0.0, 40.0]]])
    robust = PrincipalCurve(6, lam=0.02, cost=HuberDistortion(0.2), n_init=1).fit(spoilt)
    squares = PrincipalCurve(6, lam=0.02, n_init=1).fit(spoilt)
    assert robust.vertices_[:, 1].max() < 1.5 < squares.vertices_[:, 1].max()


def test_one_of_weight_and_length():
    with pytest.raises(ValueError, match="give lam or length"):
        PrincipalCurve(lam=0.1, length=1.0).fit(wave()[0])


@parametrize_with_checks([PrincipalCurve(3, lam=1.0, tol=1e-2, n_init=1)])
def test_scikit_learn(estimator, check):
    check(estimator)
