"""Reports on Gram matrices against their definitions."""

import numpy as np
import pytest

from mercer.inspect import check_psd, gram_report, repair
from mercer.inspect.gram import effective_dimension
from mercer.kernels import Gaussian, Linear, Sigmoid, ThinPlate
from mercer.regularizers import Polynomial

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 3))
Y = np.sign(X[:, 0])
INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 5.0]])  # eigenvalues -1, 3, 5


def test_report_is_its_definition():
    K = Gaussian(1.5)(X)
    report = gram_report(Gaussian(1.5), X, Y)
    values = np.linalg.eigvalsh(K)[::-1]
    assert report.eigenvalues == pytest.approx(values, abs=1e-13)
    assert report.condition == pytest.approx(np.linalg.cond(K), rel=1e-6)
    assert report.rank == np.linalg.matrix_rank(K, hermitian=True)
    assert report.diagonal == (1.0, 1.0)
    assert report.constant_share == pytest.approx(K.mean())
    assert report.dimension == pytest.approx(np.trace(K @ np.linalg.inv(K + np.eye(40))))
    assert report.alignment == pytest.approx(Y @ K @ Y / (40.0 * np.linalg.norm(K)))
    H = np.eye(40) - 1.0 / 40.0
    centred, y = H @ K @ H, Y - Y.mean()
    expected = y @ centred @ y / (np.linalg.norm(centred) * (y @ y))
    assert report.centred_alignment == pytest.approx(expected)
    assert report.negative_share == 0.0
    assert report.precision_rank(0.1) == (values > 0.1 * values[0]).sum()
    assert report.ok
    assert gram_report(K, y=Y).alignment == pytest.approx(report.alignment)
    assert gram_report(Gaussian(), X).alignment is None


def test_duplicates_and_rank():
    twice = np.r_[X, X[:7], X[:2]]
    report = gram_report(Gaussian(), twice)
    assert report.duplicates == 9
    assert report.rank == 40
    assert report.condition > 1e14


def test_low_rank():
    report = gram_report(Linear(), X)
    assert report.rank == 3
    assert "numerical rank       3" in repr(report)


def test_conditional_kernels_are_examined_on_the_complement():
    report = gram_report(ThinPlate(2), X[:, :2])
    assert report.removed == 3
    assert len(report.eigenvalues) == 37
    assert report.eigenvalues[-1] > 0.0
    assert report.ok
    raw = gram_report(ThinPlate(2)(X[:, :2]))
    assert not raw.ok
    assert raw.negative_share > 0.1


def test_null_space_of_the_user():
    report = gram_report(Linear(), X, null_space=Polynomial(1))
    assert report.removed == 4
    assert np.abs(report.eigenvalues).max() < 1e-12  # all of a linear kernel is free
    with pytest.raises(ValueError, match="needs the points"):
        gram_report(np.eye(3), null_space=Polynomial(1))


def test_indefinite_kernels_are_seen():
    report = gram_report(Sigmoid(1.0, -1.0), X)
    assert not report.ok
    assert report.negative_share > 0.01
    assert np.isinf(report.condition)


def test_a_large_sample_is_examined_in_part():
    many = RNG.standard_normal((500, 2))
    report = gram_report(Gaussian(), many, many[:, 0], max_samples=100)
    assert (report.n, report.used) == (500, 100)
    assert "of which 100 examined" in repr(report)
    whole = gram_report(Gaussian()(many), max_samples=100)
    assert whole.eigenvalues == pytest.approx(report.eigenvalues, abs=1e-12)


def test_check_psd():
    check = check_psd(INDEFINITE)
    assert not check
    assert check.smallest == pytest.approx(-1.0)
    assert check.largest == pytest.approx(5.0)
    assert check.negative_share == pytest.approx(1.0 / 9.0)
    assert check_psd(INDEFINITE, tol=0.21)
    assert check_psd(Gaussian()(X))
    assert check_psd(Gaussian()(X.astype(np.float32)))
    assert not check_psd(np.array([[1.0, 0.5], [0.0, 1.0]]))
    assert check_psd(np.eye(2, dtype=int))
    with pytest.raises(ValueError, match="square"):
        check_psd(np.ones((2, 3)))


def test_repairs_against_the_eigenvalues_they_promise():
    for method, expected in {"clip": [0.0, 3.0, 5.0], "shift": [0.0, 4.0, 6.0],
                             "flip": [1.0, 3.0, 5.0]}.items():  # fmt: skip
        repaired = repair(INDEFINITE, method)
        assert np.linalg.eigvalsh(repaired) == pytest.approx(expected, abs=1e-14)
        assert check_psd(repaired, tol=1e-14)
    assert repair(np.eye(3), "shift") == pytest.approx(np.eye(3))
    with pytest.raises(ValueError, match="method"):
        repair(INDEFINITE, "hope")


def test_clipping_is_the_nearest_matrix():
    # Moreau: the residual is orthogonal to the projection, and negative semidefinite.
    clipped = repair(INDEFINITE)
    residual = INDEFINITE - clipped
    assert (residual * clipped).sum() == pytest.approx(0.0, abs=1e-13)
    assert np.linalg.eigvalsh(residual)[-1] < 1e-13


def test_effective_dimension_is_the_trace_of_the_smoother():
    K = Gaussian()(X)
    smoother = K @ np.linalg.inv(K + 0.5 * np.eye(40))
    assert effective_dimension(Gaussian(), X, penalty=0.5) == pytest.approx(np.trace(smoother))
    assert effective_dimension(K, penalty=0.5) == pytest.approx(np.trace(smoother))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: effective_dimension(Gaussian(), X, penalty=0.0), "positive"),
        (lambda: effective_dimension(Gaussian(), penalty=1.0), "pass the points"),
        (lambda: effective_dimension(np.ones((2, 3)), penalty=1.0), "square"),
        (lambda: gram_report(Gaussian(), X, np.ones(3)), "y has shape"),
    ],
)
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()
