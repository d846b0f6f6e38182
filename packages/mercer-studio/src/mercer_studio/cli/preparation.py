"""The preprocessing plan: what is done with every column, said and kept in the model."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from mercer.preprocessing import DateEncoder, TableEncoder
from mercer.preprocessing.readings import Reading, Tally, readings
from mercer_studio.cli.tables import Read, column_of, numbers, words
from mercer_studio.cli.text import Refusal

# Categories that have a column of their own; the others share one.
MAX_CATEGORIES = 50


@dataclass(frozen=True)
class Column:
    """What is known of a column, and what is done with it.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "category", "date", "left out"}
        What it is taken for.
    missing : int
        Cells without a value.
    distinct : int
        Different values.
    why : str
        Why it is left out, or its range.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    why: str = ""

    @classmethod
    def of(cls, name: str, column: pd.Series, encoder: TableEncoder) -> Column:
        """Return what a column is taken for.

        Parameters
        ----------
        name : str
            Its name.
        column : Series
            Its cells.
        encoder : TableEncoder
            Fitted to the table: what it reads and leaves out is read and left out everywhere.
        """
        form = encoder.readings_.get(name)
        if form is not None:
            column = _read(column, form)
        there = column.dropna()
        missing, distinct = len(column) - len(there), int(there.nunique())
        if name in encoder.dropped_ or (distinct < 2 and not missing):
            why = encoder.dropped_.get(name, "has one value")
            return cls(name, "left out", missing, distinct, f"it {why}")
        kind = {"M": "date"}.get(column.dtype.kind, "number")
        if column.dtype.kind not in "iufbM":
            return cls(name, "category", missing, distinct, f"{distinct} categories")
        why = f"{_said(there.min())} to {_said(there.max())}" if distinct else ""
        return cls(name, kind, missing, distinct, why)


def _said(value: Any) -> str:
    """Return a number or a day; years beyond 9999, which damaged files have, are no dates."""
    if not hasattr(value, "to_datetime64"):
        return f"{value:.4g}"
    return str(np.datetime_as_string(value.to_datetime64(), "D"))


@dataclass(frozen=True)
class Plan:
    """Columns by what is done with them.

    Parameters
    ----------
    columns : tuple of Column
        All columns of the table but the target.
    readings : dict from str to str
        How words of columns are read, see :class:`~mercer.preprocessing.TableEncoder`.
    notes : tuple of str
        What deserves a second look.
    """

    columns: tuple[Column, ...]
    readings: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: Read,
        target: str | None = None,
        drop: Collection[str] = (),
        categorical: Collection[str] = (),
    ) -> Plan:
        """Return the plan of a table.

        Parameters
        ----------
        table : Read
            The table.
        target : str, optional
            The column to predict.
        drop, categorical : collection of str
            Columns to leave out, and columns whose numbers are names of categories.
        """
        frame = table.frame
        assert frame is not None
        for name in (*drop, *categorical, *([target] if target else [])):
            column_of(frame, name, table.path)
        features = frame.drop(columns=[*drop, *([target] if target else [])])
        found = [Column(name, "left out", 0, 0, "as asked") for name in drop]
        encoder = TableEncoder(categorical_features=list(categorical))
        if len(features.columns):
            for name in categorical:
                if name in features:
                    features[name] = words(features[name])
            encoder.set_params(categorical_features=[n for n in categorical if n in features])
            encoder.fit(features)
            found += [Column.of(name, features[name], encoder) for name in features.columns]
        found += [
            Column(name, "left out", 0, 0, "it holds nested values") for name in table.left_out
        ]
        order = {name: k for k, name in enumerate(frame.columns)}
        found.sort(key=lambda column: order.get(column.name, len(order)))
        plan = cls(
            tuple(found), getattr(encoder, "readings_", {}), tuple(getattr(encoder, "notes_", ()))
        )
        if not plan.used:
            raise Refusal(
                f"{table.path} has no column to predict from: "
                + "; ".join(f"{c.name} is left out, because {c.why}" for c in found[:5])
                + "."
            )
        return plan

    def named(self, kind: str) -> list[str]:
        """Return the names of the columns of a kind."""
        return [column.name for column in self.columns if column.kind == kind]

    @property
    def used(self) -> dict[str, str]:
        """The kinds of the columns that are used, by name."""
        return {c.name: c.kind for c in self.columns if c.kind != "left out"}

    @property
    def crowded(self) -> bool:
        """Whether a column has so many categories that the rare ones share a column."""
        return any(c.kind == "category" and c.distinct >= MAX_CATEGORIES for c in self.columns)

    def described(self) -> list[dict[str, Any]]:
        """Return the plan as plain values."""
        return [asdict(column) for column in self.columns]

    def steps(self, as_is: bool) -> list[str]:
        """Return what is done, one sentence for each kind of column.

        Parameters
        ----------
        as_is : bool
            Whether the machine reads numbers, categories and gaps by itself.
        """
        done = {
            "number": "scaled to mean 0 and deviation 1, gaps filled with the median",
            "category": f"one column for each of at most {MAX_CATEGORIES} categories, gaps are one",
        }
        if as_is:
            done = {
                "number": "as they are: the machine scales them, and fills and marks gaps",
                "category": "as they are: the machine compares them by equality, gaps are one",
            }
        done["date"] = "days since 1970, and places in day, week and year on circles"
        counts = {kind: len(self.named(kind)) for kind in done}
        return [f"{n} {_plural(kind, n)}: {done[kind]}" for kind, n in counts.items() if n]

    def transformer(self, as_is: bool = False, named: bool = False) -> ColumnTransformer:
        """Return the plan as a transformer of scikit-learn.

        Parameters
        ----------
        as_is : bool
            Whether the machine reads tables by itself: then columns are chosen, and that is all.
        named : bool
            Whether the machine needs names of columns.
        """
        if as_is:
            chosen = ColumnTransformer(
                [("columns", "passthrough", list(self.used))], verbose_feature_names_out=False
            )
            return chosen.set_output(transform="pandas")
        # Marks of gaps would keep the pipeline from being exported: ONNX has no converter for them.
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if self.crowded:
            one_hot.set_params(handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES)
        dates = make_pipeline(DateEncoder(), SimpleImputer(strategy="median"), StandardScaler())
        how = {"number": scaled, "category": one_hot, "date": dates}
        made = ColumnTransformer(
            [(kind, each, self.named(kind)) for kind, each in how.items() if self.named(kind)]
        )
        return made.set_output(transform="pandas" if named else "default")

    @staticmethod
    def sparse() -> MaxAbsScaler:
        """Return the transformer of sparse matrices, which stay sparse."""
        return MaxAbsScaler()


