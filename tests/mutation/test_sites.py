"""What the mutation tests change, on a module of a few lines."""

import ast
import subprocess

from mutation import run
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


def test_lines_that_were_added_since_a_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    (path := tmp_path / "src/mercer/losses/base.py").parent.mkdir(parents=True)
    path.write_text("a = 1\nb = 2\nc = 3\nd = 4\n")
    who = ["-c", "user.name=a", "-c", "user.email=b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "c"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    path.write_text("a = 5\nb = 2\nd = 4\ne = 6\nf = 7\n")
    path.with_name("power.py").write_text("g = 8\n")  # git does not know it
    lines = run.added("HEAD")
    assert lines == {("src/mercer/losses/base.py", number) for number in (1, 4, 5)}
    changed = [sites[0].source for sites in run.all_sites("losses", "HEAD")]
    assert changed == ["a = 5", "e = 6", "f = 7"]
    assert len(run.all_sites("losses/base.py")) == 5
