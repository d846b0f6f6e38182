r"""
nu-SVR: let the data choose the width of the tube
=================================================

How wide should the tube of a support vector regression be? That depends on the noise, which is
rarely known. :math:`\nu`-regression makes the width a variable of the problem and puts a price on
it,

.. math:: \min_{f, \epsilon}\; \tfrac12 \|f\|^2 + C \sum_i \bigl(\nu \epsilon
          + \max(0, |y_i - f(x_i)| - \epsilon)\bigr).

Widening the tube by a little costs :math:`\nu C n` per unit, and saves :math:`C` per unit for
every point outside. So the minimum has at most :math:`\nu n` points outside, and at least
:math:`\nu n` on the wall or outside, which are the support vectors: :math:`\nu` is a fraction of
the data, whatever the noise.

In the functional this needs no new solver: the two walls are two unpenalized columns with a
linear cost. Left, tubes for three values of :math:`\nu`. Right, the two fractions pinch
:math:`\nu` between them, and the width that comes with each.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NuSVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 6, 150))
y = np.sin(2 * x) * np.exp(-0.2 * x) + 0.2 * rng.standard_normal(x.size)
grid = np.linspace(0, 6, 300)


def fit(nu):
    return NuSVR(nu=nu, C=5.0, kernel=Gaussian(0.8), tol=1e-5).fit(x[:, None], y)


levels = np.linspace(0.04, 1.0, 17)
outside, support, widths = [], [], []
for machine in map(fit, levels):
    error = np.abs(y - machine.predict(x[:, None]))
    outside.append(np.mean(error > machine.epsilon_ + 1e-4))
    support.append(machine.support_.size / x.size)
    widths.append(machine.epsilon_)

# %%
# ``epsilon_`` is the width that was found.

figure = plt.figure(figsize=(11, 5.6))
tubes, right = figure.subfigures(1, 2, width_ratios=[1.35, 1])
for ax, nu in zip(tubes.subplots(3, 1, sharex=True, sharey=True), (0.1, 0.4, 0.8), strict=True):
    machine = fit(nu)
    f, width = machine.predict(grid[:, None]), machine.epsilon_
    ax.fill_between(grid, f - width, f + width, color="C0", alpha=0.2, lw=0)
    ax.plot(grid, f, color="C0", lw=2)
    ax.plot(x, y, "o", color="0.6", ms=3)
    ax.plot(x[machine.support_], y[machine.support_], "o", color="C1", ms=3)
    ax.set(xlim=(0, 6), ylabel="$y$", title=rf"$\nu = {nu}$: the tube is $\pm {width:.2f}$ wide")
ax.set_xlabel("$x$")

fractions, width_axes = right.subplots(2, 1, sharex=True, height_ratios=[2, 1])
fractions.fill_between(levels, outside, support, color="0.5", alpha=0.15, lw=0)
fractions.plot(levels, support, color="C1", lw=2)
fractions.plot(levels, outside, color="C3", lw=2)
fractions.text(0.42, 0.56, "support vectors", color="C1", ha="right")
fractions.text(0.5, 0.4, "outside the tube", color="C3")
fractions.plot([0, 1], [0, 1], color="black", lw=0.8)
fractions.set(ylabel="fraction of the points", ylim=(0, 1), xlim=(0, 1))
width_axes.plot(levels, widths, color="C0", lw=2)
width_axes.set(xlabel=r"$\nu$", ylabel=r"width $\epsilon$", ylim=(0, None))
plt.show()
