"""Names of the package: one list, of which imports on first use and type checkers know the same."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import mercer
from mercer import estimators


def for_type_checkers():
    """Return the names that type checkers see, each with the module that it is imported from."""
    tree = ast.parse(inspect.getsource(mercer))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_and_imports_on_first_use_agree():
    seen = for_type_checkers()
    assert sorted(seen) == sorted(set(mercer.__all__) - {"__version__"})
    for name, module in seen.items():
        assert getattr(mercer, name) is getattr(import_module(module), name)


def test_every_estimator_is_at_the_top():
    # What else the room exports (reports, warnings, settings) is used beside an estimator.
    machines = {name for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")}
    assert machines
    assert machines <= set(mercer.__all__)


def test_listings_show_what_most_people_need():
    shown = [name for name in dir(mercer) if not inspect.ismodule(getattr(mercer, name))]
    assert set(shown) <= set(mercer.__all__)
    assert 15 <= len(shown) <= 20


def test_old_names_lead_to_new_ones():
    for old, new in mercer._RENAMED.items():
        assert old not in mercer.__all__
        with pytest.warns(FutureWarning, match=f"mercer.{old} is now called {new}"):
            assert getattr(mercer, old) is getattr(mercer, new)


def test_rooms_are_attributes():
    assert mercer.losses is import_module("mercer.losses")
    assert {"losses", "kernels", "SVC"} <= set(dir(mercer))
    with pytest.raises(AttributeError, match="no attribute 'losess'"):
        _ = mercer.losess


def test_importing_the_package_imports_no_room():
    code = "import sys, mercer; print([m for m in sys.modules if m.startswith('mercer.')])"
    beside = "['mercer._version', 'mercer._words']"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == beside
