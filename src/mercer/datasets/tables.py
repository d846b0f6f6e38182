"""Tables and images of a folder as arrays, and a digest of their cells."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from mercer._optional import plugin

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Entry", "description", "digest", "drop", "means", "of_images", "of_table", "pandas"]

Entry = dict[str, Any]
"""What a catalogue says of a set: where it is, how it is read, what is in it."""


def pandas() -> ModuleType:
    """Return pandas, which reads Parquet by way of Arrow, or say how to get both."""
    plugin("pyarrow"), plugin("pandas")
    return import_module("pandas")


def of_images(path: Path, entry: Entry) -> Bunch:
    """Return pictures as rows, training part first."""
    with np.load(path, allow_pickle=False) as stored:
        parts = [part for part in ("_train", "_test") if f"X{part}" in stored] or [""]
        images = np.concatenate([stored[f"X{part}"] for part in parts])
        classes = [stored[f"y{part}"] for part in parts if f"y{part}" in stored]
        sizes = [len(stored[f"X{part}"]) for part in parts]
    data = images.reshape(len(images), -1).astype(np.float64) / entry.get("scale", 1.0)
    return Bunch(
        data=data,
        target=np.concatenate(classes).astype(np.int64) if classes else None,
        feature_names=[f"px{j}" for j in range(data.shape[1])],
        images=images,
        split=np.repeat([part[1:] for part in parts], sizes) if len(parts) > 1 else None,
        task=entry["task"],
        DESCR=description(entry),
    )


def of_table(path: Path, entry: Entry, binary: bool) -> Bunch:
    """Return a table: numbers as they are, words as columns of zeros and ones."""
    pd = pandas()
    frame = pd.read_parquet(path)
    targets = [entry["target"]] if isinstance(entry["target"], str) else entry["target"] or []
    left_out = {*targets, *entry.get("drop", ()), entry.get("split")}
    features = frame[[column for column in frame.columns if column not in left_out]]
    words = [c for c in features.columns if not pd.api.types.is_numeric_dtype(features[c])]
    if words and entry.get("categories") == "drop":
        features = features.drop(columns=words)
    elif words and entry.get("categories") == "codes":
        codes = {c: features[c].astype("category").cat.codes for c in words}
        features = features.assign(**{c: v.where(v >= 0, np.nan) for c, v in codes.items()})
    elif words:
        features = pd.get_dummies(features, columns=words, dtype=np.uint8)
    split = entry.get("split")
    found = Bunch(
        data=np.ascontiguousarray(features.to_numpy(dtype=np.float64, na_value=np.nan)),
        target=None,
        feature_names=[str(column) for column in features.columns],
        frame=frame,
        split=frame[split].astype(str).to_numpy(dtype=object) if split else None,
        task=entry["task"],
        DESCR=description(entry),
    )
    found.update(_targets(frame, targets, entry, binary))
    return found


def _targets(frame: pd.DataFrame, targets: list[str], entry: Entry, binary: bool) -> Bunch:
    found = Bunch()
    if entry["task"] == "survival":
        *entries, time, event = targets
        found.time, found.event = frame[time].to_numpy(np.float64), frame[event].to_numpy() == 1
        if entries:
            found.entry = frame[entries[0]].to_numpy(np.float64)
        found.target = np.empty(len(frame), dtype=[("event", bool), ("time", np.float64)])
        found.target["event"], found.target["time"] = found.event, found.time
    elif entry["task"] in {"binary", "multiclass"}:
        classes = frame[targets[0]]
        if entry["task"] == "binary" or binary:
            if "positive" in entry:
                positive = classes.astype(str) == str(entry["positive"])
                found.target = np.where(positive, 1.0, -1.0)
            elif entry["task"] == "binary":
                found.target = classes.to_numpy(np.float64)
            else:
                raise ValueError("this set has no customary class to ask for; leave out binary")
        elif classes.dtype.kind in "iu":
            found.target = classes.to_numpy(np.int64)
        else:
            found.target = classes.astype(str).to_numpy(dtype=object)
    elif targets:
        found.target = frame[targets[0]].to_numpy(np.float64, na_value=np.nan)
        if "second_target" in entry:
            found.second_target = frame[entry["second_target"]].to_numpy(np.float64)
    return found


def drop(found: Bunch) -> None:
    """Leave out rows with missing cells, in place."""
    complete = ~np.isnan(found.data).any(axis=1)
    if found.target is not None and found.target.dtype.kind == "f":
        complete &= ~np.isnan(found.target)
    n = len(complete)
    for key, value in found.items():
        if isinstance(value, np.ndarray) and len(value) == n:
            found[key] = value[complete]
        elif key == "frame":
            found[key] = value[complete].reset_index(drop=True)


def description(entry: Entry) -> str:
    """Return what is known of a set, in lines."""
    lines = [entry.get("origin", ""), f"Licence: {entry.get('licence', 'not known')}."]
    lines.append(f"{entry['rows']:,} rows, {entry['features']:,} features.")
    return "\n".join(line for line in [*lines, entry.get("note", "")] if line)


def digest(frame: pd.DataFrame) -> str:
    """Return a digest of the cells of a table, whatever file it came from.

    Parameters
    ----------
    frame : pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> digest(pd.DataFrame({"a": [1, 2]})) == digest(pd.DataFrame({"b": [1.0, 2.0]}))
    True
    """
    found = hashlib.sha256()
    for column in frame.columns:
        values = frame[column]
        if values.dtype.kind in "iufb":
            # Zero has no sign.
            numbers: NDArray[np.float64] = values.to_numpy(np.float64, na_value=np.nan) + 0.0
            found.update(numbers.astype("<f8").tobytes())
        else:
            words = values.astype(object).where(values.notna(), "")
            found.update("\0".join(str(word) for word in words).encode())
    return found.hexdigest()


def means(frame: pd.DataFrame) -> list[float]:
    """Return the means of the columns of numbers, for tables that were measured rounded.

    Parameters
    ----------
    frame : pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> means(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    [1.5]
    """
    numbers = [frame[column] for column in frame.columns if frame[column].dtype.kind in "iufb"]
    return [float(np.nanmean(values.to_numpy(np.float64, na_value=np.nan))) for values in numbers]
