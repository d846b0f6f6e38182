r"""
The loss that fits the noise: maximum likelihood
================================================

A function is most likely if its errors cost minus the logarithm of their density,
:math:`l(r) = -\log p(r)`: squares for Gaussian noise, absolute values for Laplace's, something
lopsided for noise that is. :func:`~mercer.losses.loss_from_density` makes a loss of any density
whose logarithm is concave, from a distribution of SciPy or from a function, and
:func:`~mercer.losses.density_from_loss` goes back. Student's density is not log-concave;
``proxy=True`` follows it to where that ends, and the tangent from there.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import density_from_loss, loss_from_density

densities = {
    "Gauss": stats.norm(),
    "Laplace": stats.laplace(),
    "logistic": stats.logistic(),
    "Gumbel": stats.gumbel_r(),
    "Student, 3 degrees": stats.t(3),
}
losses = {name: loss_from_density(p, proxy=True) for name, p in densities.items()}
for name, loss in losses.items():
    low, high = (float(end[0]) for end in loss.slopes(np.zeros(1)))
    mass = density_from_loss(loss)
    print(
        f"{name:20} slopes {low:6.2f} to {high:5.2f}, Fisher information {mass.information():.3f}"
    )

# %%
# What it is good for: errors that are seldom negative and sometimes large, as those of a Gumbel
# density. The squared loss follows their mean, which lies above the curve by 0.58 of their scale;
# their own loss follows the curve, and pulls harder from below than from above.

rng = np.random.default_rng(3)
x = np.linspace(0, 6, 120)
truth, scale = np.sin(1.5 * x), 0.3
y = truth + stats.gumbel_r(scale=scale).rvs(120, random_state=rng)
grid = np.linspace(0, 6, 300)[:, None]
machines = {
    "squared": KernelRegressor("squared", Gaussian(0.8), C=1.0 / scale**2),
    "its own": KernelRegressor(loss_from_density(stats.gumbel_r(scale=scale)), Gaussian(0.8)),
}
fits = {name: machine.fit(x[:, None], y) for name, machine in machines.items()}
for name, machine in fits.items():
    error = np.sqrt(np.mean((machine.predict(x[:, None]) - truth) ** 2))
    print(f"{name:8} loss: error {error:.3f}, certified gap {machine.solution_.gap:.0e}")

# %%
# Densities, their losses, and the two curves.

z = np.linspace(-5, 5, 401)
figure, axes = plt.subplots(1, 3, figsize=(12, 4), width_ratios=[1, 1, 1.3])
for k, (name, p) in enumerate(densities.items()):
    axes[0].plot(z, p.pdf(z), color=f"C{k}", label=name)
    axes[1].plot(z, losses[name].value(z, np.zeros_like(z)), color=f"C{k}")
axes[0].set(title="density of the noise", xlabel="error", ylim=(0, 0.75))
axes[0].legend(frameon=False, fontsize=8)
axes[1].set(title="the loss that belongs to it", xlabel="error", ylim=(0, 6))
axes[2].plot(x, y, ".", color="0.6")
axes[2].plot(x, truth, color="0.2", lw=1, ls="--", label="truth")
for k, (name, machine) in enumerate(fits.items()):
    axes[2].plot(grid, machine.predict(grid), color=f"C{k + 1}", lw=2, label=f"{name} loss")
axes[2].set(title="noise of Gumbel's density", xlabel="$x$")
axes[2].legend(frameon=False, fontsize=9)
plt.show()
