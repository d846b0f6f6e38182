"""The site of several versions has one menu, which leads to each of them."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("switcher", DOCS / "switcher.py")
switcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(switcher)


@pytest.fixture
def built(tmp_path):
    folder = tmp_path / "built"
    (folder / "_static").mkdir(parents=True)
    (folder / "index.html").write_text("here")
    (folder / "_static" / "switcher.json").write_text(switcher.alone())
    return folder


def test_versions_stand_side_by_side(built, tmp_path):
    site = tmp_path / "site"
    for version in ("0.9.0", "0.10.0", "0.11.0.dev0", "0.10.1"):
        listed = switcher.assemble(built, site, version, "/docs/")
    assert listed == ["0.11.0.dev0", "0.10.1", "0.10.0", "0.9.0"]
    menus = {(site / v / "_static" / "switcher.json").read_text() for v in listed}
    (menu,) = map(json.loads, menus)
    assert [line["url"] for line in menu] == [f"/docs/{v}/" for v in listed]
    assert [line["version"] for line in menu if line["preferred"]] == ["0.10.1"]
    assert "url=0.10.1/" in (site / "index.html").read_text()
    # A version that is built again replaces itself.
    (built / "index.html").write_text("again")
    assert switcher.assemble(built, site, "0.9.0", "/docs/") == listed
    assert (site / "0.9.0" / "index.html").read_text() == "again"


def test_a_release_comes_after_what_led_to_it():
    assert switcher.order("0.1.0") > switcher.order("0.1.0.dev0") > switcher.order("0.0.9")


def test_no_line_leads_to_another_machine():
    (line,) = json.loads(switcher.alone())
    assert line["url"] == "/"
    assert {"version", "url", "preferred"} <= set(line)


def test_without_a_built_site_there_is_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match="make docs"):
        switcher.assemble(tmp_path, tmp_path / "site", "0.1.0")
