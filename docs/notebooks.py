"""Notebooks of the tutorials, from their pages: prose is a cell, and so is each block of code.

``python docs/notebooks.py FOLDER`` writes one for each tutorial; the site offers them at the top of
the pages. Outputs are left out: a notebook makes its own.
"""

import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGES = sorted(page for page in (HERE / "tutorials").glob("*.md") if page.stem != "index")
FOLDER = HERE / "reference" / "generated" / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^```\{image\}.*?^```$\n*", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{\w+\}`~?(?:[\w.]*\.)?([^`<]+?)(?: <[^`>]*>)?`")
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")


def prose(text: str) -> str:
    """Return Markdown that a notebook shows: no figures of the site, roles and links as words."""
    text = FIGURE.sub("", text)
    return LINK.sub(r"\1", ROLE.sub(r"`\1`", text)).strip()


def code(block: str) -> str:
    """Return the statements of a session without prompts and outputs."""
    examples = doctest.DocTestParser().get_examples(block)
    return "".join(e.source for e in examples if doctest.SKIP not in e.options).rstrip("\n")


def notebook(page: Path) -> dict[str, Any]:
    """Return a notebook of format 4.5."""
    cells: list[dict[str, Any]] = []
    text = page.read_text(encoding="utf-8")
    for place, part in enumerate(BLOCK.split(text)):
        source = code(part) if place % 2 else prose(part)
        if not source:
            continue
        cell: dict[str, Any] = {"id": f"{page.stem[:20]}-{place}", "metadata": {}}
        if place % 2:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        else:
            cell |= {"cell_type": "markdown"}
        cells.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(folder: Path = FOLDER) -> list[Path]:
    """Write the notebooks of all tutorials and return their paths; one that is the same stays."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for page in PAGES:
        target = folder / f"{page.stem}.ipynb"
        text = json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
        made.append(target)
    return made


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
