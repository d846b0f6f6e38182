"""The command line on ten real sets from their raw files: what is chosen, how good, how long.

Sets are read from the folder that ``MERCER_DATA`` names. Each file is given as it is, but for rows:
at most 2,000 are fitted and 1,000 judged.
"""

import io
import json
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from mercer_studio.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests"))

from data import FOLDER, MISSING

# A set, its file's format here, and options that a person who knows the columns would give.
SETS = {
    "abalone": ("csv", []),
    "adult": ("csv", ["--drop", "split"]),
    "bike_sharing": ("csv", ["--drop", "casual", "--drop", "registered", "--drop", "instant"]),
    "beijing_pm25": ("parquet", []),
    "concrete": ("parquet", []),
    "german_credit": ("csv", []),
    "iris": ("tsv", []),
    "pbc": ("csv", ["--drop", "time", "--drop", "id", "--drop", "death"]),
    "wine_quality": ("arrow", ["--task", "regression"]),
    "yacht": ("csv", []),
}
# What is asked of a set whose catalogue names the time and the event of survival.
TARGETS = {"pbc": "status"}
FITTED, JUDGED = 2000, 1000


def call(*arguments):
    """Return the status of a command and its JSON."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*map(str, arguments), "--json"])
    return status, json.loads(out.getvalue())


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".arrow":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def run(name, folder, budget):
    """Fit, evaluate and inspect one set, and return a line of the table."""
    entry = json.loads((FOLDER / "catalog.json").read_text(encoding="utf-8"))[name]
    frame, (ending, options) = pd.read_parquet(FOLDER / entry["file"]), SETS[name]
    target = TARGETS.get(name, entry["target"])
    frame = frame[frame[target].notna()]
    order = np.random.default_rng(0).permutation(len(frame))
    judged = min(JUDGED, len(order) // 3)
    old, new = folder / f"{name}.{ending}", folder / f"{name}-new.{ending}"
    write(frame.iloc[order[judged : judged + FITTED]].reset_index(drop=True), old)
    write(frame.iloc[order[:judged]].reset_index(drop=True), new)
    began, model = time.process_time(), folder / f"{name}.skops"
    fit = ("fit", old, "--target", target, "--tune", budget, "-o", model, *options)
    status, said = call(*fit)
    if status:
        return {"set": name, "status": status, "said": said["error"]}
    seconds = time.process_time() - began
    _, found = call("evaluate", model, new)
    measure = "R2" if said["task"] == "regression" else "accuracy"
    kinds = pd.Series([column["kind"] for column in said["plan"]]).value_counts().to_dict()
    return {
        "set": name,
        "status": 0,
        "format": ending,
        "rows": said["rows"],
        "columns": kinds,
        "task": said["task"],
        measure: round(found["scores"][measure], 3),
        "seconds": round(seconds, 1),
    }


def lines(names=tuple(SETS), budget="20s"):
    """Yield a line for every set."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            yield run(name, Path(folder), budget)


if __name__ == "__main__":
    if MISSING:
        sys.exit(MISSING)
    for line in lines():
        print(json.dumps(line), flush=True)
