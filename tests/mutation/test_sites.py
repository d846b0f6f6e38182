"""What the mutation tests change, on a module of a few lines."""

import ast

from mutation.sites import find, mutated

MODULE = '''"""A docstring with 1 + 1."""
__all__ = ["f"]
LIMIT: int = 3

def f(x: int | None, y=0.5):
    if x is None or not y:
        raise ValueError("give x + 1")
    return -min(x * 2, LIMIT)[1:]
'''


def written(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    return path, [site for sites in find(path, tmp_path) for site in sites]


def test_every_kind_is_found_and_prose_is_not(tmp_path):
    changes = {site.change for site in written(tmp_path)[1]}
    assert {
        "3 -> 4",
        "0.5 -> 1.5",
        "0.5 -> 0.25",
        "x is None or not y -> x is None and (not y)",
        "x is None -> x is not None",
        "not y -> y",
        "-min(x * 2, LIMIT)[1:] -> min(x * 2, LIMIT)[1:]",
        "min -> max",
        "x * 2 -> x / 2",
        "1 -> 2",
    } <= changes
    assert not any("int | None" in change or "x + 1" in change for change in changes)


def test_one_change_is_made(tmp_path):
    path, sites = written(tmp_path)
    usual = ast.unparse(ast.parse(MODULE)).splitlines()
    for site in sites:
        changed = ast.unparse(mutated(path, site)).splitlines()
        assert sum(one != other for one, other in zip(usual, changed, strict=True)) == 1


def test_lines_that_can_see_a_change(tmp_path):
    scopes = {site.change: (site.scope, site.late) for site in written(tmp_path)[1]}
    assert scopes["3 -> 4"] == ((1, 8), False)
    assert scopes["0.5 -> 1.5"] == ((5, 8), False)
    assert scopes["x is None -> x is not None"] == ((6, 6), True)
    assert scopes["min -> max"] == ((8, 8), True)
