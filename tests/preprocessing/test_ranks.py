"""Normal scores against SciPy's ranks, and the properties that ranks have."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

import mercer.data
from mercer.data import DataError, Source, as_source
from mercer.data.sampling import sampled_columns
from mercer.preprocessing import RankNormalizer
from mercer.preprocessing.ranks import interpolated

RNG = np.random.default_rng(5)
N = 500
X = np.column_stack(
    [
        RNG.standard_cauchy(N),
        np.round(RNG.normal(size=N)),
        np.maximum(RNG.normal(size=N), 0.0),
        RNG.integers(0, 2, N) * 7.0 - 3.0,
        np.full(N, 4.0),
        np.where(RNG.uniform(size=N) < 0.3, np.nan, RNG.exponential(size=N)),
        np.full(N, np.nan),
    ]
)


def scored(x):
    """Return normal scores of the ranks that SciPy gives."""
    z = np.full(len(x), np.nan)
    there = ~np.isnan(x)
    z[there] = norm.ppf((rankdata(x[there], method="average") - 0.5) / there.sum())
    return z


def rows_of(source, rows=33):
    return np.concatenate([block.X for block in source.blocks(rows)])


@pytest.fixture
def _small_blocks(monkeypatch):
    """Let passes meet rows in blocks of 64."""
    monkeypatch.setattr("mercer.preprocessing.base.BLOCK_NUMBERS", 1)


@pytest.mark.usefixtures("_small_blocks")
def test_scores_are_those_of_mid_ranks():
    normalizer = RankNormalizer().fit(X)
    Z = normalizer.transform(X)
    for j in (0, 1, 2, 5):
        # Two quantile functions of the normal distribution, both good to a few roundings.
        np.testing.assert_allclose(Z[:, j], scored(X[:, j]), rtol=1e-13, atol=1e-15)
    # Equal values at an end: a share p of zeros has the score at p / 2, not at nothing.
    share = np.mean(X[:, 2] == 0)
    assert Z[X[:, 2] == 0, 2].max() == Z[:, 2].min() == pytest.approx(norm.ppf(share / 2))
    np.testing.assert_array_equal(Z[:, 3], (X[:, 3] + 3) / 7)
    assert (Z[:, 4] == 0).all()
    assert np.isnan(Z[:, 6]).all()
    streamed = RankNormalizer().fit_transform(as_source(X))
    assert isinstance(streamed, Source)
    np.testing.assert_array_equal(rows_of(streamed), Z)


def test_the_inverse_is_exact_at_the_values_of_the_fit():
    normalizer = RankNormalizer().fit(X)
    Z = normalizer.transform(X)
    np.testing.assert_array_equal(normalizer.inverse_transform(Z), X)
    np.testing.assert_array_equal(rows_of(normalizer.inverse_transform(as_source(Z))), X)
    wide = np.repeat(np.linspace(-9, 9, 50)[:, None], 7, axis=1)
    back = normalizer.inverse_transform(wide)
    assert (back[[0, -1], 0] == [X[:, 0].min(), X[:, 0].max()]).all()
    assert (back[:, 4] == 4).all()
    assert np.isnan(back[:, 6]).all()


def test_new_values_lie_between_their_neighbours():
    normalizer = RankNormalizer().fit(X)
    (values,), (scores,) = normalizer.values_[:1], normalizer.scores_[:1]
    k = np.arange(len(values) - 1)
    new = np.full((len(k), 7), 1.0)
    new[:, 0] = 0.75 * values[k] + 0.25 * values[k + 1]
    found = normalizer.transform(new)
    # Differences of Cauchy's values lose at most three digits.
    np.testing.assert_allclose(found[:, 0], 0.75 * scores[k] + 0.25 * scores[k + 1], atol=1e-10)
    assert (found[:, 3] == 4 / 7).all()  # between -3 and 4
    assert (found[:, [4, 6]] == 0).all()
    far = normalizer.transform(np.array([[-1e300] * 7, [1e300] * 7]))
    assert (far[:, 0] == scores[[0, -1]]).all()
    assert (far[:, 3] == [0, 1]).all()


MAPS = [np.exp, lambda x: x**3, np.arctan, lambda x: 2.5 * x - 7]


@pytest.mark.parametrize("increasing", MAPS)
def test_scores_survive_increasing_functions(increasing):
    plain = np.clip(X[:, [0, 1, 2, 5]], -20, 20)
    np.testing.assert_array_equal(
        RankNormalizer().fit_transform(increasing(plain)), RankNormalizer().fit_transform(plain)
    )


@settings(max_examples=50, deadline=None)
@given(
    arrays(
        np.float64, st.integers(1, 30), elements=st.floats(allow_nan=False, allow_infinity=False)
    ),
    arrays(np.float64, 20, elements=st.floats(allow_nan=False, allow_infinity=False)),
)
def test_scores_increase_and_return(column, new):
    normalizer = RankNormalizer().fit(column[:, None])
    z = normalizer.transform(np.sort(np.concatenate([column, new]))[:, None])
    assert (np.diff(z[:, 0]) >= 0).all()
    again = normalizer.inverse_transform(normalizer.transform(column[:, None]))
    np.testing.assert_array_equal(again[:, 0], column)
    back = normalizer.inverse_transform(np.linspace(-3, 3, 40)[:, None])
    assert np.isfinite(back).all()
    assert (np.diff(back[:, 0]) >= 0).all()


def test_interpolation_survives_numbers_at_the_ends_of_their_range():
    knots = np.array([-1.7e308, 0.0, 5e-324, 1.7e308])
    values = np.array([0.0, 1.0, 2.0, 3.0])
    x = np.array([-8.5e307, 0.0, 5e-324, 8.5e307])
    np.testing.assert_allclose(interpolated(x, knots, values), [0.5, 1.0, 2.0, 2.5])
    np.testing.assert_allclose(interpolated(np.array([2.5]), values, knots), [8.5e307])


def test_of_many_values_those_at_even_ranks_are_kept():
    """A spike, ties and a heavy tail; ranks against sorting everything."""
    n, size = 20_000, 300
    x = RNG.standard_cauchy(n)
    x[: n // 10] = 0.125
    x[n // 10 : n // 5] = np.round(x[n // 10 : n // 5])
    normalizer = RankNormalizer(n_quantiles=size).fit(RNG.permutation(x)[:, None])
    (values,), (scores,) = normalizer.values_, normalizer.scores_
    assert len(values) <= size
    assert (values[[0, -1]] == [x.min(), x.max()]).all()
    exact = scored(x)
    np.testing.assert_allclose(scores, [exact[x == v][0] for v in values], rtol=1e-12, atol=1e-13)
    different, counts = np.unique(x, return_counts=True)
    assert np.isin(different[counts * (size - 1) > n], values).all()
    # Between values that are kept there are fewer than n / (size - 1) rows, which is the largest
    # error of a rank, plus half of the spike beside it.
    wrong = np.abs(norm.cdf(normalizer.transform(x[:, None])[:, 0]) - norm.cdf(exact))
    assert wrong.max() <= 0.05 + 2.0 / (size - 1)
    assert np.median(wrong) < 1 / size


def test_of_many_rows_a_sample_is_ranked(monkeypatch):
    x = RNG.normal(size=20_000)
    monkeypatch.setattr(sampled_columns, "__defaults__", (2000,))
    normalizer = RankNormalizer().fit(x[:, None])
    assert len(normalizer.values_[0]) == 2000
    wrong = np.abs(norm.cdf(normalizer.transform(x[:, None])[:, 0]) - norm.cdf(scored(x)))
    # The Kolmogorov distance of 2000 draws is above 2.5 / sqrt(2000) with a chance of 1e-5.
    assert 0 < wrong.max() < 2.5 / np.sqrt(2000)


@pytest.mark.usefixtures("_small_blocks")
def test_files_and_arrays_give_the_same_map(tmp_path):
    frame = pd.DataFrame(X[:, [0, 1, 5]], columns=["a", "b", "c"])
    table = pa.table({name: pa.array(frame[name]) for name in frame})
    for k in range(3):
        pq.write_table(table.slice(k * 200, 200), tmp_path / f"{k}.parquet", row_group_size=50)
    for size in (10_000, 40):
        files = RankNormalizer(n_quantiles=size).fit(mercer.data.open(tmp_path))
        array = RankNormalizer(n_quantiles=size).fit(frame.sample(frac=1.0, random_state=0))
        np.testing.assert_array_equal(files.transform(frame), array.transform(frame))
        assert files.get_feature_names_out().tolist() == ["a", "b", "c"]


def test_precision_is_kept():
    single = X[:, :4].astype(np.float32)
    normalizer = RankNormalizer().fit(single)
    Z = normalizer.transform(single)
    assert Z.dtype == np.float32
    double = normalizer.transform(single.astype(np.float64))
    np.testing.assert_array_equal(Z, double.astype(np.float32))
    assert normalizer.inverse_transform(Z).dtype == np.float32


def test_what_has_no_ranks_is_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        RankNormalizer().fit(sp.csr_array(np.eye(3)))
    with pytest.raises(DataError, match=r"sparse.*X.toarray\(\)"):
        RankNormalizer().fit(as_source(sp.csr_array(np.eye(3))))
    bad = pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 0.0]})
    for data in (bad, as_source(bad)):
        with pytest.raises(ValueError, match="infinity"):
            RankNormalizer().fit(data)
    with pytest.raises(DataError, match="not numbers: 'w'"):
        RankNormalizer().fit(as_source(pd.DataFrame({"w": ["u", "v"]})))
