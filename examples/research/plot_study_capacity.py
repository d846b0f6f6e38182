"""
Does capacity rank kernels as learning curves do?
=================================================

Covering numbers say how many functions of a given norm a machine can tell apart at a precision.
Does a kernel or a width with less capacity generalize better? Thirty-six machines (four kernels,
nine widths each) on six real sets, once with functions of the same norm, once with C chosen by
leave-one-out, are compared with what was measured on test rows.
``python packages/mercer-research/papers/run.py capacity`` measures it again, in five
minutes of one core.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.study import load

table = load("capacity")
print(table)

# %%
# One set first. More capacity means a larger gap between test and training error, as theory says:
# within a kernel, and less so from kernel to kernel. The test error is another matter: it is large
# at both ends, where the machine cannot follow the data and where it follows their noise.

found, machines = table.extra["sets"], table.extra["machines"]
families = list(dict.fromkeys(name for name, _ in machines))
medians = found["concrete"]["same norm"]["medians"]
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for family in families:
    k = [i for i, (name, _) in enumerate(machines) if name == family]
    capacity = np.array(medians["ln N, radius 1 noise"])[k]
    for axis, key in zip(axes, ("gap", "test"), strict=False):
        axis.plot(capacity, np.array(medians[key])[k], "o-", ms=4, lw=1, label=family)
axes[0].set(xlabel="ln N at the noise level", ylabel="squared error", title="test minus training")
axes[1].set(xlabel="ln N at the noise level", title="test error")
axes[0].legend(fontsize=8, frameon=False)
for factor in (0.1, 0.5623, 3.1623, 10.0):
    i = next(i for i, (name, f) in enumerate(machines) if (name, f) == ("Gaussian", factor))
    capacity = medians["ln N, radius 1 noise"][i]
    label = f"width {factor:.2g}, ln N {capacity:.0f}"
    axes[2].plot(table.extra["sizes"], medians["curve"][i], "o-", ms=4, lw=1, label=label)
axes[2].set(xscale="log", yscale="log", xlabel="training rows", title="learning curves, Gaussian")
axes[2].set_xticks(table.extra["sizes"], [str(n) for n in table.extra["sizes"]])
axes[2].set_yticks([0.2, 0.3, 0.5, 0.8], ["0.2", "0.3", "0.5", "0.8"])
axes[2].minorticks_off()
axes[2].legend(fontsize=8, frameon=False)
figure.suptitle("concrete, functions of the same norm")

# %%
# All sets: Kendall's tau between a number and what was measured, 1 if it ranks all pairs of
# machines alike, 0 if it says nothing. One line a set, with the bootstrap interval over splits. The
# last row compares half of the splits with the other half: how well the measurement agrees with
# itself.

shown = {
    "ln N, radius 1 noise": "ln N, one norm for all",
    "ln N, own norm": "ln N, norm of the machine",
    "ln N from below": "lower bound on ln N",
    "effective dimension": "effective dimension",
    "reciprocal width": "1 / width",
    "degrees of freedom": "degrees of freedom",
    "training + 2 noise^2 ln N/n": "training error + ln N",
    "leave-one-out": "leave-one-out error",
    "half of the splits": "other splits",
}
columns = ("gap, widths", "gap, kernels", "test, widths", "test, kernels")
figure, axes = plt.subplots(2, 4, figsize=(12, 8), sharex=True, sharey=True, layout="constrained")
for row, rule in zip(axes, ("same norm", "tuned C"), strict=True):
    for axis, column in zip(row, columns, strict=True):
        axis.axvline(0, color="0.6", lw=0.8)
        for y in range(0, len(shown), 2):
            axis.axhspan(y - 0.5, y + 0.5, color="0.95", lw=0)
        for s, name in enumerate(found):
            taus = found[name][rule]["taus"][column]
            for y, key in enumerate(shown):
                at = y + 0.12 * (s - 0.5 * (len(found) - 1))
                axis.plot(taus[key][1:], [at] * len(taus[key][1:]), color=f"C{s}", lw=0.8)
                axis.plot(taus[key][0], at, "o", color=f"C{s}", ms=4, label=name if not y else None)
        axis.set(title=f"{column}\n({rule})", xlim=(-1.05, 1.05), ylim=(-0.5, len(shown) - 0.5))
    row[0].set_yticks(range(len(shown)), list(shown.values()))
axes[0, 0].invert_yaxis()
for axis in axes[1]:
    axis.set_xlabel("Kendall's tau")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False
)

# %%
# What is to be learned from it:

for note in table.notes:
    print("*", note)
