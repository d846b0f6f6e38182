r"""
Quantile regression: a fan of quantiles
=======================================

The mean says little about data whose noise changes with the input. The pinball loss

.. math:: \rho_\tau(r) = \max\bigl(\tau r,\; (\tau - 1) r\bigr)

charges :math:`\tau` for every unit by which the function is too low and :math:`1 - \tau` for
every unit by which it is too high. It is in balance where a fraction :math:`\tau` of the
observations lies below, so its minimizer is a conditional quantile, here one machine per level.

The data imitate the acceleration of a head in a crash test: quiet before the impact, violent and
noisy after it. With an unpenalized intercept the balance is exact in the sample: at most
:math:`\tau n` observations lie below the function, and together with those that it passes through
there are at least :math:`\tau n`. The right panel counts both: every bar crosses the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import QuantileSVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(5)
t = np.sort(np.concatenate([rng.uniform(0, 14, 60), rng.uniform(14, 60, 240)]))
blow = np.where(t > 14, np.exp(-(t - 14) / 18) * np.sin((t - 14) / 5.5), 0.0)
noise = 3 + 22 * np.where(t > 14, np.exp(-(((t - 30) / 14) ** 2)), 0.0)
y = -135 * blow + noise * rng.standard_normal(t.size)

levels = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
grid = np.linspace(0, 60, 500)
machines = [
    QuantileSVR(quantile=level, C=50.0, kernel=Gaussian(4.0), tol=1e-4).fit(t[:, None], y)
    for level in levels
]
fan = np.array([machine.predict(grid[:, None]) for machine in machines])
residuals = [y - machine.predict(t[:, None]) for machine in machines]

# %%
# Bands between opposite levels hold 90, 80 and 50 per cent of the observations.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[2.2, 1])
left.plot(t, y, "o", color="0.35", ms=3, alpha=0.7, mew=0)
for k in range(3):
    left.fill_between(grid, fan[k], fan[-1 - k], color="C0", alpha=0.2, lw=0)
left.plot(grid, fan[3], color="C0", lw=2)
left.text(40.5, 54, "95 %", color="C0")
left.text(41.5, 38, "median", color="C0")
left.text(37, -13, "5 %", color="C0", ha="center")
left.set(xlabel="milliseconds", ylabel="acceleration", xlim=(0, 60))
for level, residual in zip(levels, residuals, strict=True):
    below = [np.mean(residual < -1e-3), np.mean(residual <= 1e-3)]  # up to the fit's tolerance
    right.plot([level, level], below, color="C0", lw=6, alpha=0.7, solid_capstyle="butt")
right.plot([0, 1], [0, 1], color="black", lw=0.8)
right.set(xlabel=r"level $\tau$", ylabel="fraction of observations below", aspect="equal")
right.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.25, 0.5, 0.75, 1], yticks=[0, 0.25, 0.5, 0.75, 1])
plt.show()
