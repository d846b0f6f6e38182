"""Pretrained models for the contest on tables: only with weights that are at hand.

``MERCER_WEIGHTS`` names a folder with files as their authors call them, such as
``tabpfn-v2-regressor.ckpt`` and ``tabicl-classifier-v2-20260212.ckpt``; nothing is downloaded. A
model without its package, or without weights for both tasks, is no contender.
"""

import importlib
import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.tables.sets import Split

Predict = Callable[[pd.DataFrame], Any]
NAMES = {"TabPFN": "tabpfn", "TabICL": "tabicl"}
# Further words of the constructors, by package.
WORDS: dict[str, dict[str, Any]] = {
    "tabpfn": {"ignore_pretraining_limits": True},
    "tabicl": {"allow_auto_download": False, "n_jobs": 1},
}


def weights(package: str, folder: str) -> dict[str, Path]:
    """Return the last file of weights of each task by name; empty unless there are both."""
    tasks = ("regressor", "classifier")
    files = {task: sorted(Path(folder).glob(f"{package}-*{task}*.ckpt")) for task in tasks}
    return {task: found[-1] for task, found in files.items()} if all(files.values()) else {}


def pretrained(
    data: Split, name: str, package: str, files: dict[str, Path]
) -> tuple[Predict, dict[str, Any]]:
    """Give the model the rows as its context; categories are those of the table."""
    task = "regressor" if data.regression else "classifier"
    kind = getattr(importlib.import_module(package), name + task.capitalize())
    machine = kind(model_path=files[task], device="cpu", random_state=0, **WORDS[package])
    machine.fit(data.X, data.y)
    wanted = machine.predict if data.regression else machine.predict_proba
    return wanted, {"weights": files[task].name}


def at_hand(folder: str) -> dict[str, Any]:
    """Return the models that are installed and have weights in a folder."""
    found = {name: (package, weights(package, folder)) for name, package in NAMES.items()}
    return {
        name: partial(pretrained, name=name, package=package, files=files)
        for name, (package, files) in found.items()
        if files and find_spec(package) is not None
    }


METHODS = at_hand(os.environ["MERCER_WEIGHTS"]) if "MERCER_WEIGHTS" in os.environ else {}
PACKAGES = tuple(NAMES[name] for name in METHODS)
