r"""
A kernel is a penalty on frequencies
====================================

A kernel that depends on the difference of its arguments has a power spectrum,

.. math:: k(x, z) = (2\pi)^{-1/2} \int e^{i \omega (x - z)}\, P(\omega)\, d\omega,

and the norm that a machine penalizes is
:math:`\|f\|^2 \propto \int |\hat f(\omega)|^2 / P(\omega) \, d\omega`. A frequency is as
expensive as its power is small: choosing a kernel is choosing which frequencies may enter a
function.

Each column is a kernel with the same length scale. Top, its value against a point at zero.
Middle, three functions that are typical for it (all columns use the same random numbers). Bottom,
its spectrum on logarithmic axes. A Matern kernel has a tail that falls like
:math:`|\omega|^{-2\nu - 1}`, a straight line, and the steeper it is the smoother are its
functions; the Gaussian forbids high frequencies almost entirely; the rational quadratic kernel
mixes Gaussians of many widths.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian, Matern, RationalQuadratic

kernels = {
    r"Matern, $\nu = 1/2$": Matern(nu=0.5),
    r"Matern, $\nu = 3/2$": Matern(nu=1.5),
    r"Matern, $\nu = 5/2$": Matern(nu=2.5),
    "Gaussian": Gaussian(),
    "rational quadratic": RationalQuadratic(alpha=1.0),
}
x = np.linspace(-5, 5, 301)[:, None]
omega = np.geomspace(0.1, 30, 200)
normal = np.random.default_rng(8).standard_normal((x.size, 3))

# %%
# A kernel is called on points, and knows its spectrum.

figure, axes = plt.subplots(3, len(kernels), figsize=(12, 6), sharex="row", sharey="row")
for k, ((name, kernel), (section, draws, spectrum)) in enumerate(
    zip(kernels.items(), axes.T, strict=True)
):
    section.fill_between(x[:, 0], kernel(x, np.zeros((1, 1)))[:, 0], color=f"C{k}", alpha=0.2, lw=0)
    section.plot(x, kernel(x, np.zeros((1, 1))), color=f"C{k}", lw=2)
    section.set_title(name)
    factor = np.linalg.cholesky(kernel(x) + 1e-8 * np.eye(x.size))
    draws.plot(x, factor @ normal, color=f"C{k}", lw=1.2, alpha=0.8)
    spectrum.loglog(omega, kernel.spectrum(omega), color=f"C{k}", lw=2)
    section.set_xticks([-4, 0, 4])
    spectrum.set(xlabel=r"frequency $\omega$", ylim=(1e-7, 5))
    draws.set(xlabel="$x$", xticks=[-4, 0, 4])
axes[0, 0].set(ylabel="$k(0, x)$", yticks=[0, 1], ylim=(0, 1.05))
axes[1, 0].set_ylabel("typical functions")
axes[2, 0].set_ylabel(r"spectrum $P(\omega)$")
plt.show()
