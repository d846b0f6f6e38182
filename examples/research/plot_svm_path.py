r"""
The whole regularization path of a support vector machine
=========================================================

As the weight C of the errors grows, the coefficients of a support vector machine move along
straight lines, from one change of the active set to the next (Hastie, Rosset, Tibshirani and Zhu,
2004). So all machines can be computed, not only those of a grid, and the error on a validation
sample is a staircase whose lowest step is known exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.fusion import fuse_svm
from mercer_research.selection import svm_path

rng = np.random.default_rng(1)
X = rng.normal(size=(360, 2))
y = (X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=360) > 0.5).astype(int)
train, valid = slice(60), slice(60, 360)

# %%
# One call follows the path, and says where the active set changes.

machine = SVC(kernel=Gaussian(1.0))
domain = (0.02, 50.0)
path = svm_path(machine, X[train], y[train], Cs=domain, exact=True).paths[0]
print(f"{len(path.breakpoints)} changes of the active set")

# %%
# Another minimizes the validation error over all of it; the best C are an interval.

(best,) = fuse_svm(machine, X[train], y[train], X[valid], y[valid], domain=domain)
print(f"error {best.value:.3f} for C between {best.interval[0]:.3g} and {best.interval[1]:.3g}")

# %%
# Above, the coefficients divided by C: between 0 (not a support vector) and 1 (inside the margin or
# wrong). Below, the validation error.

Cs = np.unique(np.concatenate([np.geomspace(*domain, 400), path.breakpoints]))
shares = np.array([np.abs(path.coef(C)[0]) / C for C in Cs])
K = Gaussian(1.0)(X[valid], X[train])
signs = 2 * y[valid] - 1
errors = []
for C in Cs:
    a, b = path.coef(C)
    errors.append(np.mean(signs * (K @ a + b) <= 0))

figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5.6), sharex=True, height_ratios=[2, 1])
colors = np.where(y[train] == 1, "C0", "C1")
for share, color in zip(shares.T, colors, strict=True):
    top.plot(Cs, share, color=color, lw=0.8, alpha=0.7)
bottom.plot(Cs, errors, color="C2", lw=1.5, drawstyle="steps-mid")
bottom.axvspan(*best.interval, color="C4", alpha=0.4)
top.set(ylabel="coefficient / C", xscale="log", xlim=domain)
bottom.set(xlabel="C", ylabel="validation error")
plt.show()
