"""Statistics of streams are those of all rows at once, however the rows are divided."""

import pickle
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.data import (
    DataError,
    Moments,
    as_source,
    categories,
    moments,
    quantiles,
)
from mercer.data.statistics import ordered

RNG = np.random.default_rng(0)


def holed(n=5000, p=4, share=0.2):
    X = RNG.normal(size=(n, p)) * [1, 1e-3, 1e6, 1] + [0, 0, 1e9, -3]
    X[RNG.uniform(size=X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize("rows", [1, 7, 640, 10_000])
@pytest.mark.parametrize("missing", [False, True])
def test_moments_are_those_of_all_rows(rows, missing):
    X = holed(1000) if missing else holed(1000, share=0.0)
    found = moments(as_source(X), rows=rows)
    # A mean 1000 deviations from zero, summed over 1000 rows: Chan's merge loses the rounding of
    # the mean, n eps |mean|, relative to the deviation, and twice that in the variance.
    np.testing.assert_allclose(found.mean, np.nanmean(X, 0), rtol=1e-13)
    np.testing.assert_allclose(found.variance, np.nanvar(X, 0), rtol=1e-9)
    np.testing.assert_array_equal(found.low, np.nanmin(X, 0))
    np.testing.assert_array_equal(found.high, np.nanmax(X, 0))
    np.testing.assert_array_equal(found.missing, np.isnan(X).sum(0))


def test_the_naive_sum_of_squares_would_fail_here():
    X = 1e9 + RNG.normal(size=(1000, 1))
    naive = np.mean(X**2) - np.mean(X) ** 2
    found = moments(as_source(X), rows=10).variance[0]
    # Means are rounded by eps 1e9 = 2e-7 of a deviation; their squares by eps 1e18 = 200.
    assert abs(found / np.var(X) - 1) < 1e-6 < abs(naive / np.var(X) - 1)


def test_moments_of_sparse_rows_count_zeros():
    X = sp.random_array((200, 5), density=0.3, rng=1, format="csr")
    X.data[::7] = np.nan
    X.data -= 0.4
    for rows in (13, 500):
        a = moments(as_source(X), rows=rows)
        b = moments(as_source(X.toarray()), rows=rows)
        for name in ("n", "mean", "squares", "low", "high", "missing"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-13)


def test_moments_of_single_precision_are_summed_in_double():
    X = (RNG.normal(size=(4000, 1)) + 1000).astype(np.float32)
    assert abs(moments(as_source(X)).mean[0] - X.astype(float).mean()) < 1e-11


def test_moments_of_a_table_leave_words_out():
    found = moments(as_source({"x": [1.0, 3.0], "word": ["a", "b"]}))
    assert found.n.tolist() == [2, 0]
    assert found.mean[0] == 2
    assert found.missing.tolist() == [0, 2]


def test_constants_are_told_from_rounding():
    X = np.column_stack([np.full(5000, 0.1), 1e8 + RNG.normal(size=5000), np.full(5000, 1e300)])
    assert moments(as_source(X), rows=77).constant.tolist() == [True, False, True]


@given(arrays(np.float64, st.tuples(st.integers(2, 30), st.just(2)),
              elements=st.floats(-1e6, 1e6)), st.integers(1, 29))  # fmt: skip
def test_moments_add_up_in_any_order(X, k):
    k = min(k, len(X) - 1)
    a, b = Moments.of(X[:k]), Moments.of(X[k:])
    one, other = a + b, b + a
    # Rounding is relative to the largest value: its square for the sums of squares.
    size = np.abs(X).max() + 1.0
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-13 * size)
    np.testing.assert_allclose(one.squares, other.squares, atol=1e-12 * len(X) * size**2)
    np.testing.assert_allclose(one.squares / len(X), X.var(0), atol=1e-12 * size**2)


def test_categories_are_counted_with_those_that_are_missing():
    words = np.array(["b", "a", None, "b", float("nan"), "a", "b"], dtype=object)
    numbers = np.array([1, 1, 2, np.nan, 2, np.nan, 1])
    source = as_source({"word": words, "number": numbers}, ["u", "v", "u", "u", "u", "u", "u"])
    for rows in (2, 100):
        found = categories(source, targets=True, rows=rows)
        assert found.names == ("word", "number", "target")
        assert found.counts[0] == {"b": 3, "a": 2, None: 2}
        assert {str(k): v for k, v in found.counts[1].items()} == {"1.0": 3, "2.0": 2, "nan": 2}
        assert found.counts[2] == {"u": 6, "v": 1}
    assert pickle.loads(pickle.dumps(found)).counts[0] == found.counts[0]


def test_categories_of_arrays_and_sparse_rows():
    X = RNG.integers(0, 3, size=(50, 2)).astype(float)
    for source in (as_source(X), as_source(sp.csr_array(X))):
        for j, counts in enumerate(categories(source, rows=8).counts):
            values, n = np.unique(X[:, j], return_counts=True)
            assert counts == dict(zip(values, n, strict=True))


def test_a_column_of_names_is_refused():
    with pytest.raises(DataError, match="column 'id' has more than 10 different values"):
        categories(as_source({"id": [str(k) for k in range(50)]}), most=10, rows=4)


def test_order_of_categories():
    assert ordered([3.0, np.nan, 1.0])[:2] == [1.0, 3.0]
    assert ordered(["b", 2, None, "a", 1]) == [1, 2, "a", "b", None]


def test_quantiles_of_few_rows_are_exact():
    n = 1200
    columns = [
        RNG.normal(size=n),
        np.where(RNG.uniform(size=n) < 0.6, 0.0, RNG.uniform(size=n)),
        np.r_[np.zeros(n // 2), RNG.uniform(size=n // 2)],  # the median lies between two runs
        RNG.integers(0, 3, n) + 0.0,
        np.full(n, 7.0),
        np.where(RNG.uniform(size=n) < 0.9, np.nan, RNG.normal(size=n)),
        np.r_[np.full(n - 1, np.nan), 2.0],
    ]
    X = np.column_stack(columns)
    q = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
    expected = np.nanquantile(X, q, axis=0)
    for rows in (97, 10_000):
        np.testing.assert_array_equal(quantiles(as_source(X), q, rows=rows), expected)
    order = RNG.permutation(n)
    np.testing.assert_array_equal(quantiles(as_source(X[order]), q), expected)
    np.testing.assert_array_equal(quantiles(as_source(X), 0.5, [2]), expected[3:4, [2]])


def test_a_column_without_values_has_no_quantiles():
    X = np.column_stack([np.full(5, np.nan), np.arange(5.0)])
    assert np.isnan(quantiles(as_source(X), 0.5)[0]).tolist() == [True, False]
    with pytest.raises(DataError, match="holds words"):
        quantiles(as_source({"w": ["a"]}), 0.5)


def test_quantiles_of_many_rows_are_those_of_a_sample():
    n, size = 50_000, 4000
    X = np.column_stack([RNG.standard_cauchy(n), np.arange(n)])
    q = np.array([0.1, 0.5, 0.9])
    found = [quantiles(as_source(X), q, size=size, rows=rows) for rows in (777, n)]
    np.testing.assert_array_equal(*found)
    share = np.array(
        [[np.mean(x <= v) for v in values] for x, values in zip(X.T, found[0].T, strict=True)]
    )
    # Five standard errors of a rank.
    assert (np.abs(share - q) < 5.0 * np.sqrt(q * (1 - q) / size)).all()


@pytest.mark.parametrize(("size", "passes"), [(100_000, 3), (50_000, 2), (10, 1), (2**24, 400)])
def test_columns_of_one_pass_fit_in_their_memory(size, passes, monkeypatch):
    """In 128 MiB there are 167 columns of 100,000 numbers, and at least one is read."""
    module = import_module("mercer.data.sampling")
    source, asked = as_source(np.zeros((3, 400))), []

    def total(work, size, part, **how):
        asked.append(len(part))
        return module._PlaceSample(size, np.zeros(3, dtype=np.uint64), np.zeros((3, len(part))))

    monkeypatch.setattr(type(source), "total", lambda self, *args, **how: total(*args, **how))
    assert len(module.sampled_columns(source, range(400), size)) == 400
    assert len(asked) == passes
    assert sum(asked) == 400
    assert all(8 * size * k <= 2**27 for k in asked)


def test_columns_are_sampled_in_groups(monkeypatch):
    module = import_module("mercer.data.sampling")
    monkeypatch.setattr(module, "SAMPLE_BYTES", 8 * 100_000 * 2)
    X, passes = RNG.normal(size=(60, 5)), []
    source = as_source(X).map(lambda block: passes.append(block.start) or block)
    np.testing.assert_array_equal(quantiles(source, 0.5)[0], np.median(X, axis=0))
    assert passes == [0, 0, 0]