def _plural(kind: str, n: int) -> str:
    many = {"number": "numbers", "category": "categories", "date": "dates"}
    return kind if n == 1 else many[kind]


def with_gaps(frame: pd.DataFrame, gaps: dict[str, float]) -> pd.DataFrame:
    """Return a table in which numbers that stand for missing cells are missing.

    Parameters
    ----------
    frame : DataFrame
        The table.
    gaps : dict from str to float
        The number of a column; columns that are not there are skipped.

    Examples
    --------
    >>> with_gaps(pd.DataFrame({"pressure": [72, 0]}), {"pressure": 0.0})["pressure"].tolist()
    [72.0, nan]
    """
    made = {
        name: frame[name].astype(np.float64).mask(frame[name] == value)
        for name, value in gaps.items()
        if name in frame and frame[name].dtype.kind in "iuf"
    }
    return frame.assign(**made)


def aligned(table: Read, kinds: dict[str, str]) -> pd.DataFrame:
    """Return the columns that a model wants: categories as words, all else as it is.

    Parameters
    ----------
    table : Read
        The table, which may have further columns.
    kinds : dict from str to str
        Kinds by the names of the columns.
    """
    frame = table.frame
    if frame is None:
        raise Refusal(f"{table.path} is a sparse matrix, and the model wants columns with names.")
    missing = [name for name in kinds if name not in frame.columns]
    if missing:
        column_of(frame, missing[0], table.path)
    made = {name: _as_kind(frame[name], kind, table.path) for name, kind in kinds.items()}
    return pd.DataFrame(made)


def _as_kind(column: pd.Series, kind: str, path: str) -> pd.Series:
    if kind == "category":
        return words(column)
    numeric = column.dtype.kind in "iufb"
    if kind == "number" and numeric:
        return numbers(column, path)
    if kind == "date" and numeric:
        if not column.isna().all():
            raise Refusal(
                f"{path}, column {column.name!r}, holds numbers where the model wants dates."
            )
        never = np.full(len(column), "NaT", dtype="datetime64[us]")
        return pd.Series(never, index=column.index, name=column.name)
    if kind == "number" and column.dtype.kind == "M":
        raise Refusal(f"{path}, column {column.name!r}, holds dates where the model wants numbers.")
    return column


def typed(
    frame: pd.DataFrame, kinds: dict[str, str], readings: dict[str, str], *, as_is: bool = False
) -> pd.DataFrame:
    """Return columns as numbers, words and dates; cells that cannot be read are missing.

    Parameters
    ----------
    frame : DataFrame
        As :func:`aligned` returns it.
    kinds, readings : dict from str to str
        Kinds and forms by the names of the columns.
    as_is : bool, default=False
        Leave words to a machine that reads them by itself, where the fit met words.
    """
    usual = {"number": "point", "date": "ymd"}
    made = {}
    for name, kind in kinds.items():
        column = frame[name]
        done = kind == "category" or column.dtype.kind in ("M" if kind == "date" else "iufb")
        if done or (as_is and name in readings):
            made[name] = column
            continue
        made[name] = _read(column, readings.get(name, usual[kind]))
        wrong = column[made[name].isna() & column.notna()]
        if len(wrong):
            warnings.warn(
                f"column {name!r} holds words that are no {kind}s, such as "
                f"{str(wrong.iloc[0])[:40]!r}; they are taken as missing.",
                UserWarning,
                stacklevel=2,
            )
    return pd.DataFrame(made)


def _read(column: pd.Series, form: str) -> pd.Series:
    """Return a column of words as numbers or dates."""
    reading = Reading(form)
    if reading.kind == "date" and column.dtype.kind == "M":
        return column
    values = reading.apply(column.to_numpy(object), str(column.name))
    if reading.kind == "date":
        values = pd.to_datetime(values, unit="D").to_numpy("datetime64[us]")
    return pd.Series(values, index=column.index, name=column.name)


def reading_of(frame: pd.DataFrame, name: str) -> Reading | None:
    """Return how the words of a column are read, other columns deciding what it leaves open.

    Parameters
    ----------
    frame : DataFrame
        The table.
    name : str
        The column.
    """
    if frame[name].dtype.kind in "iufbM":
        return None
    others = [one for one in frame.columns if frame[one].dtype.kind not in "iufbM"]
    tallies = [Tally.of(frame[one].to_numpy(object)) for one in others]
    return readings(tallies)[others.index(name)]
