"""
Forecasting an electrical load
==============================

Two series with a season, a calendar and weather: the daily maxima of an electricity load that a
competition asked for in 2001, and the half-hourly demand of Victoria in 2014. The kernel says what
is known: a year comes back, Sundays differ from Mondays more in winter, demand follows the hour,
the kind of day and the temperature. Beside it stand boosted trees and simpler rules; the table
holds all of them, wins and losses. ``make reproduce ONLY=--studies`` measures it again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

table = load("load")
print(table)

# %%
# The month that the competition asked for, forecast on its eve, and a week of days ahead.

fig, (left, right) = plt.subplots(2, 1, figsize=(8, 6), layout="constrained")
for axis, series, machines in (
    (left, "eunite", ("EUNITE: LSSVR, season and delays", "EUNITE: HistGradientBoosting")),
    (right, "victoria", ("Victoria: LSSVR, hour x calendar x weather", "Victoria: LightGBM")),
):
    data = table.extra[series]
    actual = np.array(data["actual"])
    axis.plot(actual, color="0.2", linewidth=2, label="what came")
    for machine in machines:
        if machine in data:
            axis.plot(data[machine], label=machine.split(": ")[1], linewidth=1)
    axis.legend(fontsize=8)
left.set(xlabel="day of January 1999", ylabel="maximum, MW", title="A month at once")
right.set(xlabel="half hours", ylabel="demand, GW", title="A day ahead, each midnight")

# %%
# What is to be learned from it:

for note in table.notes:
    print("*", note)
