"""
Few inputs or all of them
=========================

Prices of houses in Boston and the quality of wines, by sums of functions of one input each: with
those that maximal variation finds, with all of them, and with what other libraries of additive
models make of them. ``python packages/mercer-research/papers/run.py boston wine`` measures it
again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

tables = {name: load(name) for name in ("boston", "wine")}
for table in tables.values():
    print(table)
    print()

# %%
# Error against the number of inputs, and how often each input is kept.

fig, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for row, (name, table) in zip(axes, tables.items(), strict=True):
    for entry in table.rows:
        row[0].errorbar(entry["terms"], entry["RMSE"], entry["error"], fmt="o", capsize=2)
        row[0].annotate(entry["machine"], (entry["terms"], entry["RMSE"]), fontsize=5)
    row[0].set(xlabel="inputs", ylabel="test error", title=name)
    kept = table.extra["kept"]["SparseAdditiveRegressor, refit"]
    row[1].barh(list(kept), list(kept.values()))
    row[1].set(xlabel="share of splits that keep it", xlim=(0, 1))
    row[1].tick_params(axis="y", labelsize=6)

# %%
# What is to be learned from it:

for table in tables.values():
    for note in table.notes:
        print("*", note)
