r"""
Regression with jumps and kinks
===============================

A smooth kernel rounds every corner. If it is known where the function, or its slope, may break,
that is a column of :math:`B`: ``Breaks(knots)`` adds the steps :math:`[x > \tau]`,
``Breaks(knots, order=1)`` the ramps :math:`(x - \tau)_+`. Their coefficients are the heights of the
jumps, unpenalized and so not shrunk.

If it is not known where, ``TermSelector`` takes a jump between any two samples as a candidate,
follows the lasso path of their heights, and fits those that the data ask for again without
penalty. Below on the right all heights are drawn against the penalty: one candidate stands out
long before the others appear. After example 9.3 of K. Pelckmans, *Primal-Dual Kernel Machines*, KU
Leuven 2005.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import Breaks, Constant
from mercer_research.estimators import TermSelector

rng = np.random.default_rng(4)
x = np.sort(rng.uniform(-5, 5, 80))
X, grid = x[:, None], np.linspace(-5, 5, 2001)[:, None]


def broken(x):
    return np.sinc(x / np.pi) + 1.0 * (x > 1.11) - 0.6 * np.maximum(x + 2.5, 0) * (x < 1.11)


y = broken(x) + 0.1 * rng.standard_normal(x.size)

# %%
# One machine is told nothing, one where the function jumps and where its slope does. The data say
# much about a jump (3.2 high) and little about a kink, which is easily taken for a smooth bend.

breaks = Breaks([1.11]) + Breaks([-2.5, 1.11], order=1)
machines = {
    "told nothing": KernelRegressor(kernel=Gaussian(1.4), C=100.0),
    "told of the breaks": KernelRegressor(
        kernel=Gaussian(1.4), null_space=Constant() + breaks, C=100.0
    ),
}
for machine in machines.values():
    machine.fit(X, y)
told = machines["told of the breaks"]
for name, height in zip(told.null_space_names_, told.null_space_coef_, strict=True):
    print(f"{name:20} {height:6.2f}")

# %%
# Another sample with a jump alone, and every gap between two neighbours as a candidate.


def stepped(x):
    return np.sinc(x / np.pi) + 1.0 * (x > 1.11)


z = stepped(x) + 0.1 * rng.standard_normal(x.size)
selector = TermSelector(Gaussian(1.4), C=100.0).fit(X, z)
print(selector.terms_)

# %%

figure, axes = plt.subplot_mosaic([["told", "told"], ["found", "path"]], figsize=(10, 7))
ax = axes["told"]
ax.plot(x, y, "o", color="0.6", ms=4)
for k, (name, machine) in enumerate(machines.items()):
    ax.plot(grid, machine.predict(grid), color=f"C{k}", lw=2, label=name)
ax.plot(grid, broken(grid), color="black", lw=1, ls="--", label="truth")
ax.legend(frameon=False)
ax.set(title="breaks at known places", xlabel="$x$", ylabel="$y$", xlim=(-5, 5))
ax = axes["found"]
ax.plot(x, z, "o", color="0.6", ms=4)
ax.plot(grid, selector.predict(grid), color="C2", lw=2, label="jump found")
ax.plot(grid, stepped(grid), color="black", lw=1, ls="--", label="truth")
ax.legend(frameon=False)
ax.set(title="a jump at an unknown place", xlabel="$x$", ylabel="$y$", xlim=(-5, 5))
rho, heights = selector.path_
seen = rho > 1e-3
kept = [selector.candidate_names_.index(name) for name in selector.terms_]
for j, column in enumerate(heights[seen].T):
    style = {"color": "C2", "lw": 2.5, "zorder": 3} if j in kept else {"color": "0.6", "lw": 0.8}
    axes["path"].semilogx(rho[seen], column, **style)
axes["path"].axvline(selector.penalty_, color="0.4", lw=1, ls=":")
axes["path"].text(selector.penalty_ * 0.9, -0.35, "chosen", ha="left", color="0.4")
axes["path"].invert_xaxis()
axes["path"].set(
    title="its height on the path", xlabel=r"penalty $\rho$", ylabel="height of a jump"
)
plt.show()
