"""Time against rows, for every contender and for the bare limit."""

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from benchmarks.svm.claims import Result, clock_of, exponent
from benchmarks.svm.tables import curve

STYLES: dict[str, dict[str, Any]] = {
    "mercer": {"color": "C0", "marker": "o", "linewidth": 2.0},
    "scikit-learn-intelex": {"color": "C1", "marker": "s"},
    "scikit-learn": {"color": "C2", "marker": "^"},
    "bare": {"color": "0.4", "marker": ".", "linestyle": "--"},
}


def growth(environment: dict[str, Any], results: list[Result], path: Path) -> None:
    """Draw the figure into a file."""
    # Neither a date nor a random mark, so that the same results give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "growth", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        for library in environment["conditions"]["libraries"]:
            rows, seconds = curve(environment, results, library)
            if not rows:
                continue
            slope = exponent(rows, seconds)
            label = library if len(rows) < 2 else f"{library}, exponent {slope:.2f}"
            axes.loglog(rows, seconds, label=label, **STYLES.get(library, {}))
        sizes = [r["problem"]["n"] for r in results]
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
        unit = "processor time" if clock_of(environment) == "cpu" else "time"
        axes.set_xlabel("rows of covtype, two classes")
        axes.set_ylabel(f"{unit} of a fit, s")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})
