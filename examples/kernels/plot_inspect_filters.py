r"""
Four kernels as filters
=======================

A kernel of the difference of its arguments is a filter: its spectrum :math:`P(\omega)` says how
much of each frequency passes, and :math:`1 / P` what a unit of it costs. The cubic spline
:math:`B_3` passes low frequencies and has side lobes, between which lie frequencies that
cannot occur at all. The Gaussian has no lobes. On the circle only whole frequencies exist: the
Dirichlet kernel passes the first ten of them equally, a filter without any preference for smooth
functions, and the periodic Gaussian damps them as its name says.

These are figures 3.1 to 3.5 of A. J. Smola, *Learning with Kernels*, TU Berlin 1998.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.inspect import filter_curve
from mercer.kernels import BSpline, Gaussian, PeriodicGaussian
from mercer.plotting import FilterDisplay, KernelDisplay
from mercer_research.kernels import Dirichlet

kernels = {
    "cubic spline $B_3$": BSpline(1.0, degree=3),
    r"Gaussian, $\sigma = 1/2$": Gaussian(0.5),
    "Dirichlet, order 10": Dirichlet(10),
    r"periodic Gaussian, $\sigma^2 = 0.1$": PeriodicGaussian(float(np.sqrt(0.1))),
}
line = np.linspace(0.0, 24.0, 1201)

# %%
# A display computes what it draws, and draws it on the axes it is given.

figure, axes = plt.subplots(2, 4, figsize=(13, 5.5), sharex="row")
for i, (name, kernel) in enumerate(kernels.items()):
    shape, filtering = axes[:, i]
    KernelDisplay.from_kernel(kernel, np.linspace(-np.pi, np.pi, 601), ax=shape, color=f"C{i}")
    frequencies = np.arange(25) if kernel.period else line
    FilterDisplay.from_kernel(kernel, frequencies, ax=filtering, floor=1e-6, color=f"C{i}")
    shape.set_title(name)
    shape.set_ylabel("$k(0, x)$" if i == 0 else "")
    filtering.set(ylim=(1e-6, 3.0), ylabel="attenuation" if i == 0 else "")
plt.show()

# %%
# What the pictures show is also there in numbers.

for kernel in kernels.values():
    print(filter_curve(kernel), end="\n\n")
