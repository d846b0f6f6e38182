r"""
Kriging: a map, and how far to trust it
=======================================

A field is a trend, of which only the shape is known, and a random part, of which only the
covariance is known,

.. math:: z(x) = b' p(x) + u(x), \qquad \operatorname{cov}(u(x), u(x')) = k(x, x').

The best prediction that is linear in the observations is a kernel machine with the squared loss,
whose null space is the trend. Universal kriging is that machine together with the standard
deviation of its error. Here zinc was measured in the soil at 155 places on the bank of the river
Meuse, which carried it; so the logarithm of the concentration has a trend in the root of the
distance from the river.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import UniversalKriging
from mercer.kernels import Matern
from mercer.regularizers import Constant, Functions


def table(name):
    """Read a table from the folder of data sets, or return None where there is none."""
    for folder in (os.environ.get("MERCER_DATA"), "../shared/data", "../../shared/data"):
        if folder and Path(folder, name).exists():
            return pd.read_parquet(Path(folder, name))
    return None


note, sample, grid = "", table("spatial/meuse.parquet"), table("spatial/meuse_grid.parquet")
if sample is None:  # a river along a diagonal, so that the page can be built without the data
    note = " (made-up data: the real ones were not found)"
    rng = np.random.default_rng(0)

    def places(x, y):
        return pd.DataFrame({"x": x, "y": y, "dist": np.clip((y - x + 1500) / 3000, 0, 1)})

    sample = places(*rng.uniform(0, 3000, (2, 155)))
    sample["zinc"] = np.exp(7.0 - 2.5 * np.sqrt(sample["dist"]) + 0.3 * rng.normal(size=155))
    grid = places(*(axis.ravel() for axis in np.mgrid[0:3000:60.0, 0:3000:60.0]))

# %%
# Columns of a data frame have names: the covariance looks at the coordinates, the trend at the
# distance. Length scale, variance and nugget are those of the greatest restricted likelihood.

columns = ["x", "y", "dist"]
machine = UniversalKriging(
    Matern(300.0, nu=0.5).on(["x", "y"]),
    trend=Constant() + Functions([np.sqrt], on=["dist"]),
    nugget=0.1,
    optimize=True,
).fit(sample[columns], np.log(sample["zinc"]))
print(machine.kernel_, f"and a nugget of {machine.nugget_:.3f}")
deviations = np.sqrt(np.diag(machine.null_space_cov_))
for name, b, s in zip(machine.null_space_names_, machine.null_space_coef_, deviations, strict=True):
    print(f"{name:12} {b:6.2f} +- {s:.2f}")

# %%
# The map on the left is the mean, the one on the right the standard deviation of its error: small
# near the samples (dots), large where the covariance has forgotten them.

mean, std = machine.predict(grid[columns], return_std=True)
figure, axes = plt.subplots(1, 2, figsize=(9, 5), sharex=True, sharey=True)
for ax, values, title, colours in (
    (axes[0], mean, "log zinc" + note, "viridis"),
    (axes[1], std, "standard deviation", "magma"),
):
    dots = ax.scatter(grid["x"], grid["y"], c=values, s=7, marker="s", cmap=colours)
    ax.plot(sample["x"], sample["y"], "o", ms=2, mfc="none", mec="white", mew=0.6)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
    figure.colorbar(dots, ax=ax, shrink=0.7)
plt.show()
