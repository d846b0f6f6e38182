"""Names of the package: one list, of which imports on first use and type checkers know the same."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

import mercer


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


def test_the_front_door_is_a_short_list_of_which_listings_tell():
    shown = [name for name in dir(mercer) if not inspect.ismodule(getattr(mercer, name))]
    assert sorted(shown) == sorted(mercer.__all__)
    assert len(shown) <= 32


def test_rooms_export_four_hundred_names():
    rooms = [found.name for found in iter_modules(mercer.__path__) if found.name[0] != "_"]
    names = {room: getattr(import_module(f"mercer.{room}"), "__all__", ()) for room in rooms}
    assert sum(map(len, names.values())) <= 400
    assert [room for room, own in names.items() if len(own) != len(set(own))] == []


@pytest.mark.parametrize("room", ["estimators", "selection"])
def test_a_name_that_a_room_has_is_told(room):
    name = {"estimators": "HuberSVR", "selection": "LSSVRCV"}[room]
    with pytest.raises(AttributeError, match=f"from mercer.{room} import {name}"):
        getattr(mercer, name)


def test_rooms_are_attributes():
    assert mercer.losses is import_module("mercer.losses")
    assert {"losses", "kernels", "SVC"} <= set(dir(mercer))
    with pytest.raises(AttributeError, match="no attribute 'losess'"):
        _ = mercer.losess


def test_research_is_an_attribute_where_it_is_installed(monkeypatch):
    research = import_module("mercer_research")
    assert mercer.research is research
    assert research.linear is import_module("mercer_research.linear")
    assert {"linear", "covering"} <= set(dir(research))
    with pytest.raises(AttributeError, match="no attribute 'lineal'"):
        _ = research.lineal
    monkeypatch.setitem(sys.modules, "mercer_research", None)
    with pytest.raises(ImportError, match=r"needs mercer_research; .*/packages/mercer-research"):
        _ = mercer.research


def test_importing_the_package_imports_no_room():
    code = "import sys, mercer; print([m for m in sys.modules if m.startswith('mercer.')])"
    beside = "['mercer._version', 'mercer._words']"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == beside


def test_a_regressor_of_tables_imports_no_trees():
    code = "import sys; from mercer import AutoRegressor; print('sklearn.ensemble' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "False"
