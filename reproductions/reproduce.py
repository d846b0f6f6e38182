"""Run the experiments of the documents again and say whether their claims hold.

``reproduce.py`` runs those whose result is missing or older than the source, writes the page of the
documentation, and fails if a claim that must hold does not, or if a claim cannot fail; names choose
some, ``--short`` takes few data sets and a minute or two, ``--fresh`` runs what has a result too.
"""

import argparse
import hashlib
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproductions.outcome import MissingDataError, Result
from reproductions.page import PAGE, page

HERE = Path(__file__).resolve().parent
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
"""The modules, in the order of the page."""

RESULTS = HERE / "results"


def digest(name: str) -> str:
    """Return what tells one state of the library and of an experiment from another."""
    files = [*sorted((HERE.parent / "src" / "mercer").rglob("*.py")), HERE / f"{name}.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def path_of(name: str, short: bool) -> Path:
    return RESULTS / "short" / f"{name}.json" if short else RESULTS / f"{name}.json"


def stored(name: str, short: bool) -> dict[str, Any]:
    """Return the last result of an experiment, or nothing."""
    path = path_of(name, short)
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
    begin = time.perf_counter()
    result = importlib.import_module(f"reproductions.{name}").run(short=short, random_state=0)
    record = result.to_dict()
    record["data"] = rounded(record["data"])
    path = path_of(name, short)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"digest": mark, "result": record}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    return result


def published() -> dict[str, Result]:
    """Return the whole results that are stored, in the order of the page."""
    found = {name: stored(name, short=False) for name in EXPERIMENTS}
    return {name: Result.from_dict(last["result"]) for name, last in found.items() if last}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(EXPERIMENTS))
    parser.add_argument("--short", action="store_true", help="few data sets, no page")
    parser.add_argument("--fresh", action="store_true", help="run what has a result too")
    options = parser.parse_args()
    if unknown := set(options.names) - set(EXPERIMENTS):
        parser.error(f"no experiment is called {', '.join(sorted(unknown))}")
    wrong = []
    for name in options.names or EXPERIMENTS:
        try:
            result = run(name, options.short, options.fresh)
        except MissingDataError as reason:
            print(f"{name}: left out, {reason}")
            continue
        print(f"{name}: claims that hold: {result.tally}")
        wrong += [
            f"{name}: {c.what}: {c.ours:.6g}, {c.low:.6g} to {c.high:.6g}" for c in result.failures
        ]
        # With few data sets standard errors are large, and ranges may be.
        reasons = ((c, c.certain if options.short else c.vacuous) for c in result.claims)
        wrong += [f"{name}: {c.what}: {reason}" for c, reason in reasons if reason]
    if not options.short:
        PAGE.write_text(page(published()), encoding="utf-8")
    print("\n".join(wrong) or "every claim that must hold does")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
