"""Pages hold what is made from committed results, README quotes those, commands name suites."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import figures, page, run
from benchmarks.store import stored
from benchmarks.suites import kernels, scale, tables

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.name)
def test_a_page_is_what_its_results_say(path):
    text = path.read_text(encoding="utf-8")
    assert page.filled(text) == text
    assert "<!-- benchmark" in text


def test_every_block_is_on_a_page_once():
    found = [m[2] for p in page.PAGES for m in page.MARKED.finditer(p.read_text("utf-8"))]
    assert sorted(found) == sorted(page.BLOCKS)
    with pytest.raises(ValueError, match="no block 'none'"):
        page.filled("<!-- benchmark none -->\n<!-- end -->")


def test_the_page_is_short():
    assert len(page.BENCHMARK.read_text(encoding="utf-8").split()) <= 6_000


@pytest.mark.parametrize("name", ["tables", "large"])
def test_figures_are_those_of_the_results(name, tmp_path):
    path = tmp_path / f"benchmark_{name}.svg"
    {"tables": figures.prices, "large": figures.large}[name](stored(name), path)
    drawn, kept = (
        re.findall(r"<text[^>]*>([^<]*)</text>|<!-- ([^>]*) -->", p.read_text(encoding="utf-8"))
        for p in (path, page.BENCHMARK.with_name(path.name))
    )
    assert drawn == kept
    assert len(drawn) > 20


def readme() -> str:
    return " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_readme_quotes_the_exact_machines_and_kernels():
    records = stored("exact")
    problems, *speeds = re.findall(r"\d+(?:\.\d+)?", page.exact_answer(records))
    assert (
        f"Exact machines are fitted {speeds[0]} times as fast as by scikit-learn-intelex and"
        f" {speeds[1]} times as fast as by scikit-learn (geometric means over {problems} problems,"
        " one thread, equal objectives); ten classes of MNIST, all 60,000 rows, take"
        f" {page.mnist(records):.0f} seconds."
    ) in readme()
    fits = stored("kernels")
    assert f"fits are {kernels.sentence(fits)}" in readme()
    # Both solve the same problem, and all but machines whose margin is nothing are certified.
    assert kernels.claims(fits, False) == []


def test_readme_quotes_the_tables():
    records = stored("tables")
    fields = page.fields(records)
    ours, theirs = (
        [fields[m][-1].ranking().ranks[name] for m in ("rmse", "log_loss")]
        for name in (tables.OURS, tables.BASE)
    )
    prices = page.prices(records)
    assert (
        f"the average rank is {ours[0]:.2f} in regression and {ours[1]:.2f} in log loss; CatBoost,"
        f" next, has {theirs[0]:.2f} and {theirs[1]:.2f}. A fit takes {min(prices):.1f} to"
        f" {max(prices):.1f} times as long as CatBoost's."
    ) in readme()
    for metric, some in fields.items():
        for field in some:
            ranks = dict(field.ranking().ranks)
            own = ranks.pop(tables.OURS)
            best = min(ranks, key=ranks.get)
            if field.size != 10_000:  # "the lowest average rank with 500 and 2,000 rows"
                assert own < ranks[best]
            elif metric == "rmse":  # "share it with tuned LightGBM"
                assert (best, own) == ("LightGBM tuned", ranks[best])
            elif metric == "log_loss":  # "CatBoost has the lower log loss"
                assert best == "CatBoost"
                assert ranks[best] < own
    assert f"On [{sum(map(len, tables.SETS.values()))} real tables]" in readme()
    assert (
        f"On {sum(map(len, tables.UNSEEN.values()))} tables that nothing was tuned on" in readme()
    )
    numbers = re.search(
        r"better on (\d), level on (\d) and worse on (\d)", page.large_answer(stored("large"))
    )
    assert (
        "kernels are better on {}, level on {} and worse on {} beside".format(*numbers.groups())
        in readme()
    )


def test_what_a_billion_rows_take_grows_with_the_rows():
    costs = scale.measured(stored("scale"))
    # A line, while workers hold their rows; beyond, rows are read in every pass.
    took = [scale.estimate(n, 50, 10**4, 16, 32, costs)[0] for n in (1e8, 2e8, 3e8, 1e10)]
    assert took[2] - took[1] == pytest.approx(took[1] - took[0], rel=1e-6)
    assert took[3] > took[0] + 99 * (took[1] - took[0])
    assert scale.depth(1000) == 4
    # The largest of many normal logarithms, by simulation.
    rng = np.random.default_rng(0)
    s = scale.SPREAD
    sums = np.exp(s * rng.standard_normal((2000, 100)) - s * s / 2).max(axis=1)
    assert scale.longest(100, 1) == pytest.approx(sums.mean(), rel=4 * sums.std() / 2000**0.5)


@pytest.mark.parametrize("name", run.SUITES)
def test_a_suite_says_what_it_is_and_what_a_short_run_takes(name):
    assert re.search(r"; (half an|an?|[a-z]+|\d+) (minutes?|hours?)", run.words(name)), run.words(
        name
    )
    if name == "studio-check":
        pytest.importorskip("mercer_studio.browser")
    suite = importlib.import_module(f"benchmarks.suites.{run.SUITES[name]}")
    assert hasattr(suite, "run") != hasattr(suite, "together")
    short = suite.cases(True)
    assert short
    assert all(suite.contenders(case) for case in short)
    records = stored(name) if (run.RESULTS / f"{name}.jsonl").exists() else []
    assert all(r.contender in suite.contenders(r.case) for r in records[:3])


def test_an_unknown_suite_is_named(capsys):
    assert run.main(["no-such"]) == 2
    assert "no-such" in capsys.readouterr().out
    assert run.main([]) == 0
    assert "exact" in capsys.readouterr().out


def test_commands_on_pages_name_suites():
    known = {f"{name}{end}" for name in run.SUITES for end in ("", "-short")} | {"page"}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / ".ci" / "run"]
    for path in pages:
        if "_build" not in path.parts:
            found = re.findall(r"SUITE=([a-z][a-z-]*)", path.read_text(encoding="utf-8"))
            assert set(found) <= known, path
    night = re.search(r"SHORT = \((.*?)\)", (ROOT / "tools" / "tasks.py").read_text("utf-8"), re.S)
    assert set(re.findall(r"[a-z-]+-short", night[1])) <= known
