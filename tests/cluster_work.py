"""Work for passes over sources that workers of a cluster can import."""

import os
import time

import numpy as np
from threadpoolctl import threadpool_info

from mercer.data.base import Sums
from mercer.machines import leaf_tasks
from mercer.reduced.nystrom import Panel


def products(block, shared, state):
    """Sums whose bits depend on the order of addition, and on rows being where they belong."""
    X = np.asarray(block.X, dtype=np.float64)
    rows = block.start + np.arange(block.n)
    out = Sums(n=block.n, X=X.T @ (X @ state), rows=rows @ X)
    if block.y is not None:
        out["y"] = X.T @ block.y
    if block.s is not None:
        out["s"] = X.T @ block.s
    if shared is not None:
        out["shared"] = block.n * shared.sum()
    return out


def slow_products(block, shared, state):
    """Products that leave time to kill who computes them; state is (seconds, file, matrix).

    Of all who come by, one kills or freezes itself, if `file` is there for it to take away.
    """
    seconds, file, matrix = state
    time.sleep(seconds)
    if file:
        try:
            with open(file) as stream:
                number = int(stream.read())
            os.unlink(file)
        except FileNotFoundError:
            pass
        else:
            os.kill(os.getpid(), number)
    return products(block, shared, matrix)


SLOWED = {"sums": (Panel, "sweep"), "leaves": (leaf_tasks, "_fit_leaf")}


def slow_down(name, seconds):
    """Let sums over rows or fits of leaves sleep in this process, the first of them for long."""
    module, function = SLOWED[name]
    quick = getattr(module, function)

    def slow(*args, **kwargs):
        slow.calls += 1
        time.sleep(seconds / slow.calls**2)
        return quick(*args, **kwargs)

    slow.quick, slow.calls = quick, 0
    setattr(module, function, slow)


def speed_up(name):
    """Undo that, and return how often it was called."""
    module, function = SLOWED[name]
    slow = getattr(module, function)
    setattr(module, function, slow.quick)
    return slow.calls


def slowly(block):
    """Return a block after a while."""
    time.sleep(0.03)
    return block


def failing(block, shared, state):
    """Fail on the row with number `state`, and leave a note of every attempt in `shared`."""
    if block.start <= state < block.start + block.n:
        with open(shared, "a") as stream:
            stream.write("x")
        raise ValueError(f"row {state} is bad")
    return Sums(n=block.n)


def columns(block, shared, state):
    """Names of columns and how many are texts, of blocks that are tables."""
    return Sums(n=block.n, text=len(block.X.text))


def threads(block, shared, state):
    """The most threads that BLAS may use inside of work."""
    time.sleep(0.01)
    return Most(max([1] + [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]))


class Most(int):
    """A number whose sum is the larger one."""

    def __add__(self, other):
        return Most(max(self, other))


def by_remainder(block):
    """Sort rows to seven groups by their first number."""
    table = np.column_stack([np.asarray(block.X), block.start + np.arange(block.n)])
    for group in range(7):
        rows = table[np.asarray(block.X)[:, 0] % 7 == group]
        if len(rows):
            yield group, rows


def noted(rows, shared, state):
    """Return the numbers of a group after a while, and note it in a file; die if one is there."""
    notes, file = shared
    time.sleep(0.1)
    if file:
        try:
            os.unlink(file)
        except FileNotFoundError:
            pass
        else:
            os.kill(os.getpid(), 9)
    with open(notes, "a") as stream:
        stream.write(f"{state} ")
    return np.sort(rows[:, -1])


def walked(block, shared, request, kept):
    """Move numbers kept of every row by what they are, so that order and repetition matter.

    The request is (factor, file); one who comes by kills or freezes itself, if `file` is there.
    """
    factor, file = request
    x = np.asarray(block.X, dtype=np.float64).sum(axis=1) if kept is None else kept
    x = np.sin(factor * x + 0.1 * x**2)
    if file:
        try:
            with open(file) as stream:
                number = int(stream.read())
            os.unlink(file)
        except FileNotFoundError:
            pass
        else:
            os.kill(os.getpid(), number)
    return Sums(n=len(x), x=np.sum(x), cubes=np.array([np.sum(x**3), np.sum(x)])), x
