r"""
Support vector regression: which points carry the curve
=======================================================

Support vector regression charges nothing for errors up to :math:`\epsilon`,

.. math:: \min_f\; \tfrac12 \|f\|^2 + C \sum_i \max(0, |y_i - f(x_i)| - \epsilon),

and its solution is a sum of kernels, :math:`f(x) = \sum_i a_i\, k(x_i, x) + b`. Where a point
sits with respect to the tube decides what its coefficient can be: strictly inside,
:math:`a_i = 0`; on the wall, anything between :math:`-C` and :math:`C`; outside, exactly
:math:`\pm C`, however far. Most points could be deleted without changing the function at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(4)
x = np.sort(rng.uniform(0, 10, 90))
y = np.sin(x) + 0.3 * np.sin(3 * x) + 0.22 * rng.standard_normal(x.size)

C, epsilon = 2.0, 0.3
machine = SVR(kernel=Gaussian(0.7), C=C, epsilon=epsilon, tol=1e-8).fit(x[:, None], y)

# %%
# ``solution_`` holds one coefficient per sample, and the certificate: no function has an
# objective lower than ``objective - gap``.

solution = machine.solution_
a = solution.a
print(f"{np.count_nonzero(a)} of {a.size} points are support vectors")
print(f"objective {solution.objective:.6f}, at most {solution.gap:.1e} above the minimum")

# %%
# Above, the function in its tube. Below, the coefficients, on the same axis.

outside = np.abs(a) == C
wall = (a != 0) & ~outside
grid = np.linspace(-0.2, 10.2, 600)
f = machine.predict(grid[:, None])

figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5.6), sharex=True, height_ratios=[2.6, 1])
top.fill_between(grid, f - epsilon, f + epsilon, color="C0", alpha=0.15, lw=0)
top.plot(grid, f, color="C0", lw=2)
kinds = [("inside", a == 0, "0.55"), ("on the wall", wall, "C2"), ("outside", outside, "C1")]
for _, chosen, color in kinds:
    top.plot(x[chosen], y[chosen], "o", color=color, ms=6, mec="white", mew=0.5)
    bottom.vlines(x[chosen], 0, a[chosen], color=color, lw=1.5)
    bottom.plot(x[chosen], a[chosen], "o", color=color, ms=4)
for level in (-C, 0, C):
    bottom.axhline(level, color="0.7", lw=0.8, ls="--" if level else "-", zorder=0)
bottom.set(
    xlabel="$x$", ylabel="coefficient $a_i$", yticks=[-C, 0, C], yticklabels=["$-C$", "0", "$C$"]
)
top.set(ylabel="$y$", xlim=(-0.2, 10.2))
for k, (name, chosen, color) in enumerate(kinds):
    text = f"{np.count_nonzero(chosen)} {name}"
    top.text(0.02, 0.22 - 0.08 * k, text, color=color, transform=top.transAxes)
plt.show()
