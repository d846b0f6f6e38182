"""How much of scikit-learn's suite is run, and whether the tables of what is not are true."""

import subprocess
import sys
from pathlib import Path

import pytest

from sklearn_suite.shim import (
    CLASSES,
    DECLINED,
    ELSEWHERE,
    SKIPPED,
    TIGHT,
    concerns,
    functions,
    load,
)

SUITE = "this library's"
MODULES = ["test_svm", "test_sparse"]


@pytest.mark.parametrize("module", MODULES)
def test_no_stale_names(module):
    known = functions(module).keys()
    for table in (ELSEWHERE, DECLINED, TIGHT, SKIPPED):
        assert set(table.get(module, ())) <= known
    assert not ELSEWHERE[module].keys() & DECLINED[module].keys()


@pytest.mark.parametrize("module", MODULES)
def test_tables_are_true(module):
    """What is left out as not about these classes does not mention them; the rest does."""
    for name, function in functions(module).items():
        assert concerns(function) == (name not in ELSEWHERE[module]), name
    assert all(reason for reason in {**ELSEWHERE[module], **DECLINED[module]}.values())


def test_at_least_four_fifths_run():
    concerned = run = 0
    for module in MODULES:
        concerned += len(functions(module)) - len(ELSEWHERE[module])
        run += len(load(module))
    assert concerned >= 50
    assert run >= 0.8 * concerned


def test_at_least_four_fifths_of_the_cases_run():
    """Counted by cases, of which a test may have many."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    files = [str(here / "test_dense.py"), str(here / "test_sparse.py")]
    listing = subprocess.run([*command, *files], capture_output=True, text=True, check=True).stdout
    cases = [line.rsplit("::")[-1] for line in listing.splitlines() if "::" in line]
    assert len(cases) >= 200
    skipped = 0
    for name, parts in SKIPPED["test_sparse"].items():
        for part in parts:
            matching = [case for case in cases if case.startswith(f"{name}[") and part in case]
            assert matching
            skipped += len(matching)
    declined = sum(len(DECLINED[module]) for module in MODULES)
    assert len(cases) - skipped >= 0.8 * (len(cases) + declined)


@pytest.mark.parametrize("module", MODULES)
def test_the_tests_see_this_library(module):
    namespace = next(iter(load(module).values())).__globals__
    for name, cls in CLASSES.items():
        assert getattr(namespace["svm"], name) is cls
        assert namespace.get(name, cls) is cls
