"""Haar's steps against the wavelets."""

import numpy as np
import pytest

from mercer_research.kernels import Haar

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)


def wavelets(x, s, depth):
    """The feature map, one wavelet after the other."""
    columns = [np.ones_like(x)]
    for a in range(depth):
        for i in range(2**a):
            place = 2**a * x - i
            psi = np.where((place >= 0) & (place < 0.5), 1.0, 0.0)
            psi -= np.where((place >= 0.5) & (place < 1), 1.0, 0.0)
            columns.append(2.0 ** (-0.5 * s * a) * psi)
    return np.column_stack(columns)


@pytest.mark.parametrize(("s", "depth"), [(1.0, 6), (0.3, 4), (2.0, 1)])
def test_haar_is_the_sum_over_wavelets(s, depth):
    x, z = RNG.uniform(size=(2, 60))
    x[:3] = [0.0, 0.5, 0.25]
    exact = wavelets(x, s, depth) @ wavelets(z, s, depth).T
    found = Haar(s, depth=depth)(x[:, None], z[:, None])
    np.testing.assert_allclose(found, exact, rtol=0, atol=100 * EPS)


def shared_digits(x, z):
    for digits in range(52):
        if int(x * 2 ** (digits + 1)) != int(z * 2 ** (digits + 1)):
            return digits
    return 52


def test_haar_in_closed_form():
    x = RNG.uniform(size=40)
    shared = np.array([[shared_digits(a, b) for b in x] for a in x])
    K = Haar()(x[:, None])
    np.testing.assert_allclose(K, 3.0 - 3.0 * 2.0**-shared, rtol=0, atol=4 * EPS * 3)
    # The levels beyond the 52nd have the share 2^(-0.7 * 52) = 1e-11 of the diagonal.
    kernel = Haar(0.7, constant=0.2)
    np.testing.assert_allclose(kernel.diag(x[:, None]), 0.2 + 1 / (1 - 2**-0.7), rtol=2e-11)


def test_haar_finds_a_jump_in_the_middle_and_is_constant_on_fine_cells():
    x = np.sort(RNG.uniform(size=50))
    y = np.where(x < 0.5, -1.0, 1.0) + 0.05 * RNG.normal(size=50)
    kernel = Haar()
    a = np.linalg.solve(kernel(x[:, None]) + 0.1 * np.eye(50), y)

    def f(at):
        return kernel(np.reshape(at, (-1, 1)), x[:, None]) @ a

    left, right = f([0.5 - 1e-9, 0.5])
    assert right - left > 1.5
    # Points in one cell of the level at which all data are separated have one value.
    depth = int(np.ceil(-np.log2(np.diff(x).min()))) + 1
    cell = (np.floor(0.3 * 2**depth) + np.array([0.01, 0.5, 0.99])) / 2**depth
    empty = not ((x > cell[0]) & (x < cell[-1])).any()
    assert empty
    assert np.ptp(f(cell)) < 1e-12


def test_haar_takes_the_right_end_of_its_interval():
    assert Haar(lower=2.0, upper=4.0)([[4.0]], [[4.0 - 1e-12], [2.0]])[0, 0] > 2.9


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Haar(0.0), "smoothness must be"),
        (lambda: Haar(constant=-1.0), "constant must be"),
        (lambda: Haar(lower=1.0), "lower must be less than upper"),
        (lambda: Haar(depth=60), "from 1 to 52"),
        (lambda: Haar()([[1.1]]), r"outside of \[0.0, 1.0\]"),
        (lambda: Haar()([[-0.1]]), "set lower and upper"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_the_domain_of_haar():
    assert Haar(upper=3.0).domain == "[0, 3]"
