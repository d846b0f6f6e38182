"""The site of several versions side by side, with a menu that leads from one to another.

``python docs/switcher.py SITE`` copies the built site to SITE/VERSION, writes the menu's file
``_static/switcher.json`` anew in every version there, and lets SITE/index.html lead to the newest
release. ``--base /mercer/`` says where SITE is served, if not at the root of its host.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

from mercer._version import __version__

BUILT = Path(__file__).resolve().parent / "_build" / "html"
FILE = Path("_static") / "switcher.json"
REDIRECT = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>\n'
)


def order(version: str) -> tuple[tuple[int, ...], bool]:
    """Return what versions are sorted by: numbers, a release after what led to it."""
    numbers, _, rest = version.partition(".dev")
    return tuple(map(int, re.findall(r"\d+", numbers))), not rest


def entries(versions: list[str], base: str = "/") -> list[dict[str, object]]:
    """Return the lines of the menu, the newest version first; the newest release is preferred."""
    listed = sorted(versions, key=order, reverse=True)
    newest = next((v for v in listed if ".dev" not in v), listed[0])
    return [
        {
            "name": f"{v} (stable)" if v == newest else v,
            "version": v,
            "url": f"{base}{v}/",
            "preferred": v == newest,
        }
        for v in listed
    ]


def alone() -> str:
    """Return the menu's file of a site with one version, which is the root of its host."""
    line = {"name": __version__, "version": __version__, "url": "/", "preferred": True}
    return json.dumps([line], indent=1) + "\n"


def assemble(built: Path, site: Path, version: str, base: str = "/") -> list[str]:
    """Copy a built site to its place among others, and return the versions that are there."""
    if not (built / "index.html").exists():
        raise SystemExit(f"there is no site in {built}: run 'make docs' first.")
    target = site / version
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(built, target, ignore=shutil.ignore_patterns(".doctrees", "_sources"))
    found = [one.parent.name for one in site.glob("*/index.html")]
    menu = entries(found, base)
    for one in found:
        path = site / one / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(menu, indent=1) + "\n", encoding="utf-8")
    newest = next(line["version"] for line in menu if line["preferred"])
    (site / "index.html").write_text(REDIRECT.format(newest), encoding="utf-8")
    return [str(line["version"]) for line in menu]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--base", default="/")
    given = parser.parse_args()
    print(*assemble(BUILT, given.site, __version__, given.base), sep="\n")


if __name__ == "__main__":
    main()
