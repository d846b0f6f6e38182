r"""
The narrowest tube around a sample, at every price
==================================================

A support vector tube holds all targets between two walls at the distance t of a smooth function,

.. math:: \min_{f, t}\; \tfrac12 \|f\|^2 + \mu t, \qquad |y_i - f(x_i)| \le t.

Its dual is a LASSO whose penalty is t, so that the tubes of all prices are one piecewise linear
path. A tube around its own sample is too narrow for others: observations that took no part in the
fit say how wide it must be.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.estimators import SupportVectorTube
from mercer.kernels import Gaussian
from mercer.plotting import IntervalDisplay

rng = np.random.default_rng(1)
X = rng.uniform(-3, 3, (80, 1))
y = np.sinc(X[:, 0]) + rng.uniform(-0.25, 0.25, 80)
tube = SupportVectorTube(Gaussian(0.6), mu=4.0, tol=1e-6)
path = tube.path(X, y)
tube.fit(X, y)
print(f"half-width {tube.tube_halfwidth_:.3f}, {len(tube.support_)} of 80 points on the walls")

# %%
# With exceptions the tube is that of nu-regression, told by how many may lie outside.

for exceptions in (0, 4, 16):
    other = SupportVectorTube(Gaussian(0.6), mu=4.0, exceptions=exceptions).fit(X, y)
    print(f"{exceptions:2d} exceptions: half-width {other.tube_halfwidth_:.3f}")

# %%
# Left, the tube with the points that hold it; right, its half-width at every price.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
grid = np.linspace(-3, 3, 300)[:, None]
IntervalDisplay.from_estimator(tube, grid, ax=left, name="tube")
left.plot(X[:, 0], y, ".", color="0.5")
left.plot(X[tube.support_, 0], y[tube.support_], "o", mfc="none", color="C1", label="on the walls")
left.legend()
wider = np.random.default_rng(2)
Z = wider.uniform(-3, 3, (60, 1))
fitted = tube.tube_halfwidth_
tube.calibrate(Z, np.sinc(Z[:, 0]) + wider.uniform(-0.25, 0.25, 60), coverage=0.95)
shown = path.prices < 60
right.plot(path.prices[shown], path.halfwidths[shown])
right.axvline(4.0, color="0.6", lw=1.0)
right.axhline(fitted, color="C1", ls=":", label=f"of its own sample {fitted:.2f}")
right.axhline(
    tube.tube_halfwidth_, color="C2", ls="--", label=f"95 % of others {tube.tube_halfwidth_:.2f}"
)
right.set(xlabel=r"price $\mu$ of the half-width", ylabel="half-width t", ylim=(0, None))
right.legend()
