"""Predictions of Dask collections against those of the same rows in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed.protocol.pickle import dumps
from sklearn.linear_model import LinearRegression, LogisticRegression

from mercer.distributed import predict

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
LABELS = np.array(["low", "middle", "high!"])[np.digitize(X[:, 0], [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=list("abc"))


@pytest.fixture(scope="module")
def classifier():
    return LogisticRegression().fit(X, LABELS)


@pytest.mark.parametrize("chunks", [(7, 3), (60, 1), ((0, 25, 0, 35), 3)])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_arrays(classifier, method, chunks):
    rows = da.from_array(X, chunks=-1).rechunk(chunks)
    got, expected = predict(classifier, rows, method), getattr(classifier, method)(X)
    assert isinstance(got, da.Array)
    assert (got.shape, got.dtype, got.ndim) == (expected.shape, expected.dtype, expected.ndim)
    assert got.chunks[0] == rows.chunks[0]
    np.testing.assert_array_equal(got.compute(), expected)


def test_rows_whose_number_is_not_known(classifier):
    rows = da.from_array(X, chunks=(9, 3))
    got = predict(classifier, rows[rows[:, 0] > 1.5])
    assert np.isnan(got.shape[0])
    np.testing.assert_array_equal(got.compute(), classifier.predict(X[X[:, 0] > 1.5]))


def test_frames():
    classifier = LogisticRegression().fit(FRAME, LABELS)
    rows = dd.from_pandas(FRAME, npartitions=4)
    got = predict(classifier, rows)
    assert got.divisions == rows.divisions
    assert got.name == "predict"
    answers = got.compute()
    assert answers.dtype == got.dtype
    pd.testing.assert_index_equal(answers.index, FRAME.index)
    np.testing.assert_array_equal(answers.to_numpy(), classifier.predict(FRAME))
    shares = predict(classifier, rows, "predict_proba")
    assert list(shares.columns) == list(classifier.classes_)
    np.testing.assert_array_equal(shares.compute(), classifier.predict_proba(FRAME))
    some = predict(classifier, rows[rows.a > 1.5], "decision_function")
    np.testing.assert_array_equal(
        some.compute(), classifier.decision_function(FRAME[FRAME.a > 1.5])
    )


def test_several_targets_have_numbers_for_names():
    machine = LinearRegression().fit(FRAME, X[:, :2])
    got = predict(machine, dd.from_pandas(FRAME, npartitions=2))
    assert list(got.columns) == [0, 1]
    np.testing.assert_allclose(got.compute(), X[:, :2], atol=1e-12)


def test_the_machine_is_in_the_graph_once(classifier):
    got = predict(classifier, da.from_array(X, chunks=(5, 3)))
    graph = dict(got.__dask_graph__())
    assert sum(b"intercept_" in dumps(task) for task in graph.values()) == 1
    assert len(graph) > 12


def test_on_a_cluster(client, classifier):
    rows = da.from_array(X, chunks=(7, 3))
    np.testing.assert_array_equal(predict(classifier, rows).compute(), classifier.predict(X))


def test_a_vector_is_refused(classifier):
    with pytest.raises(ValueError, match="rows and columns"):
        predict(classifier, da.zeros(3))
