r"""
Few kernels, spread over the inputs
===================================

Support vectors lie where the tube is touched: with much noise that is nearly every sample, and
where the function is smooth they crowd as much as where it is not. A penalty on the coefficients
themselves,

.. math:: \min_{a, b} \tfrac12 \|y - Ka - b\|^2 + \zeta \|a\|_1,

leaves kernels where they are needed. Its weight is the largest whose cross-validated error is
within a standard error of the best; see :class:`~mercer_research.fusion.SparseSubstrate`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR
from mercer.kernels import Gaussian
from mercer_research.fusion import SparseSubstrate

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 100))
y = np.sinc(x) + 0.1 * rng.standard_normal(100)
kernel, grid = Gaussian(0.5), np.linspace(-3, 3, 400)

few = SparseSubstrate(kernel, refit="tikhonov").fit(x[:, None], y)
tube = SVR(kernel=kernel, C=3.0, epsilon=0.05).fit(x[:, None], y)
for name, machine in {"few kernels": few, "support vectors": tube}.items():
    error = np.sqrt(np.mean((machine.predict(grid[:, None]) - np.sinc(grid)) ** 2))
    print(f"{name:16s} {len(machine.support_):3d} of 100, error against the truth {error:.3f}")

# %%
# Left, how the error of ten folds depends on the penalty, with its standard error, and the penalty
# that was taken. Right, both machines with the samples that they keep.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[1, 1.4])
left.errorbar(few.zetas_, few.cv_errors_, few.cv_standard_errors_, color="0.5", lw=1, marker=".")
left.axvline(few.zeta_, color="C0")
left.set(xscale="log", yscale="log", xlabel="penalty ζ", ylabel="error left out")
right.plot(x, y, "o", color="0.8", ms=4)
for k, machine in enumerate((few, tube)):
    label = f"{len(machine.support_)} " + ("kernels" if k == 0 else "support vectors")
    right.plot(grid, machine.predict(grid[:, None]), color=f"C{k}", label=label)
    kept = x[machine.support_]
    right.plot(kept, np.full(len(kept), -0.55 - 0.08 * k), "|", color=f"C{k}", ms=9)
right.legend(frameon=False)
right.set(xlabel="$x$", ylabel="$y$")
plt.show()
