"""Predictions from file to file are those of all rows at once; what is half done is not there."""

import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

import mercer.data
from mercer import SVC
from mercer.data import DataError, as_source
from mercer.preprocessing import Encoder, Scaler

RNG = np.random.default_rng(0)
N = 350
FRAME = pd.DataFrame(
    {
        "id": np.arange(N) + 2**40,
        "word": RNG.choice(["u", "v", None], N),
        "a": RNG.normal(size=N),
        "b": RNG.normal(size=N),
    }
)
FRAME["y"] = np.where(FRAME["a"] + (FRAME["word"] == "u") > 0, "yes", "no")
PLAIN = FRAME[["b", "a"]]  # another order than in the files


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(3):
        part = pa.Table.from_pandas(FRAME[k * 120 : (k + 1) * 120], preserve_index=False)
        pq.write_table(part, folder / f"{k}.parquet", row_group_size=50)
    return mercer.data.open(folder, target="y", features=["word", "a", "b"])


def test_every_format_holds_the_same_predictions(source, tmp_path):
    machine = LinearRegression().fit(PLAIN, FRAME["id"] % 7)
    expected = machine.predict(PLAIN)
    read = {
        "out.parquet": pd.read_parquet,
        "out.csv": pd.read_csv,
        "out.feather": pd.read_feather,
        "folder": pd.read_parquet,
    }
    for name, reader in read.items():
        n = mercer.data.predict(
            machine, source, tmp_path / name, columns=["id", "y"], rows=64, part_rows=130
        )
        assert n == N
        found = reader(tmp_path / name)
        assert list(found.columns) == ["id", "y", "prediction"]
        assert found["id"].tolist() == FRAME["id"].tolist()
        assert found["y"].tolist() == FRAME["y"].tolist()
        np.testing.assert_allclose(found["prediction"], expected, rtol=1e-12)
    mercer.data.predict(machine, source, tmp_path / "out.npy", rows=64)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, rtol=1e-12)
    parts = sorted(p.name for p in (tmp_path / "folder").iterdir())
    assert parts == [f"part-0000{k}.parquet" for k in range(3)]


def test_probabilities_have_names(source, tmp_path):
    machine = LogisticRegression().fit(PLAIN, FRAME["y"])
    mercer.data.predict(machine, source, tmp_path / "p.parquet", "predict_proba")
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert list(found.columns) == ["probability_no", "probability_yes"]
    np.testing.assert_allclose(found, machine.predict_proba(PLAIN))
    mercer.data.predict(machine, source, tmp_path / "p.npy", "predict_proba", rows=100)
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), machine.predict_proba(PLAIN))
    mercer.data.predict(machine, source, tmp_path / "d.csv", "decision_function")
    assert list(pd.read_csv(tmp_path / "d.csv").columns) == ["decision"]
    mercer.data.predict(machine, source, tmp_path / "label.parquet")
    assert pd.read_parquet(tmp_path / "label.parquet")["prediction"].tolist() == list(
        machine.predict(PLAIN)
    )


def test_any_pipeline_of_scikit_learn_predicts_from_files(source, tmp_path):
    columns = ["word", "a", "b"]
    theirs = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough"
        ),
        LogisticRegression(),
    )
    ours = make_pipeline(Encoder(), Scaler(), SVC())
    for k, pipeline in enumerate((theirs, ours)):
        pipeline.fit(FRAME[columns], FRAME["y"])
        mercer.data.predict(pipeline, source, tmp_path / f"{k}.parquet", rows=100)
        found = pd.read_parquet(tmp_path / f"{k}.parquet")["prediction"]
        assert found.tolist() == list(pipeline.predict(FRAME[columns]))


def test_rows_without_names(tmp_path):
    X = FRAME[["a", "b"]].to_numpy()
    machine = SVC().fit(X, FRAME["y"])
    for data in (X, as_source(X), [X[:100], X[100:]]):
        mercer.data.predict(machine, data, tmp_path / "o.parquet", rows=64)
        found = pd.read_parquet(tmp_path / "o.parquet")["prediction"].tolist()
        assert found == list(machine.predict(X))
    named = SVC().fit(FRAME[["a", "b"]], FRAME["y"])
    mercer.data.predict(named, X, tmp_path / "o.parquet")
    assert pd.read_parquet(tmp_path / "o.parquet")["prediction"].tolist() == found
    mercer.data.predict(PolynomialFeatures().fit(X), X, tmp_path / "t.npy", "transform")
    assert np.load(tmp_path / "t.npy").shape == (N, 6)
    mercer.data.predict(named, FRAME, tmp_path / "o.parquet", columns="id")
    assert pd.read_parquet(tmp_path / "o.parquet")["id"].tolist() == FRAME["id"].tolist()


