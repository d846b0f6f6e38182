"""Intervals for hourly rentals of bicycles: a future that is not like the past.

The hours of two years in their order: the first three quarters to train, tune and calibrate, the
last quarter to test. Rentals grow from year to year and by season, so that no promise made for
exchangeable data has to hold. Rows for calibration are drawn from the training hours, for ours and
for the peers: setting the last of them aside, the nearest to the future that there are, costs
everyone more than it tells (see the notes). All see the same columns, the hour of the day also as a
point on a circle. Groups are hours of the day.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.intervals.power_plant import COLUMNS, Rows, compare
from papers.study import Table
from papers.tables import load


def columns(data: Any) -> Any:
    """Return features of the hours: those given, and the hour on a circle."""
    hour = data.X[:, list(data.feature_names).index("hr")]
    angle = 2 * np.pi * hour / 24
    circles = [np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)]
    return np.column_stack([data.X, *circles]), hour.astype(int)


def run(short: bool, only: str = "") -> Table:
    """Compare intervals on the last quarter of the hours."""
    data = load("bike_sharing")
    X, hour = columns(data)
    y = data.y.astype(float)
    if short:
        X, hour, y = X[:1200], hour[:1200], y[:1200]
    n = 3 * len(y) // 4
    table = Table(
        "Intervals for hourly rentals of bicycles",
        "What are intervals worth in a future that is not like the past?",
        f"the first {n} hours to train, tune and calibrate, the last {len(y) - n} to test; 90 per "
        "cent promised; rows for calibration are drawn from the training hours; groups are hours "
        "of the day.",
        COLUMNS,
    )
    compare(table, Rows(X[:n], y[:n], X[n:], y[n:], hour[n:], ordered=False), short, only)
    return table
