"""The bill of materials: what CycloneDX asks for, and every core dependency with its version."""

import importlib.util
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def test_the_bill_is_complete_and_closed():
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "docs" / "sbom.py")
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    bill = sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    found = {part["name"]: part["version"] for part in bill["components"]}
    assert all(part["type"] == "library" and part["purl"] for part in bill["components"])
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for asked in map(Requirement, core):
        assert found[asked.name] == metadata.version(asked.name)
        assert asked.specifier.contains(found[asked.name])
    assert all(part["licenses"] for part in bill["components"])
    assert "llvmlite" in found  # what dependencies need
    assert "pytest" not in found  # no extras
    refs = {part["bom-ref"] for part in (bill["metadata"]["component"], *bill["components"])}
    assert {one["ref"] for one in bill["dependencies"]} == refs
    assert {ref for one in bill["dependencies"] for ref in one["dependsOn"]} <= refs
    assert len(refs) == len(bill["components"]) + 1
