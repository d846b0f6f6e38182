"""Figures of the gallery are whole: the site takes a picture at the end of each block."""

import re
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*/plot_*.py"))
MADE = re.compile(r"^(\w+(?:, .+)?) = plt\.(?:subplots|figure)\(", re.M)


def used_too_late(source):
    """Return names of figures and axes that a later block than their own draws on."""
    blocks = re.split(r"^# %%.*$", source, flags=re.M)
    late = set()
    for i, block in enumerate(blocks):
        later = blocks[i + 1 :]
        for names in MADE.findall(block):
            for name in re.findall(r"\w+", names):
                for other in later:
                    if any(name in re.findall(r"\w+", again) for again in MADE.findall(other)):
                        break
                    if re.search(rf"\b{name}\b[.\[(,)]", re.sub(r"#.*", "", other)):
                        late.add(name)
    return late


def test_there_are_examples_in_sections():
    assert len(EXAMPLES) > 80
    assert all((path.parent / "GALLERY_HEADER.rst").exists() for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_is_drawn_after_the_picture_was_taken(path):
    assert used_too_late(path.read_text(encoding="utf-8")) == set()


def test_a_late_stroke_is_found():
    assert used_too_late("figure, ax = plt.subplots()\n# %%\nax.plot()\n") == {"ax"}
    assert (
        used_too_late("figure, ax = plt.subplots()\n# %%\nfigure, ax = plt.subplots()\n") == set()
    )
