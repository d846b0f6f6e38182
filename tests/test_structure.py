"""How machines are built: few classes above each other, no state that lives only during a fit."""

import ast
import importlib
import inspect
from pathlib import Path

import mercer
import mercer_research
from mercer._fitting import AllOrNothing

PACKAGES = tuple(Path(package.__file__).parent for package in (mercer, mercer_research))
ROOMS = (
    *(f"mercer.{room}" for room in ("estimators", "selection", "manifold", "tabular")),
    *(f"mercer.{room}" for room in ("density", "preprocessing", "machines")),
    *(f"mercer_research.{room}" for room in ("fusion", "linear", "density", "manifold")),
    *(f"mercer_research.{room}" for room in ("estimators", "selection", "risk_bounds")),
)
DEEPEST = 6
"""Classes of this library in the inheritance of any estimator, itself included.

AllOrNothing is not counted: it is a base of every estimator.
"""


def exported():
    """Yield every class that a room exports."""
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            if inspect.isclass(found := getattr(module, name)):
                yield found


def ours_but_the_common_base(base):
    # What scikit-learn before 1.8 lacks stands in mercer._sklearn.
    own = base.__module__.partition(".")[0] in ("mercer", "mercer_research")
    ours = own and base.__module__ != "mercer._sklearn"
    return ours and base is not AllOrNothing


def test_inheritance_is_flat():
    deep = {
        found.__name__: [base.__name__ for base in ours]
        for found in exported()
        if len(ours := [b for b in found.__mro__ if ours_but_the_common_base(b)]) > DEEPEST
    }
    assert not deep


def raises_not_implemented(function: ast.FunctionDef) -> bool:
    """Return whether all that a method does is to raise NotImplementedError."""
    body = [s for s in function.body if not isinstance(s, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and _names(body[0].exc)


def _names(error) -> bool:
    return getattr(error, "id", None) == "NotImplementedError"


def test_abstract_methods_are_abstract():
    """A method without an answer is declared abstract, so that its class cannot be made."""
    found = [
        f"{path.relative_to(package.parent)}:{node.lineno}"
        for package in PACKAGES
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and raises_not_implemented(node)
    ]
    assert not found


def deleted(tree: ast.AST) -> list[str]:
    """Return the private attributes that methods of a module take off an instance again."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Delete):
            found += [t.attr for t in node.targets if isinstance(t, ast.Attribute)]
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "pop" and node.args:
            named = node.args[0]
            found += [named.value] if isinstance(named, ast.Constant) else []
    private = (name for name in found if isinstance(name, str) and name.startswith("_"))
    return [name for name in private if not name.endswith("_")]


KEPT = {
    "_residual_coef": "of the last fit with correlated errors, which the next may not have",
    "_residual_X": "of the last fit with correlated errors, which the next may not have",
    "_squared_weight": "a weight that tuning found, in place of the guess of a fit",
    "_last": "solutions that a compressed machine must not start from",
}
"""Private attributes that are part of a fitted machine and may be taken off it, with the reason."""


def test_no_attribute_lives_only_during_a_fit():
    """Steps of a fit hand values to the next: state on the instance has hidden wrong answers."""
    found = {
        f"{path}: {name}"
        for room in ROOMS
        for path in Path(importlib.import_module(room).__file__).parent.glob("*.py")
        for name in deleted(ast.parse(path.read_text(encoding="utf-8")))
        if name not in KEPT
    }
    assert not found


def test_the_search_for_such_attributes_finds_them():
    source = "class A:\n    def f(self):\n        del self._walls\n        self.__dict__.pop('_x')"
    assert deleted(ast.parse(source)) == ["_walls", "_x"]
