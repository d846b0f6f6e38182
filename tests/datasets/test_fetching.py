"""Sets by their names, from a mirror, from a server on loopback, and from neither."""

import bz2
import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest

from data import FOLDER, MISSING
from mercer.datasets import DownloadError, data_home, describe, fetch, names
from mercer.datasets import fetching as module
from mercer.datasets.__main__ import main
from mercer.datasets.folder import Folder
from mercer.datasets.formats import unpacked
from mercer.datasets.tables import digest, means

FRAME = pd.DataFrame(
    {"size": [1.5, np.nan, 2.25], "colour": ["red", "blue", "red"], "price": [10.0, 20.0, 30.0]}
)
CSV = "1.5,red,10\n?,blue,20\n2.25,red,30\n"
FACTS = {"origin": "made up", "licence": "public domain", "rows": 3, "features": 2}


@pytest.fixture
def web(server, monkeypatch):
    """Put two sets on the server and their addresses into the library."""
    monkeypatch.delenv("MERCER_DATA", raising=False)
    server.files |= {
        "/houses.csv": CSV.encode(),
        "/a": b"1 1:1 3:2\n-1 2:1\n",
        "/a.t": b"1 2:5\n",
    }
    known = {
        "houses": FACTS
        | {
            "task": "regression",
            "target": "price",
            "format": "csv",
            "columns": list(FRAME.columns),
            "missing": ["?"],
            "files": [{"url": f"{server.address}/houses.csv"}],
            "cells": digest(FRAME),
        },
        "signs": FACTS
        | {
            "task": "binary",
            "target": "y",
            "format": "libsvm",
            "features": 3,
            "files": [
                {"url": f"{server.address}/a", "part": "train"},
                {"url": f"{server.address}/a.t", "part": "test"},
            ],
            "means": [1 / 3, 2.0, 2 / 3, 1 / 3],
        },
    }
    monkeypatch.setattr(module, "addresses", lambda: known)
    return server


def test_a_set_is_fetched_once_and_kept(web, tmp_path):
    found = fetch("houses", data_home=tmp_path)
    np.testing.assert_array_equal(found.data, [[1.5, 0, 1], [np.nan, 1, 0], [2.25, 0, 1]])
    assert found.feature_names == ["size", "colour_blue", "colour_red"]
    np.testing.assert_array_equal(found.target, FRAME.price)
    assert "public domain" in found.DESCR
    again = fetch("houses", data_home=tmp_path, download_if_missing=False, missing="drop")
    np.testing.assert_array_equal(again.target, [10.0, 30.0])
    assert len(again.frame) == 2
    assert len(web.asked) == 1
    assert Folder(tmp_path).verify() == []
    assert not list((tmp_path / "downloads" / "houses").iterdir())


def test_parts_of_a_set_are_its_split(web, tmp_path):
    found = fetch("signs", data_home=tmp_path)
    np.testing.assert_array_equal(found.data, [[1, 0, 2], [0, 1, 0], [0, 5, 0]])
    assert found.split.tolist() == ["train", "train", "test"]
    np.testing.assert_array_equal(found.target, [1, -1, 1])
    X, y = fetch("signs", data_home=tmp_path, return_X_y=True)
    assert X.shape == (3, 3)
    assert len(y) == 3


@pytest.mark.parametrize(
    ("name", "path", "content"),
    [
        ("houses", "/houses.csv", CSV.replace("30", "31").encode()),
        ("houses", "/houses.csv", CSV.encode()[:-10]),
        ("houses", "/houses.csv", b"<html>moved</html>"),
        ("signs", "/a.t", b"1 2:6\n"),
        ("signs", "/a.t", b"<html>moved</html>"),
    ],
)
def test_altered_cells_are_refused(web, tmp_path, name, path, content):
    web.files[path] = content
    with pytest.raises(DownloadError, match=r"has not the cells|not the table"):
        fetch(name, data_home=tmp_path)
    assert name not in Folder(tmp_path).entries


def test_a_mirror_is_read_and_never_added_to(web, tmp_path, monkeypatch):
    Folder(tmp_path).keep("mine", FRAME, FACTS | {"task": "regression", "target": "price"})
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    assert data_home() == tmp_path
    assert names() == ["houses", "mine", "signs"]
    assert fetch("mine").data.shape == (3, 3)
    with pytest.raises(DownloadError, match="MERCER_DATA names has no houses"):
        fetch("houses")
    assert web.asked == []


