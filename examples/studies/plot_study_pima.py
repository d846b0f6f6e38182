"""
Missing inputs: Pima
====================

Five measurements of 768 women, a tenth of all cells missing, half of one column. Are gaps better
charged by their risk, filled in, or left to trees that branch on them? Further cells are removed at
random; every machine is tuned in the same way on the training rows. ``make reproduce
ONLY=--studies`` measures it
again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

table = load("pima")
print(table)

# %%
# The area under the curve while more and more cells go missing. Differences of less than two
# standard errors (bars at the first machine) mean little.

shares = np.array(table.extra["shares"])
figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.set_prop_cycle(color=plt.get_cmap("tab10").colors)  # a style has fewer colours
for k, row in enumerate(table.rows):
    values = [row[f"AUC +{share:.0%}"] for share in shares]
    axis.plot(100 * shares + 0.3 * (k - 4), values, "o-", label=row["machine"], lw=1.2)
errors = list(table.extra["standard errors"].values())
first = [table.rows[0][f"AUC +{share:.0%}"] for share in shares]
axis.errorbar(100 * shares - 1.2, first, 2 * np.array(errors), fmt="none", color="0.4", capsize=3)
axis.set(xlabel="cells removed beside those missing, percent", ylabel="area under the ROC curve")
axis.legend(fontsize=8, frameon=False)

# %%
# What is to be learned from it:

for note in table.notes:
    print("*", note)
