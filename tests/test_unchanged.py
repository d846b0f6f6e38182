"""No public name, parameter, default or number changes unless a change is meant.

Signatures and predictions are stored in ``tests/unchanged``. Where a change of them is meant, and
only there, ``cd tests; python -m unchanged`` writes them again, and the diff shows what changed.

Predictions are compared to 1e-10 of the largest value of an answer. This assumes that fits are
tight enough for the optimum to decide the number rather than the path to it: machines are given
``tol=1e-12``, approximated machines 1e-14 or less, and answers moved by less than 1e-10 between
the kernels of a linear algebra library for three generations of processors. Answers that are not
determined so well are listed in ``fits.LOOSER`` with a reason.
"""

import copy
import inspect

import numpy as np
import pytest

from unchanged import fits, signatures

STORED = fits.read()
RUNS = [(name, variant) for name, cases in fits.CASES.items() for variant in cases]


def test_signatures():
    stored = signatures.read()
    changed = signatures.differences(stored, signatures.found(stored))
    assert not changed, "\n".join(changed)


def test_tables_are_written_as_they_are_compared():
    table = signatures.table()
    assert signatures.found(table) == table
    assert not signatures.found(["mercer.SVM", "mercer.losses.Hing", "mercer.SVR.fits"])


def test_every_estimator_is_fitted():
    fitted = {fits.find(name) for name in fits.CASES}
    exported = signatures.estimators()
    assert len(exported) >= 84  # so many were there when the predictions were stored
    assert not [names for cls, names in exported.items() if cls not in fitted]


def test_every_stored_fit_is_run():
    run = {f"{name} {variant}" for name, variant in RUNS}
    assert not STORED.keys() - run
    missing = sorted(run - STORED.keys())
    assert not missing, f"cd tests; python -m unchanged stores the answers of {missing}"


def test_looser_tolerances_are_of_fits():
    assert fits.LOOSER.keys() <= fits.CASES.keys() | STORED.keys()


KNOWN = [run for run in RUNS if " ".join(run) in STORED]


@pytest.mark.parametrize(("name", "variant"), KNOWN, ids=[" ".join(run) for run in KNOWN])
def test_predictions(name, variant):
    found = fits.CASES[name][variant].run()
    tol = fits.tolerance(name, variant)
    changed = fits.differences(STORED[f"{name} {variant}"], found, tol)
    assert not changed, "\n".join(changed)


class Toy:
    def __init__(self, kernel="rbf", loss="hinge", *, C=1.0, tol=1e-3):
        pass


class Reordered:  # of which only keyword-only parameters may be
    def __init__(self, kernel="rbf", loss="hinge", *, tol=1e-3, C=1.0):
        pass


class Annotated:
    def __init__(self, kernel: str = "rbf", loss: str = "hinge", *, C: float = 1.0, tol=1e-3):
        pass


class Flipped:
    def __init__(self, loss="hinge", kernel="rbf", *, C=1.0, tol=1e-3):
        pass


class NoDefault:
    def __init__(self, kernel="rbf", loss="hinge", *, C, tol=1e-3):
        pass


class OtherDefault:
    def __init__(self, kernel="rbf", loss="hinge", *, C=1, tol=1e-3):
        pass


class KeywordOnly:
    def __init__(self, kernel="rbf", *, loss="hinge", C=1.0, tol=1e-3):
        pass


class Positional:
    def __init__(self, kernel="rbf", loss="hinge", C=1.0, *, tol=1e-3):
        pass


class Dropped:
    def __init__(self, kernel="rbf", loss="hinge", *, C=1.0):
        pass


class Grown:
    def __init__(self, kernel="rbf", loss="hinge", *, C=1.0, tol=1e-3, gamma=1.0):
        pass


BEFORE = {"mercer.Toy": signatures.describe(Toy)}


@pytest.mark.parametrize("cls", [Reordered, Annotated])
def test_order_of_keywords_and_annotations_are_free(cls):
    assert not signatures.differences(BEFORE, {"mercer.Toy": signatures.describe(cls)})


@pytest.mark.parametrize(
    "cls", [Flipped, NoDefault, OtherDefault, KeywordOnly, Positional, Dropped, Grown]
)
def test_changed_signatures_are_found(cls):
    (line,) = signatures.differences(BEFORE, {"mercer.Toy": signatures.describe(cls)})
    assert line.startswith("mercer.Toy(kernel='rbf', loss='hinge', *, C=1.0, tol=0.001) is now")


def test_lost_names_are_found_and_new_names_are_free():
    assert signatures.differences(BEFORE, {}) == ["mercer.Toy is gone"]
    assert not signatures.differences({}, BEFORE)


def test_defaults_are_written_without_addresses():
    def function(key=lambda row: row, cls=Toy, one=np.mean):
        pass

    assert signatures.signature(function) == "(key=<lambda>, cls=Toy, one=mean)"
    assert not any(" at 0x" in row for row in signatures.read().values())


def test_kinds_of_parameters_are_told_apart():
    def function(a, /, b, *args, c, **rest):
        pass

    assert signatures.signature(function) == "(a, /, b, *args, c, **rest)"
    assert inspect.signature(function).parameters.keys() == {"a", "b", "args", "c", "rest"}


BASE = {"predict": [1.0, -2.0, float("inf")], "labels": ["a", "b"], "get_params": ["C"]}


@pytest.mark.parametrize(
    ("key", "new"),
    [
        ("predict", [1.0 + 1e-9, -2.0, float("inf")]),
        ("predict", [float("nan"), -2.0, float("inf")]),
        ("predict", [1.0, -2.0, 3.0]),
        ("predict", [[1.0, -2.0, float("inf")]]),
        ("labels", ["a", "a"]),
        ("get_params", ["C", "tol"]),
        ("new", [1.0]),
    ],
)
def test_changed_answers_are_found(key, new):
    assert len(fits.differences(BASE, BASE | {key: new}, 1e-10)) == 1


def test_rounding_is_no_change_but_a_lost_answer_is():
    assert not fits.differences(BASE, copy.deepcopy(BASE), 0.0)
    rounded = BASE | {"predict": [1.0 + 1e-12, -2.0, float("inf")]}
    assert not fits.differences(BASE, rounded, 1e-10)
    assert fits.differences(BASE, {"predict": BASE["predict"], "labels": BASE["labels"]}, 1e-10)
