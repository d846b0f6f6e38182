"""Kernel PCA on a cluster: the same components as on this machine."""

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.testing import assert_allclose

import mercer.data
from mercer import Nystrom
from mercer.manifold import KernelPCA

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4))


def test_collections_and_files_of_two_workers(client, tmp_path):
    pca = KernelPCA(3, approximation=Nystrom(80))
    pca.fit(X)
    expected, errors = pca.transform(X), pca.eigenvalue_errors_
    rows = da.from_array(X, chunks=(700, 4))
    spread = KernelPCA(3, approximation=Nystrom(80)).fit(rows)
    assert_allclose(spread.transform(X), expected, atol=1e-10)
    assert_allclose(spread.eigenvalue_errors_, errors, rtol=1e-8)
    lazy = spread.transform(rows)
    assert lazy.shape == (3000, 3)
    assert_allclose(lazy.compute(), expected, atol=1e-10)
    for part in range(3):
        columns = {f"x{j}": X[part::3, j] for j in range(4)}
        pq.write_table(pa.table(columns), tmp_path / f"{part}.parquet", row_group_size=300)
    files = mercer.data.open(str(tmp_path / "*.parquet"))
    filed = KernelPCA(3, approximation=Nystrom(80)).fit(files)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    assert_allclose(filed.transform(frame), expected, atol=1e-10)