def test_unknown_names_and_offline(web, tmp_path):
    with pytest.raises(ValueError, match="Did you mean 'houses'"):
        fetch("house", data_home=tmp_path)
    with pytest.raises(ValueError, match="Did you mean 'houses'"):
        describe("house", data_home=tmp_path)
    with pytest.raises(DownloadError, match="download_if_missing is False"):
        fetch("houses", data_home=tmp_path, download_if_missing=False)
    with pytest.raises(ValueError, match="missing must be"):
        fetch("houses", data_home=tmp_path, missing="fill")


def test_the_command_says_what_it_cannot_get(web, tmp_path, capsys):
    del web.files["/a.t"]
    assert main(["--folder", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "houses: 3 rows" in out
    assert "1 sets in" in out
    assert err.endswith("could not be had: signs\n")
    assert main(["houses", "--folder", str(tmp_path)]) == 0


def test_a_catalogue_cannot_name_files_elsewhere(tmp_path):
    (tmp_path / "in").mkdir()
    entry = FACTS | {"task": "regression", "target": "price", "file": "../secret.parquet"}
    (tmp_path / "in" / "catalog.json").write_text(json.dumps({"bad": entry}))
    with pytest.raises(ValueError, match="not in its folder"):
        Folder(tmp_path / "in").read("bad")


def test_packed_files(tmp_path):
    (tmp_path / "plain").write_bytes(b"abc")
    (tmp_path / "packed").write_bytes(gzip.compress(b"abc"))
    (tmp_path / "squeezed").write_bytes(bz2.compress(b"abc"))
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("in/a.csv", b"abc")
    with tarfile.open(tmp_path / "tar", "w:gz") as archive:
        info = tarfile.TarInfo("in/a.csv")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    for name in ("plain", "packed", "squeezed"):
        assert unpacked(tmp_path / name) == b"abc"
    for name in ("zip", "tar"):
        assert unpacked(tmp_path / name, "in/a.csv") == b"abc"


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.datasets.formats.MAX_UNPACKED_BYTES", 1000)
    (tmp_path / "bomb").write_bytes(gzip.compress(bytes(10_000)))
    with pytest.raises(DownloadError, match="unpacks to more than"):
        unpacked(tmp_path / "bomb")


def test_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home() == tmp_path / "mercer" / "data"
    monkeypatch.setenv("MERCER_DATA", "~/tables")
    assert "~" not in str(data_home())


def test_survival_images_and_classes(tmp_path):
    folder = Folder(tmp_path)
    table = pd.DataFrame({"age": [50.0, 60.0], "days": [3.0, 4.0], "dead": [1, 0]})
    facts = FACTS | {"task": "survival", "target": ["days", "dead"], "features": 1}
    folder.keep("patients", table, facts)
    found = folder.read("patients")
    assert found.target["event"].tolist() == [True, False]
    assert found.time.tolist() == [3.0, 4.0]
    kinds = pd.DataFrame({"x": [1.0, 2.0, 3.0], "kind": ["a", "b", "c"]})
    folder.keep("kinds", kinds, FACTS | {"task": "multiclass", "target": "kind", "positive": "b"})
    assert folder.read("kinds").target.tolist() == ["a", "b", "c"]
    assert folder.read("kinds", binary=True).target.tolist() == [-1.0, 1.0, -1.0]
    images = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)
    np.savez(
        tmp_path / "digits.npz",
        X_train=images[:4], X_test=images[4:], y_train=np.arange(4), y_test=np.arange(2),
    )  # fmt: skip
    entries = folder.entries | {
        "digits": FACTS | {"task": "multiclass", "target": "y", "file": "digits.npz", "scale": 2.0}
    }
    (tmp_path / "catalog.json").write_text(json.dumps(entries))
    digits = folder.read("digits")
    assert digits.images.shape == (6, 2, 2)
    assert digits.split.tolist() == ["train"] * 4 + ["test"] * 2
    np.testing.assert_array_equal(digits.data[1], np.arange(4, 8) / 2.0)


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize("name", sorted(module.addresses()))
def test_addresses_agree_with_the_mirror(name):
    entry, folder = module.addresses()[name], Folder(FOLDER)
    frame = pd.read_parquet(FOLDER / folder.entries[name]["file"])
    named = entry.get("columns") or [c for c in frame.columns if c != "split"]
    frame = frame[[*named, *(["split"] if "part" in entry["files"][0] else [])]]
    assert len(frame) == entry["rows"]
    if "cells" in entry:
        assert digest(frame) == entry["cells"]
    else:
        np.testing.assert_allclose(means(frame), entry["means"], rtol=1e-12)
    assert all(file["url"].startswith("https://") for file in entry["files"])
