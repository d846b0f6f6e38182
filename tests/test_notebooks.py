"""Notebooks of the tutorials are valid, hold the code of the pages, and run from top to bottom."""

import doctest
import importlib.util
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from snippets import python_blocks

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("_ext", DOCS / "_ext.py")
ext = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ext)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def cells(made, kind):
    return ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("page", ext.TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_runs(page):
    """Cells run in one session, as Jupyter runs them; what they print is tested with the page."""
    session = {"__name__": "__main__"}
    for number, source in enumerate(cells(ext.notebook(page), "code")):
        exec(compile(source, f"{page.stem}, cell {number}", "exec"), session)


@pytest.mark.parametrize("page", ext.TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_has_all_code_of_its_page(page):
    made = ext.notebook(page)
    parser = doctest.DocTestParser()
    wanted = [
        [example.source.strip() for example in parser.get_examples(block)]
        for _, block in python_blocks(page)
    ]
    written = cells(made, "code")
    assert len(written) == len(wanted)
    for source, examples in zip(written, wanted, strict=True):
        assert all(example in source for example in examples)
        assert ">>>" not in source
    prose = "\n".join(cells(made, "markdown"))
    assert prose.startswith(page.read_text(encoding="utf-8").splitlines()[0])
    assert "```{image}" not in prose
    assert "](../" not in prose


def test_notebooks_are_valid(tmp_path):
    written = ext.write_notebooks(tmp_path)
    assert len(written) == len(ext.TUTORIALS) >= 10
    for path in written:
        made = json.loads(path.read_text(encoding="utf-8"))
        assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
        ids = [cell["id"] for cell in made["cells"]]
        assert len(set(ids)) == len(ids)
        for cell in made["cells"]:
            code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
            assert set(cell) == {"id", "cell_type", "metadata", "source"} | code


def test_notebooks_are_valid_by_their_schema(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    for path in ext.write_notebooks(tmp_path):
        nbformat.validate(nbformat.read(path, as_version=4))


def test_a_notebook_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# T\n```python\n>>> x = 1\n>>> x + y  # missing\n```\n")
    (source,) = cells(ext.notebook(page), "code")
    assert source == "x = 1\nx + y  # missing"
    with pytest.raises(NameError):
        exec(source, {})
