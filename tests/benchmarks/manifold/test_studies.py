"""Studies of manifolds: yardsticks, peers, complaints, short runs and the page."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from benchmarks.manifold import studies
from benchmarks.manifold.novelty import parts
from benchmarks.manifold.page import PAGE, page
from benchmarks.manifold.profiles import forward, hours_off, rows
from benchmarks.manifold.sensors import regression, restored
from benchmarks.manifold.shared import (
    AutoEncoder,
    MissingDataError,
    Study,
    Table,
    choose,
    fill_by_plane,
    left_out_errors,
    mean_square,
    new_errors,
    plane,
)
from benchmarks.manifold.video import covered, in_time, split
from data import MISSING
from mercer.manifold import Interval

needs_data = pytest.mark.skipif(bool(MISSING), reason=MISSING or "data")


def flat(n=60, seed=0):
    """Return points of a plane in four dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 4)) + 1.0


def test_a_plane_restores_what_lies_in_it():
    X = flat()
    gone = X.copy()
    gone[:, 1] = np.nan
    np.testing.assert_allclose(fill_by_plane(plane(X, 2), gone), X, atol=1e-10)


def test_regressions_restore_linear_sensors_and_the_mean_does_not():
    X = flat()
    assert max(restored((X, X, X), regression(X, LinearRegression))) < 1e-10
    errors = restored((X, X, X), lambda lost, j: np.full(len(lost), X[:, j].mean()))
    np.testing.assert_allclose(errors, X.std(axis=0))


def test_errors_of_neighbours():
    Z = np.array([[0.0], [0.1], [1.0], [1.1], [0.2]])
    labels = np.array([0, 0, 1, 1, 1])
    assert left_out_errors(Z, labels) == 1
    assert new_errors(Z, labels, np.array([[0.04], [1.04], [0.3]]), np.array([0, 0, 1])) == 1


def test_the_choice_is_the_least_validation_error():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, 120)
    X = np.c_[t, t**2] + 0.05 * rng.normal(size=(120, 2))
    found = choose(X[:60], X[60:], [(Interval(8), 1.0)], (10.0, 1e-2), max_iter=20, finish=50)
    assert found.manifold.lam == 1e-2
    assert found.tried == 2
    assert found.error == pytest.approx(-found.manifold.score(X[60:]))
    assert found.last < found.seconds
    assert "λ = 0.01 of 2 candidates" in found.words


def test_an_autoencoder_finds_a_plane():
    X = flat(200)
    net = AutoEncoder(2, 16, 400).fit(X[:150], X[150:], range(1))
    assert net.transform(X).shape == (200, 2)
    assert mean_square(X, net.rebuild(X)) < 0.2 * X.var(axis=0).sum()


def test_frames_are_parted_once_and_blocks_are_consecutive():
    for blocks in (False, True):
        pieces = split(400, blocks)
        assert sorted(np.concatenate(pieces)) == list(range(400))
        assert [len(piece) for piece in pieces] == [260, 60, 80]
    assert np.mean(np.diff(pieces[2]) == 1) > 0.85


def test_neighbours_in_time_and_covered_pixels():
    line = np.arange(50)[:, None] * 1.0
    assert in_time(line, np.arange(50)) == 1.0
    assert in_time(line, 10 * np.arange(50)) == 0.0
    images = covered(np.zeros((2, 560)))
    assert np.isnan(images).sum() == 200


def test_hours_and_directions_of_a_clock():
    X, hours = rows(np.arange(100.0))
    assert X.shape == (58, 8)
    assert X[0, 0] == 42
    assert X[0, -1] == 0
    assert hours[0] == 21.0
    angle = 2 * np.pi * hours / 24
    circle = np.c_[np.cos(angle), np.sin(angle)]
    assert hours_off(circle, hours, circle, hours) < 1.5
    assert hours_off(circle, hours, circle, (hours + 6) % 24) == pytest.approx(6.0, abs=1.5)
    assert forward(angle) == 1.0
    assert forward(-angle) == 1.0


def test_each_complaint_can_be_made():
    table = Table("caption", ["error"], [])
    table.row("ours", 3)
    with pytest.raises(ValueError, match="2 values for 1 columns"):
        table.row("theirs", 1, 2)
    study = Study("Title", "q", "s", [table], [("error", table["ours", "error"], 4)])
    assert study.complaints == []
    worse = Study.from_dict(study.to_dict() | {"claims": [("error", 5.0, 4)]})
    assert worse.complaints == ["Title: error: 5, more than 4"]
    unknown = Study("Title", "q", "s", [table], [("error", float("nan"), 4)])
    assert unknown.complaints


@needs_data
def test_rows_of_novelty_are_normal_where_they_are_fitted():
    F, V, T, novel = parts("mammography", 0, short=True)
    assert (len(F), len(V)) == (300, 300)
    assert len(T) == len(novel)
    assert novel.sum() == round(2000 * 260 / 10_923)


@needs_data
@pytest.mark.parametrize("name", ["profiles", "novelty"])
def test_short_studies_keep_their_promises(name, capsys):
    assert studies.main(["short", name]) == 0
    assert "everything that must hold does" in capsys.readouterr().out


def test_missing_data_are_a_reason_and_no_failure(monkeypatch, capsys):
    def missing(short):
        raise MissingDataError("no data here")

    monkeypatch.setitem(studies.STUDIES, "sensors", missing)
    assert studies.main(["short", "sensors"]) == 0
    assert "left out, no data here" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        studies.main(["short", "no-such-study"])


def test_a_study_is_run_once_for_one_state_of_the_source(monkeypatch, tmp_path):
    monkeypatch.setattr(studies, "RESULTS", tmp_path / "r.json")
    monkeypatch.setattr(studies, "PAGE", tmp_path / "p.md")
    runs = []

    def run(command, check):
        runs.append(command[-1])
        study = Study("Title", "q", "s", [], [("error", 5.0, 4)])
        about = json.loads(studies.HERE.parent.joinpath("solvers", "compact.json").read_text())[
            "about"
        ]
        record = {"digest": studies.digest("video"), "about": about}
        studies.keep("video", record | {"study": study.to_dict()})

    monkeypatch.setattr(studies.subprocess, "run", run)
    assert studies.full(["video"], fresh=False) == ["Title: error: 5, more than 4"]
    studies.full(["video"], fresh=False)
    assert runs == ["video"]
    studies.full(["video"], fresh=True)
    assert runs == ["video", "video"]
    assert "**missed**" in (tmp_path / "p.md").read_text()


def test_the_page_is_that_of_the_results():
    assert "sensors" in studies.stored()
    assert set(studies.stored()) <= set(studies.STUDIES)
    assert PAGE.read_text(encoding="utf-8") == page(studies.published())
    assert not [line for _, study in studies.published() for line in study.complaints]
