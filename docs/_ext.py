"""What the site makes of the tutorials (figures, notebooks), and the style of its figures."""

import contextlib
import doctest
import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
TUTORIALS = sorted(page for page in (HERE / "tutorials").glob("*.md") if page.stem != "index")
GENERATED = HERE / "reference" / "generated"
STYLE = {
    "axes.prop_cycle": plt.cycler(
        color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
    ),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "savefig.dpi": 150,
}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^```\{image\}.*?^```$\n*", re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{\w+\}`~?(?:[\w.]*\.)?([^`<]+?)(?: <[^`>]*>)?`")
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")


def use_style(gallery_conf: dict[str, Any], example: str) -> None:
    """Set the style before an example runs; named in ``reset_modules`` of conf.py."""
    plt.rcParams.update(STYLE)


def draw_figures(page: Path) -> None:
    """Run the blocks of a page in one session, and save the figures that they leave open.

    A page shows the N-th of its figures by the name ``reference/generated/figures/PAGE-N.png``.
    """
    session, number, folder = {"__name__": "__main__"}, 0, GENERATED / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE), contextlib.redirect_stdout(io.StringIO()):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for example in doctest.DocTestParser().get_examples(block):
                exec(compile(example.source, str(page), "single"), session)
            if plt.get_fignums():
                number += 1
                plt.savefig(folder / f"{page.stem}-{number}.png", dpi=110)
                plt.close("all")


def draw_new_figures() -> None:
    """Draw the figures of tutorials that changed since theirs were drawn."""
    for page in TUTORIALS:
        first = GENERATED / "figures" / f"{page.stem}-1.png"
        fresh = first.exists() and first.stat().st_mtime > page.stat().st_mtime
        if f"generated/figures/{page.stem}-" in page.read_text(encoding="utf-8") and not fresh:
            draw_figures(page)


def notebook(page: Path) -> dict[str, Any]:
    """Return a notebook of format 4.5 without outputs: prose is a cell, and so is each block."""
    cells: list[dict[str, Any]] = []
    for place, part in enumerate(BLOCK.split(page.read_text(encoding="utf-8"))):
        if place % 2:
            examples = doctest.DocTestParser().get_examples(part)
            kept = (e.source for e in examples if doctest.SKIP not in e.options)
            source, kind = "".join(kept).rstrip("\n"), "code"
        else:
            text = ROLE.sub(r"`\1`", FIGURE.sub("", part))
            source, kind = LINK.sub(r"\1", text).strip(), "markdown"
        if source:
            cell = {"cell_type": kind, "id": f"{page.stem[:20]}-{place}", "metadata": {}}
            if kind == "code":
                cell |= {"execution_count": None, "outputs": []}
            cells.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_notebooks(folder: Path = GENERATED / "notebooks") -> list[Path]:
    """Write the notebooks of all tutorials, and return their paths."""
    paths = [folder / f"{page.stem}.ipynb" for page in TUTORIALS]
    for page, path in zip(TUTORIALS, paths, strict=True):
        write_if_changed(path, json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n")
    return paths


def write_if_changed(path: Path, text: str) -> None:
    """Write a file unless it has this text, so that Sphinx reads only what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
