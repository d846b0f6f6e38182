"""
Concrete: knowledge of engineers as constraints
===============================================

Strength rises with cement and with age and falls with water, all else equal. Does it pay to say so?
Learning curves on 1030 mixtures, beside boosted trees that take the same directions; every machine
is tuned on its training rows.
``python packages/mercer-research/papers/run.py concrete`` measures it again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

table = load("concrete")
print(table)

# %%
# Test errors against the number of mixtures to learn from; dots are the splits.

sizes = np.array([int(name[2:]) for name in table.columns if name.startswith("n=")])
figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.set_prop_cycle(color=plt.get_cmap("tab10").colors)  # a style has fewer colours
for k, row in enumerate(table.rows):
    (line,) = axis.plot(sizes, [row[f"n={n}"] for n in sizes], "-", lw=1.4, label=row["machine"])
    for n in sizes:
        errors = table.extra[row["machine"]][f"n={n}"]
        place = np.full(len(errors), n * 1.01 ** (k - 3))
        axis.plot(place, errors, ".", ms=4, color=line.get_color(), alpha=0.6)
axis.set(xscale="log", xlabel="mixtures to train on", ylabel="root mean squared error (MPa)")
axis.set_xticks(sizes, [str(n) for n in sizes])
axis.minorticks_off()
axis.legend(frameon=False, fontsize=8)

# %%
# What is to be learned from it:

for note in table.notes:
    print("*", note)
