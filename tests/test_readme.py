"""The first machine of the README runs, and what the README shows exists."""

import contextlib
import io
import re
from pathlib import Path

from snippets import python_blocks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_what_is_printed_is_what_is_promised():
    first, *_ = sources = [source for _, source in python_blocks(README)]
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    for source in sources:
        names = {"__name__": "__main__"}  # each block stands alone
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(README), "exec"), names)
        # Each printed line ends in a comment that says what is printed.
        promised = re.findall(r"print\(.*\)  # (.*)", source)
        assert promised
        assert printed.getvalue().splitlines() == promised


def test_every_relative_link_leads_somewhere():
    links = re.findall(r"\]\((?!#)([^)\s]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link.split("#")[0]).exists()] == []
