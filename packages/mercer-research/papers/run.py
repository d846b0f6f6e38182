"""Run the experiments of the documents again, or studies beside peers.

``run.py`` runs the experiments whose result is missing or older than the source, writes the page of
the documentation, and fails if a claim that must hold does not, or if a claim cannot fail. Names
choose some experiments or studies, ``--studies`` all studies; ``--short`` takes few data sets and a
minute or two, and ``--fresh`` runs experiments that have a result too.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers.outcome import MissingDataError, Result
from papers.page import PAGE, page
from papers.places import HERE, PLACES, module_of, results_of
from papers.study import store

EXPERIMENTS = (
    "noise_exponent",
    "tube_width",
    "nu_property",
    "positive_or",
    "two_levels",
    "interior_point_cost",
    "tubes",
    "semiparametric",
    "kernel_pictures",
    "dirichlet",
    "equivalent_widths",
    "backfitting",
    "symmetry",
    "coloured_noise",
    "jumps",
    "haar",
    "additive_components",
    "fourier_machine",
    "bias_variance",
    "secular",
    "realization",
    "meuse",
    "mauna_loa",
    "motorcycle",
    "differogram",
    "robustness",
    "coverage",
    "norms",
    "alternatives",
    "structure_detection",
    "ridge_fusion",
    "plausible",
    "fusion",
    "nodes",
    "table_8_1",
    "location",
    "stability",
    "table_8_2",
    "sparsifiers",
    "substrate_structure",
    "boston_structure",
    "mackey_glass",
    "santa_fe_d",
    "adaptive_margins",
    "adaptive_margin_lambda",
    "adaptive_margin_table",
    "adaptive_margin_boosting",
    "censored_sinc",
    "missing_inputs",
    "densities",
    "monotone_cdf",
    "suicide",
    "principal_curves",
    "principal_surfaces",
    "curve_nodes",
    "oil_flow",
    "quantizers",
)
"""Experiments, in the order of the page."""

STUDIES = (
    "bike_sharing",
    "boston",
    "capacity",
    "concrete",
    "load",
    "pima",
    "power_plant",
    "survival",
    "wine",
)


def digest(name: str) -> str:
    """Return what tells one state of the library and of an experiment from another."""
    folders = (HERE.parents[2] / "src" / "mercer", HERE.parent / "src" / "mercer_research")
    files = [*(path for one in folders for path in sorted(one.rglob("*.py"))), PLACES[name]]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def stored(name: str, short: bool) -> dict[str, Any]:
    """Return the last result of an experiment, or nothing."""
    path = results_of(name, short)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def rounded(value: Any) -> Any:
    """Return the numbers of a figure with the digits that can be seen."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def run(name: str, short: bool, fresh: bool) -> Result:
    """Return the result of an experiment, from the last run if nothing has changed since."""
    mark, last = digest(name), stored(name, short)
    if last.get("digest") == mark and not fresh:
        return Result.from_dict(last["result"])
    result = module_of(name).run(short=short, random_state=0)
    record = result.to_dict()
    record["data"] = rounded(record["data"])
    path = results_of(name, short)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"digest": mark, "result": record}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return result


def judge(name: str, short: bool, fresh: bool) -> list[str]:
    """Run an experiment, and return what is wrong with its claims."""
    result = run(name, short, fresh)
    print(f"{name}: claims that hold: {result.tally}")
    wrong = [
        f"{name}: {c.what}: {c.ours:.6g}, {c.low:.6g} to {c.high:.6g}" for c in result.failures
    ]
    # With few data sets standard errors are large, and ranges may be.
    reasons = ((c, c.certain if short else c.vacuous) for c in result.claims)
    return wrong + [f"{name}: {c.what}: {reason}" for c, reason in reasons if reason]


def compare(name: str, short: bool) -> None:
    """Run a study, print its table and keep it unless it is a short one."""
    table = module_of(name).run(short)
    if not short:
        store(name, table)
    print(table)


def published() -> dict[str, Result]:
    """Return the whole results that are stored, in the order of the page."""
    found = {name: stored(name, short=False) for name in EXPERIMENTS}
    return {name: Result.from_dict(last["result"]) for name, last in found.items() if last}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    every = (*EXPERIMENTS, *STUDIES)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(every))
    parser.add_argument("--studies", action="store_true", help="all studies")
    parser.add_argument("--short", action="store_true", help="few data sets, no page")
    parser.add_argument("--fresh", action="store_true", help="run what has a result too")
    options = parser.parse_args()
    if unknown := set(options.names) - set(every):
        parser.error(f"no experiment or study is called {', '.join(sorted(unknown))}")
    names = options.names or (STUDIES if options.studies else EXPERIMENTS)
    wrong = []
    for name in names:
        begin = time.perf_counter()
        try:
            if name in STUDIES:
                compare(name, options.short)
            else:
                wrong += judge(name, options.short, options.fresh)
        except MissingDataError as reason:
            print(f"{name}: left out, {reason}")
            continue
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    if set(names) <= set(STUDIES):
        return 0
    if not options.short:
        PAGE.write_text(page(published()), encoding="utf-8")
    print("\n".join(wrong) or "every claim that must hold does")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
