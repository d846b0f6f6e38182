r"""
Take a signal apart with a sum of kernels
=========================================

Sums of kernels are kernels, and a machine with the kernel :math:`k = k_1 + k_2 + k_3` is a sum of
three machines that share their coefficients,

.. math:: f(x) = \sum_i a_i k_1(x_i, x) + \sum_i a_i k_2(x_i, x) + \sum_i a_i k_3(x_i, x) + b.

So after one fit the signal can be taken apart. Here are six years of a record with gaps: a slow
drift, a yearly season of any shape, and weather of a few weeks, plus noise and some faulty
readings, which the Huber loss keeps at arm's length. Kernels act on the columns that they are
given: the season is a kernel on the angle of the day in the year, two columns that return after a
year.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian, Matern
from mercer.losses import Huber

rng = np.random.default_rng(1)
t = np.sort(rng.uniform(0, 6, 700))
t = t[(np.abs(t - 2.6) > 0.12) & (np.abs(t - 4.3) > 0.08)]  # the gaps
drift = 0.9 * np.tanh((t - 3.2) / 1.2)
season = np.sin(2 * np.pi * t) + 0.45 * np.sin(4 * np.pi * t + 1.0)
knots = np.linspace(-0.2, 6.2, 120)
weather = np.interp(t, knots, 0.35 * rng.standard_normal(knots.size))
y = drift + season + weather + 0.15 * rng.standard_normal(t.size)
faulty = rng.random(t.size) < 0.04
y[faulty] += rng.uniform(-4, 4, faulty.sum())


def columns(t):
    """Time in years, and the point on the yearly circle."""
    return np.column_stack([t, np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])


# %%
# ``on`` restricts a kernel to some columns, ``+`` adds kernels and ``*`` scales them: a scale is
# how much variation a part may explain.

parts = {
    "drift": 4.0 * Gaussian(1.5).on([0]),
    "season": 2.0 * Gaussian(0.6).on([1, 2]),
    "weather": 0.1 * Matern(0.05, nu=1.5).on([0]),
}
kernel = parts["drift"] + parts["season"] + parts["weather"]
print(kernel)
machine = KernelRegressor(Huber(0.3), kernel, C=20.0).fit(columns(t), y)
print(f"{machine.solution_.solver}, gap {machine.solution_.gap:.1e}")

# %%
# The parts of the fitted function, each its own kernel with the common coefficients, against the
# true ones (dashed). What is constant could belong to any of them, so means are taken off.

grid = np.linspace(0, 6, 900)
signal = machine.predict(columns(grid))
estimates = {
    name: part(columns(grid), machine.support_vectors_) @ machine.dual_coef_[0]
    for name, part in parts.items()
}
truths = {"drift": drift, "season": season, "weather": weather}

figure, axes = plt.subplots(4, 1, figsize=(10, 7.6), sharex=True, height_ratios=[1.7, 1, 1, 1])
axes[0].plot(t, y, "o", color="0.6", ms=2.5)
axes[0].plot(grid, signal, color="C0", lw=1.5)
axes[0].set(ylim=(-3.2, 3.2), ylabel="record")
for k, (ax, (name, estimate)) in enumerate(zip(axes[1:], estimates.items(), strict=True), start=1):
    ax.plot(t, truths[name] - truths[name].mean(), color="black", lw=0.8, ls="--")
    ax.plot(grid, estimate - estimate.mean(), color=f"C{k}", lw=1.8)
    ax.set(ylim=(-1.6, 1.6), yticks=[-1, 0, 1])
    ax.set_ylabel(name, color=f"C{k}")
axes[-1].set(xlabel="years", xlim=(0, 6))
plt.show()
