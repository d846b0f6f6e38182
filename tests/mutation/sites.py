"""Where one operator, constant, comparison or sign of a module can be changed, and to what."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Site", "find", "mutated"]

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPPOSITES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
OPPOSITES |= {second: first for first, second in OPPOSITES.items()}

# Arguments that say how something is computed or reported, never what.
MANNERS = {"strict", "stacklevel", "copy", "check_finite", "overwrite_a", "overwrite_b", "order"}


@dataclass(frozen=True)
class Site:
    """One change: the number of a node in the order of `ast.walk`, and of the change there."""

    file: str
    line: int
    source: str
    change: str
    node: int
    choice: int
    scope: tuple[int, int]
    """First and last line whose tests can see the change: its statement, or what it belongs to."""
    late: bool
    """Whether it runs in a function, rather than when its module is imported."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the change although lines above it come and go."""
        return self.file, self.source, self.change


def _constants(node: ast.Constant) -> list[object]:
    value = node.value
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, -value] if value else [1]
    if isinstance(value, float):
        return [value + 1.0, value / 2 if abs(value) > 1e-3 else -value] if value else [1.0]
    return []


def _changes(node: ast.AST) -> list[ast.AST]:
    """Return what may stand for a node instead."""
    found: list[ast.AST] = []

    def other(**fields: object) -> None:
        made = copy.copy(node)
        for name, value in fields.items():
            setattr(made, name, value)
        found.append(made)

    if isinstance(node, ast.Constant):
        for value in _constants(node):
            other(value=value)
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other(op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for changed in COMPARISONS[type(operator)]:
                other(ops=[*node.ops[:place], changed(), *node.ops[place + 1 :]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        if not isinstance(node.operand, ast.Constant):
            found.append(node.operand)
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        other(id=OPPOSITES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in OPPOSITES:
        other(attr=OPPOSITES[node.attr])
    elif isinstance(node, ast.Slice):
        for end in ("lower", "upper"):
            bound = getattr(node, end)
            if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):
                other(**{end: ast.BinOp(bound, ast.Add(), ast.Constant(1))})
    return found


def _is_prose(node: ast.AST) -> bool:
    """Return whether a node is an annotation, a message, an export or a manner of computing."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.keyword) and node.arg in MANNERS:
        return True
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return called in {"warn", "cast", "TypeVar", "overload"}
    if isinstance(node, ast.Assign):
        return any(getattr(target, "id", "").startswith("__") for target in node.targets)
    if isinstance(node, ast.If):
        return getattr(node.test, "id", "") == "TYPE_CHECKING"
    return False


def _walk(
    node: ast.AST, scope: tuple[int, int], late: bool
) -> Iterator[tuple[ast.AST, tuple[int, int], bool]]:
    yield node, scope, late
    unread = {"annotation", "returns", "decorator_list"}
    whole = (node.lineno, node.end_lineno or 0) if hasattr(node, "lineno") else scope
    if isinstance(node, ast.stmt) and late:
        body = getattr(node, "body", None)
        scope = (whole[0], max(whole[0], body[0].lineno - 1) if body else whole[1])
    for name, value in ast.iter_fields(node):
        if name in unread:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_prose(child):
                continue
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                inner = (whole, late or name == "body")
            elif isinstance(node, ast.ClassDef):
                inner = (whole, late)
            else:
                inner = (scope, late)
            yield from _walk(child, *inner)


def find(path: Path, root: Path) -> list[list[Site]]:
    """Return the changes that a module allows, those of one node in one list."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    found = []
    for node, scope, late in _walk(tree, (1, len(lines)), late=False):
        changes = _changes(node)
        if not changes or (not late and isinstance(getattr(node, "op", None), ast.BitOr)):
            continue  # outside functions `|` joins types
        line = node.lineno  # type: ignore[attr-defined]
        sites = [
            Site(
                file=str(path.relative_to(root)),
                line=line,
                source=lines[line - 1].strip(),
                change=f"{ast.unparse(node)} -> {ast.unparse(ast.fix_missing_locations(made))}",
                node=numbers[id(node)],
                choice=choice,
                scope=scope,
                late=late,
            )
            for choice, made in enumerate(changes)
        ]
        found.append(sites)
    return found


def mutated(path: Path, site: Site) -> ast.Module:
    """Return the tree of a module with one change made."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    old = next(node for number, node in enumerate(ast.walk(tree)) if number == site.node)
    new = ast.copy_location(_changes(old)[site.choice], old)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                for place, entry in enumerate(value):
                    if entry is old:
                        value[place] = new
    return ast.fix_missing_locations(tree)
