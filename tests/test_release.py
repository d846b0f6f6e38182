"""What is told about a version agrees, and the checks of a release can fail."""

import doctest
import re
import runpy
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mercer
from mercer import _optional, _version

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs"))
release = import_module("release")
TOOLS = runpy.run_path(str(ROOT / "tools" / "tasks.py"))


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Return a copy of the files that a maintainer fills in, which the program now works on."""
    for page in [*release.pages(), ROOT / "pyproject.toml", ROOT / "CITATION.cff"]:
        target = tmp_path / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    (tmp_path / "src" / "mercer").mkdir(parents=True)
    shutil.copy(_version.__file__, tmp_path / "src" / "mercer")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "HERE", tmp_path / "docs")
    return tmp_path


def without_tools(monkeypatch):
    """Leave out the tools of the extra `release`."""
    monkeypatch.setattr(release, "run", lambda *arguments, **settings: iter(()))


@pytest.mark.parametrize("check", ["version", "changelog", "citation", "links", "installation"])
def test_what_is_told_agrees(check, monkeypatch):
    without_tools(monkeypatch)
    assert list(getattr(release, f"check_{check}")()) == []


def test_another_version_is_noticed_everywhere(monkeypatch):
    without_tools(monkeypatch)
    monkeypatch.setattr(_version, "__version__", "7.8.0")
    # Two distributions beside the library, no release note, not in SECURITY.md.
    assert len(list(release.check_version())) == 4
    assert list(release.check_changelog()) == ["the first entry is not 7.8.0"]
    assert [line.split(":")[0] for line in release.check_citation()] == ["version"]
    monkeypatch.setattr(_version, "__version__", "0.1.0.dev0")
    assert "0.1.0.dev0 is no version of a release" in list(release.check_version())


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "b.md").write_text("# A long, *odd* title\n", encoding="utf-8")
    page = tmp_path / "a.md"
    text = "[a](b.md) [b](b.md#a-long-odd-title) [c](c.md) [d](b.md#none) `[e](e.md)` {doc}`b`"
    page.write_text(f"{text} {{doc}}`f`\n```\n[g](g.md)\n```\n", encoding="utf-8")
    assert release.broken_links(page) == ["c.md", "b.md#none", "f"]


def test_messages_install_as_pages_do():
    for extra in {extra for _, _, extra in _optional.PLUGINS.values()}:
        assert _version.installation(extra) in _optional.how_to_install(extra)
        assert extra in release.project()["optional-dependencies"]
    # No module writes the command itself.
    written = [
        path.name
        for path in Path(mercer.__file__).parent.rglob("*.py")
        if re.search(r"pip install", path.read_text(encoding="utf-8"))
    ]
    assert written == ["_version.py"]


def test_one_constant_turns_the_commands_of_all_pages(copy, monkeypatch):
    assert not _version.PUBLISHED
    old = {page: page.read_text(encoding="utf-8") for page in release.pages_with_commands()}
    release.publish(True)
    assert "\nPUBLISHED = True\n" in (copy / "src" / "mercer" / "_version.py").read_text()
    assert list(release.check_installation())  # the constant of this process says no
    monkeypatch.setattr(_version, "PUBLISHED", True)
    assert list(release.check_installation()) == []
    assert "pip install mercer" in (copy / "README.md").read_text(encoding="utf-8")
    release.publish(False)
    assert {page: page.read_text(encoding="utf-8") for page in old} == old


def test_an_extra_that_is_not_there_is_found(copy):
    (copy / "README.md").write_text('pip install ".[clu]"', encoding="utf-8")
    assert list(release.check_installation()) == ["README.md: there is no extra clu"]


def test_addresses_are_filled_in_everywhere(copy, monkeypatch):
    without_tools(monkeypatch)
    assert [item for item in release.open_items() if "urls" in item]
    release.fill_address("https://a.example", "https://docs.a.example/", "https://b.example/mercer")
    assert not [item for item in release.open_items() if "urls" in item]
    assert list(release.check_citation()) == []
    assert release.project()["urls"]["Issues"] == "https://b.example/mercer/issues"
    assert release.project()["urls"]["Changelog"] == "https://docs.a.example/changelog.html"
    settings = (copy / "pyproject.toml").read_text(encoding="utf-8")
    assert "mercer.invalid" not in settings


def test_the_day_is_filled_in_everywhere(copy, monkeypatch):
    without_tools(monkeypatch)
    release.fill_date("2031-02-03")
    assert release.citation()["date-released"] == release.bibtex()["date"] == "2031-02-03"
    assert list(release.check_changelog()) == list(release.check_citation()) == []
    with pytest.raises(ValueError, match="isoformat"):
        release.fill_date("tomorrow")


def test_addresses_that_the_index_cannot_follow_are_found():
    html = (
        '<a href="docs/a.md">a</a><img src="b.png"><a href="https://c.example">c</a><a href="#d">'
    )
    assert release.leading_nowhere(html) == ["docs/a.md", "b.png"]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("BSD-3-Clause AND MIT AND 0BSD", True),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True),
        ("MIT License", True),
        ("GPL-3.0-or-later", False),
        ("BSD-3-Clause AND LGPL-2.1-only", False),
        ("", False),
    ],
)
def test_licences(expression, allowed):
    assert release.permissive(expression) is allowed


def test_a_failing_tool_is_told():
    (line,) = release.run("no_such_tool")
    assert "No module named no_such_tool" in line


def test_every_step_of_a_workflow_is_a_target():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    steps = set()
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = workflow.read_text(encoding="utf-8")
        commands = re.findall(r"^ +- run: (.*)$", text, re.MULTILINE)
        assert len(commands) == len(re.findall(r"\brun: \S", text))  # none of several lines
        for command in commands:
            if not command.endswith("/mercer warm"):
                steps.add(re.fullmatch(r"make ([a-z-]+)( [A-Z]+=.*)?", command)[1])
    assert {"check", "test", "test-all", "docs", "matrix", "release", "night"} <= steps <= targets
    assert len(targets) <= 15


def test_the_night_of_the_workflow_is_that_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^STEPS \?= (.*)$", makefile, re.MULTILINE)
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    steps = set(re.findall(r"^ {10}- (\S+)$", text, re.MULTILINE))
    assert steps | {"matrix"} == set(listed.split()) <= set(TOOLS["TASKS"])


def test_suites_and_tasks_name_programs_that_are_there():
    suites = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))["SUITES"]
    assert set(TOOLS["SHORT"].split()) <= set(suites)
    for suite in suites.values():
        for program in suite.programs:
            first, *arguments = program.removeprefix("peers ").removeprefix("autogluon ").split()
            if first == "suite":
                assert arguments[0] in suites
            elif first != "-m":
                assert (ROOT / "benchmarks" / first).exists(), program
    for task in TOOLS["TASKS"].values():
        for command in task.commands:
            if program := re.match(r"python (\S+\.py)", command):
                assert (ROOT / program[1]).exists(), command


def test_an_unknown_suite_or_task_is_named(capsys):
    suites = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
    for main in (suites["main"], TOOLS["main"]):
        assert main(["no-such"]) == 2
        assert "no-such" in capsys.readouterr().out
        assert main([]) == 0
        assert "short" in capsys.readouterr().out


def test_commands_on_pages_name_suites_and_tasks():
    suites = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))["SUITES"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in [*release.pages(), ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets, page
        assert set(re.findall(r"SUITE=([a-z-]+)", text)) <= set(suites), page
        named = re.findall(r"(?:STEPS|PART)=([a-z0-9.-]*[a-z0-9])", text)
        assert set(named) <= set(TOOLS["TASKS"]), page


def test_the_pythons_of_the_matrix_are_those_that_are_named():
    named = [one.rsplit(" ", 1)[-1] for one in release.project()["classifiers"] if "3." in one]
    matrix = import_module("matrix")
    assert list(matrix.PYTHONS) == named
    assert release.project()["requires-python"] == f">={named[0]}"
    assert {"numpy", "scikit-learn", "clarabel", "pytest"} <= set(matrix.names())


def test_all_environments_of_tests_have_the_same_extras():
    extras = ",".join(import_module("matrix").EXTRAS)
    checks = (ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
    assert re.findall(r"^ +EXTRAS: (.*)$", checks, re.MULTILINE) == [extras]
    assert TOOLS["EXTRAS"] == extras


@pytest.mark.parametrize("module", ["matrix", "release"])
def test_examples_of_the_programs(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted
    assert not found.failed
