"""Transformers learned where partitions are against the same learned from a frame in memory."""

import dask.dataframe as dd
import numpy as np
import pandas as pd

from mercer.preprocessing import RankNormalizer, TableEncoder

RNG = np.random.default_rng(2)
N = 400
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "colour": RNG.choice(["red", "green", "blue"], N),
        "holes": np.where(RNG.uniform(size=N) < 0.2, np.nan, np.round(RNG.normal(size=N), 1)),
        "same": np.ones(N),
    }
)


def test_tables_are_encoded_the_same_on_a_cluster(client):
    lazy = dd.from_pandas(FRAME.assign(again=FRAME["colour"]), npartitions=3)
    ours, memory = TableEncoder().fit(lazy), TableEncoder().fit(FRAME)
    assert ours.names_ == memory.names_ == ["x", "colour", "holes", "holes_missing"]
    assert ours.dropped_ == {"same": "has one value: 1", "again": "equals 'colour'"}
    found = ours.transform(FRAME.assign(again=FRAME["colour"]))
    np.testing.assert_array_equal(found, memory.transform(FRAME))


def test_ranks_are_the_same_on_a_cluster(client):
    numbers = FRAME[["x", "holes", "same"]]
    for size in (10_000, 50):
        ours = RankNormalizer(n_quantiles=size).fit(dd.from_pandas(numbers, npartitions=3))
        memory = RankNormalizer(n_quantiles=size).fit(numbers)
        np.testing.assert_array_equal(ours.transform(numbers), memory.transform(numbers))
