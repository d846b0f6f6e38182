"""The record of changed formulas: which rows it has, and that a change is one line."""

import ast

import pytest

from mutation.capabilities import RECORD, ROOT, candidates, changed, definitions, done
from mutation.run import recorded

TEXT = """class Ball:
    def norm(self, x):
        return 2.0 * x


def norm(x):
    return 2.0 * x
"""


def test_one_line_of_one_function_is_changed():
    entry = {"function": "norm", "line": "return 2.0 * x", "mutated": "return 2.0 / x"}
    assert changed(entry, TEXT) == TEXT[::-1].replace("* x"[::-1], "/ x"[::-1], 1)[::-1]
    inner = {**entry, "function": "Ball.norm"}
    assert changed(inner, TEXT) == TEXT.replace("* x", "/ x", 1)
    assert changed({**entry, "line": "return x"}, TEXT) is None
    assert changed({**entry, "function": "other"}, TEXT) is None
    assert [name for name, _ in definitions(ast.parse(TEXT))] == ["Ball", "Ball.norm", "norm"]


def test_every_row_has_a_line_and_every_line_a_row():
    assert {entry["id"] for entry in recorded(RECORD)} == {row.id for row in done()}


@pytest.mark.parametrize("place", [0, -1])
def test_candidates_are_lines_of_formulas(place):
    row = done()[place]
    for entry in candidates(row)[:5]:
        text = (ROOT / entry["file"]).read_text(encoding="utf-8")
        made = changed(entry, text)
        assert made is not None
        ast.parse(made)
        assert sum(a != b for a, b in zip(text.split("\n"), made.split("\n"), strict=True)) == 1
