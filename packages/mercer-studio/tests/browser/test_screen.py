"""The screen without a browser: widgets are set as a browser would set them."""

import asyncio
import http.client
import threading
import time
from html.parser import HTMLParser
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

from mercer_studio.browser import app
from mercer_studio.browser.pages import ADVICE, Data, Machine, Question
from mercer_studio.browser.result_pages import Fit, Take, Understand
from mercer_studio.browser.screen import PAGES, Screen
from mercer_studio.browser.server import address_of, make_server
from mercer_studio.browser.session import MAX_UPLOAD, Session, inside, listed, stored
from mercer_studio.browser.stages import State
from mercer_studio.browser.views import VIEWS
from mercer_studio.cli.models import MACHINES, answers
from mercer_studio.cli.text import Refusal

EVIL = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Tags of a page, with what they would do."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), EVIL: rng.normal(size=60)})
    frame["y"] = np.sin(frame["a"]) + 0.1 * rng.normal(size=60)
    frame["word"] = rng.choice(["red", "<b>blue</b>"], 60)
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "notes.md").write_text("no table")
    return tmp_path


@pytest.fixture
def screen(folder):
    made = Screen(Session(), folder)
    yield made
    made.close()


def step(screen, kind):
    return next(one for one in screen.steps if isinstance(one, kind))


def until(screen, done):
    """Let the screen look at its stages, as a browser's visit makes it, until something is so."""
    for _ in range(6000):
        screen.refresh()
        if done():
            return
        time.sleep(0.02)
    raise AssertionError([(n, str(screen.session.state(n))) for n in screen.session.stages])


def fresh(screen, name):
    return lambda: screen.session.state(name) is State.FRESH


def test_from_a_file_to_a_script_with_names_that_are_code(screen):
    data, question = step(screen, Data), step(screen, Question)
    assert data.files.options == ["", "table.csv"]
    data.files.value = "table.csv"
    until(screen, fresh(screen, "table"))
    screen.go(question)
    question.target.value = "y"
    until(screen, fresh(screen, "columns"))
    machine = step(screen, Machine)
    screen.go(machine)
    until(screen, fresh(screen, "machine"))
    assert "AutoRegressor, because" in machine.why.object
    machine.known.value = "The function is smooth, and I want to see its kernel"
    machine.seconds.value = "no search"
    until(screen, lambda: "LSSVR, because" in machine.why.object and machine.fields)
    machine.fields["C"].value = "7.5"
    until(screen, fresh(screen, "machine"))
    screen.go(step(screen, Fit))
    screen.fit()
    until(screen, fresh(screen, "validation"))
    assert "LSSVR, fitted in" in step(screen, Fit).done.object
    assert screen.session.value("fit").model.machine.C == 7.5
    understand = step(screen, Understand)
    screen.go(understand)
    shown = []
    for name in understand.looks.panes:
        understand.looks.choice.value = name
        until(screen, fresh(screen, name))
        shown.append(understand.looks.panes[name].pane.object)
    screen.go(step(screen, Take))
    until(screen, fresh(screen, "script"))
    assert not step(screen, Take).files["script"].disabled
    # Nothing that a file says becomes a tag.
    pages = [
        *shown,
        data.table.pane.object,
        *(p.pane.object for p in question.looks.panes.values()),
    ]
    for html in [*pages, step(screen, Take).script.object, step(screen, Fit).done.object]:
        tags = Tags()
        tags.feed(html)
        assert not [tag for tag, attributes in tags.found if tag in ("img", "script", "b", "iframe")
                    and (tag != "b" or "quiet" not in html)], html[:200]  # fmt: skip
        assert not [
            1 for _, attributes in tags.found if any(k.startswith("on") for k in attributes)
        ]
    assert any("&lt;img" in html for html in pages)


