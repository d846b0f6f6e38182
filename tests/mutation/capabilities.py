"""Break the formula of each capability once, and run only the tests that its row names.

Run from the folder of the tests, ``python -m mutation.capabilities``, or by
``make mutants ROOM=capabilities``. capabilities.jsonl has one line for every row of
`docs/contribute/capabilities.md` that is done: the file and the function of the formula, its line
and the line that stands there instead, and which test noticed, at first and at last. The changed
module is made in a process of its own; no file is written. A line may be corrected by hand:
without a status it is run again. A row without a line gets the best of its candidates.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import importlib
import inspect
import json
import os
import re
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numba
import pytest

from mutation.run import (
    ROOT,
    Failures,
    Nursery,
    forked,
    functions_of,
    import_mutated,
    limit,
    recorded,
    replace_functions,
    run_here,
    some_of_each,
)
from mutation.sites import Site, find
from test_capabilities import TABLE, Row, read
from tiers import function_of, slow

RECORD = Path(__file__).parent / "capabilities.jsonl"
BOUND = 600.0
"""Seconds of the processor that the tests of a row may take with a line changed."""
COMPILING = 240.0
"""Seconds more where loops are compiled."""
WALL = 600.0
"""Seconds by the clock, for a test that waits for another process."""
TOKENS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**",
}  # fmt: skip
MANNERS = re.compile(
    r"check|valid|refus|repr|__init__|__post_init__|__str__|plot|to_dict|warn|_tags"
)
"""Functions that read arguments or describe a result."""


def done() -> list[Row]:
    """Return the rows of the table that are done."""
    return [row for row in read(TABLE.read_text(encoding="utf-8"))[0] if row.status == "done"]


def resolved(name: str) -> object:
    """Return the object of a dotted name, with the class of a method."""
    path = name.split(".")
    for end in range(len(path), 0, -1):
        try:
            found: object = importlib.import_module(".".join(path[:end]))
        except ImportError:
            continue
        for part in path[end:]:
            static = isinstance(found, type)
            found = (inspect.getattr_static if static else getattr)(found, part)
        if isinstance(found, property):
            found = found.fget
        return inspect.unwrap(getattr(found, "__func__", getattr(found, "func", found)))
    raise ImportError(name)


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield functions and classes of a module with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{prefix}{node.name}", node
            yield from definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.stmt):
            yield from definitions(node, prefix)


@functools.cache
def functions_behind(name: str) -> dict[tuple[Path, str], ast.FunctionDef]:
    """Return functions of an object, and those of its module that they call or derive from."""
    found = resolved(name)
    path = Path(inspect.getsourcefile(found))  # type: ignore[arg-type]
    every = dict(definitions(ast.parse(path.read_text(encoding="utf-8"))))
    if isinstance(found, types.ModuleType):
        start = list(every)
    else:
        start = [getattr(found, "__qualname__", type(found).__qualname__)]
    start = [each for each in start if each in every]
    called = {
        getattr(node, "attr", getattr(node, "id", ""))
        for each in start
        for node in ast.walk(every[each])
    }
    start += [each for each in every if each.split(".")[-1] in called]
    return {
        (path, each): node
        for each, node in every.items()
        if isinstance(node, ast.FunctionDef)
        and any(each == top or each.startswith(f"{top}.") for top in start)
    }


@functools.cache
def rewritten(path: Path, site: Site) -> tuple[str, str] | None:
    """Return the line of a change and what stands there instead, as text."""
    text = path.read_text(encoding="utf-8")
    old = [node for node in ast.walk(ast.parse(text))][site.node]
    lines = [line.encode() for line in text.splitlines()]

    def put(line: int, first: int, last: int, new: str) -> tuple[str, str]:
        whole = lines[line - 1]
        return whole.decode().strip(), (
            whole[:first] + new.encode() + whole[last:]
        ).decode().strip()

    new = None
    if isinstance(old, ast.BinOp) and type(old.op) in TOKENS:
        token = TOKENS[type(old.op)].encode()
        place, column = old.left.end_lineno, old.left.end_col_offset
        for line in range(place or 0, old.right.lineno + 1):
            where = lines[line - 1].find(token, column if line == place else 0)
            if where >= 0:
                made = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "*"}[
                    token.decode()
                ]
                new = put(line, where, where + len(token), made)
                break
    elif isinstance(old, ast.UnaryOp) and isinstance(old.op, ast.USub):
        new = put(old.lineno, old.col_offset, old.col_offset + 1, "")
    elif isinstance(old, ast.AugAssign) and type(old.op) in TOKENS:
        token = TOKENS[type(old.op)] + "="
        where = lines[old.lineno - 1].find(token.encode())
        made = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}.get(token)
        if where >= 0 and made:
            new = put(old.lineno, where, where + 2, made)
    elif isinstance(old, ast.Constant) and type(old.value) in (int, float):
        value = old.value
        made = str(value + 1 if value != 2 or isinstance(value, int) else value / 2)
        new = put(old.lineno, old.col_offset, old.end_col_offset or 0, made)
    elif isinstance(old, ast.Name | ast.Attribute):
        changed = site.change.split(" -> ")[1].split(".")[-1]
        end = old.end_col_offset or 0
        name = getattr(old, "attr", getattr(old, "id", ""))
        new = put(old.end_lineno or 0, end - len(name), end, changed)
    return new


def score(line: str, change: str, function: str) -> float:
    """Return how much a line looks like a formula."""
    found = 3.0 * line.startswith("return") + 1.0 * ("=" in line)
    found += 2.0 * bool(re.search(r"np\.(exp|log|sqrt|sum|abs|cos|sin|maximum)|@|\*\*", line))
    found += 1.0 * bool(re.search(r" [*/+-] ", change)) - 2.0 * bool(re.match(r"[\d.]+ ->", change))
    found -= 3.0 * bool(re.search(r"range\(|len\(|shape|EPS|tol|eps\b|reshape|zip\(|for ", line))
    found -= 2.0 * bool(re.search(r"\[[^]]*[+-] ?1|: ?\]|index|print|f\"", line))
    found -= 4.0 * bool(re.match(r"(el)?if |while |raise |for |assert ", line) or " == " in change)
    return found - 8.0 * bool(MANNERS.search(function.split(".")[-1]))


sites = functools.cache(lambda path: find(path, ROOT))


def candidates(row: Row) -> list[dict[str, str]]:
    """Return lines of formulas behind the names of a row, the best first."""
    scored: dict[tuple[str, str, str], tuple[float, dict[str, str]]] = {}
    for name in row.names:
        for (path, function), node in functions_behind(name).items():
            for places in sites(path):
                for site in places[:1]:
                    if not node.lineno <= site.line <= (node.end_lineno or 0):
                        continue
                    if not re.search(r"[*/+-]|\d|min|max", site.change) or " and " in site.change:
                        continue
                    new = rewritten(path, site)
                    if new is None or new[0] == new[1]:
                        continue
                    entry = {
                        "id": row.id, "file": str(path.relative_to(ROOT)), "function": function,
                        "line": new[0], "mutated": new[1],
                    }  # fmt: skip
                    value = score(new[0], site.change, function)
                    key = (entry["file"], function, new[0])
                    if key not in scored or scored[key][0] < value:
                        scored[key] = (value, entry)
    return [entry for _, entry in sorted(scored.values(), key=lambda pair: -pair[0])]


def changed(entry: dict[str, str], text: str) -> str | None:
    """Return the text of a module with the line of an entry changed; nothing if it is not there."""
    node = dict(definitions(ast.parse(text))).get(entry["function"])
    lines = text.splitlines(keepends=True)
    if node is not None:
        for number in range(node.lineno - 1, node.end_lineno or 0):  # type: ignore[attr-defined]
            if lines[number].strip() == entry["line"]:
                lines[number] = lines[number].replace(entry["line"], entry["mutated"])
                return "".join(lines)
    return None


def tree_of(entry: dict[str, str]) -> tuple[Path, ast.Module]:
    """Return the path of a module and its tree with one line changed."""
    path = ROOT / entry["file"]
    text = changed(entry, path.read_text(encoding="utf-8"))
    if text is None:
        raise ValueError(f"{entry['id']}: {entry['function']} has no line {entry['line']!r}")
    return path, ast.parse(text)


def fresh(asked: Path) -> int:
    """Import the changed module in a new process with nothing compiled, and run tests there."""
    entry, names, bound, noticed = json.loads(asked.read_text())
    limit(bound)
    numba.config.CACHE_DIR = str(asked.parent)
    import_mutated(*tree_of(entry))
    os.chdir(ROOT)
    options = ["--assert=plain", "-p", "no:cacheprovider"]
    return int(pytest.main([*options, *names], plugins=[Failures(Path(noticed))]))


class Rows:
    """A plugin whose loop runs the tests of one row after another, each with its line changed."""

    def __init__(
        self,
        entries: list[dict[str, str]],
        tests: dict[str, list[str]],
        nursery: Nursery,
        keep: Callable[[dict[str, str]], None],
        bound: float,
    ) -> None:
        self.entries, self.tests, self.nursery, self.keep = entries, tests, nursery, keep
        self.bound = bound

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            items.setdefault(item.nodeid.split("[")[0], []).append(item)
        functions = functions_of(ROOT / "src/mercer")
        gc.freeze()
        late = slow()
        noticing: dict[str, dict[str, str]] = {}
        for entry in self.entries:
            named = [item for name in self.tests[entry["id"]] for item in items[name]]
            some = some_of_each(named)
            named = some + [item for item in named if item not in some]
            named.sort(key=lambda item: function_of(item.nodeid) in late)
            status, by = self.attempt(entry, named, functions, self.bound)
            if by.startswith("signal"):  # too long, unless that is what the change does
                sound = self.attempt(None, named, functions, self.bound / 10)
                status = "killed" if sound[0] == "survived" else "open"
            first = entry.get("first", status)
            entry = {**entry, "status": status, "by": by, "first": first}
            noticing[by] = entry
            self.keep(entry)
        # A test that also fails without a change is no evidence.
        found = {item.nodeid: item for item in session.items if item.nodeid in noticing}
        while found:
            status, by = self.attempt(None, list(found.values()), functions, 36000.0)
            if by not in found:
                break
            del found[by]
            self.keep({**noticing[by], "status": "error"})
        return True

    def attempt(
        self,
        entry: dict[str, str] | None,
        items: list[pytest.Item],
        functions: list[types.FunctionType],
        bound: float,
    ) -> tuple[str, str]:
        """Change a line, or none, in a process of its own and run tests there."""
        with tempfile.TemporaryDirectory() as folder:
            noticed = Path(folder) / "noticed"
            compiled = entry is not None and entry["file"].endswith("_numba.py")
            if entry is not None and compiled:
                names = [item.nodeid for item in items]
                bound += COMPILING
                code = self.nursery.ask([entry, names, bound, str(noticed)], Path(folder) / "asked")
            else:

                def work() -> None:
                    limit(bound)
                    if entry is not None:
                        path, tree = tree_of(entry)
                        import_mutated(path, tree)
                        replace_functions(functions, path, tree)
                    run_here(items, noticed)

                code = forked(work, WALL)
            if noticed.exists():
                return "killed", noticed.read_text()
            if code < 0:
                return "killed", f"signal {-code}"
            return ("survived", f"{len(items)} cases") if code == 0 else ("error", f"exit {code}")


def report(entries: Iterable[dict[str, str]]) -> None:
    """Print how many rows have tests that notice, at first and at last, and which have not."""
    entries = list(entries)
    for when, name in (("at first", "first"), ("at last", "status")):
        counts = Counter(entry.get(name, "new") for entry in entries)
        known = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        print(f"{when}: {known} of {len(entries)} rows")
    for entry in entries:
        if entry.get("status") in ("survived", "error", "open"):
            print(f"{entry['id']}: {entry['file']}: {entry['line']}  ->  {entry['mutated']}")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", help="rows to run; those without a result if not given")
    parser.add_argument("--all", action="store_true", help="run every row")
    parser.add_argument("--again", action="store_true", help="run those that were not noticed")
    parser.add_argument("--bound", type=float, default=BOUND, help="seconds for each row")
    parser.add_argument("--lines", action="store_true", help="print candidates of the rows given")
    asked = parser.parse_args()
    nursery = Nursery(fresh)  # before this library is imported
    rows = {row.id: row for row in done()}
    if asked.lines:
        for id in asked.ids:
            for entry in candidates(rows[id])[:20]:
                print(json.dumps(entry, ensure_ascii=False))
        return 0
    known = {entry["id"]: entry for entry in recorded(RECORD)}
    for row in rows.values():
        if row.id not in known:
            known[row.id] = candidates(row)[0]
    known = {id: known[id] for id in rows}
    if asked.ids:
        chosen = set(asked.ids)
    elif asked.all:
        chosen = set(known)
    else:
        done_with = {"killed"} if asked.again else {"killed", "survived", "error", "open"}
        chosen = {id for id, entry in known.items() if entry.get("status") not in done_with}
    entries = [known[id] for id in known if id in chosen]
    entries.sort(key=lambda entry: entry["file"].endswith("_numba.py"))  # those last that take long
    for entry in entries:
        tree_of(entry)  # every line is there, before anything is run

    def keep(entry: dict[str, str]) -> None:
        known[entry["id"]] = entry
        lines = (json.dumps(entry, ensure_ascii=False) for entry in known.values())
        RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
        sys.__stdout__.write(f"{entry['status']:9} {entry['id']:11} {entry['by']}\n")
        sys.__stdout__.flush()

    os.chdir(ROOT)
    tests = {id: rows[id].tests for id in rows}
    names = list(dict.fromkeys(name for entry in entries for name in tests[entry["id"]]))
    options = ["-q", "-s", "-p", "no:cacheprovider"]
    code = pytest.main(
        [*options, *names], plugins=[Rows(entries, tests, nursery, keep, asked.bound)]
    )
    report(known.values())
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
