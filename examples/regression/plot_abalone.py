r"""
One sample under every loss: abalone
====================================

The rings of an abalone tell its age, and its shell grows with it, until it does not: old snails of
one weight differ by many years, and mostly upwards. All machines here have one kernel and one null
space, the cubic spline's, and differ in what an error costs. Losses that follow the mean, the
median or something between agree where the noise is small and symmetric; the pinball loss draws
quantiles instead, and with them the noise itself, which grows with the weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor, SmoothingSpline
from mercer.datasets import load_abalone
from mercer.kernels import ThinPlate
from mercer.losses import Pinball

snails = load_abalone()
rows = np.random.default_rng(0).choice(len(snails.target), 250, replace=False)
x = snails.data[rows][:, snails.feature_names.index("shell_weight")].astype(float)[:, None]
y = snails.target[rows]
grid = np.linspace(x.min(), x.max(), 400)[:, None]

# %%
# The penalty is that of the smoothing spline which restricted maximum likelihood chooses; the
# squared loss is that spline. Errors are divided by a typical one, so that a tube or the knee of a
# Huber loss near one is neither too narrow nor too wide.

spline = SmoothingSpline(lam="reml").fit(x, y)
unit = np.median(np.abs(y - spline.predict(x)))
LOSSES = (
    *("squared", "absolute", "huber", "log_cosh", "epsilon_insensitive"),
    *("squared_epsilon_insensitive", "piecewise_polynomial", "polynomial", "expectile"),
)
machines = {
    name: KernelRegressor(name, ThinPlate(2), C=1.0 / spline.lam_, tol=1e-3).fit(x, y / unit)
    for name in LOSSES
}

figure, axes = plt.subplots(figsize=(9, 4.5))
axes.plot(x, y, "o", color="0.7", ms=4)
for k, (name, machine) in enumerate(machines.items()):
    style = {"color": f"C{k % 6}", "ls": ["-", "--", ":"][k // 6], "lw": 1.5}
    axes.plot(grid, unit * machine.predict(grid), label=name.replace("_", " "), **style)
axes.set(title="means of many kinds", xlabel="weight of the shell (g/200)", ylabel="rings")
axes.legend(fontsize="small", ncols=2, frameon=False)

# %%
# Quantiles do not ask for one size of the noise. The band is meant to hold the middle 80 percent of
# the snails at every weight. All machines carry a certificate, printed below.

levels = (0.1, 0.5, 0.9)
quantiles = [
    KernelRegressor(Pinball(q), ThinPlate(2), C=1.0 / spline.lam_).fit(x, y / unit) for q in levels
]
low, middle, high = (unit * machine.predict(grid) for machine in quantiles)
figure, axes = plt.subplots(figsize=(9, 4.5))
axes.plot(x, y, "o", color="0.7", ms=4)
axes.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, lw=0)
axes.plot(grid, middle, color="C0", lw=2)
axes.set(title="quantiles", xlabel="weight of the shell (g/200)", ylabel="rings")
for name, machine in machines.items():
    print(f"{name:28} gap {machine.solution_.gap:.0e}  {machine.solution_.solver}")
below = np.mean(y[:, None] < np.stack([unit * m.predict(x) for m in quantiles], axis=1), axis=0)
print("share of the data below the quantiles", levels, below.round(2))
plt.show()
