"""
Survival of patients
====================

Three studies of patients, most of them alive at the end of it or lost: machines that fit what is
known of the logarithms of times, beside proportional hazards, a ranking machine and two kinds of
trees, all tuned by the same search on the same splits. The table holds all of them, wins and
losses; ``python packages/mercer-research/papers/run.py survival`` measures it again.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

table = load("survival")
print(table)

# %%
# Order and probabilities of those who were not fitted: to the right and below is better. The dotted
# line is the curve of everyone, the same for all patients. The ranking machine has no curves.

studies = ["veteran", "gbsg", "rotterdam", "rotterdam to gbsg"]
figure, axes = plt.subplots(2, 2, figsize=(10, 7))
rows = [(*row["machine"].split(": "), row) for row in table.rows]
names = list(
    dict.fromkeys(name for _, name, row in rows if "Brier" in row and name != "curve of everyone")
)
for study, axis in zip(studies, axes.flat, strict=True):
    for where, name, row in rows:
        if where != study or "Brier" not in row:
            continue
        if name == "curve of everyone":
            axis.axhline(row["Brier"], color="0.6", ls=":")
            continue
        own = "squares" in name or "medians" in name
        style = {"color": f"C{names.index(name) % 6}", "marker": "o" if own else "s"}
        axis.plot(row["Uno"], row["Brier"], ls="", ms=9, label=name, **style)
    axis.set(title=study, xlabel="Uno's concordance", ylabel="integrated Brier score")
axes[0, 0].legend(frameon=False, fontsize=8)

# %%
# What is to be learned from it:

for note in table.notes:
    print("*", note)
plt.show()