ASKED = {
    "numbers": (
        {"target": "y", "task": "regression", "drop": ("word",), "categorical": ("b",)},
        {"machine": "SVR", "settings": {"C": 3.0}, "coverage": 0.9},
    ),
    "gaps and shapes": ({"target": "y", "gaps": {"a": -1.0}}, {"monotone": {"a": 1, "b": -1}}),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_page_keeps_what_was_asked_before_it(folder, case):
    table = pd.read_csv(folder / "table.csv").rename(columns={EVIL: "b"})
    table["a"], table["b"] = table["a"].abs() + 0.1, (table["b"] > 0).astype(int)
    question, machine = ASKED[case]
    session = Session().load(table).prepare(**question).choose(**machine).tune(5.0)
    steps = ("preparation", "machine", "tuning")
    before = {name: session.stages.settings(name) for name in steps}
    screen = Screen(session)
    try:
        screen.go(step(screen, Machine))
        until(screen, fresh(screen, "machine"))
        kept = {name: session.stages.settings(name) for name in steps}
        assert kept == before
    finally:
        screen.close()


def test_a_change_marks_the_steps_below(screen):
    session = screen.session
    step(screen, Data).files.value = "table.csv"
    until(screen, fresh(screen, "table"))
    screen.go(step(screen, Question))
    step(screen, Question).target.value = "y"
    until(screen, fresh(screen, "columns"))
    names = [button.label for button in screen.buttons]
    assert names[:2] == ["Data  ✓", "Question  ✓"]
    step(screen, Question).drop.value = ["word"]
    assert session.state("preparation") is State.STALE
    assert session.state("data") is State.FRESH
    until(screen, fresh(screen, "columns"))
    assert "word" not in session.value("preparation").question.plan.used


def test_what_goes_wrong_is_a_sentence(screen):
    screen.open("../secret.csv")
    assert "is not in the folder" in screen.problem.object
    screen.receive("a.exe", b"MZ")
    assert "is no table" in screen.problem.object
    screen.receive("a.csv", b"x" * (MAX_UPLOAD + 1))
    assert "64 can be sent" in screen.problem.object
    screen.receive("../../up.csv", b"a,b\n1,2\n3,4\n")
    until(screen, fresh(screen, "table"))
    assert screen.session.columns == ["a", "b"]
    step(screen, Question).target.value = "b"
    screen.go(step(screen, Question))
    until(screen, lambda: screen.session.state("preparation") is State.FAILED)
    assert "at least 10 are needed" in step(screen, Question).looks.panes["columns"].pane.object


def test_examples_come_with_the_library(screen):
    step(screen, Data).example.value = "haberman"
    until(screen, fresh(screen, "table"))
    assert len(screen.session.value("data").frame) == 306


def test_a_visitor_leaves_nothing_behind(folder):
    screen = Screen(Session(), folder)
    place = screen.own
    screen.receive("a.csv", b"a,b\n1,2\n")
    screen.close()
    assert not (folder / "a.csv").exists()
    with pytest.raises(FileNotFoundError):
        (place / "a.csv").read_bytes()


# Files --------------------------------------------------------------------------------------------


def test_files_outside_are_refused_whatever_leads_to_them(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside.csv"
    root.mkdir()
    outside.write_text("a,b\n1,2\n")
    (root / "link.csv").symlink_to(outside)
    (root / "in.csv").write_text("a\n1\n")
    assert inside(root, "in.csv") == (root / "in.csv").resolve()
    for name in ("../outside.csv", str(outside), "link.csv", "a/../../outside.csv"):
        with pytest.raises(Refusal, match="not in the folder"):
            inside(root, name)
    with pytest.raises(Refusal, match="is no table"):
        inside(root, "key.pem")
    with pytest.raises(Refusal, match="there is no file"):
        inside(root, "none.csv")


def test_hidden_files_and_others_are_not_offered(folder):
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "a.csv").write_text("a\n1\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "b.parquet").write_bytes(b"")
    assert listed(folder) == ["table.csv", "deep/b.parquet"]


@pytest.mark.parametrize("name", ["../../etc/a.csv", "..\\..\\a.csv", ".csv.csv", "a b;c$.csv"])
def test_sent_files_stay_where_they_are_put(tmp_path, name):
    assert stored(tmp_path, name, b"a\n1\n").parent == tmp_path


# Entry --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    held, ready = {}, threading.Event()

    def run():
        asyncio.set_event_loop(asyncio.new_event_loop())
        held["server"] = made = make_server(folder=tmp_path_factory.mktemp("served"))
        made.start()
        made.io_loop.add_callback(ready.set)
        made.io_loop.start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    yield held["server"]
    held["server"].io_loop.add_callback(held["server"].io_loop.stop)
    thread.join(20)


def asked(server, path, **headers):
    where = urlsplit(address_of(server))
    line = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    status, text = answer.status, answer.read().decode(errors="replace")
    line.close()
    return status, text


SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def test_no_token_no_entry(server):
    path = urlsplit(address_of(server)).path
    assert urlsplit(address_of(server)).hostname == "127.0.0.1"
    assert len(path) > 30
    assert asked(server, "/")[0] == 403
    assert path[1:] not in asked(server, "/")[1]
    for wrong in (path[:-1], path + "x", "/studio", "/ws", "/autoload.js", "/metadata"):
        assert asked(server, wrong)[0] == 404, wrong
    assert asked(server, path)[0] == 200


def test_pages_of_others_may_not_talk_to_it(server):
    path = urlsplit(address_of(server)).path + "/ws"
    status, _ = asked(server, path, **SOCKET, Origin="http://elsewhere.example")
    assert status == 403


def test_the_page_names_no_other_machine(server):
    _, text = asked(server, urlsplit(address_of(server)).path)
    assert "cdn." not in text
    assert "https://" not in text
    assert 'name="referrer" content="no-referrer"' in text


# What is offered ----------------------------------------------------------------------------------


def test_advice_names_machines_that_answer_the_task():
    for one in ADVICE:
        if one.machine is not None:
            assert answers(one.machine) == one.task, one
            MACHINES[one.machine](**one.settings)
    assert {one.task for one in ADVICE} == {"regression", "classification"}


def test_titles_of_steps_and_views_differ():
    assert len({page.title for page in PAGES}) == len(PAGES)
    assert len({view.title for view in VIEWS.values()}) == len(VIEWS)


def test_a_notebook_gets_the_same_page():
    view = app(np.arange(40.0).reshape(20, 2), np.arange(20.0), height=500)
    try:
        assert f'src="{view.address}"' in view._repr_html_()
        assert 'height="500"' in view._repr_html_()
        with urlopen(view.address) as page:
            assert b"Mercer studio" in page.read()
        with pytest.raises(HTTPError, match="403"):
            urlopen(view.address.rpartition("/")[0])
        assert view.session.bring("preparation").question.target == "target"
    finally:
        view.close()
    with pytest.raises(URLError):
        urlopen(view.address)
    with pytest.raises(ValueError, match="preparation has no setting 'speed'"):
        app(np.zeros((3, 1)), np.zeros(3), speed=2)
