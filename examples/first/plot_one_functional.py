r"""
One functional: the loss, the kernel and the penalty make the machine
=====================================================================

All three panels minimize :math:`\tfrac12 \|f\|^2 + C \sum_i l(y_i, f(x_i))`, with another loss
:math:`l` each time. Left, the squared loss follows a few wrong observations while the
:math:`\epsilon`-insensitive loss keeps its tube where the rest is. Middle, pinball losses find
the quantiles of noise that grows. Right, the hinge separates two classes with a margin, carried
by the circled points. Every answer comes with a certificate: the number below it bounds how far,
relatively, its objective is from the exact minimum.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Pinball, Squared

rng = np.random.default_rng(7)
x = np.sort(rng.uniform(0, 6, 150))
grid = np.linspace(0, 6, 400)


def fit(loss, y):
    return KernelRegressor(loss, Gaussian(0.8), C=5.0, tol=1e-6).fit(x[:, None], y)


# %%
# Only the loss changes from machine to machine.

wrong = np.sin(x) + 0.13 * rng.standard_normal(x.size)
wrong[40:76:3] += rng.uniform(1.8, 3.2, 12)
squared, tube = fit(Squared(), wrong), fit(EpsilonInsensitive(0.25), wrong)

spread = np.sin(x) + (0.05 + 0.13 * x) * rng.standard_normal(x.size)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
quantiles = [fit(Pinball(level), spread) for level in levels]

points, labels = make_moons(160, noise=0.17, random_state=3)
margin = KernelClassifier(Hinge(), Gaussian(0.7), C=3.0, tol=1e-6).fit(points, labels)

# %%
# The picture.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.9))

f = tube.predict(grid[:, None])
left.plot(x, wrong, "o", color="0.65", ms=3)
left.fill_between(grid, f - 0.25, f + 0.25, color="C0", alpha=0.18, lw=0)
left.plot(grid, f, color="C0", lw=2)
left.plot(grid, squared.predict(grid[:, None]), color="C1", lw=2)
left.text(2.85, 1.2, "squared", color="C1")
left.text(2.55, -0.3, r"$\epsilon$-insensitive", color="C0", ha="right")

fan = [machine.predict(grid[:, None]) for machine in quantiles]
middle.plot(x, spread, "o", color="0.65", ms=3)
for k in range(2):
    middle.fill_between(grid, fan[k], fan[-1 - k], color="C2", alpha=0.2, lw=0)
middle.plot(grid, fan[2], color="C2", lw=2)
for level, quantile in zip(levels, fan, strict=True):
    middle.text(6.08, quantile[-1], f"{level:.0%}", color="C2", va="center", fontsize=8)

u, v = np.meshgrid(np.linspace(-1.6, 2.6, 200), np.linspace(-1.15, 1.6, 200))
f = margin.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
right.contourf(u, v, f, levels=[-99, 0, 99], colors=["C0", "C1"], alpha=0.15)
right.contour(u, v, f, levels=[-1, 1], colors="black", linewidths=0.8, linestyles="--")
right.contour(u, v, f, levels=[0], colors="black", linewidths=2)
right.scatter(*points.T, s=13, c=np.where(labels == 1, "C1", "C0"))
right.scatter(*margin.support_vectors_.T, s=50, fc="none", ec="black", lw=0.7)

for ax, title, machines in [
    (left, "robust", [squared, tube]),
    (middle, "quantiles", quantiles),
    (right, "margin", [margin]),
]:
    digits = np.ceil(np.log10(max(machine.solution_.relative_gap for machine in machines)))
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_xlabel(rf"within $10^{{{digits:.0f}}}$ of the minimum", color="0.35", loc="left")
    ax.spines[:].set_visible(False)
plt.show()
