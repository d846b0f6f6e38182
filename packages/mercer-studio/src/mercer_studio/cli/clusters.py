"""Fits on a cluster: workers read the file, and a low-rank machine is made of sums over rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer import data as sources
from mercer import io
from mercer._optional import plugin
from mercer.preprocessing import Encoder, Imputer, Scaler
from mercer.reduced import Nystrom
from mercer_studio.cli.commands import certificate, place
from mercer_studio.cli.memory import Memory
from mercer_studio.cli.models import CARD, Wishes
from mercer_studio.cli.picking import LANDMARKS, pick
from mercer_studio.cli.refusals import Refusal
from mercer_studio.cli.telling import Result, Teller

__all__ = ["fit_on_cluster"]

# Rows that show what the target is.
TASK_ROWS = 10_000


def fit_on_cluster(
    data: str,
    target: str,
    output: str | None,
    wishes: Wishes,
    memory: Memory,
    teller: Teller,
    *,
    address: str,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    force: bool = False,
) -> Result:
    """Fit a model where a Dask cluster reads the rows, and save it here.

    Parameters
    ----------
    data, target : str
        Files, which all workers see under this name, and the column to predict.
    output : str, optional
        Where to save; the name of the data with ``.skops`` by default.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken here; workers have limits of their own.
    teller : Teller
        Where to say it.
    address : str
        Of the scheduler.
    format, delimiter, encoding : str, optional
        How the files are read.
    comment : str, optional
        Refused: workers read files line by line.
    force : bool, default=False
        Whether a model that exists is overwritten.
    """
    refused = {
        "--tune": wishes.seconds,
        "--intervals": wishes.coverage,
        "--monotone": wishes.monotone,
        "--categorical": wishes.categorical,
        "--event": wishes.event,
        "--missing": wishes.gaps,
        "--comment": comment,
    }
    if asked := [name for name, value in refused.items() if value]:
        raise Refusal(f"{', '.join(asked)} cannot be had together with --cluster.")
    path = place(output or f"{Path(data).stem.partition('.')[0]}.skops", data, force)
    kind = {"tsv": "csv", "feather": "arrow"}.get(format or "", format)
    where = str(Path(data).absolute()) if "://" not in data else data
    how: dict[str, Any] = {"format": kind, "delimiter": delimiter, "encoding": encoding}
    with plugin("dask").connected(address):
        names = _names(where, how)
        features = [name for name in names if name not in (target, *wishes.drop)]
        source = sources.open(where, target, features, **how)
        task = wishes.task or _task(source)
        teller.say(f"task: {task} of {target}")
        name = wishes.machine or ("LSSVR" if task == "regression" else "KernelLogisticRegression")
        picked = pick(name, task, 0, memory, settings=wishes.settings)
        machine = picked.machine
        settings = machine.get_params(deep=False)
        if "approximation" not in settings:
            raise Refusal(f"{name} has no low-rank approximation; LSSVR, SVC and others have.")
        if settings["approximation"] is None:
            machine.set_params(approximation=Nystrom(LANDMARKS, memory_limit=int(memory.free / 2)))
        if settings.get("C") == 1.0 and "C" not in wishes.settings:
            machine.set_params(C="auto")
        steps = [("impute", Imputer()), ("encode", Encoder()), ("scale", Scaler())]
        pipeline = Pipeline([*steps, ("machine", machine)])
        teller.say("plan: gaps are filled, categories get a column each, all columns are scaled")
        with teller.working("fitting on the cluster"):
            pipeline.fit(source)
    rows = int(source.n_rows or 0)
    kinds = _kinds(pipeline, features)
    card = {"target": target, "task": task, "columns": kinds, "rows": rows, "why": "cluster"}
    setattr(pipeline, CARD, card)
    for line in certificate(pipeline[-1]):
        teller.say(line)
    io.save(pipeline, path)
    teller.say(f"saved: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return {"model": str(path), "machine": name, "task": task, "rows": rows}


def _names(where: str, how: dict[str, Any]) -> list[str]:
    return list(sources.open(where, **how).feature_names or [])


def _task(source: sources.Source) -> str:
    """Return the task of a source from its first rows."""
    block = next(iter(source.blocks(TASK_ROWS)))
    words = np.asarray(block.y).dtype.kind not in "iufb"
    few = not words and len(np.unique(block.y)) <= 2
    return "classification" if words or few else "regression"


def _kinds(pipeline: Pipeline, features: list[str]) -> dict[str, str]:
    """Return the kinds of the columns, as the encoder read them."""
    words = set(pipeline.named_steps["encode"].columns_)
    return {name: "category" if j in words else "number" for j, name in enumerate(features)}
