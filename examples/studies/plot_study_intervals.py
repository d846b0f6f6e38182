"""
Intervals for a power plant and for bicycles
============================================

How often intervals contain what comes, how wide they are, and where they fail: ours beside
quantiles of boosted trees, conformalized forests and a Gaussian process. The hours of the power
plant are drawn at random, so that promises for exchangeable data hold. Those of the bicycles come
in their order, and the last quarter of two years is not like the rest. ``make reproduce
ONLY=--studies`` measures it
again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

tables = {name: load(name) for name in ("power_plant", "bike_sharing")}
for table in tables.values():
    print(table, end="\n\n")

# %%
# Coverage by deciles of the temperature, and by the hour of the day.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for axis, (name, table) in zip(axes, tables.items(), strict=True):
    axis.set_prop_cycle(color=plt.get_cmap("tab10").colors)  # a style has fewer colours
    for machine, numbers in table.extra.items():
        axis.plot(numbers["groups"], numbers["coverage"], "o-", ms=3, lw=1.1, label=machine)
    axis.axhline(0.9, color="k", ls="--", lw=1)
    axis.set(title=name.replace("_", " "), ylabel="coverage")
axes[0].set_xlabel("decile of the temperature")
axes[1].set_xlabel("hour of the day")
axes[0].legend(fontsize=7, frameon=False)

# %%
# What is to be learned from it:

for table in tables.values():
    for note in table.notes:
        print("*", note)
