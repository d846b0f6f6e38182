r"""
Choose the weight from a known noise level (discrepancy principle)
==================================================================

Instruments come with a variance. Morozov's rule takes the smoothest function whose residuals are as
large as the noise,

.. math:: \min_f \tfrac12 \|f\|^2 \quad \text{s.t.} \quad \tfrac1n \sum_i (y_i - f(x_i))^2
          = \sigma^2,

and Ivanov's the best function of a given norm. Both are the ordinary machine with a C that solves
one equation in one unknown, whose function is monotone: ``LSSVR(C=Morozov(variance))``.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.kernels import Gaussian
from mercer.smoothing import Morozov

rng = np.random.default_rng(0)
noise = 0.2
x = np.sort(rng.uniform(-3, 3, 100))[:, None]
y = np.sinc(x[:, 0]) + noise * rng.standard_normal(100)
new = rng.uniform(-3, 3, 2000)[:, None]
fresh = np.sinc(new[:, 0]) + noise * rng.standard_normal(2000)

machine = LSSVR(Gaussian(0.5), C=Morozov(noise**2)).fit(x, y)
print(f"C = {machine.C_:.2f}, mean squared residual {np.mean((y - machine.predict(x)) ** 2):.4f}")

# %%
# If the variance is only known roughly, the mean of the machines over an interval of it is one
# expansion again.

rough = LSSVR(Gaussian(0.5), C=Morozov(noise**2, std=0.07 * noise**2)).fit(x, y)
print(f"the mean of {len(rough.C_)} machines, C from {rough.C_[-1]:.2f} to {rough.C_[0]:.1f}")

# %%
# Variances that are too small are met by functions that follow the noise, ones that are too large
# by functions that miss the signal: on new data the best one is a little below the truth, by the
# share that the degrees of freedom take.

shares = np.linspace(0.8, 2.0, 40)
fits = [LSSVR(Gaussian(0.5), C=Morozov(s * noise**2)).fit(x, y) for s in shares]
errors = [np.mean((fresh - fit.predict(new)) ** 2) for fit in fits]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
grid = np.linspace(-3, 3, 400)[:, None]
axes[0].plot(x, y, "o", color="0.75", ms=3)
axes[0].plot(grid, np.sinc(grid), "--", color="0.2", lw=1, label="truth")
axes[0].plot(grid, machine.predict(grid), label="known variance")
axes[0].plot(grid, rough.predict(grid), label="interval of variances")
axes[0].legend(frameon=False, loc="upper left", fontsize=9)
axes[0].set(xlabel="$x$", ylim=(-0.8, 1.9))
axes[1].semilogy(shares, [fit.C_ for fit in fits])
axes[1].set(xlabel="variance over the true one", ylabel="weight $C$")
axes[2].plot(shares, errors)
axes[2].axhline(noise**2, color="0.7", lw=1, ls="--")
axes[2].axvline(1.0, color="0.7", lw=1)
axes[2].set(xlabel="variance over the true one", ylabel="error on new data")
plt.show()
