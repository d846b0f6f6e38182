r"""
Influence functions: how much one wrong value can do
====================================================

The sensitivity curve of a sample is n times what the machine would lose without it,

.. math:: SC_i(x) = n \bigl(f(x) - f^{(-i)}(x)\bigr).

For the squared loss it grows with the error of the sample, without limit. A tube has slopes of one
at most: a wrong value counts no more than any other outside the tube, and samples inside count for
nothing at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.plotting import InfluenceDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 7, 50))
y = np.sin(x) + 0.15 * rng.standard_normal(50)
y[30] += 2.5

# %%
# The same sample and kernel under two losses. Only support vectors of the tube are refitted.

machines = {
    "squared loss": KernelRegressor("squared", kernel=Gaussian(0.8), C=3.0),
    "tube": KernelRegressor(EpsilonInsensitive(0.25), kernel=Gaussian(0.8), C=1.0, tol=1e-5),
}
grid = np.linspace(0, 7, 300)[:, None]
figure, axes = plt.subplots(2, 2, figsize=(9, 5.6), sharex=True, sharey="row")
for (name, machine), (top, bottom) in zip(machines.items(), axes.T, strict=True):
    machine.fit(x[:, None], y)
    top.plot(x, y, "o", ms=4, color="0.5")
    top.plot(grid, machine.predict(grid), lw=2)
    display = InfluenceDisplay.from_estimator(machine, x[:, None], y, ax=bottom, x=x, color="C1")
    top.set(title=name)
    bottom.set(xlabel="$x$", ylabel="")
    print(f"{name}: {len(display.influence.refitted)} of {len(x)} samples count")
axes[0, 0].set(ylabel="$y$")
axes[1, 0].set(ylabel="influence")
plt.show()
