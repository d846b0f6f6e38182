"""Functions and names whose modules are imported when they are first used.

Importing ``scipy.signal`` and parts of scikit-learn takes as long as importing all of this library,
and most fits do not need them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any

__all__ = ["exports_of_stub", "lazily"]


# Modules that import each other: threads that import them at once would meet halves of them.
ONE_BY_ONE = RLock()


class Later:
    """A function of a module that is imported when the function is first called.

    Parameters
    ----------
    module, name : str
        Where the function is, and what it is called there.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            with ONE_BY_ONE:
                self._function = getattr(import_module(self.module), self.name)
        return self._function(*args, **kwargs)

    def __reduce__(self) -> Any:
        return Later, (self.module, self.name)


def lazily(module: str, *names: str) -> Any:
    """Return functions of a module, which is imported when one of them is first called.

    Parameters
    ----------
    module : str
        The module.
    *names : str
        Its functions.

    Returns
    -------
    callable, or tuple of callables

    Examples
    --------
    >>> gcd, factorial = lazily("math", "gcd", "factorial")
    >>> gcd(12, 18), factorial(4)
    (6, 24)
    """
    found = tuple(Later(module, name) for name in names)
    return found[0] if len(found) == 1 else found


def exports_of_stub(
    package: str, file: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package from its stub.

    The file ``__init__.pyi`` beside a package's ``__init__.py`` says ``from module import name as
    name`` for each name that is exported: type checkers read it as it is, and here it says which
    module to import when a name is first used.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return sorted(homes), look_up, lambda: sorted(homes)
