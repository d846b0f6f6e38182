r"""
Influence of each sample, without refitting
===========================================

A least-squares machine is linear in its targets. One factorization therefore tells what every
target weighs in every prediction, :math:`\partial f(x)/\partial y_i`, what each sample weighs in
its own fitted value (its leverage), and what the machine would have predicted for a sample that it
had not seen,

.. math:: y_i - f^{(-i)}(x_i) = \frac{y_i - f(x_i)}{1 - S_{ii}}.

No machine is fitted a second time on this page.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.sort(np.append(rng.uniform(0, 7, 45), 9.3))
y = np.sin(x) + 0.25 * rng.standard_normal(x.size)
X = x[:, None]

machine = LSSVR(Gaussian(0.8), C=5.0).fit(X, y)
print(f"{machine.degrees_of_freedom_:.1f} degrees of freedom for {x.size} samples")
rms = np.sqrt(np.mean(machine.loo_residuals_**2))
print(f"error of samples left out {rms:.3f}, noise {np.sqrt(machine.noise_variance_):.3f}")

# %%
# Far from the others a sample pulls the curve to itself: its leverage is high, and its residual
# says little. Without it the curve would go elsewhere. The weight C that is best on samples left
# out comes from the path of all machines, one eigendecomposition.

grid = np.linspace(-0.3, 10, 500)
mean, std = machine.predict(grid[:, None], return_std=True)
without = machine.jackknife(grid[:, None])
path = machine.path(np.geomspace(1e-2, 1e5, 200))

figure, axes = plt.subplots(2, 2, figsize=(11, 7))
axes[0, 0].fill_between(grid, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15, lw=0)
axes[0, 0].plot(grid, mean, color="C0", label="machine")
axes[0, 0].plot(grid, without[:, -1], "--", color="C1", label="without the last sample")
axes[0, 0].plot(x, y, "o", color="0.4", ms=4)
axes[0, 0].legend(frameon=False)
axes[0, 0].set_title("The curve, and without one sample")
axes[0, 1].vlines(x, 0, machine.leverages_, color="C2")
axes[0, 1].plot(x, machine.leverages_, "o", color="C2", ms=4)
axes[0, 1].set_title("Leverage: what a target weighs in its own fit")
places = np.array([1.5, 3.5, 8.5])
for k, weights in enumerate(machine.influence(places[:, None])):
    axes[1, 0].plot(x, weights, "o-", ms=3, color=f"C{k}", label=f"on $f({places[k]})$")
    axes[1, 0].axvline(places[k], color=f"C{k}", lw=0.8, ls=":")
axes[1, 0].legend(frameon=False)
axes[1, 0].set(title="Influence of the targets", xlabel="$x_i$")
axes[1, 1].loglog(path.C, path.loo_mse, label="left out")
axes[1, 1].loglog(path.C, path.gcv, label="generalized cross-validation")
axes[1, 1].loglog(path.C, np.mean(path.residuals**2, axis=1), color="0.6", label="residuals")
axes[1, 1].axvline(path.C[np.argmin(path.loo_mse)], color="C0", lw=0.8, ls=":")
axes[1, 1].set(title="The path of all weights", xlabel="$C$", ylabel="mean square", ylim=(1e-3, 1))
axes[1, 1].legend(frameon=False)
plt.show()
