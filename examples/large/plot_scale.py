r"""
How long a billion rows take
============================

A machine in the span of m centres is fitted by passes over its rows, each of which evaluates m
kernel values a row:

.. math:: \text{time} \approx \text{passes} \cdot
   \frac{n\, m\, (d\, t_\text{multiply} + t_\text{entry})}{\text{cores}}
   + \text{what } m \times m \text{ matrices and the cluster take}.

The seconds of a term were measured on one core by ``make bench SUITE=plan`` and carried over to
clusters
that are not here. On a log-log scale, rows are a straight line of slope one wherever kernel values
are what takes the time. To the left the lines bend where a cluster has nothing left to share out,
and its scheduler and the one machine that factorizes set the time; further right they have a step
where rows no longer fit in memory and are read in every pass.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

# sphinx_gallery_start_ignore
here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
# sphinx_gallery_end_ignore
curves = json.loads((here.parents[1] / "benchmarks" / "plan" / "plan.json").read_text())["curves"]

# %%
# 50 features, a squared loss. What an hour of each cluster costs decides which line is the cheapest
# for a given patience; for many rows, money is nearly the same for all of them, and time is not.

names = list(dict.fromkeys(r["cluster"] for r in curves))
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True)
for k, name in enumerate(names):
    for m, style in ((1_000, "--"), (10_000, "-")):
        rows = [r for r in curves if (r["cluster"], r["m"]) == (name, m)]
        n = [r["n"] for r in rows]
        axes[0].loglog(n, [r["seconds"] for r in rows], style, color=f"C{k}", lw=2)
        axes[1].loglog(n, [r["money"] for r in rows], style, color=f"C{k}", lw=2)
    axes[1].text(0.7, 0.36 - 0.065 * k, name, color=f"C{k}", transform=axes[1].transAxes)
for seconds, text in ((60, "a minute"), (3600, "an hour"), (86_400, "a day")):
    axes[0].axhline(seconds, color="0.8", lw=0.8, zorder=0)
    axes[0].text(1e6, 1.15 * seconds, text, color="0.5", size=9)
axes[0].set(title="seconds", xlabel="rows")
axes[1].set(title="dollars", xlabel="rows")
axes[0].text(0.6, 0.06, "solid: 10,000 centres\ndashed: 1,000", transform=axes[0].transAxes)
plt.show()
