"""The view of the playground without a browser: what widgets and messages change."""

import json
import threading

import numpy as np
import pytest

pytest.importorskip("panel")

from bokeh.document import Document
from bokeh.models import PointDrawTool

from mercer_studio.browser.playground import DARK, LIGHT, Playground
from mercer_studio.browser.playground.model import MAX_POINTS
from mercer_studio.browser.playground.view import (
    CLASS_C,
    CURVE_C,
    GAMMAS,
    NewestOnly,
    PlaygroundView,
)


@pytest.fixture
def view():
    return PlaygroundView(Playground.from_set("two moons", 30))


def say(view, version=None, **message):
    """Speak as the browser does, and wait for the picture."""
    version = view._version if version is None else version
    view._edits.value = json.dumps({"version": version, **message})
    view._worker.join()


def points_of(view):
    data = view._figure.points.data
    return {key: list(data[key]) for key in ("x", "y", "label")}


def test_requests_that_were_overtaken_are_dropped():
    done, begun, go_on = [], threading.Event(), threading.Event()

    def work(request):
        begun.set()
        go_on.wait()
        done.append(request)

    worker = NewestOnly(work)
    worker.ask(0)
    begun.wait()
    for k in range(1, 10):
        worker.ask(k)
    assert worker.waiting
    go_on.set()
    worker.join()
    assert done == [0, 9]
    worker.ask(10)
    worker.join()
    assert done == [0, 9, 10]


@pytest.mark.parametrize(
    ("widget", "value", "settings"),
    [
        ("_C", CLASS_C[70], {"C": CLASS_C[70]}),
        ("_gamma", GAMMAS[5], {"gamma": GAMMAS[5]}),
        ("_loss", "logistic", {"loss": "logistic"}),
        ("_kernel", "linear", {"kernel": "linear"}),
    ],
)
def test_a_widget_refits_with_its_setting(view, widget, value, settings):
    start = view.playground
    getattr(view, widget).value = value
    view._worker.join()
    expected = start.change(**settings).fit()
    assert np.array_equal(view.picture.values, expected.values)
    assert np.array_equal(view._figure.values.data["image"][0], expected.image())
    assert view._text.data["text"] == [expected.script]
    assert expected.counts in view._words.object


def test_sliders_are_there_for_the_losses_and_kernels_that_have_them(view):
    assert view._gamma.visible
    assert not view._degree.visible
    view._kernel.value = "poly"
    assert view._degree.visible
    assert not view._gamma.visible
    view._task.value = "curve"
    assert view._epsilon.visible
    view._loss.value = "huber"
    assert view._delta.visible
    assert not view._epsilon.visible
    view._worker.join()


def test_another_task_has_its_own_points_losses_and_weights(view):
    view._C.value = CLASS_C[-1]
    view._task.value = "curve"
    view._worker.join()
    assert view.playground.settings.task == "curve"
    assert CURVE_C[-1] == view.playground.settings.C
    assert set(points_of(view)["label"]) == {"y"}
    assert view.picture.values.shape == (401,)
    assert view._figure.tool.default_overrides == {"label": "y"}
    view._task.value = "classes"
    view._worker.join()
    assert view.picture.values.shape == (73, 97)
    assert view._figure.tool.default_overrides == {"label": "0"}


def test_taps_drags_and_undo(view):
    before = view.playground
    tapped = points_of(view)
    for key, value in (("x", 0.5), ("y", -1.25), ("label", "1")):
        tapped[key].append(value)
    say(view, **tapped, moving=False)
    assert view.playground.n_points == 31
    assert view.playground.points[-1].tolist() == [0.5, -1.25]
    assert view.playground.labels[-1] == 1
    assert view.picture.points.shape == (31, 2)
    assert view._set.value == ""

    dragged = {**tapped, "x": [*tapped["x"][:-1], 1.5]}
    say(view, **dragged, moving=True)
    assert view.picture.points[-1, 0] == 1.5
    assert view.playground.points[-1, 0] == 0.5
    dropped = {**tapped, "x": [*tapped["x"][:-1], 2.5]}
    say(view, **dropped, moving=False)
    assert view.playground.points[-1, 0] == 2.5

    # One step a gesture.
    view._undo.clicks += 1
    assert view.playground.points[-1, 0] == 0.5
    view._undo.clicks += 1
    view._worker.join()
    assert view.playground.drawing.same(before.drawing)
    assert points_of(view)["x"] == before.points[:, 0].tolist()


def test_points_that_the_server_replaced_since_are_ignored(view):
    old, echo = view._version, points_of(view)
    view._clear.clicks += 1
    view._worker.join()
    say(view, version=old, **echo, moving=False)
    assert view.playground.n_points == 0
    assert "Tap into the picture" in view._words.object
    assert view._copy.disabled


def test_the_eraser_removes_what_is_tapped(view):
    kept = view.playground.points[1:]
    view._pen.value = "erase"
    assert not view._figure.tool.add
    say(view, erase=[0])
    assert np.array_equal(view.playground.points, kept)
    view._pen.value = "2"
    assert view._figure.tool.add
    assert view._figure.tool.default_overrides == {"label": "2"}


def test_too_many_points_are_not_taken(view):
    n = MAX_POINTS + 1
    say(view, x=[0.0] * n, y=[0.0] * n, label=["0"] * n, moving=False)
    assert view.playground.n_points == 30
    assert len(points_of(view)["x"]) == 30
    assert "1,000" in view._words.object


def test_settings_between_the_steps_of_a_slider_are_kept():
    view = PlaygroundView(Playground.from_set("two moons", 45, C=3.05, gamma=0.777))
    assert (view._C.value, view._gamma.value, view._size.value) == (3.05, 0.777, 45)
    view._loss.value = "squared"
    view._worker.join()
    assert repr(view.picture.machine) == "LSSVC(C=3.05, gamma=0.777)"


def test_sets_are_drawn_and_recognized(view):
    assert (view._set.value, view._size.value) == ("two moons", 30)
    view._set.value = "three clouds"
    view._size.value = 100
    view._worker.join()
    expected = Playground.from_set("three clouds", 100)
    assert view.playground.drawing.same(expected.drawing)
    assert view.picture.values.shape == (73, 97, 3)


def test_a_fit_that_fails_says_why(view):
    class Failing(Playground):
        def fit(self):
            raise ArithmeticError("the reason")

    view._refit(Failing(view.playground.drawing, view.playground.settings))
    assert "No fit: the reason" in view._words.object


def test_colours_are_those_of_the_theme():
    view = PlaygroundView(theme=DARK)
    figure = view._figure.figure
    assert figure.background_fill_color is None
    assert figure.border_fill_color is None
    assert set(view._figure.margins.data["color"]) == set(DARK.classes[:2])
    view.use(LIGHT)
    assert set(view._figure.margins.data["color"]) == set(LIGHT.classes[:2])
    assert view._figure._colours.palette == LIGHT.ramps()


def test_the_page_has_one_figure_and_the_channels(view):
    root = view.__panel__().get_root(Document())
    (tool,) = root.select({"type": PointDrawTool})
    assert tool is view._figure.tool
    titles = {model.title for model in root.references() if hasattr(model, "title")}
    assert {view._edits.label, view._seen.label} <= titles


def test_two_views_do_not_share_their_channels():
    first, second = PlaygroundView(), PlaygroundView()
    assert first._edits.label != second._edits.label
    first._C.value = CLASS_C[0]
    first._worker.join()
    assert second.playground.settings.C == 1.0