def test_whole_numbers_with_gaps_stay_whole(tmp_path):
    ids = pa.array([None if k == 70 else k for k in range(100)], pa.int64())
    pq.write_table(pa.table({"x": RNG.normal(size=100), "id": ids}), tmp_path / "in.parquet")
    source = mercer.data.open(tmp_path / "in.parquet", features="x", keep="id")
    machine = LinearRegression().fit(np.zeros((5, 1)), np.arange(5))
    mercer.data.predict(machine, source, tmp_path / "out.parquet", rows=40)
    assert pq.read_table(tmp_path / "out.parquet").column("id").to_pylist() == ids.to_pylist()


class Failing:
    """A machine that fails at the k-th block."""

    def __init__(self, k):
        self.left = k

    def predict(self, X):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return X[:, 0] * 2.0


def test_a_file_is_there_when_it_is_complete_and_not_before(tmp_path):
    X = RNG.normal(size=(100, 2))
    for name in ("o.parquet", "o.csv", "o.npy"):
        path = tmp_path / name
        with pytest.raises(KeyboardInterrupt):
            mercer.data.predict(Failing(2), X, path, rows=30)
        assert os.listdir(tmp_path) == []
    mercer.data.predict(Failing(9), X, path, rows=30)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):  # what was there stays
        mercer.data.predict(Failing(2), X, path, rows=30)
    assert path.read_bytes() == before


def test_a_folder_goes_on_where_it_was_left(tmp_path):
    X = RNG.normal(size=(100, 2))
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        mercer.data.predict(Failing(5), X, out, rows=10, part_rows=20)
    assert sorted(os.listdir(out)) == ["part-00000.parquet", "part-00001.parquet"]
    again = Failing(100)
    assert mercer.data.predict(again, X, out, rows=10, part_rows=20) == 100
    assert 100 - again.left == 1 + 6  # one block to compare, six that were missing
    np.testing.assert_array_equal(pd.read_parquet(out)["prediction"], 2 * X[:, 0])
    done = Failing(100)
    mercer.data.predict(done, X, out, rows=10, part_rows=20)
    assert 100 - done.left == 1
    with pytest.raises(DataError, match="holds other predictions"):
        mercer.data.predict(Failing(100), X + 1, out, rows=10, part_rows=20)
    with pytest.raises(DataError, match="holds other predictions"):
        mercer.data.predict(Failing(100), as_source(pd.DataFrame(X, columns=["a", "b"])), out,
                            rows=10, part_rows=20, columns="a")  # fmt: skip
    with pytest.raises(DataError, match="parts of other sizes"):
        mercer.data.predict(Failing(100), X[:90], out, rows=10, part_rows=20)


@pytest.mark.parametrize(
    ("to", "options", "sentence"),
    [
        ("o.xlsx", {}, "o.xlsx is no kind of file that is known"),
        ("o.npy", {"columns": "a"}, "has no columns"),
        ("o.parquet", {"columns": "z"}, "no columns z"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, to, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        mercer.data.predict(Failing(9), FRAME[["a"]], tmp_path / to, **options)


def test_features_that_are_missing_are_named(source, tmp_path):
    machine = LinearRegression().fit(FRAME[["a"]].rename(columns={"a": "zz"}), FRAME["id"])
    with pytest.raises(DataError, match="there is no column 'zz'"):
        mercer.data.predict(machine, source, tmp_path / "o.parquet")
    with pytest.raises(DataError, match="have no features zz"):
        mercer.data.predict(machine, FRAME, tmp_path / "o.parquet")
    with pytest.raises(DataError, match="has 1 features, the rows 2"):
        mercer.data.predict(machine, np.zeros((3, 2)), tmp_path / "o.parquet")
    with pytest.raises(DataError, match="rows without names"):
        mercer.data.predict(Failing(9), np.zeros((3, 2)), tmp_path / "o.parquet", columns="a")
    with pytest.raises(DataError, match="no rows"):
        mercer.data.predict(Failing(9), np.zeros((0, 2)), tmp_path / "o.parquet")
    words = pickle.loads(
        pickle.dumps(make_pipeline(Encoder(), SVC()).fit(FRAME[["word"]], FRAME["y"]))
    )
    with pytest.raises(DataError, match="holds numbers, not objects"):
        mercer.data.predict(words, source, tmp_path / "o.npy")


def test_progress_is_told_where_it_is_asked_for(tmp_path, capsys):
    mercer.data.predict(Failing(9), np.zeros((30, 2)), tmp_path / "o.npy", rows=10, progress=True)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Failing.predict: 100%|")
    assert "30/30 [" in last
