"""The preprocessing plan: what is done with every column, said and kept in the model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from mercer.cli.refusals import Refusal
from mercer.cli.tables import Read, column_of, numbers, words
from mercer.preprocessing import DateEncoder

__all__ = ["Column", "Plan", "aligned"]

# Rows from which on words that are all different are names of rows.
NAMES = 20
# Categories that have a column of their own; the others share one.
CATEGORIES = 50


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
    def of(cls, name: str, column: pd.Series, categorical: bool) -> Column:
        """Return what a column is taken for.

        Parameters
        ----------
        name : str
            Its name.
        column : Series
            Its cells.
        categorical : bool
            Whether its numbers are names of categories.
        """
        there = column.dropna()
        missing, distinct = len(column) - len(there), int(there.nunique())
        kind = {"M": "date"}.get(column.dtype.kind, "number")
        if categorical or column.dtype.kind not in "iufbM":
            kind = "category"
        why = ""
        if not distinct:
            kind, why = "left out", "it is empty"
        elif distinct == 1 and not missing:
            kind, why = "left out", f"all cells are {str(there.iloc[0])[:30]}"
        elif kind == "category" and distinct == len(there) > NAMES:
            kind, why = "left out", "all words differ, as names of rows do"
        elif kind != "category":
            low, high = there.min(), there.max()
            why = f"{_said(low)} to {_said(high)}"
        else:
            why = f"{distinct} categories"
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
    """

    columns: tuple[Column, ...]

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
        found = [
            Column(name, "left out", 0, 0, "as asked")
            if name in drop
            else Column.of(name, frame[name], name in categorical)
            for name in frame.columns
            if name != target
        ]
        found += [Column(name, "left out", 0, 0, "nested values") for name in table.left_out]
        plan = cls(tuple(found))
        if not plan.used:
            raise Refusal(f"{table.path} has no column to predict from.")
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
        return any(c.kind == "category" and c.distinct >= CATEGORIES for c in self.columns)

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
            "category": f"one column for each of at most {CATEGORIES} categories, gaps are one",
        }
        if as_is:
            done = {
                "number": "as they are: the machine scales them, and fills and marks gaps",
                "category": "as they are: the machine compares them by equality, gaps are one",
            }
        done["date"] = "days since 1970, and places in day, week and year on circles"
        counts = {kind: len(self.named(kind)) for kind in done}
        return [f"{n} {_plural(kind, n)}: {done[kind]}" for kind, n in counts.items() if n]

    def transformer(self, as_is: bool, named: bool = False) -> Any:
        """Return the plan as a transformer of scikit-learn.

        Parameters
        ----------
        as_is : bool
            Whether the machine reads numbers, categories and gaps by itself.
        named : bool
            Whether the machine needs names of columns; one that reads tables does.
        """
        # Marks of gaps would keep the pipeline from being exported: ONNX has no converter for them.
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if self.crowded:
            one_hot.set_params(handle_unknown="infrequent_if_exist", max_categories=CATEGORIES)
        dates: Any = DateEncoder()
        if not as_is:
            dates = make_pipeline(dates, SimpleImputer(strategy="median"), StandardScaler())
        how = {
            "number": "passthrough" if as_is else scaled,
            "category": "passthrough" if as_is else one_hot,
            "date": dates,
        }
        made = ColumnTransformer(
            [(kind, each, self.named(kind)) for kind, each in how.items() if self.named(kind)],
            verbose_feature_names_out=not as_is,
        )
        return made.set_output(transform="pandas" if as_is or named else "default")

    @staticmethod
    def sparse() -> Any:
        """Return the transformer of sparse matrices, which stay sparse."""
        return MaxAbsScaler()


def _plural(kind: str, n: int) -> str:
    many = {"number": "numbers", "category": "categories", "date": "dates"}
    return kind if n == 1 else many[kind]


def aligned(table: Read, kinds: dict[str, str]) -> pd.DataFrame:
    """Return the columns that a model wants, each as the kind that it was fitted to.

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
    if kind == "number":
        return numbers(column, path)
    if kind == "category":
        return words(column)
    if column.dtype.kind == "M":
        return column
    if column.dtype.kind in "iufb":
        if column.isna().all():
            never = np.full(len(column), "NaT", dtype="datetime64[us]")
            return pd.Series(never, index=column.index, name=column.name)
        raise Refusal(f"{path}, column {column.name!r}, holds numbers where the model wants dates.")
    found = pd.to_datetime(column, errors="coerce", format="ISO8601")
    wrong = column[found.isna() & column.notna()]
    if len(wrong):
        raise Refusal(
            f"{path}, column {column.name!r}, holds {str(wrong.iloc[0])[:40]!r} in row "
            f"{wrong.index[0] + 1}, which is not a date such as 2024-02-29."
        )
    return found.dt.tz_localize(None)
