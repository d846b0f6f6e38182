"""Run studies on real data: ours beside what a user would take instead, one table each.

A study is a module of this folder with ``run(short) -> Table``. Its rows are kept in
``studies/results/NAME.json``; the gallery shows them without running peers again.

    python studies/study.py NAME [NAME ...] [--short]

Peers that are not installed are left out, and their stored rows are kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"


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
    return Table(**json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))


def store(name: str, table: Table) -> None:
    """Keep a table, and with it the stored rows of machines that were not run this time."""
    path = RESULTS / f"{name}.json"
    if path.exists():
        run = {row["machine"] for row in table.rows}
        table.rows += [row for row in load(name).rows if row["machine"] not in run]
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(table), indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--short", action="store_true", help="few rows and splits; not stored")
    options = parser.parse_args(arguments)
    sys.path[:] = [str(HERE.parent), *(path for path in sys.path if Path(path) != HERE)]
    for name in options.names:
        start = time.perf_counter()
        table = import_module(f"studies.{name}").run(options.short)
        if not options.short:
            store(name, table)
        print(table)
        print(f"\n{time.perf_counter() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
