r"""
Heteroscedastic regression: a tube as wide as the noise
=======================================================

Young abalone are all alike; old ones of one weight differ by many years. One width for all weights
is too wide first and too narrow then. :class:`~mercer.estimators.HeteroscedasticNuSVR` gives the
tube a width that is a combination of known functions, here of four hats in weight, and lets the
data choose how much of each, so that a share :math:`\nu` of the samples lies outside, not only
overall but under every hat.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NuSVR
from mercer.datasets import load_abalone
from mercer.estimators import HeteroscedasticNuSVR
from mercer.kernels import Matern
from mercer.regularizers import Functions

snails = load_abalone()
rows = np.random.default_rng(0).choice(len(snails.target), 250, replace=False)
x = snails.data[rows][:, snails.feature_names.index("shell_weight")].astype(float)[:, None]
y = snails.target[rows]

# %%
# Hats that add up to one, so that a constant width is among the choices.

knots = np.array([0.05, 0.15, 0.3, 0.5])


def hats(X):
    return np.column_stack([np.interp(X[:, 0], knots, row) for row in np.eye(len(knots))])


settings = {"kernel": Matern(0.3, nu=2.5), "C": 30.0, "nu": 0.2, "tol": 1e-4}
plain = NuSVR(**settings).fit(x, y)
local = HeteroscedasticNuSVR(Functions([hats], widths=[4]), **settings).fit(x, y)
print(f"one width: {plain.epsilon_:.1f} rings")
print("widths at the knots:", ", ".join(f"{t:.1f}" for t in local.tube_coef_), "rings")

light = x[:, 0] < 0.1
low, high = local.predict_interval(x).T
f = plain.predict(x)
for name, outside in {
    "one width": np.abs(y - f) > plain.epsilon_ + 1e-3,
    "four": (y < low - 1e-3) | (y > high + 1e-3),
}.items():
    shares = outside[light].mean(), outside[~light].mean()
    print(f"{name}: outside are {shares[0]:.0%} of light snails, {shares[1]:.0%} of heavy ones")

# %%
# Where little is in doubt the tube is narrow and the function stays with the data; where much is,
# it need not.

grid = np.linspace(x.min(), x.max(), 400)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(11, 4.3), sharey=True)
f = plain.predict(grid)
tubes = [("one width", f, f - plain.epsilon_, f + plain.epsilon_)]
tubes += [("a width for every weight", local.predict(grid), *local.predict_interval(grid).T)]
for axis, (title, middle, lower, upper) in zip(axes, tubes, strict=True):
    axis.fill_between(grid[:, 0], lower, upper, color="C0", alpha=0.2, lw=0)
    axis.plot(grid, middle, color="C0", lw=2)
    axis.plot(x, y, ".", color="0.3", ms=5)
    axis.set(xlabel="weight of the shell (g/200)", title=title)
axes[0].set_ylabel("rings")
plt.show()
