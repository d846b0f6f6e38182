"""The protocols say of machines what machines have: mypy cannot tell, scikit-learn has no types."""

import typing

import numpy as np
import pytest

from mercer import LSSVR, SVC, SVR
from mercer._typing import Classifier, SupportVectors
from mercer.local import Local
from mercer.machines import protocol

X = np.random.default_rng(0).uniform(size=(60, 2))
y = np.sin(6.0 * X[:, 0])

# What only some machines have, or only after some fits.
OF_SOME = {
    "C_",
    "class_weight_",
    "classes_",
    "feature_names_in_",
    "_kept",
    "approximation_",
    "approximation_reason_",
}


def members(kind):
    """Return the names that a protocol asks for."""
    return {
        name
        for base in kind.__mro__
        if getattr(base, "_is_protocol", False) and base is not typing.Protocol
        for name in (*vars(base).get("__annotations__", ()), *vars(base))
        if not (name.startswith("__") or name.startswith("_abc") or name == "_is_protocol")
        if not name.startswith("_is_") and name != "_is_runtime_protocol"
    }


@pytest.mark.parametrize("machine", [SVR().fit(X, y), SVC().fit(X, y > 0)], ids=["SVR", "SVC"])
def test_an_exact_machine_follows_its_protocols(machine):
    for kind in (protocol.ExactMachine, protocol.WholeMachine, protocol.KernelFunction):
        names = members(kind)
        assert len(names) > 3
        assert [n for n in names - OF_SOME if not hasattr(machine, n)] == []


@pytest.mark.parametrize(
    ("kind", "machine"),
    [
        (protocol.LowRankMachine, SVC(approximation=20, C="auto").fit(X, y > 0)),
        (protocol.LeastSquaresMachine, LSSVR().fit(X, y)),
        (Classifier, SVC().fit(X, y > 0)),
        (SupportVectors, SVC().fit(X, y > 0)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_protocol_asks_for_is_there_after_its_fit(kind, machine):
    elsewhere = {"feature_names_in_"}
    assert [n for n in members(kind) - elsewhere if not hasattr(machine, n)] == []


def test_a_local_machine_has_what_its_fit_sets():
    machine = SVC(approximation=Local(30)).fit(X, y > 0)
    own = members(protocol.LocalMachine) - members(protocol.LowRankMachine)
    assert own == {"class_weight_", "n_iter_", "_local"}
    assert [n for n in own if not hasattr(machine, n)] == []


def test_the_names_that_are_asked_for_are_seen():
    class One(typing.Protocol):
        first_: int

        def second(self): ...

    assert members(One) == {"first_", "second"}
