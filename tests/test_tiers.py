"""The list of slow tests names tests that are there, and tiers part the suite."""

import ast
from functools import cache

import pytest

import tiers


@cache
def names_of(path: str) -> set[str]:
    """Return the tests of a file: functions, methods of classes, and anything for doctests."""
    tree = ast.parse((tiers.ROOT / path).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            # Methods may be inherited: the class is what is looked for.
            names.add(node.name)
    return names


def test_the_list_of_slow_tests_names_tests_that_are_there():
    gone = []
    for test in sorted(tiers.slow()):
        path, name, *_ = test.split("::")
        there = (tiers.ROOT / path).is_file()
        # Doctests have no functions; those of scikit-learn's suite are made when it is read.
        written = "src/" not in path and not path.startswith("tests/sklearn_suite/")
        if not there or (written and name not in names_of(path)):
            gone.append(test)
    assert gone == []


@pytest.mark.parametrize(
    ("nodeid", "tier"),
    [
        ("tests/a/test_b.py::test_c[1]", "slow"),
        ("tests/a/test_b.py::test_d", "quick"),
        ("tests/hostile/test_b.py::test_c", "nightly"),
    ],
)
def test_every_case_has_a_tier(nodeid, tier):
    assert tiers.tier(nodeid, frozenset({"tests/a/test_b.py::test_c"})) == tier


def test_reports_name_the_same_tests():
    here = "tests/test_tiers.py::test_reports_name_the_same_tests"
    assert tiers.nodeid("tests.test_tiers", "test_reports_name_the_same_tests") == here
    assert tiers.nodeid("src.mercer._deadline", "mercer._deadline.deadline") == (
        "src/mercer/_deadline.py::mercer._deadline.deadline"
    )
