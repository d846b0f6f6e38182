r"""
How wide the tube of an SVR should be
=====================================

Support vector regression charges nothing for errors inside a tube. For the estimate of a constant
the best half-width follows from the density of the noise alone: it is proportional to the standard
deviation, zero for Laplace's noise, :math:`0.612\,\sigma` for Gaussian noise, and wider for noise
with lighter tails. The share of samples that it leaves outside, :math:`\nu`, does not depend on the
scale at all. :func:`~mercer.smoothing.fit_noise` reads the shape off residuals, and
``SVR(epsilon="auto")`` and ``NuSVR(nu="auto")`` use it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.smoothing import fit_noise, optimal_epsilon, optimal_nu, tube_efficiency

powers = [1.0, 1.5, 2.0, 4.0, 8.0]
print("   p   epsilon / sigma       nu")
for p in powers:
    print(f"{p:4g}   {optimal_epsilon(p):15.4f}   {optimal_nu(p):6.4f}")

# %%
# Residuals tell their shape: two, for Gaussian noise, unless the likelihood says otherwise.

rng = np.random.default_rng(0)
for name, z in {
    "normal": rng.normal(size=300),
    "Laplace": rng.laplace(size=300),
    "uniform": rng.uniform(-1, 1, 300),
}.items():
    noise = fit_noise(z)
    print(f"{name:8} p = {noise.power:4.2f}, epsilon = {noise.epsilon:.3f}, nu = {noise.nu:.3f}")

# %%
# What a tube loses against the best estimate there is. The valleys are wide: a third more or less
# than the best width costs a few per cent.

widths = np.linspace(0, 2, 41)
figure, axis = plt.subplots(figsize=(8, 4.5))
for k, p in enumerate(powers):
    axis.plot(
        widths, [1 / tube_efficiency(p, t) for t in widths], color=f"C{k}", label=f"$p={p:g}$"
    )
    best = optimal_epsilon(p)
    axis.plot(best, 1 / tube_efficiency(p, best), "o", color=f"C{k}")
axis.set(
    xlabel=r"half-width of the tube, $\epsilon / \sigma$",
    ylabel="variance over the least possible",
    ylim=(0.95, 4),
    title=r"noise of the density $\exp(-|z|^p)$, and its best tubes",
)
axis.legend(frameon=False)
plt.show()
