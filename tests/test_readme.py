"""Examples of the README and of the tour run, and what the README shows exists."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from cli.commands import call

from snippets import python_blocks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [README, TOUR], ids=lambda page: page.name)
def test_what_is_printed_is_what_is_promised(page):
    first, *_ = sources = [source for _, source in python_blocks(page)]
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    for source in sources:
        names = {"__name__": "__main__"}  # each block stands alone
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(page), "exec"), names)
        # Each printed line ends in a comment that says what is printed.
        promised = re.findall(r"print\(.*\)  # (.*)", source)
        assert promised
        assert printed.getvalue().splitlines() == promised


def test_the_readme_is_a_screen_and_a_half():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert len(text.split()) <= 900


def test_commands_of_the_readme_do_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = CONSOLE.findall(README.read_text(encoding="utf-8"))
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    assert len(lines) <= 5
    for line in lines:
        status, out, err = call(*line.split()[1:])
        assert status == 0, f"{line}: {out}{err}"
    named = {word for line in lines for word in line.split() if "." in word and word[0].isalpha()}
    assert {"cars.skops", "report.html", "predicted.csv"} <= named
    assert [name for name in named if not (tmp_path / name).exists()] == []


def test_every_relative_link_leads_somewhere():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!#)([^)\s]+)\)", text)
    links += re.findall(r"(?:src|srcset)=\"([^\"]+)\"", text)
    assert links
    assert [link for link in links if not (ROOT / link.split("#")[0]).exists()] == []
