"""Pages written by benchmarks are made from committed results, and README quotes those."""

import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.claims import bounds
from benchmarks.svm import kernels, linear, report, store

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
EXPLANATIONS = ROOT / "docs" / "explanation"


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def record(path: str) -> dict:
    return json.loads((BENCHMARKS / path).read_text())


# Pages whose own tests do not compare them already: module, page and what is published.
PUBLISHED = {
    "svm.report": ("benchmark.md", lambda: ()),
    "svm.linear": ("linear.md", lambda: (json.loads(linear.TABLE.read_text()),)),
    "svm.certificate_page": ("certificate.md", lambda: (record("svm/certificate.json"),)),
    "manifold.kernel_pca_page": ("kernel-pca.md", lambda: (record("manifold/kernel_pca.json"),)),
    "manifold.scale": ("manifold-scale.md", lambda: (record("manifold/scale.json"),)),
    "svm.kernels": ("kernels.md", lambda: (kernels.kept(),)),
    "svm.small_page": ("small.md", lambda: (lines(store.HERE / "small.jsonl"),)),
    "claims.page": (
        "claims-table.md",
        lambda: (json.loads(bounds.ABOUT.read_text()), bounds.kept(), bounds.SETS),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_page_is_made_from_committed_results(name, tmp_path, monkeypatch):
    page, results = PUBLISHED[name]
    module = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(module, "PAGE", tmp_path / page)
    module.publish(*results())
    written = (tmp_path / page).read_text(encoding="utf-8")
    assert written == (EXPLANATIONS / page).read_text(encoding="utf-8")


def test_readme_quotes_the_recorded_benchmark():
    about, every = store.recorded("exact")
    said = report.answer(about, [r for r in every if r["problem"]["group"] == "main"])
    problems, *speeds = re.findall(r"\d+(?:\.\d+)?", said)
    promises = report.promises({"exact": (about, every)})
    seconds = next(re.match(r"\d+", text)[0] for name, text, _ in promises if "MNIST" in name)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"Exact machines are fitted {speeds[0]} times as fast as by scikit-learn-intelex and"
        f" {speeds[1]} times as fast as by scikit-learn (geometric means over {problems} problems,"
        " one thread, equal objectives);"
        f" ten classes of MNIST, all 60,000 rows, take {seconds} seconds."
    ) in readme
    page = (EXPLANATIONS / "benchmark.md").read_text(encoding="utf-8")
    assert said in page
    assert "## Problem by problem" in page


def test_readme_quotes_the_range_over_kernels_and_rows():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    fits = kernels.kept()[1:]
    assert f"fits are {kernels.claim(fits)}" in readme
    # A margin that is nothing may leave a gap that is said; all other fits are certified.
    assert all(one["converged"] or abs(one["objective"][0]) < 1e-6 for one in fits)
    # Both solve the same problem: ours is nowhere worse than what the tolerance leaves.
    assert kernels.above(fits) == []


QUOTING = [ROOT / "README.md", ROOT / "docs" / "index.md"]


@pytest.mark.parametrize("page", QUOTING, ids=lambda path: path.name)
def test_cited_explanations_have_their_tables(page):
    """A page that benchmarks write and a front page cites is not cut to its introduction."""
    text = page.read_text(encoding="utf-8")
    cited = set(re.findall(r"explanation/([\w-]+)\.md", text))
    written = {name for name, _ in PUBLISHED.values()} | {"large-tables.md", "tables.md"}
    tables = {f"{name}.md" for name in cited} & written
    assert tables
    for name in tables:
        assert (EXPLANATIONS / name).read_text(encoding="utf-8").count("\n| ") > 20, name
