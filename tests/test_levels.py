"""Every public name has a level, which its page in the reference shows."""

from pathlib import Path

import pytest

import mercer
from mercer._levels import STABLE_ROOMS, level
from unchanged.signatures import public_names, rooms

TEMPLATES = Path(__file__).parents[1] / "docs" / "_templates" / "autosummary"


def test_every_public_name_has_a_level():
    levels = {name: level(name) for name, _ in public_names()}
    assert set(levels.values()) == {"stable", "provisional", "research"}
    research = {name for name, one in levels.items() if one == "research"}
    assert research == {name for name in levels if name.startswith("mercer.research.")}
    assert {levels[f"mercer.{name}"] for name in mercer.__all__} == {"stable"}


def test_rooms_that_are_stable_are_there():
    assert {f"mercer.{room}" for room in STABLE_ROOMS} <= set(rooms())


@pytest.mark.parametrize("template", ["base.rst", "class.rst"])
def test_pages_of_the_reference_show_levels(template):
    assert "level(fullname)" in (TEMPLATES / template).read_text(encoding="utf-8")
