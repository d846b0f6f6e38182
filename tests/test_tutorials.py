"""What the pages print is what their code prints: every block of a page runs, in one session."""

import doctest
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from snippets import python_blocks

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(
    page
    for section in ("tutorials", "how-to", "contribute", "explanation")
    for page in (DOCS / section).rglob("*.md")
    if python_blocks(page)
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def run(page: Path) -> list[str]:
    """Run the examples of a page one after the other and return a report of each failure."""
    parser, session, report = doctest.DocTestParser(), {"__name__": "__main__"}, []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for line, source in python_blocks(page):
        test = parser.get_doctest(source, session, page.name, str(page), line - 1)
        assert test.examples, f"{page}:{line}: a Python block without a prompt would not be run"
        runner.run(test, out=report.append, clear_globs=False)
        session = test.globs
    return report


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_page_prints_what_it_says(page):
    if report := run(page):
        pytest.fail("".join(report), pytrace=False)


def test_there_are_pages():
    assert {"first-machine.md", "one-functional.md"} <= {page.name for page in PAGES}


def test_a_wrong_page_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> x = 1\n```\ntext\n```python\n>>> x + 1\n2\n```\n")
    assert run(page) == []
    page.write_text("```python\n>>> x = 1\n```\ntext\n```python\n>>> x + 1\n3\n```\n")
    assert "line 6" in "".join(run(page))
