r"""
Local machines: leaves, borders, errors
=======================================

A machine of n rows costs at least the square of n. ``approximation=Local(...)`` cuts the sample
into leaves by a balanced tree and fits an exact machine in each: time is proportional to n. What is
lost is what rows on the other side of a cut could have said, and it is lost near the cuts. The
function here has long waves on the left and short ones on the right.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.kernels import Gaussian
from mercer.local import Local

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (6000, 2))


def truth(X):
    width = np.where(X[:, 0] > 0, 4.0, 1.0)
    return np.sin(np.pi * width * X[:, 1]) * np.cos(np.pi * X[:, 0])


y = truth(X) + 0.3 * rng.normal(size=len(X))
grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 160)], indexing="ij"), axis=-1).reshape(-1, 2)
shown = {"extent": (-1, 1, -1, 1), "origin": "lower"}

# %%
# Eight leaves. Each chooses its own width from rows left out: short where the waves are short. The
# error is largest along the cuts, where a leaf ends. With an overlap, rows near a cut belong to the
# machines on both sides, and predictions there pass from one to the other.

machine = LSSVR(kernel=Gaussian(0.5), approximation=Local(leaf_size=750)).fit(X, y)
smooth = LSSVR(kernel=Gaussian(0.5), approximation=Local(750, overlap=0.15, blend=True)).fit(X, y)
leaf = machine.tree_.route(grid)
widths = np.array([float(one.machine.kernel_.length_scale) for one in machine.leaves_])

figure, axes = plt.subplots(2, 2, figsize=(8.4, 8), sharex=True, sharey=True, layout="constrained")
image = axes[0, 0].imshow(widths[leaf].reshape(160, 160).T, cmap="viridis", **shown)
axes[0, 0].scatter(*X[::10].T, s=1, color="w", alpha=0.6)
axes[0, 0].set_title("leaves and their widths")
figure.colorbar(image, ax=axes[0, 0], shrink=0.8)
image = axes[0, 1].imshow(machine.predict(grid).reshape(160, 160).T, cmap="RdBu", **shown)
axes[0, 1].set_title("prediction")
figure.colorbar(image, ax=axes[0, 1], shrink=0.8)

for a, one, name in ((axes[1, 0], machine, "no overlap"), (axes[1, 1], smooth, "blended")):
    error = np.abs(one.predict(grid) - truth(grid))
    image = a.imshow(error.reshape(160, 160).T, cmap="magma", vmin=0, vmax=0.3, **shown)
    a.set_title(f"error, {name}: {np.sqrt(np.mean(error**2)):.3f}")
for a in axes.ravel():
    edges = leaf.reshape(160, 160)
    a.contour(edges.T, levels=np.arange(len(widths)) + 0.5, colors="0.7", linewidths=0.6,
              extent=shown["extent"])  # fmt: skip
    a.set(xlabel="$x_1$", ylabel="$x_2$")
figure.colorbar(image, ax=axes[1, :], shrink=0.8)
plt.show()
