"""Sets that come with the library are what was published, and small."""

from importlib import resources

import numpy as np
import pytest

import mercer.datasets as datasets

# Figures of the publications and of the repositories that distribute them.
PUBLISHED = {
    "load_abalone": ((4177, 8), 9.933684),
    "load_air_passengers": ((144, 2), 280.298611),
    "load_auto_mpg": ((398, 7), 23.514573),
    "load_co2": ((2284, 1), 340.142247),
    "load_concrete": ((1030, 8), 35.817836),
    "load_elevation": ((8686, 2), 531.470758),
    "load_german_credit": ((1000, 20), 0.7),
    "load_haberman": ((306, 3), 225 / 306),
    "load_house_votes": ((435, 16), 267 / 435),
}
LARGEST = 1_000_000


def test_all_loaders_are_here():
    assert set(PUBLISHED) == {name for name in datasets.__all__ if name.startswith("load_")}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures(name):
    load = getattr(datasets, name)
    shape, mean = PUBLISHED[name]
    found = load()
    y = (
        found.target
        if found.target.dtype != object
        else np.isin(found.target, ["good", "democrat"])
    )
    assert found.data.shape == shape
    assert np.nanmean(y.astype(float)) == pytest.approx(mean, abs=5e-7)
    assert len(found.feature_names) == shape[1]
    assert "CC BY 4.0" in found.DESCR or "public domain" in found.DESCR
    X, y = load(return_X_y=True)
    assert X.shape == shape
    assert len(y) == shape[0]
    frame = load(as_frame=True)
    assert frame.frame.shape[1] >= shape[1] + 1
    assert list(frame.data.columns) == found.feature_names
    assert frame.target.name == found.target_name


def test_the_wheel_stays_small():
    files = resources.files("mercer.datasets") / "files"
    assert sum(len(file.read_bytes()) for file in files.iterdir()) < LARGEST


def test_docstrings_are_whole():
    for name in PUBLISHED:
        text = getattr(datasets, name).__doc__
        for part in ("return_X_y", "as_frame", "Returns", "Examples"):
            assert part in text
