"""Run in a process of its own: read hostile files one by one and write what came of each.

A line of JSON is written before and after each file, so that whoever started the process knows
which file ended it.
"""

import io
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer.data
import mercer.io
from fits import X
from hostile_files.data_files import SECRET, data_file, size_of
from hostile_files.model_files import MODELS, SPARSE, entries_of, model_file, packed
from hostile_files.rows import WRITERS
from mercer.data import DataError
from mercer.io import ModelFileError


def peak() -> int:
    """Return the most memory that the process had since `forget`, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget() -> int:
    """Start to measure memory anew, and return what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def of_model(data: bytes) -> str:
    """Load a model and ask it for predictions; return how it ended."""
    try:
        model = mercer.io.load(io.BytesIO(data))
    except ModelFileError:
        return "refused"
    points: Any = sp.csr_array(SPARSE) if getattr(model, "_sparse", False) is True else X
    try:
        model.predict(points)
    except MemoryError:
        return "asked for too much memory"
    except Exception:  # arrays that do not fit together: any sentence, but not the end
        return "loaded, refused to predict"
    return "loaded and predicted"


def of_data(path: Path) -> str:
    """Open a file and read its first rows; return how it ended."""
    try:
        source = mercer.data.open(f"{path}::X" if path.suffix == ".h5" else path)
        for number, block in enumerate(source.blocks(77)):
            values = np.asarray(getattr(block.X, "columns", {}) or block.X)
            if values.dtype != object and SECRET[:8] in values.tobytes():
                return "gave rows of another file"
            if number > 3:
                break
    except DataError:
        return "refused"
    except ValueError as error:
        return "refused" if path.name in str(error) or "column" in str(error) else repr(error)
    return "read"


def _killed() -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return "not reached"


FAULTS: list[Callable[[], str]] = [
    _killed,
    lambda: str(np.ones(2**25)[0] and "read"),
    lambda: str({}[0]),
    lambda: "read",
]
"""What the harness is to notice: a signal, memory, an error; and nothing."""


def run(kind: str, seeds: list[int], folder: Path) -> None:
    """Try files of some seeds."""
    warm(kind, folder)
    for seed in seeds:
        act: Callable[[], str]
        if kind == "fault":
            recipe, size, act = "fault", 0, FAULTS[seed]
        elif kind == "model":
            recipe, data = model_file(seed)
            size, act = len(data), partial(of_model, data)
        else:
            recipe, path = data_file(seed, folder / "data")
            size, act = size_of(path), partial(of_data, path)
        print(json.dumps({"seed": seed, "recipe": recipe, "size": size}), flush=True)
        before, began = forget(), time.process_time()
        try:
            end = act()
        except Exception as error:  # reported, with its words
            end = f"{type(error).__name__}: {error}"[:300]
        spent = time.process_time() - began
        found = {"seed": seed, "end": end, "seconds": spent, "bytes": peak() - before}
        print(json.dumps(found), flush=True)


def warm(kind: str, folder: Path) -> None:
    """Import and compile what the first file of a kind would pay for."""
    for name in MODELS if kind == "model" else ():
        of_model(packed(entries_of(name)))
    for name, write in WRITERS.items() if kind == "data" else ():
        path = folder / "warm" / name
        path.parent.mkdir(exist_ok=True)
        write(path)
        of_data(path)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(sys.argv[1], [int(word) for word in sys.argv[3].split(",")], Path(sys.argv[2]))
