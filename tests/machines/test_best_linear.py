"""The factorized problem of best linear prediction against the bordered matrix itself."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.machines.best_linear import BestLinear


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_diagonal_is_that_of_the_bordered_inverse(n, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    V = np.array(Gaussian(1.0)(X) + np.diag(rng.uniform(0.1, 1.0, n)), order=order)
    B = np.column_stack([np.ones(n), X[:, 0]])
    bordered = np.block([[V, B], [B.T, np.zeros((2, 2))]])
    inverse = np.linalg.inv(bordered)[:n, :n]
    best = BestLinear(V, B)
    np.testing.assert_allclose(best.diagonal, np.diag(inverse), rtol=1e-10)
    np.testing.assert_allclose(best.inverse, inverse, rtol=1e-9, atol=1e-10)
    y = rng.normal(size=n)
    np.testing.assert_allclose(best.coefficients(y)[0], inverse @ y, rtol=1e-9, atol=1e-10)
    contrasts = np.linalg.svd(B, full_matrices=True)[0][:, 2:]
    determinant = np.linalg.slogdet(contrasts.T @ V @ contrasts)[1]
    assert best.log_det == pytest.approx(determinant, rel=1e-11)
