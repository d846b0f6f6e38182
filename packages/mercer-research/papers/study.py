"""Studies on real data: ours beside what a user would take instead, one table each.

A study is a module with ``run(short) -> Table``. Its rows are kept beside it, and the gallery shows
them without running peers again. Peers that are not installed are left out, and their stored rows
are kept.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from papers.places import results_of


@dataclass
class Table:
    """What a study found.

    Parameters
    ----------
    title, question, settings : str
        What was asked, of which data, and how: splits, tuning, what the times include.
    columns : dict
        Name of each column and what it means, in the order in which they are printed.
    rows : list of dict
        One a machine; "machine" is its name, other keys are columns.
    notes : list of str
        What a reader should know: wins and losses, and why.
    extra : dict
        Numbers of figures.
    """

    title: str
    question: str
    settings: str
    columns: dict[str, str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def row(self, machine: str, **numbers: Any) -> None:
        """Add a row."""
        unknown = set(numbers) - set(self.columns)
        if unknown:
            raise ValueError(f"{sorted(unknown)} are no columns of this table")
        self.rows.append({"machine": machine, **numbers})

    def __str__(self) -> str:
        width = max([len("machine"), *(len(row["machine"]) for row in self.rows)])
        lines = [self.title, "", "machine".ljust(width) + "".join(_cell(c) for c in self.columns)]
        for row in self.rows:
            cells = "".join(_cell(row.get(c, "")) for c in self.columns)
            lines.append(row["machine"].ljust(width) + cells)
        return "\n".join([*lines, "", *(f"{c}: {meaning}" for c, meaning in self.columns.items())])


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return "  " + text.rjust(12)


def load(name: str) -> Table:
    """Return the stored table of a study."""
    return Table(**json.loads(results_of(name).read_text(encoding="utf-8")))


def store(name: str, table: Table) -> None:
    """Keep a table, and with it the stored rows of machines that were not run this time."""
    path = results_of(name)
    if path.exists():
        run = {row["machine"] for row in table.rows}
        table.rows += [row for row in load(name).rows if row["machine"] not in run]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(table), indent=1) + "\n", encoding="utf-8")
