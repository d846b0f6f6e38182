"""Pages written by benchmarks are made from committed results, and README quotes those."""

import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.claims import bounds
from benchmarks.large import page as large
from benchmarks.svm import kernels, linear, report, store
from benchmarks.tables import page as tables
from benchmarks.tables.sets import SETS, UNSEEN
from benchmarks.tables.table import JUDGED

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


def test_readme_quotes_the_contest_on_tables():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    table = json.loads(tables.TABLE.read_text(encoding="utf-8"))
    names = ("mercer recommended", "CatBoost")
    said, seconds = {}, []
    for task, metrics in JUDGED.items():
        for metric in metrics:
            for field in tables.fields_of(table, task, metric):
                found = field.ranking()
                by = dict(zip(found.names, found.ranks, strict=True))
                said[metric, field.kind, field.size] = by
                seconds.append(field.price(names[0])[1])
    ours, next_one = (
        [said[metric, "unseen", 1000][name] for metric in ("rmse", "log_loss")] for name in names
    )
    assert (
        f"the average rank is {ours[0]:.2f} in regression and {ours[1]:.2f} in log loss; CatBoost,"
        f" next, has {next_one[0]:.2f} and {next_one[1]:.2f}. A fit takes {min(seconds):.1f} to"
        f" {max(seconds):.1f} times as long as CatBoost's."
    ) in readme
    for metric, kind, size in said:
        by = said[metric, kind, size]
        peers = {name: rank for name, rank in by.items() if name != names[0]}
        best = min(peers, key=peers.get)
        if size != 10_000:  # "the lowest average rank with 500 and 2,000 rows"
            assert by[names[0]] < peers[best]
        elif metric == "rmse":  # "share it with tuned LightGBM"
            assert (best, by[names[0]]) == ("LightGBM tuned", peers[best])
        elif metric == "log_loss":  # "CatBoost has the lower log loss"
            assert best == "CatBoost"
            assert peers[best] < by[names[0]]
    assert f"On [{sum(map(len, SETS.values()))} real tables]" in readme
    assert f"On {sum(map(len, UNSEEN.values()))} tables that nothing was tuned on" in readme


def test_readme_quotes_the_large_tables():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    said = large.count(json.loads(large.TABLE.read_text(encoding="utf-8")))
    better, level, worse, sets = re.search(
        r"better on (\d), level on (\d) and worse on (\d) of (\d) sets", said
    ).groups()
    assert sets == "6"
    assert f"kernels are better on {better}, level on {level} and worse on {worse} beside" in readme


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
