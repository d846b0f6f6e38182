r"""
Stability: how far a machine follows one sample
===============================================

:class:`~mercer_research.fusion.StableLSSVR` has no C. It fits the residuals of samples left out
under a bound on how much leaving a sample out may change its residual,

.. math:: \min_f \sum_k (e_k^v)^2 \quad\text{subject to}\quad |e_k - e_k^v| \le \alpha_S .

With a small bound nothing can be fitted; with a large one samples that are left out are fitted at
the expense of those that are not. Between both the curve has a corner.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer_research.fusion import StableLSSVR
from mercer_research.plotting import LCurveDisplay, StabilityDisplay
from mercer_research.selection import l_curve

rng = np.random.default_rng(2)
x = np.linspace(0, 5, 75)[:, None]
kernel = Gaussian(np.sqrt(0.5))
truth = kernel(x) @ rng.uniform(-1, 1, 75)
y = truth + rng.standard_normal(75)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4))
display = StabilityDisplay.from_estimator(StableLSSVR(kernel), x, y, ax=left)
left.set_title("residuals against the bound")
classical = l_curve(kernel(x), y, np.geomspace(1e-3, 1e4, 40), np.ones((75, 1)))
LCurveDisplay(curve=classical).plot(middle)
middle.xaxis.set_minor_locator(plt.NullLocator())
middle.set_xticks([7, 8, 9, 10, 12], ["7", "8", "9", "10", "12"])
middle.set_title(f"the L-curve of C, corner at {classical.best:.2g}")

# The machine at the corner, and one with a bound a thousand times as large.

corner = display.curve.best
grid = np.linspace(0, 5, 300)[:, None]
right.plot(x, y, "o", color="0.75", ms=4)
right.plot(x, truth, color="0.3", ls="--", lw=1, label="truth")
for k, bound in enumerate((corner, 1000 * corner)):
    machine = StableLSSVR(kernel, alpha_s=bound).fit(x, y)
    error = np.sqrt(np.mean((machine.predict(x) - truth) ** 2))
    print(f"bound {bound:.4f}: error against the truth {error:.2f}")
    right.plot(grid, machine.predict(grid), color=f"C{k}", label=f"bound {bound:.2g}")
right.legend(frameon=False)
right.set(xlabel="$x$", ylabel="$y$", ylim=(y.min() - 2, y.max() + 1))
plt.show()
