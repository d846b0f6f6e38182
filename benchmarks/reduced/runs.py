"""What the benchmark of few centres measures on six large sets, and with which settings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.reduced.sets import HEAVY, SETS, Task, choose, task

LINES = Path(__file__).resolve().parent / "results"
# Seconds of the processor and bytes that a fit may take.
SECONDS, BYTES = 300.0, 8e9

REGRESSION = ("protein_casp", *HEAVY)
# Of the squared loss, and of others, which take longer.
CENTRES, FEW = (100, 300, 1_000, 3_000), (300, 1_000)


class Run(NamedTuple):
    """A method on a set with some centres, or none; with the first rows alone, or all."""

    family: str
    set: str
    method: str
    m: int = 0
    rows: int = 0


# Exact machines are asked up to the rows that a fit of minutes allows.
EXACT = {name: (10_000, 0) if name in {"protein_casp", "cod_rna"} else (10_000,) for name in SETS}
# Peers that would take more than some minutes or than the memory are given fewer rows.
FEWER = {
    ("xRFM", "protein_casp"): 0,
    ("xRFM", "cod_rna"): 0,
    ("xRFM", "mnist"): 12_000,
    ("xRFM", "flights_nyc13"): 50_000,
    ("xRFM", "covtype"): 50_000,
    ("xRFM", "flights_3m"): 50_000,
    ("Neo LS-SVM", "mnist"): 12_000,
    ("Neo LS-SVM", "flights_nyc13"): 100_000,
    ("Neo LS-SVM", "covtype"): 100_000,
    ("Neo LS-SVM", "flights_3m"): 100_000,
}


def plan(name: str) -> Iterator[Run]:
    """Yield what is measured on a set."""
    if name in REGRESSION:
        ours = ("LSSVR", *(("HuberSVR", "QuantileSVR") if name in HEAVY else ("SVR",)))
        nystroem = ("Ridge", "SGD", *(("SGD, absolute",) if name in HEAVY else ()))
        exact = {"mercer": "mercer LSSVR", "sklearn": "KernelRidge of scikit-learn"}
    else:
        ours = ("LSSVC", "SVC", "logistic")
        nystroem = ("Ridge", "LinearSVC", "SGD")
        exact = {"mercer": "mercer SVC", "sklearn": "SVC of scikit-learn"}
    for m in CENTRES:
        kinds = [kind for kind in ours if m in FEW or kind.startswith("LSSV")]
        yield from (Run("mercer", name, f"mercer {kind}", m) for kind in kinds)
        kinds = [kind for kind in nystroem if m in FEW or kind == "Ridge"]
        yield from (Run("sklearn", name, f"Nystroem + {kind}", m) for kind in kinds)
        if m >= 1_000:
            yield Run("peers", name, "Falkon", m)
    for rows in EXACT[name]:
        for family, method in exact.items():
            # All rows only without their matrix, which would take 14 GB.
            if rows or method != "KernelRidge of scikit-learn":
                yield Run(family, name, method, 0, rows)
    # Hundreds of trees for each of ten classes and 784 features take half an hour.
    trees = ["LightGBM default", *(["LightGBM tuned"] if name != "mnist" else [])]
    trees += ["LightGBM absolute", "LightGBM absolute, tuned"] if name in HEAVY else []
    for method in [*trees, "xRFM", "Neo LS-SVM"]:
        yield Run("peers", name, method, 0, FEWER.get((method, name), 0))


def settings_of(name: str, data: Task | None = None) -> dict[str, float]:
    """Return width and weights of a set, chosen once."""
    path = LINES / "settings.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    if name not in known:
        known[name] = choose(data or task(name))
        LINES.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1))
    return dict(known[name])
