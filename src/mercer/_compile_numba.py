"""Numba's compiler, which says one line on a terminal before its first work for this library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import config, njit
from numba.core import event
from numba.extending import intrinsic

__all__ = ["compile_formula", "instruction", "njit"]

NOTICE = (
    "mercer: compiling loops for this machine, a few seconds once "
    "(python -m mercer warm does it ahead)"
)


class Notice(event.Listener):  # type: ignore[misc]
    """Writes one line when a function of this library is compiled for the first time."""

    said = False

    def on_start(self, event: Any) -> None:
        """Say it, where somebody sees it."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("mercer.")
        if ours and not Notice.said and sys.stderr is not None and sys.stderr.isatty():
            print(NOTICE, file=sys.stderr, flush=True)
            Notice.said = True

    def on_end(self, event: Any) -> None:
        """Say nothing more."""


def instruction(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the decorator of a function that generates an instruction of the processor.

    Python has no such instruction: with ``NUMBA_DISABLE_JIT=1``, where compiled loops run as Python
    and can be stepped through, the plain function is called instead.
    """
    return (lambda generator: plain) if config.DISABLE_JIT else intrinsic


@instruction(lambda condition, yes, no: yes if condition else no)
def _choose(context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Choose between two numbers, as :func:`mercer.losses.fenchel_young.choose` does of arrays."""
    return yes(condition, yes, no), lambda _, builder, signature, given: builder.select(*given)


def compile_formula(formula: Callable[..., object], **options: object) -> Callable[..., Any]:
    """Compile a formula that is written for arrays for the numbers of a loop.

    Both compute by the same lines then; ``choose`` is ``numpy.where`` in one of them. It is kept on
    disk as a part of the loop that calls it, whose file is to be touched where a formula changes.
    """
    assert isinstance(formula, FunctionType)
    names = {**formula.__globals__, "choose": _choose}
    lines = FunctionType(formula.__code__, names, formula.__name__)
    compiled: Callable[..., Any] = njit(**options)(lines)
    return compiled


event.register("numba:compile", Notice())
