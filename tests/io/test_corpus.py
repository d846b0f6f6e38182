"""Files of earlier versions keep loading, with the answers that they had."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from io_corpus import FOLDER, NEW, models

import mercer.io

RELEASES = sorted(FOLDER.iterdir())
FILES = [path for release in RELEASES for path in sorted(release.glob("*.skops"))]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_answers(path):
    model = mercer.io.load(path)
    points = sp.csr_array(NEW) if "sparse" in path.stem else NEW
    stored = np.asarray(json.loads((path.parent / "answers.json").read_text())[path.stem])
    found = np.asarray(model.predict(points))
    if stored.dtype.kind != "f":
        assert np.array_equal(found, stored)
        return
    # Loops of another processor add the terms of an expansion in another order.
    np.testing.assert_allclose(found, stored, rtol=1e-10, atol=1e-12)


def test_this_version_has_a_folder_with_every_model():
    assert {path.stem for path in FILES if path.parent == RELEASES[-1]} == models().keys()
