"""What CONTRIBUTING says of the tree is true of the tree."""

import ast
import re
import runpy
import tomllib
from importlib import import_module
from pkgutil import iter_modules

from test_layers import PACKAGE, RESEARCH, ROWS

ROOT = PACKAGE.parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
IDS = (ROOT / "tests" / "capability_ids.txt").read_text(encoding="utf-8").split()
ROOMS = {found.name for found in iter_modules([str(PACKAGE)]) if not found.name.startswith("_")}


def picture(text):
    """Return the rows of the map, from the bottom up."""
    block = text.split("## The map")[1].split("\n\n")[2]
    rows = [re.split(r" {3,}", line.strip())[0] for line in block.splitlines()]
    return [set(row.split(", ")) for row in reversed(rows)]


def test_the_map_has_the_rows_of_the_layer_test():
    assert picture(TEXT) == [set(row) for row in ROWS]


def test_the_layer_test_has_every_room():
    assert {room for row in ROWS for room in row} == ROOMS


def test_a_map_without_a_room_is_found():
    assert picture(TEXT.replace("regularizers, gram ", "regularizers ")) != picture(TEXT)


def test_rooms_that_are_mentioned_exist():
    belongs = TEXT.split("Where does a line of code belong?")[1].split("\n## ")[0]
    named = set(re.findall(r": `([a-z]+)`", belongs))
    assert {"losses", "problems", "selection"} <= named <= ROOMS


def test_the_reference_has_every_room_with_public_names():
    tree = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    listed = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("ROOMS", "RESEARCH")
    }
    public = [room for room in ROOMS if hasattr(import_module(f"mercer.{room}"), "__all__")]
    assert sorted(listed["ROOMS"]) == sorted(public)
    assert sorted(listed["RESEARCH"]) == sorted(room for row in RESEARCH for room in row)


def test_research_says_what_it_is():
    inside = [f"mercer_research.{room}" for row in RESEARCH for room in row]
    for name in ["mercer_research", *inside]:
        assert import_module(name).__doc__.startswith("Research: may change without notice.")


def test_a_page_that_shows_research_says_how_it_is_installed():
    docs = ROOT / "docs"
    parts = ("tutorials", "how-to")
    folders = [page for part in parts for page in (docs / part).glob("*.md")]
    for page in [*folders, docs / "choose.md", docs / "chart.py", ROOT / "README.md"]:
        text = page.read_text(encoding="utf-8")
        shown = "mercer_research" in text
        assert not shown or "./packages/mercer-research" in text, page.name


def test_the_chart_links_to_pages_that_there_are():
    """A name of the reference stands at the top, or else in its room."""
    chart = runpy.run_path(str(ROOT / "docs" / "chart.py"))["QUESTIONS"]
    for name in (name for answers in chart.values() for name in answers.values()):
        room, _, own = name.rpartition(".")
        module = import_module(f"mercer.{room}" if room else "mercer")
        assert own in module.__all__, name
        assert not room or own not in import_module("mercer").__all__, name


def test_commands_are_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", TEXT)) | set(
        re.findall(r"^    make (\S+)", TEXT, re.M)
    )
    assert {"install", "test", "bench", "wheels"} <= named <= targets


def test_the_floor_of_coverage_is_what_is_said():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floor = settings["tool"]["coverage"]["report"]["fail_under"]
    (line,) = (
        line for line in TEXT.splitlines() if line.startswith("| `make test-all COVERAGE=1`")
    )
    assert f"fails below {floor} %" in line


def test_the_line_to_change_in_the_first_hour_is_there():
    source = (PACKAGE / "losses" / "regression.py").read_text(encoding="utf-8")
    (line,) = re.findall(r"`(Conjugate\([^`]*\))`", TEXT.replace("\n", " "))
    assert source.count(line) == 1
    assert "Huber" in (ROOT / "examples" / "regression" / "plot_losses.py").read_text(
        encoding="utf-8"
    )


def test_every_page_that_is_mentioned_exists():
    pages = re.findall(r"`((?:docs|packages|tests|src)/[\w./-]+)`", TEXT)
    assert pages
    assert [page for page in pages if not ((ROOT / page).exists() or "_build" in page)] == []


def specification_ids(text):
    """Yield the numbers of the specification that a text cites, and its abbreviations of titles."""
    documents = {line.split("-")[0] for line in IDS}
    topics = {"-".join(line.split("-")[:2]) for line in IDS}
    for found in re.finditer(
        r"\b([A-Z]{2,3})(-[A-Z]+)?\b(?:-\d\d\b|,? (?:example|section|eq\.))?", text
    ):
        document, topic = found[1], found[2] or ""
        cited = found[0] != document + topic
        if document + topic in topics or (document in documents and not topic and cited):
            yield found[0]


def test_only_the_table_of_capabilities_cites_the_specification():
    assert list(specification_ids("(ST-OPT-02), PD-CORE and PD, example 3.5; the PD loss")) == [
        "ST-OPT-02",
        "PD-CORE",
        "PD, example",
    ]
    folders = ("src", "docs", "examples", "benchmarks", "packages", "tests")
    pages = [*ROOT.glob("*.md"), *(p for f in folders for p in (ROOT / f).rglob("*.[pm][yd]"))]
    spared = {ROOT / "docs/contribute/capabilities.md", ROOT / "tests/test_contributing.py"}
    found = {
        str(page.relative_to(ROOT)): ids
        for page in set(pages) - spared
        if not {"_build", "auto_examples", "generated"} & set(page.parts)
        and (ids := list(specification_ids(page.read_text(encoding="utf-8"))))
    }
    assert found == {}
