"""Kernel PCA of low-rank approximations: bounds, sources, weights, and large means."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer.data
from mercer import Nystrom, RandomFeatures
from mercer.data import as_source
from mercer.kernels import Gaussian
from mercer.manifold import KernelPCA
from mercer.manifold.block_moments import Moments

rng = np.random.default_rng(0)
X = rng.normal([1.0, 0.0, 2.0], 1.0, size=(400, 3))
WEIGHTS = rng.integers(0, 3, len(X)).astype(float)
NEW = rng.normal(size=(20, 3))


@parametrize_with_checks([KernelPCA(2, approximation=Nystrom(30), gamma="auto")])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("null_space", [None, "linear"])
@pytest.mark.parametrize("kernel", ["rbf", "thin_plate", "multiquadric", "poly"])
def test_eigenvalues_are_below_the_exact_ones_by_less_than_the_bound(kernel, null_space, weights):
    how = {"kernel": kernel, "null_space": null_space}
    exact = KernelPCA(**how).fit(X, sample_weight=weights)
    k = min(8, exact.n_components_)
    for m in (20, 80, 300):
        few = KernelPCA(k, approximation=Nystrom(m), **how).fit(X, sample_weight=weights)
        short = exact.eigenvalues_[: few.n_components_] - few.eigenvalues_
        assert np.all(short >= -1e-9 * exact.eigenvalues_[0])
        assert np.all(short <= few.eigenvalue_errors_)
        if few.n_components_ < exact.n_components_:
            assert exact.eigenvalues_[few.n_components_] <= few.remainder_
        assert few.support_vectors_.shape[0] <= m
        assert np.all(few.explained_variance_ratio_ <= 1.0)


@pytest.mark.parametrize("kernel", ["rbf", "thin_plate"])
def test_all_rows_as_centres_give_the_exact_components(kernel):
    how = {"kernel": kernel, "null_space": "linear"}
    exact = KernelPCA(4, **how).fit(X, sample_weight=WEIGHTS)
    full = KernelPCA(4, approximation=Nystrom(len(X)), **how).fit(X, sample_weight=WEIGHTS)
    assert_allclose(full.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    assert_allclose(full.transform(NEW), exact.transform(NEW), atol=1e-8)


def test_without_centring():
    exact = KernelPCA(3, center=False).fit(X)
    full = KernelPCA(3, center=False, approximation=Nystrom(len(X))).fit(X)
    assert_allclose(full.transform(NEW), exact.transform(NEW), atol=1e-8)
    assert_allclose(full.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-6)


def test_random_features_come_near():
    exact = KernelPCA(3, kernel=Gaussian(2.0)).fit(X)
    found = KernelPCA(3, kernel=Gaussian(2.0), approximation=RandomFeatures(2000)).fit(X)
    # A mean over 1,000 random frequencies: three standard errors of a kernel value.
    assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=3 / np.sqrt(1000))
    assert np.all(np.isnan(found.eigenvalue_errors_))


def test_weight_two_is_a_row_twice():
    how = {"approximation": Nystrom(50)}
    weighted = KernelPCA(3, **how).fit(X, sample_weight=WEIGHTS)
    kept = X[WEIGHTS > 0]
    # Rows without a weight are among those that centres are drawn from.
    how = {"approximation": Nystrom(centres=weighted.support_vectors_)}
    given = KernelPCA(3, **how).fit(X, sample_weight=WEIGHTS)
    repeated = KernelPCA(3, **how).fit(np.repeat(X, WEIGHTS.astype(int), axis=0))
    assert_allclose(given.transform(NEW), repeated.transform(NEW), atol=1e-9)
    assert_allclose(given.eigenvalue_errors_, repeated.eigenvalue_errors_, rtol=1e-6)
    assert len(kept) == given.shape_fit_[0] - np.sum(WEIGHTS == 0)


def test_sparse_rows():
    dense = KernelPCA(3, approximation=Nystrom(50)).fit(X)
    sparse = KernelPCA(3, approximation=Nystrom(50)).fit(sp.csr_array(X))
    assert_allclose(sparse.transform(sp.csr_array(NEW)), dense.transform(NEW), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_answer_from_parquet_and_from_blocks(tmp_path, weighted):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pd = pytest.importorskip("pandas")

    s = WEIGHTS if weighted else None
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    if weighted:
        columns["w"] = WEIGHTS
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=70)
    pca = KernelPCA(3, approximation=Nystrom(60), null_space="linear")
    array = pca.fit(X, sample_weight=s)
    expected, errors = array.transform(NEW), array.eigenvalue_errors_
    how = {"weight": "w"} if weighted else {}
    source = mercer.data.open(tmp_path / "rows.parquet", **how)
    filed = KernelPCA(3, approximation=Nystrom(60), null_space="linear").fit(source)
    assert_allclose(filed.transform(pd.DataFrame(NEW, columns=list("abc"))), expected, atol=1e-10)
    assert_allclose(filed.eigenvalue_errors_, errors, rtol=1e-8)
    assert list(filed.feature_names_in_) == ["a", "b", "c"]
    assert_allclose(filed.transform(source), array.transform(X), atol=1e-10)
    pq.write_table(pa.table({name: X[:, 0] for name in "abd"}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="a, b, c; the source has a, b, d"):
        filed.transform(mercer.data.open(tmp_path / "other.parquet"))


def test_a_source_is_approximated_with_enough_centres():
    pca = KernelPCA(3, gamma=0.1).fit(as_source(X))
    exact = KernelPCA(3, gamma=0.1).fit(X)
    assert np.max(pca.eigenvalue_errors_) <= 0.02 * len(X)
    assert_allclose(pca.eigenvalues_, exact.eigenvalues_, rtol=0.01)
    narrow = KernelPCA(3, gamma=100.0).fit(as_source(X))
    assert narrow.support_vectors_.shape[0] == len(X)


def test_moments_merge_without_cancellation():
    F = rng.normal(size=(1000, 4)) + 1e7
    s = rng.uniform(0.5, 2.0, 1000)

    def of(F, s):
        mean = s @ F / s.sum()
        return Moments(len(F), s.sum(), mean, (F - mean).T @ (s[:, None] * (F - mean)), 0.0)

    parts = [of(F[i : i + 100], s[i : i + 100]) for i in range(0, 1000, 100)]
    merged = sum(parts[1:], start=parts[0])
    whole = of(F.astype(np.longdouble), s.astype(np.longdouble))
    assert_allclose(merged.second, whole.second.astype(float), rtol=1e-7, atol=1e-6)
    assert (merged.n, merged.weight) == (1000, pytest.approx(s.sum()))


def test_refusals():
    with pytest.raises(ValueError, match="not positive definite"):
        KernelPCA(kernel="sigmoid", approximation=Nystrom(20)).fit(X)
    with pytest.raises(ValueError, match="not a function, a matrix or objects"):
        KernelPCA(kernel="precomputed", approximation=Nystrom(20)).fit(X @ X.T)
    with pytest.raises(ValueError, match="no component"):
        KernelPCA(approximation=Nystrom(20)).fit(np.ones((50, 2)))
