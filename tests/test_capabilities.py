"""Every capability has one row in `docs/contribute/capabilities.md`, and what is done exists."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "contribute" / "capabilities.md"
IDS = (Path(__file__).parent / "capability_ids.txt").read_text(encoding="utf-8").split()

ID = re.compile(r"[A-Z]+-[A-Z]+-\d+")


class Row(NamedTuple):
    """One line of the table."""

    id: str
    title: str
    status: str
    names: list[str]
    tests: list[str]


def read(text: str) -> tuple[list[Row], list[str]]:
    """Return the rows of the table, and a complaint for every line that only looks like one."""
    rows, complaints = [], []
    for line in text.splitlines():
        # A pipe inside a cell is written with a backslash.
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        if not cells or not ID.fullmatch(cells[0]):
            if ID.match(line.strip("| ")):
                complaints.append(f"not a row of the table: {line}")
        elif len(cells) != 5:
            complaints.append(f"{cells[0]}: {len(cells)} cells instead of 5")
        else:
            rows.append(Row(*cells[:3], *map(entries, cells[3:])))
    return rows, complaints


def entries(cell: str) -> list[str]:
    """Split a cell at commas and line breaks; code marks are decoration."""
    return [part.strip(" `") for part in re.split(r",|<br\s*/?>", cell) if part.strip(" `")]


def is_importable(name: str) -> bool:
    """Whether a dotted name leads from a package to an object, all of it public."""
    head, *rest = name.split(".")
    if head not in ("mercer", "mercer_research") or any(part.startswith("_") for part in rest):
        return False
    found, path = importlib.import_module(head), head
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


@cache
def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file, of which many rows name tests."""
    return ast.parse(file.read_text(encoding="utf-8"))


def is_defined(node_id: str, root: Path) -> bool:
    """Whether `file.py::function` or `file.py::Class::function` is defined under the root."""
    file, *path = node_id.split("::")
    if not path or not path[-1].startswith("test") or not (root / file).is_file():
        return False
    scope: ast.AST = parsed(root / file)
    for name in path:
        defined = [
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
        ]
        if not defined:
            return False
        scope = defined[-1]
    return isinstance(scope, ast.FunctionDef)


def complaints(text: str, ids: list[str], root: Path) -> list[str]:
    """List everything the table says that is not so, and everything it does not say."""
    rows, found = read(text)
    listed = [row.id for row in rows]
    found += [f"{id}: no row" for id in ids if id not in listed]
    found += [
        f"{id}: {listed.count(id)} rows" for id in sorted(set(listed)) if listed.count(id) > 1
    ]
    found += [f"{id}: not in the specification" for id in listed if id not in ids]
    for row in rows:
        status, _, reason = (part.strip() for part in row.status.partition(":"))
        if status not in {"done", "partial", "planned", "declined"}:
            found.append(f"{row.id}: unknown status {row.status!r}")
        if bool(reason) != (status == "declined") or (":" in row.status and not reason):
            found.append(f"{row.id}: a reason belongs to 'declined' and to nothing else")
        if not row.title:
            found.append(f"{row.id}: no title")
        if status in {"done", "partial"}:
            if not row.names or not row.tests:
                found.append(f"{row.id}: {status} without a public name and a test")
            found += [f"{row.id}: no name {name}" for name in row.names if not is_importable(name)]
            found += [f"{row.id}: no test {t}" for t in row.tests if not is_defined(t, root)]
    return found


def test_the_table_tells_the_truth():
    assert complaints(TABLE.read_text(encoding="utf-8"), IDS, ROOT) == []


def test_the_list_of_ids_is_complete():
    assert len(IDS) == len(set(IDS)) == 449
    assert all(ID.fullmatch(id) for id in IDS)


GOOD = """\
| ID | title | status | public name | test |
| --- | --- | --- | --- | --- |
| A-B-01 | a \\| b | done | `mercer` | tests/test_x.py::test_y |
| A-B-02 | b | planned | | |
| A-B-03 | c | declined: not convex | | |
| A-B-04 | d | partial | mercer | tests/test_x.py::test_y,<br>`tests/test_x.py::TestZ::test_z` |
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "def test_y(): ...\ndef helper(): ...\nclass TestZ:\n    def test_z(self): ...\n"
    )
    return tmp_path


SMALL = ["A-B-01", "A-B-02", "A-B-03", "A-B-04"]


def test_a_true_table_passes(root):
    assert complaints(GOOD, SMALL, root) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| A-B-02 | b | planned | | |\n", "", "A-B-02: no row"),
        ("A-B-03", "A-B-02", "A-B-02: 2 rows"),
        ("A-B-03", "A-B-05", "A-B-05: not in the specification"),
        ("planned", "soon", "A-B-02: unknown status 'soon'"),
        ("planned", "", "A-B-02: unknown status ''"),
        ("declined: not convex", "declined", "A-B-03: a reason"),
        ("declined: not convex", "declined:", "A-B-03: a reason"),
        ("planned", "planned: next year", "A-B-02: a reason"),
        ("`mercer`", "", "A-B-01: done without a public name and a test"),
        ("`mercer`", "mercer.NoSuchMachine", "A-B-01: no name mercer.NoSuchMachine"),
        ("`mercer`", "mercer._version", "A-B-01: no name mercer._version"),
        ("`mercer`", "numpy.linalg", "A-B-01: no name numpy.linalg"),
        ("tests/test_x.py::test_y |", "|", "A-B-01: done without a public name and a test"),
        ("test_x.py::test_y |", "test_x.py::test_n |", "A-B-01: no test tests/test_x.py::test_n"),
        ("test_x.py::test_y |", "test_n.py::test_y |", "A-B-01: no test tests/test_n.py::test_y"),
        ("test_x.py::test_y |", "test_x.py |", "A-B-01: no test tests/test_x.py"),
        ("test_x.py::test_y |", "test_x.py::helper |", "A-B-01: no test tests/test_x.py::helper"),
        ("TestZ::test_z", "TestZ::test_y", "A-B-04: no test tests/test_x.py::TestZ::test_y"),
        ("| A-B-02 | b | planned | | |", "| A-B-02 | b | planned |", "A-B-02: 3 cells"),
        ("| A-B-02 | b |", "| **A-B-02** | b |", "A-B-02: no row"),
        ("| A-B-02 | b |", "A-B-02 | b |", "not a row of the table"),
        ("| a \\| b |", "| |", "A-B-01: no title"),
    ],
)
def test_each_rule_can_fail(root, old, new, complaint):
    assert old in GOOD
    found = complaints(GOOD.replace(old, new, 1), SMALL, root)
    assert any(line.startswith(complaint) for line in found), found
