"""Functions whose modules are imported when they are first called.

Importing Numba and ``scipy.signal`` takes as long as importing all of this library, and whoever
only builds, loads or shows a machine does not need them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

__all__ = ["lazily"]


# Numba's modules import each other: threads that import them at once would meet halves of them.
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
