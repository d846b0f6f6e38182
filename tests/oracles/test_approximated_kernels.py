"""Every named kernel, every approximation: sparse rows with duplicates fit as dense ones do."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import LSSVR, SVC, Nystrom, RandomFeatures
from mercer.kernels.named import FREE, NAMES
from mercer.machines.expansion import IndefiniteKernel

KERNELS = sorted({*FREE, *NAMES} - {"precomputed"})
DEFINITE = [
    name
    for name in KERNELS
    if (FREE[name]() if name in FREE else NAMES[name](0.5, 3, 0.0)).positive_definite
]
APPROXIMATIONS = {
    "fewer landmarks than distinct rows": Nystrom(4),
    "more landmarks than rows": Nystrom(50),
    "random features": RandomFeatures(16),
}

RNG = np.random.default_rng(0)
FEW = np.round(np.where(RNG.random((9, 3)) < 0.4, 0.0, RNG.normal(size=(9, 3))), 1)
X = FEW[np.concatenate([np.arange(9), RNG.integers(9, size=31)])]
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=40)


def outcome(machine, rows, targets, values):
    """Return the values of a machine at its rows, or the sentence that refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IndefiniteKernel)
        try:
            return getattr(machine.fit(rows, targets), values)(rows)
        except ValueError as error:
            return str(error)


@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=("fewer", "all", "features"))
@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_duplicates_fit_as_dense_ones_do(kernel, approximation):
    for machine, targets, values in [
        (LSSVR(kernel, gamma=0.5, approximation=approximation), Y, "predict"),
        (
            SVC(kernel=kernel, gamma=0.5, approximation=approximation, tol=1e-8),
            np.where(Y > 0, 1, -1),
            "decision_function",
        ),
    ]:
        dense, sparse = (outcome(machine, rows, targets, values) for rows in (X, sp.csr_array(X)))
        if isinstance(dense, str) or isinstance(sparse, str):
            assert dense == sparse
        else:
            # Coefficients of the hinge are known to the tolerance, those of a system to rounding.
            np.testing.assert_allclose(
                sparse, dense, atol=(1e-9 if values == "predict" else 1e-6) * np.abs(dense).max()
            )


@pytest.mark.parametrize("kernel", DEFINITE)
def test_a_landmark_for_every_distinct_row_loses_nothing(kernel):
    exact, reduced = (
        LSSVR(kernel, gamma=0.5, approximation=how).fit(rows, Y).predict(rows)
        for how, rows in ((None, X), (Nystrom(50), sp.csr_array(X)))
    )
    np.testing.assert_allclose(reduced, exact, atol=1e-6)
