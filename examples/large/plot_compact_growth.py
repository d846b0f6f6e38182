r"""
Compactly supported kernels: two hundred thousand points
========================================================

A kernel of compact support sees the neighbours of a point and nobody else,

.. math:: k(x, z) = \prod_j B_3\Bigl(\frac{x_j - z_j}{l}\Bigr) = 0
   \quad\text{where some}\quad |x_j - z_j| \ge 2 l,

so a matrix of n points with m neighbours each holds nm numbers instead of :math:`n^2`. Mercer
finds them in a tree and solves by products with what is not zero. Here a surface is fitted to
20,000 noisy points, and below are the time and the memory of fits of up to 200,000 points, as
``make bench SUITE=compact`` has measured them.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import BSpline
from mercer.losses import Squared

rng = np.random.default_rng(0)
X = rng.uniform(size=(20_000, 2))
y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.3 * rng.normal(size=len(X))
machine = KernelRegressor(Squared(), kernel=BSpline(0.05), C=0.1).fit(X, y)
print(f"{machine.solution_.solver}: {machine.solution_.reason}")
print(f"relative gap {machine.solution_.relative_gap:.0e}")

# %%
# Left, what is left of the surface without its noise; the square is all that the kernel sees from
# its centre.

grid = np.linspace(0, 1, 200)
points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
surface = machine.predict(points).reshape(200, 200)
truth = (np.sin(9 * points[:, 0]) * np.cos(7 * points[:, 1])).reshape(200, 200)
print(f"root mean square error {np.sqrt(np.mean((surface - truth) ** 2)):.3f}, of the noise 0.3")

# sphinx_gallery_start_ignore
here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
# sphinx_gallery_end_ignore
kept = here.parents[1] / "benchmarks" / "results" / "compact.jsonl"
table = [json.loads(line) for line in kept.read_text().splitlines()[1:]]
figure, axes = plt.subplots(1, 3, figsize=(12, 4.0))
axes[0].pcolormesh(grid, grid, surface, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
axes[0].add_patch(plt.Rectangle((0.4, 0.4), 0.2, 0.2, fill=False, color="black", lw=2))
axes[0].set(title="20,000 points", xticks=[0, 1], yticks=[0, 1], aspect="equal")
names = {"ridge": "squared", "huber": "Huber", "svc": "hinge"}
for k, (name, title) in enumerate(names.items()):
    for way, style in (("neighbours", "o-"), ("whole matrix", "s:")):
        rows = [r for r in table if (r["case"]["machine"], r["contender"]) == (name, way)]
        n = [r["case"]["n"] for r in rows]
        axes[1].loglog(n, [r["fit"] for r in rows], style, color=f"C{k}", lw=2, ms=5)
        axes[2].loglog(n, [r["peak"] / 2**20 for r in rows], style, color=f"C{k}", lw=2, ms=5)
    axes[1].text(0.05, 0.93 - 0.08 * k, title, color=f"C{k}", transform=axes[1].transAxes)
axes[1].set(title="seconds of the processor", xlabel="points")
axes[2].set(title="mebibytes", xlabel="points")
axes[2].text(0.45, 0.13, "solid: neighbours", transform=axes[2].transAxes)
axes[2].text(0.45, 0.05, "dotted: whole matrix", transform=axes[2].transAxes)
plt.show()
