"""Stages: exactly what depends on a change becomes stale, for every setting and every stage."""

import threading

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR
from mercer_studio.browser.session import GRAPH, SETTINGS, Session
from mercer_studio.browser.stages import Stages, State, frozen
from mercer_studio.cli.text import Refusal


def reachable(name):
    """Return the stages below a stage by following arrows, apart from the code under test."""
    found, new = {name}, [name]
    while new:
        here = new.pop()
        for stage, inputs in GRAPH.items():
            if here in inputs and stage not in found:
                found.add(stage)
                new.append(stage)
    return found


def finished():
    stages = Stages(GRAPH, SETTINGS)
    for name in stages:
        stages.finish(stages.begin(name), value=name)
    return stages


PAIRS = [(stage, setting) for stage, settings in SETTINGS.items() for setting in settings]


@pytest.mark.parametrize(("stage", "setting"), PAIRS)
def test_a_setting_makes_exactly_the_stages_below_stale(stage, setting):
    stages = finished()
    before = SETTINGS[stage][setting]
    stages.change(stage, **{setting: "something else"})
    for name in stages:
        wanted = State.STALE if name in reachable(stage) else State.FRESH
        assert stages.state(name) is wanted, (stage, setting, name)
        assert stages.outcome(name).value == name  # what was there stays there
    stages.change(stage, **{setting: before})
    assert all(stages.state(name) is State.FRESH for name in stages)


def test_every_stage_has_settings_and_every_setting_a_stage():
    assert set(SETTINGS) == set(GRAPH)
    assert len(PAIRS) > 12


def test_values_of_stages_are_computed_in_order():
    stages = Stages(GRAPH, SETTINGS)
    with pytest.raises(LookupError, match="fit takes tuning, which is stale"):
        stages.begin("fit")
    with pytest.raises(LookupError, match="data is stale"):
        stages.value("data")


def test_a_stage_that_runs_fails_or_is_cancelled_keeps_what_it_gave():
    stages = finished()
    stages.change("machine", machine="SVR")
    begun = stages.begin("machine")
    assert stages.state("machine") is State.RUNNING
    stages.cancel(begun)
    assert stages.state("machine") is State.STALE
    assert stages.outcome("machine").value == "machine"
    stages.fail(stages.begin("machine"), "no such machine")
    assert stages.state("machine") is State.FAILED
    assert stages.outcome("machine").problem == "no such machine"
    assert stages.outcome("machine").value == "machine"
    stages.change("machine", machine=None)
    assert stages.state("machine") is State.STALE


def test_a_value_for_settings_that_changed_meanwhile_is_stale():
    stages = finished()
    stages.change("data", source="a")
    begun = stages.begin("data")
    stages.change("data", source="b")
    assert stages.state("data") is State.STALE
    stages.finish(begun, "rows of a")
    assert stages.state("data") is State.STALE
    later = stages.begin("data")
    stages.finish(begun, "rows of a again")  # an end that comes too late ends nothing
    assert stages.state("data") is State.RUNNING
    stages.finish(later, "rows of b")
    assert stages.value("data") == "rows of b"


def test_settings_are_compared_by_value():
    assert frozen({"a": [1, {"b": 2}]}) == frozen({"a": (1, {"b": 2})})
    with pytest.raises(TypeError):
        frozen({"a": np.zeros(2)})


def test_an_input_must_come_before():
    with pytest.raises(ValueError, match="fit takes data, which does not come before it"):
        Stages({"fit": ("data",), "data": ()})


# With processes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(120, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(120)


@pytest.fixture(scope="module")
def session():
    with Session() as made:
        yield made


def test_a_fit_is_that_of_the_machine_alone(session, sample):
    X, y = sample
    session.load(X, y).prepare(target="target").choose(machine="LSSVR", settings={"C": 10.0})
    found = session.bring("fit")
    alone = LSSVR(C=10.0).fit(Z := StandardScaler().fit_transform(X), y)
    # The order of the columns in memory differs, and with it the rounding of sums.
    np.testing.assert_allclose(found.predictions, alone.predict(Z), rtol=0.0, atol=1e-12)
    assert session.runs[-1].name == "LSSVR"
    assert found.gap < 1e-3
    # Views of what is fresh do not compute it again.
    number = session.runs[-1].number
    assert "<svg" in session.bring("picture")
    assert session.runs[-1].number == number


def test_a_cancelled_fit_leaves_the_last_model(session, sample):
    X, y = sample
    session.load(X, y).prepare(target="target").choose(machine="LSSVR", settings={"C": 10.0})
    session.tune(None)
    old = session.bring("fit")
    session.choose(machine="AutoRegressor", settings={})
    told = threading.Event()
    session.begin("fit", told.set)
    while session.state("fit") is not State.RUNNING:
        assert not told.wait(0.01), session.problem
    assert session.cancel()
    assert told.wait(60)
    assert session.problem == ""
    assert session.state("fit") is State.STALE
    assert session.value("fit") is old
    session.choose(machine="LSSVR", settings={"C": 10.0})
    assert session.state("fit") is State.FRESH
    assert session.bring("fit") is old
    # The process that comes after works.
    session.choose(settings={"C": 3.0})
    assert session.bring("fit") is not old


def test_refusals_are_sentences_and_the_stage_has_failed(session, sample):
    X, y = sample
    session.load(X, y).prepare(target="target").choose(machine="SVC", settings={})
    with pytest.raises(Refusal, match="SVC is not a regressor"):
        session.bring("fit")
    assert session.state("machine") is State.FAILED
    assert session.state("preparation") is State.FRESH
    session.prepare(target=None)
    with pytest.raises(Refusal, match="choose the column to predict"):
        session.bring("machine")
    with pytest.raises(ValueError, match="machine has no setting 'speed'"):
        session.choose(speed=1)


def test_runs_come_back_without_being_computed(session, sample):
    X, y = sample
    session.load(X, y).prepare(target="target").choose(machine="LSSVR", settings={"C": 1.0})
    first = session.bring("fit")
    number = session.runs[-1].number
    session.choose(settings={"C": 2.0})
    session.bring("fit")
    session.restore(number)
    assert session.value("fit") is first
    assert session.state("fit") is State.FRESH
