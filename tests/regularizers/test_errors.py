"""Error models: covariances, and maps that whiten them."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import toeplitz
from scipy.linalg.lapack import dtbtrs
from scipy.signal import lfilter
from sklearn.base import clone

from mercer.kernels import Gaussian
from mercer.regularizers import ARMA, AutoRegressive, Covariance, MovingAverage, Precision, _arma
from mercer.regularizers.errors import Independent, LinearProcess

N = 40
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 2))
X[:, 1] = np.exp(X[:, 1])
TIMES = {
    "shuffled": RNG.permutation(N).astype(float),
    "with gaps": RNG.permutation(np.cumsum(RNG.integers(1, 4, N))).astype(float),
}
ROOT = RNG.normal(size=(N, N))
PROCESSES = [
    AutoRegressive(0.7),
    AutoRegressive(-0.4),
    AutoRegressive([0.5, -0.6, 0.2]),
    MovingAverage(0.5),
    MovingAverage([-0.4, 0.3, 0.2]),
    ARMA(0.6, -0.3),
    ARMA([0.5, -0.3], [0.4, 0.1, 0.2]),
    ARMA([0.5, -0.3, 0.1], [0.4]),
]
MODELS = [
    Independent(),
    Independent(2.0),
    Independent(RNG.uniform(0.5, 2.0, N)),
    Independent(0.5, column=1),
    *PROCESSES,
    *(type(model)(**model.get_params() | {"start": "zero"}) for model in PROCESSES),
    *(
        type(model)(**model.get_params() | {"time": times})
        for model in PROCESSES
        for times in TIMES.values()
    ),
    AutoRegressive(0.7, time=RNG.uniform(0, 60, N), step=2.0),
    Covariance(Gaussian(1.0), nugget=0.1),
    Covariance(ROOT @ ROOT.T),
    Precision(ROOT @ ROOT.T),
]


def short(model):
    return repr(model)[:60]


def array(W, n=N):
    return W.toarray() if sparse.issparse(W) else np.asarray(W @ np.eye(n))


@pytest.mark.parametrize("model", MODELS, ids=short)
def test_whitening_whitens(model):
    W, C = model.whitening(X), model.matrix(X)
    np.testing.assert_allclose(C, C.T, rtol=1e-10)
    # Rounding errors grow with the condition of the covariance.
    atol = 100 * np.finfo(float).eps * np.linalg.cond(C)
    np.testing.assert_allclose(array(W) @ C @ array(W).T, np.eye(N), rtol=0, atol=atol)
    v = RNG.normal(size=(N, 3))
    np.testing.assert_allclose(W @ v, array(W) @ v, atol=1e-10)
    np.testing.assert_allclose(W @ v[:, 0], array(W) @ v[:, 0], atol=1e-10)
    np.testing.assert_allclose(W.T @ v, array(W).T @ v, atol=1e-10)
    np.testing.assert_allclose(W.T @ v[:, 0], array(W).T @ v[:, 0], atol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=short)
def test_whitening_takes_matrices_without_columns(model, monkeypatch):
    # Machines without unpenalized functions whiten none; LAPACK would write where nothing is.
    def refuse(L, v, **options):
        assert np.size(v)
        return dtbtrs(L, v, **options)

    monkeypatch.setattr(_arma, "dtbtrs", refuse)
    W = model.whitening(X)
    for matrix in (W, W.T):
        assert (matrix @ np.empty((N, 0))).shape == (N, 0)


@pytest.mark.parametrize("model", PROCESSES, ids=short)
def test_covariances_of_a_long_memory(model):
    """Against the sum over innovations of a past long enough to be forgotten."""
    phi, theta = model.coefficients
    impulse = np.zeros(600)
    impulse[0] = 1.0
    psi = lfilter(np.r_[1.0, theta], np.r_[1.0, -phi], impulse)
    gamma = [psi[h:] @ psi[: 600 - h] for h in range(N)]
    np.testing.assert_allclose(model.matrix(X), toeplitz(gamma), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("model", PROCESSES, ids=short)
def test_samples_as_short_as_the_memory(model, n):
    few = X[:n]
    W = array(model.whitening(few), n)
    np.testing.assert_allclose(W @ model.matrix(few) @ W.T, np.eye(n), rtol=0, atol=1e-13)


@pytest.mark.parametrize("model", PROCESSES, ids=short)
def test_every_innovation_belongs_to_its_sample(model):
    """Whatever the order of the rows, errors are whitened in the order of time."""
    times = TIMES["shuffled"]
    order = np.argsort(times)
    v = RNG.normal(size=N)
    shuffled = clone(model).set_params(time=times).whitening(X) @ v
    np.testing.assert_allclose(shuffled[order], model.whitening(X) @ v[order], atol=1e-13)


def test_moving_average_from_zero_is_the_tridiagonal_matrix_of_the_corrected_example():
    B = np.eye(N) + 0.3 * np.eye(N, k=-1)
    model = MovingAverage(0.3, start="zero")
    np.testing.assert_allclose(model.matrix(X), B @ B.T, atol=1e-15)
    np.testing.assert_allclose(model.whitening(X) @ B, np.eye(N), atol=1e-14)


def test_autoregression_of_order_one_is_known_between_the_steps():
    t = RNG.uniform(0, 60, N)
    C = 0.7 ** np.abs(np.subtract.outer(t, t)) / (1 - 0.7**2)
    model = AutoRegressive(0.7, time=0)
    timed = np.c_[t, X]
    np.testing.assert_allclose(model.matrix(timed), C, rtol=1e-12)
    W = model.whitening(timed)
    assert sparse.issparse(W)
    assert W.nnz == 2 * N - 1
    np.testing.assert_allclose((W.T @ W).toarray(), np.linalg.inv(C), rtol=0, atol=1e-9)
    # Half the memory in a step twice as long.
    slow = AutoRegressive(0.7**2, time=0, step=2.0).matrix(timed)
    np.testing.assert_allclose(slow * (1 - 0.7**4), C * (1 - 0.7**2), rtol=1e-12)


@pytest.mark.parametrize("model", PROCESSES, ids=short)
def test_covariances_with_what_follows(model):
    whole = model.matrix(np.ones((N + 5, 1)))
    np.testing.assert_allclose(model.cross(X[:5], X), whole[N:, :N], atol=1e-13)
    timed = np.c_[np.arange(N + 5.0), np.ones(N + 5)]
    by_time = clone(model).set_params(time=0)
    np.testing.assert_allclose(by_time.cross(timed[N:], timed[:N]), whole[N:, :N], atol=1e-13)
    np.testing.assert_allclose(by_time.cross(timed[:N], timed[:N]), whole[:N, :N], atol=1e-13)


def test_covariances_of_new_observations():
    Z = X[:4] + 0.1
    np.testing.assert_array_equal(Independent(2.0).cross(Z, X), np.zeros((4, N)))
    np.testing.assert_array_equal(Covariance(Gaussian(1.0), 0.3).cross(Z, X), Gaussian(1.0)(Z, X))
    for model in (Covariance(np.eye(N)), Precision(np.eye(N))):
        with pytest.raises(ValueError, match="says nothing about the errors of new"):
            model.cross(Z, X)
    with pytest.raises(ValueError, match="make it a feature"):
        AutoRegressive(0.5, time=np.arange(float(N))).cross(Z, X)


@pytest.mark.parametrize("model", PROCESSES, ids=short)
def test_any_numbers_are_a_model(model):
    again = model.from_free(model.free)
    for old, new in zip(model.coefficients, again.coefficients, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    wild = model.from_free(RNG.normal(size=len(model.free)))  # validates itself
    assert isinstance(wild, LinearProcess)
    assert np.ndim(getattr(wild, "phi", 0.0)) == np.ndim(getattr(model, "phi", 0.0))


@pytest.mark.parametrize("phi", [[0.5, -0.6, 0.2], [1.2, -0.5], [-0.3, 0.3, 0.3, -0.2]])
def test_what_is_stationary_has_roots_outside_the_circle(phi):
    """Scaled until it is not, the process is refused where a root enters the unit circle."""
    for scale in np.linspace(0.1, 3.0, 30):
        scaled = scale * np.asarray(phi)
        roots = np.roots(np.r_[1.0, -scaled])
        if np.all(np.abs(roots) < 1):
            AutoRegressive(scaled)
            MovingAverage(-scaled)
        else:
            with pytest.raises(ValueError, match="stationary"):
                AutoRegressive(scaled)
            with pytest.raises(ValueError, match="invertible"):
                MovingAverage(-scaled)


def test_singular_precision_forgets_a_direction():
    H = np.diag(np.r_[np.ones(N - 1), 0.0])
    W = Precision(H).whitening(X)
    np.testing.assert_allclose(W.T @ W, H, atol=1e-14)


def test_names_of_features():
    features = ["t", "size"]
    assert AutoRegressive(0.5, time="t").bind(features) == AutoRegressive(0.5, time=0)
    assert Independent(column="size").bind(features) == Independent(column=1)
    bound = Covariance(Gaussian(1.0).on(["size"])).bind(features)
    assert bound == Covariance(Gaussian(1.0).on([1]))
    assert Covariance(np.eye(2)).bind(features) == Covariance(np.eye(2))
    assert AutoRegressive(0.5).bind(features) == AutoRegressive(0.5)
    with pytest.raises(ValueError, match="data frame with this column"):
        AutoRegressive(0.5, time="t").whitening(X)


def test_sparse_points():
    timed = sparse.csr_array(np.c_[np.arange(1.0, 6.0), np.zeros(5)])
    dense = AutoRegressive(0.5).matrix(X[:5])
    np.testing.assert_allclose(AutoRegressive(0.5, time=0).matrix(timed), dense, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Independent(0.0), "positive number"),
        (lambda: Independent([[1.0]]), "positive number"),
        (lambda: Independent([1.0, 2.0]).whitening(X), "2 entries for 40"),
        (lambda: Independent(column=0).whitening(X), "must be positive"),
        (lambda: AutoRegressive(1.0), "stationary"),
        (lambda: MovingAverage([[0.1]]), "invertible"),
        (lambda: AutoRegressive(0.5, start="now"), "'stationary' or 'zero'"),
        (lambda: AutoRegressive(0.5, step=0.0), "step must be"),
        (lambda: MovingAverage(0.5, time=0, start="zero"), "no memory of gaps"),
        (lambda: AutoRegressive(0.5, time=np.zeros(N)).whitening(X), "two errors at one time"),
        (lambda: AutoRegressive(0.5, time=[1.0]).whitening(X), "for 40 samples"),
        (lambda: MovingAverage(0.5, time=1).whitening(X), "whole steps apart"),
        (lambda: AutoRegressive(-0.5, time=1).whitening(X), "must not be negative"),
        (lambda: Covariance(np.ones((2, 3))), "symmetric matrix"),
        (lambda: Covariance(np.eye(3)).whitening(X), "3 rows for 40"),
        (lambda: Covariance(np.eye(3), nugget=-1.0), "variance"),
        (lambda: Covariance(-np.eye(N)).whitening(X), "not positive definite"),
        (lambda: Precision(-np.eye(N)).whitening(X), "negative eigenvalue"),
        (lambda: Precision(np.eye(3)).matrix(X), "3 rows for 40"),
    ],
)
def test_refusals_say_what_to_do(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("model", MODELS, ids=short)
def test_models_are_values(model):
    assert clone(model) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert type(model)(**model.get_params(deep=False)) == model


def test_parameters_are_set_and_checked():
    model = AutoRegressive(0.5)
    with pytest.raises(ValueError, match="stationary"):
        model.set_params(phi=1.5)
    assert model.phi == 0.5
    nested = Covariance(Gaussian(1.0)).set_params(covariance__length_scale=2.0)
    assert nested == Covariance(Gaussian(2.0))
