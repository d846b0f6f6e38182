"""The smallest tube around values, in any units."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from mercer.kernels import Gaussian
from mercer_research.programs import chebyshev, smallest_tube


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_smallest_tube_has_columns_in_any_units(scale):
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([5.0, 6.0, 5.0, 6.0])
    found = smallest_tube(np.outer(x, x), y, np.full((4, 1), scale))
    # No line is nearer than 1/2 to the values 5, 6, 5 at equal distances, and 5.5 is that near.
    assert found.epsilon == pytest.approx(0.5, rel=1e-9)


def nearly_singular():
    """Labels drawn at random, on points that a wide kernel hardly tells apart."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.choice([-1.0, 1.0], 60)
    return Gaussian(1.0)(x), y


def test_a_function_that_was_found_is_no_proof_against_itself():
    """Ten digits of the eigenvalues are not all there are: a plain solve fits the labels."""
    K, y = nearly_singular()
    error = np.max(np.abs(K @ np.linalg.solve(K, y) - y))
    found = smallest_tube(K, y, np.ones((60, 1)))
    assert found.epsilon <= error < 1e-3
    assert found.lower <= found.epsilon


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_those_of_a_linear_program_in_rational_numbers(seed):
    """Kernel matrices of whole numbers: multipliers are checked without any rounding."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-3, 4, size=(14, 3)).astype(float)
    y = rng.integers(-5, 6, size=14).astype(float)
    B = np.ones((14, 1))
    found = smallest_tube(Z @ Z.T, y, B)
    # The same program by another solver, over the coefficients.
    M = np.c_[Z, B, np.ones(14)]
    N = np.c_[-Z, -B, np.ones(14)]
    other = optimize.linprog(
        [0, 0, 0, 0, 1], A_ub=-np.r_[M, N], b_ub=-np.r_[y, -y], bounds=(None, None)
    )
    assert found.epsilon == pytest.approx(other.fun, rel=1e-8)
    assert found.lower == pytest.approx(other.fun, rel=1e-8)
    beta = [Fraction(float(value)) for value in found.certificate]
    total = sum(abs(value) for value in beta)
    bound = sum(b * Fraction(float(v)) for b, v in zip(beta, y, strict=True)) / total
    off = [
        abs(sum(b * Fraction(float(v)) for b, v in zip(beta, column, strict=True)))
        for column in np.c_[Z, B].T
    ]
    # Functions z'w + b of this size are no nearer than the bound less what is not orthogonal.
    w = other.x[:4]
    size = sum(o * abs(Fraction(float(v))) for o, v in zip(off, w, strict=True))
    assert bound - size <= other.fun * (1 + 1e-12)
    assert float(bound) >= found.lower * (1 - 1e-12)


def test_no_program_is_solved_where_a_function_is_near_enough(monkeypatch):
    monkeypatch.setattr(chebyshev, "linear_program", None)
    K, y = nearly_singular()
    assert smallest_tube(K, y, enough=0.01).epsilon <= 0.01
    x = np.arange(6.0)
    # A straight line by least squares is within 1 of these.
    found = smallest_tube(np.outer(x, x), x + [0.5, -0.5] * 3, np.ones((6, 1)), enough=1.0)
    assert 0.5 - 0.3 < found.epsilon <= 1.0


def test_no_matrix_of_all_samples_is_decomposed_twice(monkeypatch):
    """Singular values of the columns that the kernel matrix does not span are enough."""
    sizes, svd = [], np.linalg.svd
    monkeypatch.setattr(
        np.linalg, "svd", lambda M, **kwargs: sizes.append(M.shape) or svd(M, **kwargs)
    )
    x = np.linspace(-1.0, 1.0, 30)
    y = np.sin(7.0 * x) + 0.1 * np.cos(40.0 * x)
    # Columns that K spans, and one twice.
    B = np.column_stack([x, np.ones(30), x + 1.0, x**2])
    found = smallest_tube(np.outer(x, x), y, B)
    assert sizes == [(30, 4)]
    M = np.column_stack([np.ones(30), x, x**2, np.ones(30)])
    N = np.column_stack([-M[:, :3], np.ones(30)])
    other = optimize.linprog(
        [0, 0, 0, 1], A_ub=-np.r_[M, N], b_ub=-np.r_[y, -y], bounds=(None, None)
    )
    assert found.epsilon == pytest.approx(other.fun, rel=1e-8)
    assert found.lower == pytest.approx(other.fun, rel=1e-8)
