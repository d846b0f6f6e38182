"""Transformers equal scikit-learn's on arrays, and themselves on streams of the same rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as theirs
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import mercer.data
from mercer import KernelRegressor
from mercer.data import DataError, Source, as_source
from mercer.data.table import Table
from mercer.preprocessing import Encoder, Imputer, Scaler
from mercer.reduced import Nystrom

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4)) * [1, 10, 0.1, 0] + [0, 5, -2, 3]
HOLED = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
HOLED[:, 1] = np.round(HOLED[:, 1])
WORDS = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green", "blue"], N, p=[0.6, 0.3, 0.1]),
        "k": RNG.integers(0, 9, N),
        "code": [f"c{int(v)}" for v in np.minimum(RNG.exponential(5, N), 40)],
    }
)
Y = RNG.normal(size=N) + WORDS["k"]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Let passes meet 400 rows in seven blocks."""
    monkeypatch.setattr("mercer.preprocessing.base.BLOCK_NUMBERS", 1)


def rows_of(source, rows=33):
    blocks = list(source.blocks(rows))
    parts = [b.X.toarray() if sp.issparse(b.X) else b.X for b in blocks]
    return np.concatenate(parts)


SCALERS = [
    (Scaler(), theirs.StandardScaler()),
    (Scaler(centre=False), theirs.StandardScaler(with_mean=False)),
    (Scaler(scale=False), theirs.StandardScaler(with_std=False)),
    (Scaler(scale="robust"), theirs.RobustScaler()),
    (Scaler(centre=False, scale="robust"), theirs.RobustScaler(with_centering=False)),
]


@pytest.mark.parametrize(("ours", "twin"), SCALERS)
@pytest.mark.parametrize("data", [X, HOLED], ids=["whole", "missing"])
def test_scaling_is_that_of_scikit_learn(ours, twin, data):
    expected = twin.fit_transform(data)
    # Both sum 400 numbers in double precision.
    np.testing.assert_allclose(ours.fit_transform(data), expected, rtol=1e-12, atol=1e-12)
    source = clone(ours).fit_transform(as_source(data))
    assert isinstance(source, Source)
    np.testing.assert_allclose(rows_of(source), expected, rtol=1e-12, atol=1e-12)
    back = ours.inverse_transform(source)
    np.testing.assert_allclose(rows_of(back), data, rtol=1e-12, atol=1e-12)


def test_scaling_sparse_rows():
    S = sp.random_array((N, 5), density=0.2, rng=0, format="csr")
    expected = theirs.StandardScaler(with_mean=False).fit_transform(S).toarray()
    scaler = Scaler(centre=False)
    np.testing.assert_allclose(scaler.fit_transform(S).toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(rows_of(scaler.fit_transform(as_source(S))), expected, rtol=1e-12)
    np.testing.assert_allclose(
        scaler.inverse_transform(scaler.transform(S)).toarray(), S.toarray(), rtol=1e-12
    )
    robust = Scaler(centre=False, scale="robust").fit(as_source(S + 1 * (S > 0)))
    assert robust.scale_.shape == (5,)
    for rows in (S, as_source(S)):
        with pytest.raises(ValueError, match=r"use Scaler\(centre=False\)"):
            Scaler().fit(rows)


def test_scaling_keeps_single_precision_and_large_means():
    single = (X + 1e4).astype(np.float32)
    assert Scaler().fit_transform(single).dtype == np.float32
    block = next(Scaler().fit_transform(as_source(single)).blocks(10))
    assert block.X.dtype == np.float32
    whole = next(Scaler().fit(X).transform(as_source(np.ones((3, 4), dtype=int))).blocks(10))
    assert whole.X.dtype == np.float64


def test_infinite_values_are_refused():
    bad = pd.DataFrame(X.copy(), columns=list("abcd"))
    bad.loc[3, "c"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        Scaler().fit(bad)
    with pytest.raises(ValueError, match=r"infinity.*'c'"):
        Scaler().fit(as_source(bad))


IMPUTERS = [
    (Imputer(), SimpleImputer()),
    (Imputer("median"), SimpleImputer(strategy="median")),
    (Imputer("most_frequent"), SimpleImputer(strategy="most_frequent")),
    (Imputer(-1.5), SimpleImputer(strategy="constant", fill_value=-1.5)),
    (Imputer("mean", indicator=True), SimpleImputer(add_indicator=True)),
]


@pytest.mark.parametrize(("ours", "twin"), IMPUTERS)
def test_filling_in_is_that_of_scikit_learn(ours, twin):
    data = HOLED.copy()
    data[:, 0] = X[:, 0]  # a feature without a gap has no indicator
    expected = twin.fit_transform(data)
    np.testing.assert_allclose(ours.fit_transform(data), expected, rtol=1e-13)
    np.testing.assert_allclose(rows_of(ours.fit_transform(as_source(data))), expected, rtol=1e-13)
    S = sp.csr_array(np.where(np.abs(data) < 1, 0.0, data))
    if ours.fill != "most_frequent":
        dense = twin.fit_transform(sp.csc_array(S))
        found = ours.fit_transform(S)
        np.testing.assert_allclose(found.toarray(), dense.toarray(), rtol=1e-12)


def test_filling_in_beside_words():
    frame = pd.DataFrame({"x": [1.0, None, 3.0], "w": ["a", None, "b"]})
    for data in (frame, pl.from_pandas(frame), frame.to_numpy(dtype=object)):
        filled = Imputer(indicator=True).fit_transform(data)
        assert filled.tolist() == [[1.0, "a", 0.0], [2.0, None, 1.0], [3.0, "b", 0.0]]
    imputer = Imputer("median", indicator=True).fit(as_source(frame))
    assert imputer.get_feature_names_out().tolist() == ["x", "w", "x_missing"]
    table = next(imputer.transform(as_source(frame)).blocks(5)).X
    assert isinstance(table, Table)
    assert table.columns["x"].tolist() == [1, 2, 3]


def test_a_feature_without_values_is_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, np.nan]})
    for data in (frame, as_source(frame)):
        with pytest.raises(ValueError, match="no value of b to learn from"):
            Imputer().fit(data)
        assert Imputer(0.0).fit(data).statistics_.tolist() == [0.0, 0.0]


