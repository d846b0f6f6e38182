r"""
One helmet, every loss
======================

The acceleration of a head after a motorcycle hits a wall is nothing, then much, then it rings: data
that few models like. All machines here have one kernel and one null space, the cubic spline's, and
differ in what an error costs. Losses that follow the mean agree where the noise is small and
symmetric; the pinball loss draws quantiles instead, and with them the noise itself, which grows
after the impact.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import KernelRegressor, SmoothingSpline
from mercer.kernels import ThinPlate
from mercer.losses import Pinball
from mercer.losses.named import REGRESSION


def table(name):
    """Read a table from the folder of data sets, or return None where there is none."""
    for folder in (os.environ.get("MERCER_DATA"), "../shared/data", "../../shared/data"):
        if folder and Path(folder, name).exists():
            return pd.read_parquet(Path(folder, name))
    return None


note, data = "", table("regression/mcycle.parquet")
if data is None:  # a curve of the same kind, so that the page can be built without the data
    note = " (made-up data: the real ones were not found)"
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(2, 58, 133))
    blow = -110 * np.exp(-((times - 21) ** 2) / 40) + 50 * np.exp(-((times - 32) ** 2) / 40)
    spread = 25 / (1 + np.exp(15 - times)) + 1
    data = pd.DataFrame({"times": times, "accel": blow + spread * rng.normal(size=133)})
x, y = data[["times"]].to_numpy(), data["accel"].to_numpy()
grid = np.linspace(x.min(), x.max(), 400)[:, None]

# %%
# The penalty is that of the smoothing spline which restricted maximum likelihood chooses; the
# squared loss is that spline. Errors are divided by a typical one, so that a tube or the knee of a
# Huber loss near one is neither too narrow nor too wide.

spline = SmoothingSpline(lam="reml").fit(x, y)
unit = np.median(np.abs(y - spline.predict(x)))
machines = {
    name: KernelRegressor(name, ThinPlate(2), C=1.0 / spline.lam_, tol=1e-3).fit(x, y / unit)
    for name in REGRESSION
    if name != "pinball"
}

figure, axes = plt.subplots(2, 1, figsize=(9, 8), sharex=True)
axes[0].plot(x, y, "o", color="0.7", ms=4)
for k, (name, machine) in enumerate(machines.items()):
    style = {"color": f"C{k % 6}", "ls": ["-", "--", ":"][k // 6], "lw": 1.5}
    axes[0].plot(grid, unit * machine.predict(grid), label=name.replace("_", " "), **style)
axes[0].set(title="means of many kinds" + note, ylabel="acceleration (g)")
axes[0].legend(fontsize="small", ncols=2, frameon=False)

# %%
# Quantiles do not ask for one size of the noise. The band is meant to hold the middle 80 percent of
# the data at every time. All machines carry a certificate, printed below.

levels = (0.1, 0.5, 0.9)
quantiles = [
    KernelRegressor(Pinball(q), ThinPlate(2), C=1.0 / spline.lam_).fit(x, y / unit) for q in levels
]
low, middle, high = (unit * machine.predict(grid) for machine in quantiles)
axes[1].plot(x, y, "o", color="0.7", ms=4)
axes[1].fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, lw=0)
axes[1].plot(grid, middle, color="C0", lw=2)
axes[1].set(title="quantiles", xlabel="time (ms)", ylabel="acceleration (g)")
for name, machine in machines.items():
    print(f"{name:28} gap {machine.solution_.gap:.0e}  {machine.solution_.solver}")
below = np.mean(y[:, None] < np.stack([unit * m.predict(x) for m in quantiles], axis=1), axis=0)
print("share of the data below the quantiles", levels, below.round(2))
plt.show()
