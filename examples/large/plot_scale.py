r"""
How long a billion rows take
============================

A machine in the span of m landmarks is fitted by passes over its rows, each of which evaluates m
kernel values a row:

.. math:: \text{time} \approx \text{passes} \cdot
   \frac{n\, m\, (d\, t_\text{multiply} + t_\text{entry})}{\text{cores}}
   + \text{what } m \times m \text{ matrices and the cluster take}.

The seconds of a term were measured on one core (``make bench SUITE=scale``) and carried over to
clusters that are not here. On a log-log scale, rows are a straight line of slope one wherever
kernel values are what takes the time. To the left the lines bend where a cluster has nothing left
to share out, and its scheduler and the one machine that factorizes set the time; further right they
have a step where rows no longer fit in memory and are read in every pass.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

# sphinx_gallery_start_ignore
here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
sys.path.insert(0, str(here.parents[1]))
# sphinx_gallery_end_ignore
from benchmarks.store import stored  # noqa: E402
from benchmarks.suites.scale import CLUSTERS, estimate, measured  # noqa: E402

costs = measured(stored("scale"))
n = np.logspace(6, 10, 33)

# %%
# 50 features, a squared loss. What an hour of each cluster costs decides which line is the cheapest
# for a given patience; for many rows, money is nearly the same for all of them, and time is not.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True)
for k, (name, nodes) in enumerate(CLUSTERS.items()):
    for m, style in ((1_000, "--"), (10_000, "-")):
        seconds, dollars = np.array([estimate(rows, 50, m, *nodes, costs) for rows in n]).T
        axes[0].loglog(n, seconds, style, color=f"C{k}", lw=2)
        axes[1].loglog(n, dollars, style, color=f"C{k}", lw=2)
    label = f"{name} cores"
    axes[1].text(0.7, 0.36 - 0.065 * k, label, color=f"C{k}", transform=axes[1].transAxes)
for seconds, text in ((60, "a minute"), (3600, "an hour"), (86_400, "a day")):
    axes[0].axhline(seconds, color="0.8", lw=0.8, zorder=0)
    axes[0].text(1e6, 1.15 * seconds, text, color="0.5", size=9)
axes[0].set(title="seconds", xlabel="rows")
axes[1].set(title="dollars", xlabel="rows")
axes[0].text(0.6, 0.06, "solid: 10,000 landmarks\ndashed: 1,000", transform=axes[0].transAxes)
plt.show()
