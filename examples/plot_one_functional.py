r"""
One functional, many machines
=============================

The same few lines fit all three panels: :math:`\tfrac12 \|f\|^2 + C \sum_i l(y_i, f(x_i))` with
another loss :math:`l` each time. Left, the squared loss follows three wrong observations while
the :math:`\epsilon`-insensitive loss does not. Middle, pinball losses find a band for eighty of a
hundred observations, wide where the noise is. Right, the hinge separates two classes with a
margin; the points that carry it are circled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Pinball, Squared

BLUE, RED, GOLD, GREY = "#1f5fa8", "#c8432b", "#e0a526", "#8a8f98"

rng = np.random.default_rng(7)
x = np.sort(rng.uniform(0, 6, 110))
X, grid = x[:, None], np.linspace(0, 6, 400)[:, None]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")


# %%
# A line for each loss
# --------------------
def fit(loss, y):
    return KernelRegressor(loss=loss, kernel=Gaussian(0.8), C=5.0).fit(X, y).predict(grid)


y = np.sin(x) + 0.12 * rng.standard_normal(x.size)
y[[42, 45, 47]] += [2.4, 2.9, 2.6]
robust, tube = fit(EpsilonInsensitive(0.2), y), 0.2
left.scatter(x, y, s=12, color=GREY)
left.plot(grid, fit(Squared(), y), color=RED, lw=2, label="squared")
left.plot(grid, robust, color=BLUE, lw=2, label=r"$\epsilon$-insensitive")
left.fill_between(grid[:, 0], robust - tube, robust + tube, color=BLUE, alpha=0.12, lw=0)
left.set_title("robust")
left.legend(frameon=False)

# %%
# A band of quantiles
# -------------------
y = np.sin(x) + (0.05 + 0.12 * x) * rng.standard_normal(x.size)
low, median, high = (fit(Pinball(q), y) for q in (0.1, 0.5, 0.9))
middle.scatter(x, y, s=12, color=GREY)
middle.fill_between(grid[:, 0], low, high, color=GOLD, alpha=0.3, lw=0, label="10 % to 90 %")
middle.plot(grid, median, color=GOLD, lw=2, label="median")
middle.set_title("quantiles")
middle.legend(frameon=False, loc="lower left")

# %%
# A margin
# --------
points, labels = make_moons(160, noise=0.17, random_state=3)
machine = KernelClassifier(loss=Hinge(), kernel=Gaussian(0.7), C=3.0).fit(points, labels)
u, v = np.meshgrid(np.linspace(-1.6, 2.6, 200), np.linspace(-1.1, 1.6, 200))
f = machine.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
right.contourf(u, v, f, levels=[-99, -1, 0, 1, 99], colors=[BLUE, BLUE, RED, RED], alpha=0.12)
right.contour(u, v, f, levels=[-1, 1], colors="k", linewidths=0.8, linestyles="--")
right.contour(u, v, f, levels=[0], colors="k", linewidths=1.6)
right.scatter(*points.T, s=14, c=np.array([BLUE, RED])[labels])
right.scatter(*machine.support_vectors_.T, s=52, facecolors="none", edgecolors="k", linewidths=0.7)
right.set_title("margin")

for axes in (left, middle, right):
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#c9ccd1")
plt.show()
