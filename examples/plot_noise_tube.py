r"""
A tube as wide as the noise
===========================

The head of a dummy on a motorcycle is at rest before the impact and everything is known;
afterwards it is thrown about. One width for all times is too wide first and too narrow then.
:class:`~mercer.NuTubeSVR` gives the tube a width that is a combination of known functions, here of
four hats in time, and lets the data choose how much of each, so that a share :math:`\nu` of the
samples lies outside, not only overall but under every hat.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import NuSVR, NuTubeSVR
from mercer.kernels import Matern
from mercer.regularizers import Functions


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

# %%
# Hats that add up to one, so that a constant width is among the choices.

knots = np.array([10.0, 18.0, 30.0, 50.0])


def hats(X):
    return np.column_stack([np.interp(X[:, 0], knots, row) for row in np.eye(len(knots))])


settings = {"kernel": Matern(8.0, nu=2.5), "C": 30.0, "nu": 0.2, "tol": 1e-4}
plain = NuSVR(**settings).fit(x, y)
local = NuTubeSVR(Functions([hats], widths=[4]), **settings).fit(x, y)
print(f"one width: {plain.epsilon_:.1f} g")
print("widths at the knots:", ", ".join(f"{t:.1f}" for t in local.tube_coef_), "g")

early = x[:, 0] < 14
low, high = local.predict_interval(x).T
f = plain.predict(x)
for name, outside in {
    "one width": np.abs(y - f) > plain.epsilon_ + 1e-3,
    "four": (y < low - 1e-3) | (y > high + 1e-3),
}.items():
    shares = outside[early].mean(), outside[~early].mean()
    print(f"{name}: outside are {shares[0]:.0%} before 14 ms, {shares[1]:.0%} after")

# %%
# Where little is in doubt the tube is narrow and the function stays with the data; where much is,
# it need not.

grid = np.linspace(x.min(), x.max(), 400)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(11, 4.3), sharey=True)
f = plain.predict(grid)
tubes = [("one width", f, f - plain.epsilon_, f + plain.epsilon_)]
tubes += [("a width for every time", local.predict(grid), *local.predict_interval(grid).T)]
for axis, (title, middle, lower, upper) in zip(axes, tubes, strict=True):
    axis.fill_between(grid[:, 0], lower, upper, color="C0", alpha=0.2, lw=0)
    axis.plot(grid, middle, color="C0", lw=2)
    axis.plot(x, y, ".", color="0.3", ms=5)
    axis.set(xlabel="milliseconds after the impact", title=title)
axes[0].set_ylabel("acceleration, g" + note)
plt.show()
