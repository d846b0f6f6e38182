"""No test asserts a time by the clock: on a busy machine it would fail though nothing is wrong.

Steps, modules, calls or a clock that the test moves hold the same property; what cannot be counted
is measured by a benchmark. A limit inside of a ``while`` loop keeps a hanging test from running
forever, and may stay.
"""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
          "process_time_ns", "thread_time", "cpu_times"}  # fmt: skip


def reads_clock(node):
    """Answer whether an expression calls a clock."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        match call.func:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in CLOCKS:
                return True
            case ast.Attribute(value=ast.Name(id="time"), attr="time"):
                return True
    return False


def names_in(node):
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def moves_clock(function):
    """Answer whether a test replaces the clock by its own."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "setattr"
        and any(isinstance(part, ast.Constant) and part.value in CLOCKS for part in call.args)
        for call in ast.walk(function)
    )


def timed_asserts(source):
    """Return the lines of asserts that compare readings of a clock."""
    found = []
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or moves_clock(function):
            continue
        read = set()
        while True:  # names that are computed from readings are readings, too
            more = {
                name
                for node in ast.walk(function)
                if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr)
                and node.value is not None
                and (reads_clock(node.value) or names_in(node.value) & read)
                for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                for name in names_in(target)
            }
            if more <= read:
                break
            read |= more
        waiting = {
            node
            for loop in ast.walk(function)
            if isinstance(loop, ast.While)
            for node in ast.walk(loop)
        }
        found += [
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.Assert)
            and node not in waiting
            and (reads_clock(node.test) or names_in(node.test) & read)
        ]
    # Programs that a test runs in another process, and whose output it would compare.
    found += [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and any(f"{clock}()" in node.value for clock in CLOCKS)
    ]
    return sorted(set(found))


TESTS = sorted(HERE.rglob("test_*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(HERE)))
def test_no_test_asserts_a_time(path):
    if path == Path(__file__):
        return
    lines = timed_asserts(path.read_text(encoding="utf-8"))
    assert not lines, f"{path.name}: lines {lines} compare a clock; count steps instead"


@pytest.mark.parametrize(
    "body",
    [
        "begin = time.perf_counter()\n    work()\n    assert time.perf_counter() - begin < 1",
        "begin = process_time()\n    took = process_time() - begin\n    assert took < 1",
        "took = run('t = time.monotonic(); work(); print(time.monotonic() - t)')",
        "start, used = time.time(), 0\n    used += time.time() - start\n    assert used < 1",
    ],
)
def test_times_are_found(body):
    assert timed_asserts(f"def test_it():\n    {body}\n")


def test_waiting_and_moved_clocks_are_not():
    assert not timed_asserts(
        "def test_it():\n    end = time.monotonic() + 60\n    while work():\n"
        "        assert time.monotonic() < end\n"
    )
    assert not timed_asserts(
        "def test_it(monkeypatch):\n    monkeypatch.setattr(time, 'monotonic', clock)\n"
        "    begin = time.monotonic()\n    work()\n    assert time.monotonic() - begin == 3\n"
    )
