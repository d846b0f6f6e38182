"""The page about the command line says what its commands print."""

import doctest
import re
from pathlib import Path

import pytest

from cli.commands import call, shell

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "use-the-command-line.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(text):
    """Return the commands of a page, each with what it is to print."""
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            yield line, expected


def differences(text):
    """Run the commands and return those that print something else."""
    wrong = []
    for line, expected in commands(text):
        status, out, err = call(*line.split()[1:])
        found = out if status == 0 else out + err
        if not doctest.OutputChecker().check_output(expected, found, FLAGS):
            wrong.append(f"$ {line}\n{found}")
    return wrong


@pytest.fixture
def cars(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell("mercer demo mpg --json")
    Path("mpg.skops").unlink()


def test_the_page_prints_what_it_says(cars):
    text = PAGE.read_text(encoding="utf-8")
    assert len(list(commands(text))) >= 9
    assert not (wrong := differences(text)), "\n".join(wrong)


def test_a_wrong_page_is_noticed(cars):
    right = (
        "```console\n$ mercer fit mpg.csv --target no\nmercer: mpg.csv has no column 'no'...\n```\n"
    )
    assert differences(right) == []
    assert len(differences(right.replace("has no", "has a"))) == 1
