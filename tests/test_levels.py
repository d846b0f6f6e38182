"""Every public name has a level, which its page in the reference shows."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

import mercer
from unchanged.signatures import public_names, rooms

DOCS = Path(__file__).parents[1] / "docs"
TEMPLATES = DOCS / "_templates" / "autosummary"
sys.path.append(str(DOCS))
levels = import_module("levels")


def test_every_public_name_has_a_level():
    found = {name: levels.level(name) for name, _ in public_names()}
    assert set(found.values()) == {"stable", "provisional", "research"}
    research = {name for name, one in found.items() if one == "research"}
    assert research == {name for name in found if name.startswith("mercer_research.")}
    assert {found[f"mercer.{name}"] for name in mercer.__all__} == {"stable"}


def test_rooms_that_are_stable_are_there():
    assert {f"mercer.{room}" for room in levels.STABLE_ROOMS} <= set(rooms())


@pytest.mark.parametrize("template", ["base.rst", "class.rst"])
def test_pages_of_the_reference_show_levels(template):
    assert "levels[fullname]" in (TEMPLATES / template).read_text(encoding="utf-8")
