"""K seen through a linear map."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from mercer.gram import Dense, Tiled
from mercer.gram.held import LazyGram
from mercer.gram.low_rank import LowRank
from mercer.gram.sparse import Sparse
from mercer.gram.whitened import Whitened, whiten
from mercer.kernels import BSpline, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 3))
K = Gaussian(1.3)(X)
MAPS = {
    "square": RNG.normal(size=(23, 23)),
    "wide": RNG.normal(size=(9, 23)),
    "tall": RNG.normal(size=(31, 23)),
    "sparse": sparse.csr_array(np.eye(23) - 0.5 * np.eye(23, k=-1)),
}


def array(W):
    return W.toarray() if sparse.issparse(W) else W


@pytest.mark.parametrize("hold", [False, True], ids=["factors", "held"])
@pytest.mark.parametrize("form", [np.asarray, aslinearoperator], ids=["matrix", "operator"])
@pytest.mark.parametrize("name", MAPS)
def test_is_the_product_of_three_matrices(name, form, hold):
    W = MAPS[name]
    full = array(W) @ K @ array(W).T
    gram = Whitened(Tiled(Gaussian(1.3), X, max_bytes=3000), W if name == "sparse" else form(W))
    m = len(full)
    assert gram.shape == (m, m)
    if hold:
        gram.dense()
    assert gram.in_memory == gram.resident == hold
    # Sums of 23 x 23 products of numbers of size one, in other orders.
    tol = {"rtol": 0, "atol": 1e-11}
    v = RNG.normal(size=(m, 2))
    np.testing.assert_allclose(gram.matvec(v), full @ v, **tol)
    np.testing.assert_allclose(gram.matvec(v[:, 0]), full @ v[:, 0], **tol)
    np.testing.assert_allclose(gram.diag(), np.diag(full), **tol)
    np.testing.assert_allclose(gram.rows([3, 1]), full[[3, 1]], **tol)
    np.testing.assert_allclose(gram.block(slice(None), [0, -1]), full[:, [0, -1]], **tol)
    np.testing.assert_allclose(gram.block([5], slice(2, 4)), full[[5], 2:4], **tol)
    np.testing.assert_allclose(gram.dense(), full, **tol)
    assert np.array_equal(gram.dense(), gram.dense().T)
    e = np.full(m, 0.7)
    solved = gram.shifted(e)(v)
    np.testing.assert_allclose(full @ solved + 0.7 * solved, v, rtol=0, atol=1e-9)


def test_keeps_the_form_of_what_is_below():
    G = RNG.normal(size=(23, 4))
    low = whiten(LowRank(G), MAPS["wide"])
    assert isinstance(low, LowRank)
    np.testing.assert_allclose(low.dense(), MAPS["wide"] @ G @ G.T @ MAPS["wide"].T, atol=1e-11)
    line = np.sort(RNG.uniform(0, 50, 23))[:, None]
    compact = Sparse.from_kernel(BSpline(1.0), line)
    thin = whiten(compact, MAPS["sparse"])
    assert isinstance(thin, Sparse)
    W = MAPS["sparse"].toarray()
    np.testing.assert_allclose(thin.dense(), W @ compact.dense() @ W.T, atol=1e-14)
    assert isinstance(whiten(Dense(K), MAPS["wide"]), Dense)
    assert isinstance(whiten(LazyGram(Gaussian(1.3), X), MAPS["wide"]), Dense)
    assert isinstance(whiten(Tiled(Gaussian(1.3), X), MAPS["wide"]), Whitened)


def test_refuses_a_map_of_other_points():
    with pytest.raises(ValueError, match="one column for each of the 23 points"):
        Whitened(Dense(K), np.eye(22))
