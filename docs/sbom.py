"""Write a bill of materials of this library and what it needs, as CycloneDX 1.5 in JSON.

``sbom.py out.json`` lists the installed distributions that the core dependencies lead to, with
versions, licences and edges, in an order that does not change.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement


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
    if licence := said.get("License-Expression"):
        found["licenses"] = [{"expression": licence}]
    elif classifiers:  # the other field often has the whole text
        found["licenses"] = [{"license": {"name": classifiers[0].rsplit(" :: ")[-1]}}]
    elif licence := said.get("License"):
        found["licenses"] = [{"license": {"name": licence.strip().splitlines()[0][:100]}}]
    return found


def bill(root: str = "mercer") -> dict[str, object]:
    """Return the bill of a distribution."""
    edges, waiting = {}, [root]
    while waiting:
        name = waiting.pop()
        if name not in edges:
            edges[name] = needed(name)
            waiting += edges[name]
    parts = {name: component(name) for name in sorted(edges)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": parts[root]},
        "components": [part for name, part in parts.items() if name != root],
        "dependencies": [
            {"ref": parts[name]["bom-ref"], "dependsOn": [parts[n]["bom-ref"] for n in edges[name]]}
            for name in parts
        ],
    }


def write(path: Path, found: dict[str, object]) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), bill())
