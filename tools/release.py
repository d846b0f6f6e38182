"""What must hold before a version is tagged, and the few facts that a maintainer fills in.

``release.py check`` looks at the version, the changelog, the citation, links, the commands that
install, workflows, sdist and wheel (built twice), README as the index shows it, the bill of
materials and licences. What only a maintainer can decide (addresses, the name on the index) is
listed as open, and fails with ``--tag v0.1.0``. ``release.py address``, ``date`` and ``publish``
fill it in; ``release.py sbom`` writes dist/sbom.json alone. It needs the extra ``release``.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_string
from html.parser import HTMLParser
from importlib import import_module, metadata
from pathlib import Path

from distributions import epoch
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROJECTS = (".", "packages/mercer-studio", "packages/mercer-research")
DIST = ROOT / "dist"
sys.path.insert(0, str(ROOT / "src"))

about = import_module("mercer._version")

NOBODY = ".invalid"  # a name that belongs to nobody, now or later (RFC 2606)
# Licences under which a dependency may be used in any program; the MPL asks for changed files of
# tqdm alone, and nothing here changes them.
PERMISSIVE = re.compile(
    r"0BSD|BSD[\w -]*|CC0-1\.0|ISC|MIT(-0| License)?|MPL-2\.0|PSF-2\.0|Python-2\.0|Zlib|"
    r"Apache Software License|Apache-2\.0( WITH LLVM-exception)?|"
    r"GPL-3\.0-or-later WITH GCC-exception-3\.1"
)


def pages() -> list[Path]:
    """Return the Markdown pages of the project that people read, without generated ones."""
    made = {"_build", "auto_examples", "generated"}
    folders = [p for p in DOCS.rglob("*.md") if not made & set(p.relative_to(DOCS).parts)]
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("changes/*.md"), *folders])


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def citation() -> dict[str, str]:
    """Return the plain fields of CITATION.cff."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return dict(re.findall(r'^([a-z-]+): "?([^"\n>]+?)"?$', text, re.MULTILINE))


def bibtex() -> dict[str, str]:
    """Return the fields of the BibTeX entry on the page about citing."""
    text = (DOCS / "cite.md").read_text(encoding="utf-8")
    (entry,) = re.findall(r"```bibtex\n(.*?)```", text, re.DOTALL)
    return dict(re.findall(r"^  (\w+) += \{+(.*?)\}+,$", entry, re.MULTILINE))


# Checks: each yields what is wrong.


def check_version() -> Iterator[str]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", about.__version__):
        yield f"{about.__version__} is no version of a release"
    if "version" not in project()["dynamic"]:
        yield "pyproject.toml has a version of its own"
    for place in PROJECTS[1:]:
        text = (ROOT / place / "pyproject.toml").read_text(encoding="utf-8")
        above = tomllib.loads(text)["project"]
        needed = {re.sub(r"\[.*\]", "", one) for one in above["dependencies"]}
        if above["version"] != about.__version__ or f"mercer == {about.__version__}" not in needed:
            yield f"{above['name']} has or needs another version"
    minor = about.__version__.rsplit(".", 1)[0]
    if f"| {minor}.x | yes" not in (ROOT / "SECURITY.md").read_text(encoding="utf-8"):
        yield f"SECURITY.md does not say that {minor}.x receives fixes"


def check_changelog() -> Iterator[str]:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.findall(r"^## (\d+\.\d+\.\d+) \((.*)\)\n\n(.*)", text, re.MULTILINE)
    if not found or found[0][0] != about.__version__:
        yield f"the first entry is not {about.__version__}"
    elif found[0][1] != citation()["date-released"]:
        yield f"it is dated {found[0][1]}, the citation {citation()['date-released']}"


def check_citation() -> Iterator[str]:
    said, entry, known = citation(), bibtex(), project()
    facts = {
        "version": (said["version"], entry["version"], about.__version__),
        "title": (said["title"], entry["title"]),
        "date": (said["date-released"], entry["date"]),
        "year": (said["date-released"][:4], entry["year"]),
        "licence": (said["license"], entry["license"], known["license"]),
        "address": (said["url"], entry["url"], known["urls"]["Homepage"]),
        "repository": (said["repository-code"], known["urls"]["Source"]),
    }
    for name, values in facts.items():
        if len(set(values)) > 1:
            yield f"{name}: {' but '.join(values)}"
    yield from of_schema("citation-file-format", ROOT / "CITATION.cff")


def of_schema(schema: str, *files: Path) -> Iterator[str]:
    yield from run("check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files))


def check_host_files() -> Iterator[str]:
    """Workflows and templates have the form that the host reads."""
    folder = ROOT / ".github"
    forms = [p for p in folder.glob("ISSUE_TEMPLATE/*.yml") if p.stem != "config"]
    yield from of_schema("github-workflows", *sorted(folder.glob("workflows/*.yml")))
    yield from of_schema("github-issue-forms", *sorted(forms))
    yield from of_schema("github-issue-config", folder / "ISSUE_TEMPLATE" / "config.yml")


def prose(page: Path) -> str:
    """Return a page without its code."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(
        r"^(```+|~~~+)(?!\{(?:include|image|figure)).*?^\1`*$", "", text, flags=re.S | re.M
    )
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as hosts make them, and those written out."""
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()).strip() for title in titles)
    written = re.findall(r"^\((.+)\)=$", text, re.MULTILINE)
    return {title.replace(" ", "-") for title in plain} | set(written)


def broken_links(page: Path) -> list[str]:
    """Return the links of a page to files or headings that are not there."""
    broken = []
    for link in re.findall(r"\]\(<?([^)\s>]+)>?\)", prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or "auto_examples" in path or "generated" in path:
            continue  # elsewhere, or made with the site
        target = (page.parent / path).resolve() if path else page
        there = target.exists() or target.with_suffix(".md").exists()
        named = not anchor or target.suffix != ".md" or (there and anchor in anchors(target))
        if not (there and named):
            broken.append(link)
    for name in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", page.read_text(encoding="utf-8")):
        target = DOCS / name[1:] if name.startswith("/") else page.parent / name
        if "auto_examples" not in name and not target.with_name(f"{target.name}.md").exists():
            broken.append(name)
    return broken


def check_links() -> Iterator[str]:
    for page in pages():
        for link in broken_links(page):
            yield f"{page.relative_to(ROOT)}: {link}"


COMMAND = re.compile(
    r"""pip install (?:(['"])(\.|mercer)\[([\w,]+)\]\1|(\.|mercer)(?![\w./-]))"""
    r"""((?: (['"])\./packages/[\w[\]-]+\6| \./packages/[\w-]+)*)"""
)


def extras_of(command: re.Match[str]) -> str:
    """Return the extras that a command installs, separated by commas."""
    extras = {folder: extra for extra, folder in about.FOLDERS.items()}
    folders = re.findall(r"\./packages/[\w[\]-]+", command[5])
    return ",".join(filter(None, (command[3], *(extras.get(one, one) for one in folders))))


def with_installation(text: str, published: bool) -> str:
    """Return a text whose commands install this library from the index, or from a clone.

    Examples
    --------
    >>> with_installation("`pip install . ./packages/mercer-studio`", published=True)
    '`pip install "mercer[cli]"`'
    >>> with_installation("pip install 'mercer[io,studio]'", published=False)
    'pip install ".[io]" "./packages/mercer-studio[studio]"'
    """
    return COMMAND.sub(lambda m: about.installation(extras_of(m), published=published), text)


# Contributors have a clone whatever is published, and the page about releases shows both.
FROM_A_CLONE = ("CONTRIBUTING.md", "CHANGELOG.md", "docs/contribute/")


def pages_with_commands() -> list[Path]:
    named = ((page, page.relative_to(ROOT).as_posix()) for page in pages())
    return [page for page, name in named if not name.startswith(FROM_A_CLONE)]


def check_installation() -> Iterator[str]:
    """Commands that install the library are those that work today."""
    extras = project()["optional-dependencies"]
    for page in pages_with_commands():
        text = page.read_text(encoding="utf-8")
        if with_installation(text, about.PUBLISHED) != text:
            yield f"{page.relative_to(ROOT)}: not {about.installation('...')}"
        for found in COMMAND.finditer(text):
            if unknown := set(extras_of(found).split(",")) - {"", *extras}:
                yield f"{page.relative_to(ROOT)}: there is no extra {', '.join(sorted(unknown))}"


def check_commands() -> Iterator[str]:
    """Targets, tasks and suites that pages and workflows name are there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    tasks = set(runpy.run_path(str(ROOT / "tools" / "tasks.py"))["TASKS"])
    suites = {p.stem.replace("_", "-") for p in (ROOT / "benchmarks" / "suites").glob("*.py")}
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    for page in [*pages(), *workflows]:
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|run: )make ([a-z][a-z-]*)", text))
        parts = set(re.findall(r"(?:STEPS|PART)=([a-z0-9.-]*[a-z0-9])\b(?!-\$)", text))
        asked = {name.removesuffix("-short") for name in re.findall(r"SUITE=([a-z-]+)", text)}
        wrong = (named - targets) | (parts - tasks) | (asked - suites - {"page"})
        for name in sorted(wrong):
            yield f"{page.relative_to(ROOT)}: there is no {name}"
    (night,) = re.findall(r"^STEPS \?= (.*)$", makefile, re.MULTILINE)
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    listed = {*re.findall(r"^ {10}- (\S+)$", text, re.MULTILINE), "matrix"}
    if listed ^ set(night.split()):
        yield f"nightly.yml and the Makefile differ: {listed ^ set(night.split())}"


def run(module: str, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[str]:
    """Run a tool of this environment; yield what it said if it failed."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | (environment or {}),
    )
    if done.returncode:
        yield f"{module}: {(done.stdout + done.stderr).strip()}"


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def check_distributions(dist: Path) -> Iterator[str]:
    """Build the sdist, and the wheel from it, twice: the same bytes, which the index accepts."""
    twice = [dist / "one", dist / "two"]
    for folder in twice:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for project in PROJECTS:
            build = ("--no-isolation", "--outdir", str(folder), project)
            yield from run("build", *build, environment=epoch())
    first, second = map(digests, twice)
    # The library's wheel is for one system and Python.
    names = {f"mercer-{about.__version__}.tar.gz"} | {
        f"{name}-{about.__version__}{end}"
        for name in ("mercer_research", "mercer_studio")
        for end in ("-py3-none-any.whl", ".tar.gz")
    }
    (compiled,) = {path.name for path in twice[0].glob(f"mercer-{about.__version__}-*.whl")} or {""}
    if first.keys() != names | {compiled}:
        yield f"there are {sorted(first)} instead of {sorted(names)}"
    yield from (f"{name} differs when built again" for name in first if first[name] != second[name])
    for name, digest in first.items():
        print(f"    sha256 {digest}  {name}  {(twice[0] / name).stat().st_size:,} bytes")
    if first:
        yield from run("twine", "check", "--strict", *(str(twice[0] / name) for name in first))


def metadata_of(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_string(archive.read(name).decode("utf-8"))


class Addresses(HTMLParser):
    """What a rendered page links to and shows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        asked = ("href", "src", "srcset")
        self.found += [value for name, value in attributes if name in asked and value]


def leading_nowhere(html: str) -> list[str]:
    """Return the addresses of a rendered page that have no meaning away from the repository."""
    return [one for one in Addresses(html).found if not re.match(r"https?://|#|mailto:", one)]


def check_readme(dist: Path) -> Iterator[str]:
    """README as the index renders it: nothing refused, no picture or link lost."""
    wheels = sorted((dist / "one").glob("mercer-*.whl"))
    if not wheels:
        yield "there is no wheel"
        return
    said = metadata_of(wheels[0])
    if said["Version"] != about.__version__:
        yield f"the wheel has version {said['Version']}"
    text, page = dist / "readme.md", dist / "readme.html"
    text.write_text(str(said.get_payload()), encoding="utf-8")
    yield from (found := list(run("readme_renderer", str(text), "-o", str(page))))
    if not found:
        html = page.read_text(encoding="utf-8")
        yield from (f"leads nowhere on the index: {one}" for one in leading_nowhere(html))
        if len(re.findall(r"<img", html)) != len(re.findall(r"!\[|<img", text.read_text("utf-8"))):
            yield "a picture is lost"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str) -> list[str]:
    """Return the distributions that one needs here, without its extras."""
    asked = map(Requirement, metadata.requires(name) or [])
    return sorted(
        {normal(r.name) for r in asked if not r.marker or r.marker.evaluate({"extra": ""})}
    )


def component(name: str) -> dict[str, object]:
    said, version = metadata.metadata(name), metadata.version(name)
    ref = f"pkg:pypi/{name}@{version}"
    found = {"type": "library", "bom-ref": ref, "name": name, "version": version, "purl": ref}
    classifiers = [c for c in said.get_all("Classifier", []) if c.startswith("License ::")]
    if expression := said.get("License-Expression"):
        found["licenses"] = [{"expression": expression}]
    elif classifiers:  # the other field often has the whole text
        found["licenses"] = [{"license": {"name": classifiers[0].rsplit(" :: ")[-1]}}]
    elif text := said.get("License"):
        found["licenses"] = [{"license": {"name": text.strip().splitlines()[0][:100]}}]
    return found


def write_materials(path: Path) -> dict[str, object]:
    """Write the bill of materials of the installed library, CycloneDX 1.5, and return it."""
    edges, waiting = {}, ["mercer"]
    while waiting:
        name = waiting.pop()
        if name not in edges:
            edges[name] = needed(name)
            waiting += edges[name]
    parts = {name: component(name) for name in sorted(edges)}
    ref = {name: part["bom-ref"] for name, part in parts.items()}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": parts["mercer"]},
        "components": [part for name, part in parts.items() if name != "mercer"],
        "dependencies": [{"ref": ref[n], "dependsOn": [ref[m] for m in edges[n]]} for n in parts],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    return bill


def licence(part: dict[str, object]) -> str:
    """Return the licence that a bill of materials has for a part."""
    (said,) = part.get("licenses", [{"expression": ""}])
    return said.get("expression") or said["license"]["name"]


def permissive(expression: str) -> bool:
    """Tell whether all licences of an expression let a program be distributed under any terms."""
    parts = re.split(r" (?:AND|OR) ", expression.replace("(", "").replace(")", ""))
    return all(PERMISSIVE.fullmatch(one.strip()) for one in parts)


def check_materials(dist: Path) -> Iterator[str]:
    """The bill of materials, with a licence for every part."""
    bill = write_materials(dist / "sbom.json")
    if (own := bill["metadata"]["component"]["version"]) != about.__version__:
        yield f"{own} is installed, not {about.__version__}"
    for part in bill["components"]:
        print(f"    {part['name']:20} {part['version']:12} {licence(part) or 'no licence'}")
        if not permissive(licence(part)):
            yield f"{part['name']}: {licence(part) or 'no licence'}"


def open_items() -> list[str]:
    """Return what only a maintainer can decide, and has not yet."""
    items = [
        f"[project.urls] {name}: {address}"
        for name, address in project()["urls"].items()
        if NOBODY in address
    ]
    if not about.PUBLISHED:
        items.append("PUBLISHED is False: is the name free on the index, or ours?")
    fragments = [p.name for p in (ROOT / "changes").glob("*.*.md")]
    return items + [f"changes/{name} is not in the changelog" for name in sorted(fragments)]


def told(checks: dict[str, Callable[[], Iterator[str]]]) -> int:
    """Run checks, print what they found, and return how many failed."""
    failed = 0
    for title, one in checks.items():
        wrong = list(one())
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok':8}{title}")
        for line in wrong:
            print(f"        {line}")
    return failed


def build(dist: Path) -> int:
    return told({"wheel and sdist, twice, twine": lambda: check_distributions(dist)})


def check(dist: Path, tag: str = "") -> int:
    """Run all checks, say what is open, and return how many failed."""
    checks: dict[str, Callable[[], Iterator[str]]] = {
        "version": check_version,
        "changelog": check_changelog,
        "citation": check_citation,
        "links": check_links,
        "installation": check_installation,
        "commands": check_commands,
        "workflows and templates": check_host_files,
        "wheel and sdist, twice, twine": lambda: check_distributions(dist),
        "README on the index": lambda: check_readme(dist),
        "SBOM and licences": lambda: check_materials(dist),
    }
    if tag:
        right = f"v{about.__version__}"
        checks["tag"] = lambda: iter([] if tag == right else [f"{tag} is not {right}"])
        checks["left open"] = lambda: iter(open_items())
    failed = told(checks)
    if not tag and (items := open_items()):
        print("open    to be decided before the tag (docs/contribute/release.md)")
        for line in items:
            print(f"        {line}")
    return failed


# What a maintainer fills in.


def replace(path: Path, pattern: str, new: str) -> None:
    """Replace what a pattern finds in a file; a pattern that finds nothing is an error."""
    text, count = re.subn(pattern, new, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if not count:
        raise SystemExit(f"{path.name} has no {pattern}")
    path.write_text(text, encoding="utf-8")


def fill_address(homepage: str, documentation: str, source: str) -> None:
    """Write the addresses into pyproject.toml, README's links on the index, and the citation."""
    urls = project()["urls"]
    new = {"Homepage": homepage, "Documentation": documentation, "Source": source}
    old = {name: urls[name] for name in new}
    for path in (ROOT / "pyproject.toml", ROOT / "CITATION.cff", DOCS / "cite.md"):
        text = path.read_text(encoding="utf-8")
        # Longer ones first: one may be the beginning of another.
        for name in sorted(new, key=lambda one: -len(old[one])):
            text = re.sub(re.escape(old[name]) + r'(?=["/}])', f"\0{name}\0", text)
        for name, address in new.items():
            text = text.replace(f"\0{name}\0", address.rstrip("/"))
        path.write_text(text, encoding="utf-8")


def fill_date(date: str) -> None:
    """Write the day of the release into the changelog and the citation."""
    datetime.date.fromisoformat(date)
    version = re.escape(about.__version__)
    replace(ROOT / "CHANGELOG.md", rf"^## {version} \(.*\)$", f"## {about.__version__} ({date})")
    replace(ROOT / "CITATION.cff", r"^date-released: .*$", f'date-released: "{date}"')
    replace(ROOT / "CITATION.cff", r"^version: .*$", f"version: {about.__version__}")
    for field, value in {"date": date, "year": date[:4], "version": about.__version__}.items():
        replace(DOCS / "cite.md", rf"^(  {field} += )\{{.*\}},$", rf"\g<1>{{{value}}},")


def publish(published: bool) -> None:
    """Turn commands of messages and pages into those of the index, or back."""
    replace(ROOT / "src/mercer/_version.py", r"^PUBLISHED = .*$", f"PUBLISHED = {published}")
    for page in pages_with_commands():
        text = page.read_text(encoding="utf-8")
        if (new := with_installation(text, published)) != text:
            page.write_text(new, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    asked = commands.add_parser("check", help="all that must hold")
    asked.add_argument("--tag", default="", help="the tag; what is left open fails")
    commands.add_parser("build", help="the distributions, twice")
    commands.add_parser("sbom", help="what the installed library needs, with licences")
    asked = commands.add_parser("address", help="write the public addresses")
    for name in ("homepage", "documentation", "source"):
        asked.add_argument(name)
    asked = commands.add_parser("date", help="write the day of the release")
    asked.add_argument("date", nargs="?", default=datetime.date.today().isoformat())
    asked = commands.add_parser("publish", help="install by the name on the index")
    asked.add_argument("--undo", action="store_true", help="install from a clone")
    given = parser.parse_args(arguments)
    if given.command == "check":
        sys.exit(min(1, check(DIST, given.tag)))
    elif given.command == "build":
        sys.exit(min(1, build(DIST)))
    elif given.command == "sbom":
        write_materials(DIST / "sbom.json")
    elif given.command == "address":
        fill_address(given.homepage, given.documentation, given.source)
    elif given.command == "date":
        fill_date(given.date)
    else:
        publish(not given.undo)


if __name__ == "__main__":
    main()
