r"""
Trend and season of a series: CO2 on Mauna Loa
==============================================

Carbon dioxide rises, and every spring the north of the planet breathes some of it in. A machine
that is told so,

* a line and a season of two harmonics cost nothing (they are the null space),
* bending costs the integral of the squared second derivative (a thin plate is a cubic spline here),
* short departures are forgotten within months (a Matern kernel),

needs 30 years to predict the next 10. A machine with a Matern kernel and nothing else does not see
a season that it was not told of, and takes it for noise. Both are fitted to years before 1990
(black) by maximizing the restricted likelihood; those after it (grey) are shown for comparison
only. Bands are two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import UniversalKriging
from mercer.datasets import load_co2
from mercer.kernels import Matern, ThinPlate
from mercer.regularizers import Constant, Functions, Polynomial

weeks, parts = load_co2(return_X_y=True)
known = ~np.isnan(parts)

# Two numbers a year are not enough to see a season, six are.
_, sixth = np.unique(np.floor(6 * weeks[known, 0]), return_inverse=True)
year = (np.bincount(sixth, weeks[known, 0]) / np.bincount(sixth))[:, None] - 1990.0
co2 = np.bincount(sixth, parts[known]) / np.bincount(sixth)
past = year[:, 0] < 0

# %%
# Everything known is an object. The season could also be a periodic kernel, which would let its
# shape be learned; two harmonics are known well enough to be free.


def season(X):
    angle = 2 * np.pi * X[:, :1] * np.arange(1, 3)
    return np.hstack([np.sin(angle), np.cos(angle)])


machines = {
    "told nothing": UniversalKriging(
        Matern(3.0, nu=1.5), trend=Constant(), nugget=0.01, optimize=True
    ),
    "told of trend and season": UniversalKriging(
        ThinPlate(2) + 100.0 * Matern(0.5, nu=0.5),
        trend=Polynomial(1) + Functions([season], widths=[4]),
        nugget=1.0,
        optimize=True,
    ),
}
for machine in machines.values():
    machine.fit(year[past], co2[past])

# %%

time = np.linspace(-10, 12, 800)[:, None]
figure, axes = plt.subplots(2, 1, figsize=(9, 6.5), sharex=True, sharey=True)
for k, (ax, (name, machine)) in enumerate(zip(axes, machines.items(), strict=True)):
    mean, std = machine.predict(time, return_std=True)
    ax.fill_between(
        time[:, 0] + 1990, mean - 2 * std, mean + 2 * std, color=f"C{k}", alpha=0.25, lw=0
    )
    ax.plot(time + 1990, mean, color=f"C{k}", lw=1.5)
    ax.plot(year[past] + 1990, co2[past], "o", color="black", ms=2)
    ax.plot(year[~past] + 1990, co2[~past], "o", color="0.6", ms=2)
    error = np.sqrt(np.mean((machine.predict(year[~past]) - co2[~past]) ** 2))
    ax.set_title(f"{name}: {error:.1f} ppm off after 1990", color=f"C{k}")
    ticks = range(1980, 2003, 5)
    ax.set(ylabel="CO$_2$ (ppm)", xlim=(1980, 2002), ylim=(325, 385), xticks=ticks)
    print(f"{name:26}", machine.kernel_)
plt.show()

# %%
# The free coefficients have a meaning: the amplitude of the yearly wave.

told = machines["told of trend and season"]
sine, cosine = (told.null_space_coef_[told.null_space_names_.index(f"season[{k}]")] for k in (0, 2))
print(f"{np.hypot(sine, cosine):.2f} ppm up and down within a year")