CATEGORICAL = ["colour", "code"]


@pytest.mark.parametrize("most", [None, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_column_a_category_is_that_of_scikit_learn(most, sparse):
    twin = theirs.OneHotEncoder(
        sparse_output=False, max_categories=most, handle_unknown="infrequent_if_exist"
    ).fit(WORDS[CATEGORICAL])
    ours = Encoder(max_categories=most, sparse=sparse).fit(WORDS[CATEGORICAL])
    unseen = pd.DataFrame({"colour": ["red", "pink"], "code": ["c1", "c99"]})
    for data in (WORDS[CATEGORICAL], unseen):
        found, expected = ours.transform(data), twin.transform(data)
        np.testing.assert_array_equal(found.toarray() if sparse else found, expected)
        np.testing.assert_array_equal(rows_of(ours.transform(as_source(data))), expected)
    names = [n.replace("infrequent_sklearn", "infrequent") for n in twin.get_feature_names_out()]
    assert ours.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("most", [None, 5])
def test_numbers_of_categories_are_those_of_scikit_learn(most):
    twin = theirs.OrdinalEncoder(
        max_categories=most, handle_unknown="use_encoded_value", unknown_value=-1
    )
    ours = Encoder("ordinal", max_categories=most)
    expected = twin.fit_transform(WORDS[CATEGORICAL])
    np.testing.assert_array_equal(ours.fit_transform(WORDS[CATEGORICAL]), expected)
    np.testing.assert_array_equal(
        rows_of(ours.fit_transform(as_source(WORDS[CATEGORICAL]))), expected
    )
    unseen = pd.DataFrame({"colour": ["pink"], "code": ["c1"]})
    assert ours.transform(unseen)[0, 0] == -1


TARGETS = {
    "numbers": Y.to_numpy(),
    "two classes": np.where(Y.mean() < Y, "yes", "no"),
    "three classes": np.digitize(Y, [2, 5]),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("smooth", ["auto", 7.0])
def test_means_of_targets_are_those_of_scikit_learn(kind, smooth):
    y = TARGETS[kind]
    frame = WORDS[["colour", "k"]].astype({"k": str})
    twin = theirs.TargetEncoder(smooth=smooth).fit(frame, y)
    expected = twin.transform(frame)
    ours = Encoder("target", smooth=smooth).fit(frame, y)
    np.testing.assert_allclose(ours.transform(frame), expected, rtol=1e-10, atol=1e-12)
    source = as_source(frame, y)
    streamed = Encoder("target", smooth=smooth).fit(source)
    np.testing.assert_allclose(
        rows_of(streamed.transform(source)), expected, rtol=1e-10, atol=1e-12
    )
    assert len(ours.get_feature_names_out()) == expected.shape[1]
    unseen = ours.transform(pd.DataFrame({"colour": ["pink"], "k": ["99"]}))
    np.testing.assert_allclose(unseen[0], np.tile(np.atleast_1d(twin.target_mean_), 2))


def test_training_rows_do_not_learn_their_own_targets():
    """Many categories and targets that are noise: only what leaks can correlate."""
    n = 2000
    frame = pd.DataFrame({"id": RNG.integers(0, 1000, n).astype(str), "x": RNG.normal(size=n)})
    y = RNG.normal(size=n)
    encoder = Encoder("target", smooth=0.0)
    apart = encoder.fit_transform(frame, y)[:, 0]
    leaking = encoder.transform(frame)[:, 0]
    assert np.corrcoef(leaking, y)[0, 1] > 0.5
    # The standard error of a correlation of 2000 pairs is 0.022.
    assert abs(np.corrcoef(apart, y)[0, 1]) < 0.1
    # Neither order nor division into blocks changes what a row becomes.
    order = RNG.permutation(n)
    shuffled = as_source(frame.iloc[order], y[order])
    again = rows_of(Encoder("target", smooth=0.0).fit_transform(shuffled))[:, 0]
    np.testing.assert_allclose(again, apart[order], rtol=1e-9, atol=1e-12)


def test_folds_leave_out_what_they_say():
    """Against the plain definition: refit without the fold of the row."""
    frame, y = WORDS[["colour", "x"]], Y.to_numpy()
    encoder = Encoder("target", cv=3)
    apart = encoder.fit_transform(frame, y)[:, 0]
    fold = mercer.data.sampling.fingerprints(next(as_source(frame).blocks(N)).X, seed=1) % 3
    for k in range(3):
        rest = fold != k
        plain = Encoder("target").fit(frame[rest], y[rest])
        np.testing.assert_allclose(plain.transform(frame[~rest])[:, 0], apart[~rest], rtol=1e-10)


def test_missing_categories_are_a_category():
    frame = pd.DataFrame({"w": ["a", None, "b", None], "x": [0.0, 1.0, np.nan, np.nan]})
    encoder = Encoder(columns=["w", "x"]).fit(frame)
    assert encoder.get_feature_names_out().tolist() == [
        "w_a", "w_b", "w_None", "x_0.0", "x_1.0", "x_nan",
    ]  # fmt: skip
    assert encoder.transform(frame).sum(axis=1).tolist() == [2, 2, 2, 2]


def test_an_unknown_category_can_be_an_error():
    encoder = Encoder(handle_unknown="error").fit(WORDS)
    with pytest.raises(DataError, match=r"column 'colour' has a category .* not met: 'pink'"):
        encoder.transform(WORDS.assign(colour="pink"))


def test_columns_are_chosen_by_name_number_or_kind():
    assert Encoder().fit(WORDS).columns_ == [1, 3]
    assert Encoder(columns=["k", 1]).fit(WORDS.drop(columns="code")).columns_ == [1, 2]
    assert Encoder(columns="all").fit(WORDS).columns_ == [0, 1, 2, 3]
    for wrong in (["kk"], [7]):
        with pytest.raises(ValueError, match="there is no column"):
            Encoder(columns=wrong).fit(WORDS)
    with pytest.raises(DataError, match="'x' held numbers"):
        Encoder().fit(WORDS).transform(WORDS.assign(x="one"))
    with pytest.raises(ValueError, match="requires y to be passed"):
        Encoder("target").fit(as_source(WORDS))
    with pytest.raises(DataError, match="one target a row"):
        Encoder("target").fit(WORDS, np.zeros((N, 2)))
    plain = as_source(WORDS, Y.to_numpy().astype(int))
    encoder = Encoder("target", target_type="continuous").fit(plain)
    assert not hasattr(encoder, "classes_")


@pytest.mark.parametrize("transformer", [Scaler(), Imputer(), Encoder()])
def test_other_features_are_refused(transformer):
    fitted = transformer.fit(as_source(pd.DataFrame(X, columns=list("abcd"))))
    with pytest.raises(ValueError, match="was fitted to other features: a, b, c, d; it got: a, b"):
        fitted.transform(as_source(pd.DataFrame(X[:, :2], columns=["a", "b"])))
    with pytest.raises(ValueError, match="was fitted to other features"):
        fitted.transform(Table({"a": X[:, 0]}))
    unnamed = clone(transformer).fit(as_source(X))
    assert not hasattr(unnamed, "feature_names_in_")
    with pytest.raises(ValueError, match="other features: 4; it got: 2"):
        unnamed.transform(as_source(X[:, :2]))
    assert not hasattr(fitted.fit(as_source(X)), "feature_names_in_")


def write(folder):
    table = pa.table({**{c: WORDS[c].to_numpy() for c in WORDS.columns}, "y": Y.to_numpy()})
    for k in range(3):
        pq.write_table(table.slice(k * 150, 150), folder / f"{k}.parquet", row_group_size=40)
    return mercer.data.open(folder, target="y")


class Passes(BaseEstimator):
    """A machine that is fitted to a source by normal equations: one pass."""

    def fit(self, X, y=None):
        source = X.checked()
        sums = source.total(normal, rows=64)
        self.coef_ = np.linalg.solve(sums[:-1] + 1e-3 * np.eye(len(sums) - 1), sums[-1])
        return self

    def predict(self, X):
        return np.asarray(X) @ self.coef_


def normal(block, shared, state):
    return np.vstack([block.X.T @ block.X, block.y @ block.X])


def test_a_pipeline_is_one_pass_each_from_files(tmp_path):
    reads = []
    source = write(tmp_path).map(lambda block: reads.append(block.n) or block)
    model = make_pipeline(Imputer(), Encoder("onehot"), Scaler(), Passes()).fit(source)
    assert sum(reads) == 4 * N
    plain = make_pipeline(Encoder("onehot"), Scaler(), Ridge(1e-3, fit_intercept=False)).fit(
        WORDS, Y
    )
    np.testing.assert_allclose(model.predict(WORDS), plain.predict(WORDS), rtol=1e-8, atol=1e-8)
    again = pickle.loads(pickle.dumps(model[:-1])).transform(write(tmp_path))
    np.testing.assert_allclose(rows_of(again), model[:-1].transform(WORDS))


def test_passes_tell_how_far_they_are(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    Scaler(verbose=True).fit(as_source(X))
    assert "Scaler: moments" in capsys.readouterr().err


def test_frames_come_out_where_they_are_asked_for():
    frame = Encoder().set_output(transform="pandas").fit_transform(WORDS)
    assert list(frame.columns[:4]) == ["x", "colour_blue", "colour_green", "colour_red"]


def test_names_pass_through_transformed_sources(tmp_path):
    source = write(tmp_path)
    filled = Imputer().fit_transform(source)
    encoder = Encoder(columns=["code"], handle_unknown="error").fit(filled)
    assert encoder.columns_ == [3]
    assert not hasattr(encoder, "feature_names_in_")  # as if an array had come in between
    assert encoder.transform(filled).feature_names[3].startswith("code_c")
    with pytest.raises(DataError, match="not numbers: 'colour', 'code'"):
        Scaler().fit(filled)


def test_lists_and_tables_are_rows_too():
    rows = [["red", 1.0], ["blue", 2.0]]
    assert Encoder().fit_transform(rows).tolist() == [[0, 1, 1], [1, 0, 2]]
    table = Table({"colour": np.array(["red", "blue"], dtype=object), "x": np.array([1.0, 2.0])})
    encoder = Encoder().fit(table)
    assert encoder.transform(table).tolist() == [[0, 1, 1], [1, 0, 2]]
    assert isinstance(Imputer().fit(table).transform(table), Table)
    assert Scaler().fit_transform(Table({"x": np.array([1.0, 3.0])})).tolist() == [[-1], [1]]


def test_a_machine_from_files_is_that_from_a_frame_to_the_last_bit(tmp_path):
    """Blocks hold the same rows however files are divided, so sums have the same rounding."""
    machine = KernelRegressor("huber", C=10.0, gamma=0.3, approximation=Nystrom(30))
    pipeline = make_pipeline(Imputer(), Encoder(), Scaler(), machine)
    files = clone(pipeline).fit(write(tmp_path))
    frame = clone(pipeline).fit(as_source(WORDS, Y.to_numpy()))
    np.testing.assert_array_equal(files.predict(WORDS), frame.predict(WORDS))
    assert files[-1].solution_.relative_gap < 1e-2
    array = clone(machine).fit(files[:-1].transform(WORDS), Y)
    np.testing.assert_allclose(array.predict(files[:-1].transform(WORDS)), files.predict(WORDS))
